package app

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"parley/providers/catalog"
	"parley/providers/llm"
	"parley/session"
	"parley/tools"
	"parley/tools/mcp"
	"parley/tools/sanitize"
	"parley/ui/format"
)

// The tools that a model is offered (/tools), and the commands that they left in the background (/jobs).

func namesOf(tools []llm.Tool) (names []string) {
	for _, t := range tools {
		names = append(names, t.Name)
	}
	return names
}

func noTools(a *App) string {
	if len(toolRows(a)) == 0 {
		return "No tools: --tools none"
	}
	return ""
}

// toolTitle returns a tool's name as users read it, SERVER:TOOL for one of an MCP server.
func toolTitle(a *App, name string) string {
	for _, s := range serverStates(a.Servers()) {
		if tool, ok := strings.CutPrefix(name, mcp.ToolPrefix(s.Name)); ok {
			return s.Name + ":" + tool
		}
	}
	return name
}

func serverStates(servers *mcp.Servers) []mcp.State {
	if servers != nil {
		return servers.States()
	}
	return nil
}

// firstSentence returns the first sentence of what a tool says of itself, for a row of a list.
func firstSentence(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	sentence, _, _ := strings.Cut(line, ". ")
	return strings.TrimSuffix(sentence, ".")
}

// toolRows lists the tools: those that are offered, with what they take, and the others, with why
// they are not.
func toolRows(a *App) (items []Item) {
	all, offered := a.Session.Tools()
	own, kept := a.Session.OwnSettings().Get(), namesOf(offered)
	persona := a.Session.Personas().Current()
	for _, t := range all {
		detail := wordOn
		switch {
		case !own.Offers(t.Name):
			detail = wordOff
		case slices.Contains(kept, t.Name):
		case len(persona.Tools) > 0 && !slices.Contains(persona.Tools, t.Name):
			detail = "not offered: the persona " + persona.Name + " has others"
		case len(kept) == 0:
			detail = "not offered: " + a.Session.Model().Name + " takes no tools from parley"
		default:
			detail = "not offered: the provider searches the web itself"
		}
		detail += fmt.Sprintf(" · %s tokens · %s", format.Tokens(a.Estimate(t.Description)+a.Estimate(string(t.Schema))), firstSentence(t.Description))
		items = append(items, Item{Title: toolTitle(a, t.Name), Detail: sanitize.Line(detail), Value: t.Name})
	}
	if a.WithheldTools != nil {
		names, why := a.WithheldTools()
		for _, name := range names {
			items = append(items, Item{Title: name, Detail: "not offered: " + why, Value: name, Disabled: true})
		}
	}
	for _, s := range serverStates(a.Servers()) {
		if s.Status != mcp.StatusReady {
			items = append(items, Item{Title: s.Name + ":", Detail: sanitize.Line(strings.TrimSuffix("MCP server "+string(s.Status)+" · "+s.Reason, " · ")), Value: s.Name, Disabled: true})
		}
	}
	return items
}

// toolItems lists what /tools takes.
func toolItems(a *App) []Item {
	items := []Item{{Title: wordOn, Detail: "All tools", Value: wordOn}, {Title: wordOff, Detail: "No tools", Value: wordOff}}
	own := a.Session.OwnSettings().Get()
	for _, row := range toolRows(a) {
		if !row.Disabled {
			word := map[bool]string{true: wordOff, false: wordOn}[own.Offers(row.Value)]
			items = append(items, Item{Title: row.Title + " " + word, Detail: row.Detail, Value: row.Title + " " + word})
		}
	}
	return items
}

// switchTools shows the tools, or turns some on or off.
func switchTools(a *App, arg string) Effect {
	words := strings.Fields(arg)
	switch {
	case len(words) == 0:
		return listTools(a, "")
	case len(words) == 1 && (arg == wordOn || arg == wordOff):
		return putTool(a, "*", arg == wordOn)
	}
	name, err := toolNamed(a, words[0])
	switch {
	case err != nil:
		return Effect{Err: err}
	case len(words) == 1:
		return putTool(a, name, !a.Session.OwnSettings().Get().Offers(name))
	case len(words) > 2 || words[1] != wordOn && words[1] != wordOff:
		return Effect{Err: fmt.Errorf("/tools %s: use on or off behind the name", arg)}
	}
	return putTool(a, name, words[1] == wordOn)
}

