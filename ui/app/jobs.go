package app

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"parley/tools"
	"parley/tools/sanitize"
	"parley/ui/format"
)

// BackgroundJobs are the commands that models left in the background (/jobs), as a user deals with them.
type BackgroundJobs struct {
	all *tools.Jobs
	now func() time.Time
}

// BackgroundJobs returns the commands in the background.
func (a *App) BackgroundJobs() BackgroundJobs { return BackgroundJobs{a.Jobs, a.Now} }

// command lists the commands in the background, shows what one has written, or ends one.
func (j BackgroundJobs) command(arg string) Effect {
	verb, number, _ := strings.Cut(arg, " ")
	if verb != "kill" {
		verb, number = "", arg
	}
	if arg == "" {
		return &List{Title: "Commands in the background", Noun: "command", Items: j.rows(), Choose: func(i Item, _ string) Effect { return j.choose(i) }}
	}
	n, err := strconv.Atoi(strings.TrimSpace(number))
	if err != nil {
		return Refuse("%s", unknownJobWord(arg))
	}
	if _, _, ok := j.all.Output(n); !ok {
		return Refuse("no job %s: /jobs lists them", sanitize.Line(number))
	}
	if verb == "kill" {
		return j.kill(n)
	}
	return PanelQuery{PanelJob, strconv.Itoa(n)}
}

// unknownJobWord says what /jobs takes, in place of what was typed.
func unknownJobWord(arg string) string {
	word, number, _ := strings.Cut(arg, " ")
	const takes = "use /jobs, /jobs NUMBER or /jobs kill NUMBER"
	switch near := NearestNames(word, []string{"kill"}, 1); {
	case word == "kill":
		return "no number of a job: " + takes
	case len(near) > 0:
		return fmt.Sprintf("unknown action %q: did you mean /jobs %s? Or %s", sanitize.Line(word), sanitize.Line(strings.TrimSpace(near[0]+" "+number)), takes)
	}
	return fmt.Sprintf("unknown action %q: %s", sanitize.Line(word), takes)
}

// choose asks what is to be done with a job that runs; of one that has ended its output is
// shown.
func (j BackgroundJobs) choose(i Item) Effect {
	n, _ := strconv.Atoi(i.Value)
	if is, _, ok := j.all.Output(n); !ok || !is.Runs() {
		return j.command(i.Value)
	}
	items := []Item{{Title: "Show output", Value: i.Value}, {Title: "Kill", Detail: "with everything it started", Value: "kill " + i.Value}}
	return &List{Title: i.Title, Noun: "choice", Items: items, Choose: func(i Item, _ string) Effect { return j.command(i.Value) }}
}

func (j BackgroundJobs) kill(n int) Effect {
	return Async(func(context.Context) Effect {
		is, err := j.all.Kill(n)
		if err != nil {
			return Failure{Err: err}
		}
		return Toast(fmt.Sprintf("Killed job %d: %s", n, jobName(is)))
	})
}

// jobName returns the command of a job on one line.
func jobName(j tools.Job) string { return sanitize.Line(FirstLine(j.Command)) }

// rows lists the jobs, the latest first.
func (j BackgroundJobs) rows() (rows []Item) {
	for _, is := range j.all.List() {
		rows = append([]Item{{Title: fmt.Sprintf("%d. %s", is.N, jobName(is)), Detail: jobState(is, j.now()), Value: strconv.Itoa(is.N)}}, rows...)
	}
	return rows
}

// jobState says how a job is: "running · 2m 5s · 1.2 kB".
func jobState(j tools.Job, now time.Time) string {
	state := "running"
	if !j.Runs() {
		state = j.State
	}
	if ran := j.Elapsed(now); ran >= time.Second || !j.Runs() { // "0 ms" would be news of nothing
		state += " · " + format.Duration(ran)
	}
	return state + " · " + format.Size(int(j.Size))
}

// items lists what /jobs takes.
func (j BackgroundJobs) items() (items []Item) {
	for _, row := range j.rows() {
		items = append(items, row)
		n, _ := strconv.Atoi(row.Value)
		if is, _, ok := j.all.Output(n); ok && is.Runs() {
			items = append(items, Item{Title: "kill " + row.Value, Detail: jobName(is), Value: "kill " + row.Value, Exact: true})
		}
	}
	return items
}

func noJobs(a *App) string {
	if len(a.Jobs.List()) == 0 {
		return "No commands in the background · " + a.KeyOf("background") + " moves a running one there"
	}
	return ""
}

// A JobView is what a user sees of a command in the background.
type JobView struct {
	Title, State string
	Lines        []string // of its output; of much the first and the last
	Size         int64    // bytes of all its output
	Running      bool
}

// View returns the command in the background with this number.
func (j BackgroundJobs) View(number string) JobView {
	n, _ := strconv.Atoi(number)
	is, text, ok := j.all.Output(n)
	if !ok {
		return JobView{Title: "No job " + sanitize.Line(number)}
	}
	v := JobView{Title: fmt.Sprintf("Job %d: %s", n, jobName(is)), State: jobState(is, j.now()), Lines: []string{"No output yet"}, Size: is.Size, Running: is.Runs()}
	if text = strings.TrimSuffix(text, "\n"); text != "" {
		v.Lines = strings.Split(sanitize.Text(text), "\n")
	}
	return v
}

// Ending says which commands in the background end with parley; "" for none.
func (j BackgroundJobs) Ending() string {
	running := j.all.Running()
	if len(running) == 0 {
		return ""
	}
	lines := []string{format.Plural(len(running), "command") + " in the background:"}
	for _, is := range running {
		lines = append(lines, fmt.Sprintf("  %d. %s", is.N, jobName(is)))
	}
	return strings.Join(lines, "\n")
}

// moveToBackground lets the running commands continue after their calls.
func moveToBackground(a *App, _ string) Effect {
	switch n, err := a.Jobs.Move(); {
	case err != nil:
		return Failure{Err: err}
	case n == 0:
		return Toast("No command is running")
	}
	return Toast("Moved to the background · " + a.KeyOf("jobs") + " shows it")
}

// OnJobEnd has each command in the background that ends told, on any goroutine. What ended
// returns is for the owner of a to show.
func OnJobEnd(a *App, tell func(ended func() Effect)) {
	a.Jobs.OnEnd(func(j tools.Job) {
		tell(func() Effect { return reportSandbox(a) })
		tell(func() Effect { return jobEnded(a, j) })
	})
}

// reportSandbox keeps with the conversation what the sandbox undid and warns of, and shows it.
func reportSandbox(a *App) Effect {
	if e, ok := a.Session.TakeSandbox(); ok {
		return a.annotate(e)
	}
	return nil
}

// jobEnded tells that a command in the background has ended, unless somebody has killed it. The
// conversation keeps that of its own.
func jobEnded(a *App, j tools.Job) Effect {
	if j.Killed() {
		return nil
	}
	text := fmt.Sprintf("Job %d ended: %s: %s · /jobs %[1]d shows its output", j.N, j.State, jobName(j))
	if j.Owner != a.Session.ID() {
		return Toast(text)
	}
	return a.Note(text)
}
