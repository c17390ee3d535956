// Package jobs lets the user see and end background commands.
package jobs

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"parley/providers/llm"
	"parley/providers/similar"
	"parley/ui/app"

	"parley/tools"
	"parley/tools/sanitize"
	"parley/ui/format"
)

// Register adds the flow to a.
func Register(a *app.App) {
	all, _ := a.Machine.Jobs.(*tools.Jobs)
	f := flow{a, all}
	a.Commands = append(a.Commands,
		app.Command{Name: "background", Aliases: []string{"bg"}, Keys: []string{"ctrl+x b"}, Group: app.Messages, Help: "Move the running command to the background", Run: f.moveToBackground},
		app.Command{Name: "jobs", Aliases: []string{"bashes", "tasks"}, Group: app.Messages, Arg: "kill NUMBER", Help: "Commands in the background: output, kill", Unavailable: f.unavailable, Args: f.arguments, Run: f.command},
	)
	a.Watch = append(a.Watch, f.watch)
}

// A flow shows and ends the background commands that models started.
type flow struct {
	app *app.App
	all *tools.Jobs
}

// command lists the background commands, shows the output of one, or ends one.
func (f flow) command(arg string) app.Effect {
	verb, number, _ := strings.Cut(arg, " ")
	if verb != "kill" {
		verb, number = "", arg
	}
	if arg == "" {
		return app.Choose("Commands in the background", "command", f.rows(), f.choose)
	}
	n, err := strconv.Atoi(strings.TrimSpace(number))
	if err != nil {
		return app.Refuse("%s", unknownJobWord(arg))
	}
	if _, _, ok := f.all.Output(n); !ok {
		return app.Refuse("no job %s: /jobs lists them", sanitize.Line(number))
	}
	if verb == "kill" {
		return f.kill(n)
	}
	return app.Output{
		Title: fmt.Sprint("Job ", n),
		Read:  func() app.OutputText { return f.read(n) },
		Watch: func(changed func()) { f.all.View(n, changed) },
	}
}

// unknownJobWord returns the error for an unknown argument of /jobs.
func unknownJobWord(arg string) string {
	word, number, _ := strings.Cut(arg, " ")
	const takes = "use /jobs, /jobs NUMBER or /jobs kill NUMBER"
	switch near := similar.Name(word, []string{"kill"}); {
	case word == "kill":
		return "no number of a job: " + takes
	case near != "":
		return fmt.Sprintf("unknown action %q: did you mean /jobs %s? Or %s", sanitize.Line(word), sanitize.Line(strings.TrimSpace(near+" "+number)), takes)
	}
	return fmt.Sprintf("unknown action %q: %s", sanitize.Line(word), takes)
}

// choose asks what to do with a running job; for one that has ended, it shows the output.
func (f flow) choose(number string) app.Effect {
	n, _ := strconv.Atoi(number)
	is, _, ok := f.all.Output(n)
	if !ok || !is.Runs() {
		return f.command(number)
	}
	items := []app.Item{{Title: "Show output", Value: number}, {Title: "Kill", Detail: "with everything it started", Value: "kill " + number}}
	return app.Choose(number+". "+is.Name(), "choice", items, f.command)
}

func (f flow) kill(n int) app.Effect {
	return app.Async(func(context.Context) app.Effect {
		is, err := f.all.Kill(n)
		if err != nil {
			return app.Fail(err)
		}
		return app.Toast(fmt.Sprintf("Killed job %d: %s", n, is.Name()))
	})
}

// rows lists the jobs, the latest first.
func (f flow) rows() (rows []app.Item) {
	for _, is := range f.all.List() {
		rows = append([]app.Item{{Title: fmt.Sprintf("%d. %s", is.N, is.Name()), Detail: jobState(is, f.app.Now()), Value: strconv.Itoa(is.N)}}, rows...)
	}
	return rows
}

// jobState describes the state of a job: "running · 2m 5s · 1.2 kB".
func jobState(j tools.Job, now time.Time) string {
	state := "running"
	if !j.Runs() {
		state = j.State
	}
	if ran := j.Elapsed(now); ran >= time.Second || !j.Runs() { // omits "0 ms"
		state += " · " + format.Duration(ran)
	}
	return state + " · " + format.Size(int(j.Size))
}

// arguments lists the arguments of /jobs.
func (f flow) arguments() (items []app.Item) {
	for _, row := range f.rows() {
		items = append(items, row)
		n, _ := strconv.Atoi(row.Value)
		if is, _, ok := f.all.Output(n); ok && is.Runs() {
			items = append(items, app.Item{Title: "kill " + row.Value, Detail: is.Name(), Value: "kill " + row.Value, Exact: true})
		}
	}
	return items
}

func (f flow) unavailable() string {
	if len(f.all.List()) == 0 {
		return "No commands in the background · " + f.app.FrontEnd.KeyOf("background") + " moves a running one there"
	}
	return ""
}

// read returns the output of background command n.
func (f flow) read(n int) app.OutputText {
	is, text, ok := f.all.Output(n)
	if !ok {
		return app.OutputText{Title: fmt.Sprint("No job ", n)}
	}
	v := app.OutputText{Title: fmt.Sprintf("Job %d: %s", n, is.Name()), State: jobState(is, f.app.Now()), Lines: []string{"No output yet"}, Size: is.Size, Running: is.Runs()}
	if text = strings.TrimSuffix(text, "\n"); text != "" {
		v.Lines = strings.Split(sanitize.Text(text), "\n")
	}
	return v
}

// moveToBackground lets the running commands continue after their calls.
func (f flow) moveToBackground(string) app.Effect {
	switch n, err := f.all.Move(); {
	case err != nil:
		return app.Fail(err)
	case n == 0:
		return app.Toast("No command is running")
	}
	return app.Toast("Moved to the background · " + f.app.FrontEnd.KeyOf("jobs") + " shows it")
}

// watch reports each background command that ends, and what the sandbox says about one.
func (f flow) watch(tell func(func() app.Effect)) {
	f.all.OnNews(func(j tools.Job) {
		tell(func() app.Effect { return app.Then{f.reportSandbox(), f.ended(j)} })
	})
}

// reportSandbox stores and shows the sandbox's report of undone changes and warnings.
func (f flow) reportSandbox() app.Effect {
	if e, ok := f.app.Session.TakeSandbox(); ok {
		return f.app.Annotate(e)
	}
	return nil
}

// ended reports that a background command has ended, unless it was killed. The conversation stores the report for its
// own commands.
func (f flow) ended(j tools.Job) app.Effect {
	if j.Runs() || j.Killed() {
		return nil
	}
	text := fmt.Sprintf("Job %d ended: %s: %s · /jobs %[1]d shows its output", j.N, j.State, j.Name())
	if j.Owner != f.app.Session.ID() {
		return app.Toast(text)
	}
	return f.app.Annotate(llm.Notice{Text: text})
}