// listTools shows the tools, first of all the one at; one that is chosen is turned on or off.
func listTools(a *App, at string) Effect {
	rows := toolRows(a)
	for i := range rows {
		rows[i].Current = rows[i].Value == at
	}
	return Effect{List: &List{Title: "Tools that the model is offered", Noun: "tool", Items: rows, Choose: func(i Item, _ string) Effect {
		e := putTool(a, i.Value, !a.Session.OwnSettings().Get().Offers(i.Value))
		e.List = listTools(a, i.Value).List
		return e
	}}}
}

// toolNamed returns the name of a tool, or with a * that of all tools of an MCP server.
func toolNamed(a *App, name string) (string, error) {
	var titles []string
	for _, row := range toolRows(a) {
		if !row.Disabled && (row.Title == name || row.Value == name) {
			return row.Value, nil
		}
		if !row.Disabled {
			titles = append(titles, row.Title)
		}
	}
	for _, s := range serverStates(a.Servers()) {
		if s.Name == strings.TrimSuffix(name, ":") {
			return mcp.ToolPrefix(s.Name) + "*", nil
		}
	}
	if near := catalog.Nearest(name, titles, 1); len(near) > 0 {
		return "", fmt.Errorf("unknown tool %s: did you mean %s?", name, near[0])
	}
	return "", fmt.Errorf("unknown tool %s: /tools shows them", name)
}

func putTool(a *App, name string, on bool) Effect {
	now, err := a.Session.OwnSettings().Change(func(own *session.Settings) error { own.SetTool(name, on); return nil })
	switch {
	case err != nil:
		return Effect{Err: err}
	case now.Changed == "":
		return ShowToast("No tool changed")
	}
	return Effect{Event: now}
}

// jobs lists the commands in the background, shows what one has written, or ends one.
func jobs(a *App, arg string) Effect {
	verb, number, _ := strings.Cut(arg, " ")
	if verb != "kill" {
		verb, number = "", arg
	}
	if arg == "" {
		return Effect{List: &List{Title: "Commands in the background", Noun: "command", Items: jobRows(a), Choose: func(i Item, _ string) Effect { return chooseJob(a, i) }}}
	}
	n, err := strconv.Atoi(strings.TrimSpace(number))
	if err != nil {
		return refuse("%s", unknownJobWord(arg))
	}
	if _, _, ok := a.Jobs.Output(n); !ok {
		return refuse("no job %s: /jobs lists them", sanitize.Line(number))
	}
	if verb == "kill" {
		return killJob(a, n)
	}
	return Effect{View: PanelQuery{PanelJob, strconv.Itoa(n)}}
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

// chooseJob asks what is to be done with a job that runs; of one that has ended its output is
// shown.
func chooseJob(a *App, i Item) Effect {
	n, _ := strconv.Atoi(i.Value)
	if is, _, ok := a.Jobs.Output(n); !ok || !is.Runs() {
		return jobs(a, i.Value)
	}
	items := []Item{{Title: "Show output", Value: i.Value}, {Title: "Kill", Detail: "with everything it started", Value: "kill " + i.Value}}
	return Effect{List: &List{Title: i.Title, Noun: "choice", Items: items, Choose: func(i Item, _ string) Effect { return jobs(a, i.Value) }}}
}

func killJob(a *App, n int) Effect {
	all := a.Jobs
	return Effect{Async: func(context.Context) Effect {
		is, err := all.Kill(n)
		if err != nil {
			return Effect{Err: err}
		}
		return ShowToast(fmt.Sprintf("Killed job %d: %s", n, jobName(is)))
	}}
}

// jobName returns the command of a job on one line.
func jobName(j tools.Job) string { return sanitize.Line(FirstLine(j.Command)) }

// jobRows lists the jobs, the latest first.
func jobRows(a *App) (rows []Item) {
	for _, j := range a.Jobs.List() {
		rows = append([]Item{{Title: fmt.Sprintf("%d. %s", j.N, jobName(j)), Detail: jobState(j, a.Now()), Value: strconv.Itoa(j.N)}}, rows...)
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

// jobItems lists what /jobs takes.
func jobItems(a *App) (items []Item) {
	for _, row := range jobRows(a) {
		items = append(items, row)
		n, _ := strconv.Atoi(row.Value)
		if is, _, ok := a.Jobs.Output(n); ok && is.Runs() {
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

// JobOutput returns the command in the background with this number.
func JobOutput(a *App, number string) JobView {
	n, _ := strconv.Atoi(number)
	is, text, ok := a.Jobs.Output(n)
	if !ok {
		return JobView{Title: "No job " + sanitize.Line(number)}
	}
	v := JobView{Title: fmt.Sprintf("Job %d: %s", n, jobName(is)), State: jobState(is, a.Now()), Lines: []string{"No output yet"}, Size: is.Size, Running: is.Runs()}
	if text = strings.TrimSuffix(text, "\n"); text != "" {
		v.Lines = strings.Split(sanitize.Text(text), "\n")
	}
	return v
}

// moveToBackground lets the commands that run go on behind their calls.
func moveToBackground(a *App, _ string) Effect {
	switch n, err := a.Jobs.Move(); {
	case err != nil:
		return Effect{Err: err}
	case n == 0:
		return ShowToast("No command is running")
	}
	return ShowToast("Moved to the background · " + a.KeyOf("jobs") + " shows it")
}

// OnJobEnd has each command in the background that ends told, on any goroutine. What ended
// returns is for the owner of a to show.
func OnJobEnd(a *App, tell func(ended func() Effect)) {
	a.Jobs.OnEnd(func(j tools.Job) { tell(func() Effect { return jobEnded(a, j) }) })
}

// jobEnded tells that a command in the background has ended, unless somebody has killed it. The
// conversation keeps that of its own.
func jobEnded(a *App, j tools.Job) Effect {
	if j.Killed() {
		return Effect{}
	}
	text := fmt.Sprintf("Job %d ended: %s: %s · /jobs %[1]d shows its output", j.N, j.State, jobName(j))
	if j.Owner != a.Session.ID() {
		return ShowToast(text)
	}
	return a.Note(text)
}

// modeItems returns the ways to approve tools.
func modeItems(a *App) []Item {
	var items []Item
	for _, mode := range append(slices.Clone(tools.Modes), tools.ModeYolo) {
		if !slices.ContainsFunc(items, func(i Item) bool { return i.Value == string(mode) }) {
			items = append(items, Item{Title: string(mode), Detail: modeHelp[mode], Value: string(mode), Current: mode == a.Session.Policy().Mode()})
		}
	}
	return items
}

// mode sets the approval mode; without a name, one from the list.
func (a *App) mode(arg string) Effect {
	p := a.Session.Policy()
	switch {
	case arg == "":
		return Effect{List: &List{Title: "Approval mode", Noun: "mode", Items: modeItems(a), Choose: func(i Item, _ string) Effect { return a.mode(i.Value) }}}
	case slices.Contains(tools.Modes, tools.Mode(arg)), arg == string(tools.ModeYolo):
		p.SetMode(tools.Mode(arg))
	default:
		return refuse("unknown approval mode %q: use %s or yolo", arg, JoinComma(tools.Modes))
	}
	return ShowToast("Approval mode: " + ModeHelp(p.Mode()))
}

// nextMode sets the approval mode behind the current one.
func nextMode(a *App, _ string) Effect {
	a.Session.Policy().NextMode()
	return ShowToast("Approval mode: " + ModeHelp(a.Session.Policy().Mode()))
}
