package app

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"parley/providers/llm"
	"parley/session"
	"parley/tools"
	"parley/tools/sanitize"
	"parley/ui/format"
)

// A Tool is what is known of a call of a tool.
type Tool struct {
	Name     string
	Title    string // what the call does in one line, if that was asked about; "" otherwise
	Input    string // the arguments as far as they arrived: JSON, perhaps cut anywhere
	Status   CallStatus
	Output   string        // what it answered, whole
	Diff     string        // unified diff of what it changed
	Started  time.Time     // when it began to run; zero before, and of calls that are stored
	Duration time.Duration // how long it ran

	Remote   bool // the provider runs it
	Stops    bool // the user can stop it
	Asked    bool // the user was asked, and saw all of it
	Ran      bool // it was allowed to run
	Live     bool // it had output before it ended
	Parallel bool // others ran at the same time
}

// CallStatus is how far a call is.
type CallStatus int

// The statuses. A call from CallDone on goes no further.
const (
	CallArriving CallStatus = iota // its arguments do
	CallAsking                     // waits for the user's word
	CallRunning
	CallDone
	CallFailed
	CallDenied
	CallCanceled
	CallLost // parley ended while it ran: what it did is not known
)

// setTool changes what is known of a call. Event is why.
func (t *Turn) setTool(b *block, event session.Event, change func(*Tool)) {
	change(&b.tool)
	tool := b.tool
	t.putBlock(b, Change{Op: Replaced, Kind: ToolBlock, Tool: &tool, Event: event})
}

// blockOf returns the block of a call.
func (t *Turn) blockOf(call string) *block {
	b := t.calls[call]
	if b == nil {
		b = &block{id: t.newID(), kind: llm.Call}
		if t.calls == nil {
			t.calls = map[string]*block{}
		}
		t.calls[call] = b
	}
	return b
}

// callGrows shows a call whose arguments arrive.
func (t *Turn) callGrows(b *block, part llm.Part) {
	if part.ID != "" {
		t.calls[part.ID] = b
	}
	t.setTool(b, nil, func(tool *Tool) {
		tool.Name, tool.Input, tool.Remote, tool.Status = part.Name, part.Input, part.Remote, CallArriving
		if part.Remote {
			tool.Status, tool.Started = CallRunning, b.began
		}
	})
}

// remoteResult shows what a tool that the provider ran answered.
func (t *Turn) remoteResult(part llm.Part) {
	t.setTool(t.blockOf(part.ID), nil, func(tool *Tool) {
		tool.Output, tool.Status = part.Text, CallDone
		if part.Failed {
			tool.Status = CallFailed
		}
	})
}

// nameCalls notes under which ids the calls of a whole answer go on: the session
// gives an id to those that came without one, and another to those that share
// one.
func (t *Turn) nameCalls(calls []llm.Part) {
	var blocks []*block
	for _, b := range t.order {
		if b.kind == llm.Call && !b.tool.Remote {
			blocks = append(blocks, b)
		}
	}
	if len(calls) != len(blocks) {
		return // some were dropped: the others have ids of their own
	}
	for i, call := range calls {
		t.calls[call.ID] = blocks[i]
	}
}

func (t *Turn) call(c session.Call, now time.Time) {
	t.asked = time.Time{}
	t.do(Running, c.Part.Name, now)
	t.setTool(t.blockOf(c.Part.ID), c, func(tool *Tool) {
		tool.Name, tool.Input, tool.Status, tool.Started, tool.Stops = c.Part.Name, c.Part.Input, CallRunning, now, true
	})
}

func (t *Turn) ask(a session.ApprovalRequest, now time.Time) {
	t.do(Asking, a.Call.Name, now)
	t.setTool(t.blockOf(a.Call.ID), a, func(tool *Tool) {
		tool.Status, tool.Asked = CallAsking, true // the question shows the diff
		tool.Title = strings.TrimPrefix(a.Action.Title, tool.Name+" ")
	})
}

func (t *Turn) decided(d session.Decision, now time.Time) {
	b := t.blockOf(d.ID)
	t.Doing, t.Tool, t.Since = Running, b.tool.Name, now // waiting for the user is not running
	for _, other := range t.calls {
		if allowed := d.Verdict != tools.Deny; allowed && other != b && other.tool.Ran && other.tool.Status == CallRunning {
			other.tool.Parallel, b.tool.Parallel = true, true
		}
	}
	t.setTool(b, d, func(tool *Tool) {
		tool.Status, tool.Started, tool.Ran = CallRunning, now, true
		if d.Verdict == tools.Deny {
			tool.Status, tool.Ran = CallDenied, false
		}
	})
}

func (t *Turn) progress(p session.Progress) {
	b := t.blockOf(p.ID)
	b.tool.Live = true
	t.putBlock(b, Change{Op: Grown, Kind: ToolBlock, Text: p.Text})
}

func (t *Turn) result(r session.Result, lost bool, now time.Time) {
	t.setTool(t.blockOf(r.Part.ID), r, func(tool *Tool) {
		tool.Output, tool.Duration, tool.Diff = r.Part.Text, r.Duration, r.Diff
		switch {
		case tool.Status == CallDenied:
		case r.Stopped:
			tool.Status = CallCanceled
		case lost:
			tool.Status = CallLost
		case r.Part.Failed:
			tool.Status = CallFailed
		default:
			tool.Status = CallDone
		}
	})
	for _, b := range t.calls {
		if b.tool.Status == CallRunning || b.tool.Status == CallAsking {
			return
		}
	}
	t.do(Waiting, "", now)
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
	if _, _, ok := a.Jobs.Output(n); err != nil || !ok {
		return Say("There is no job " + sanitize.Line(number) + ". /jobs lists them")
	}
	if verb == "kill" {
		return killJob(a, n)
	}
	return Effect{View: PanelQuery{PanelJob, strconv.Itoa(n)}}
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
		return Say(fmt.Sprintf("Killed job %d: %s", n, jobName(is)))
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
	state, until := "running", now
	if !j.Runs() {
		state, until = j.State, j.Ended
	}
	return state + " · " + format.Duration(until.Sub(j.Started)) + " · " + format.Size(int(j.Size))
}

// jobItems lists what /jobs takes.
func jobItems(a *App) (items []Item) {
	for _, row := range jobRows(a) {
		items = append(items, row)
		n, _ := strconv.Atoi(row.Value)
		if is, _, ok := a.Jobs.Output(n); ok && is.Runs() {
			items = append(items, Item{Title: "kill " + row.Value, Detail: jobName(is), Value: "kill " + row.Value})
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

// JobOutput returns a title for what a job has written, and the lines of that.
func JobOutput(a *App, number string) (title string, lines []string) {
	n, _ := strconv.Atoi(number)
	is, text, ok := a.Jobs.Output(n)
	if !ok {
		return "No job " + sanitize.Line(number), nil
	}
	title = fmt.Sprintf("Job %d: %s · %s", n, jobName(is), jobState(is, a.Now()))
	if text = strings.TrimSuffix(text, "\n"); text == "" {
		return title, []string{"No output yet"}
	}
	return title, strings.Split(sanitize.Text(text), "\n")
}

// moveToBackground lets the commands that run go on behind their calls.
func moveToBackground(a *App, _ string) Effect {
	switch n, err := a.Jobs.Move(); {
	case err != nil:
		return Effect{Err: err}
	case n == 0:
		return Say("Nothing to move: only the model's commands continue in the background")
	}
	return Say("Moved to the background · " + a.KeyOf("jobs") + " shows it")
}

// WatchJobs has each command in the background that ends told, on any goroutine. What ended
// returns is for the owner of a to show.
func WatchJobs(a *App, tell func(ended func() Effect)) {
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
		return Say(text)
	}
	return a.Note(text)
}

// Quit ends the front end, once the user has agreed that what runs in the background ends.
func Quit(a *App) Effect {
	return endingJobs(a, "Quitting", "Quit", func() Effect { return Effect{Quit: true} })
}

// endingJobs does what ends all jobs. If there are some, it asks, and yes agrees.
func endingJobs(a *App, doing, yes string, then func() Effect) Effect {
	text := JobsThatEnd(a)
	if text == "" {
		return then()
	}
	return Effect{Confirm: &Confirm{Text: doing + " ends " + text, Yes: yes, No: "Cancel", Harmless: true, Answer: func(agreed bool) Effect {
		if !agreed {
			return Effect{}
		}
		return then()
	}}}
}

// JobsThatEnd says which commands in the background end with parley; "" for none.
func JobsThatEnd(a *App) string {
	running := a.Jobs.Running()
	if len(running) == 0 {
		return ""
	}
	lines := []string{format.Plural(len(running), "command") + " in the background:"}
	for _, j := range running {
		lines = append(lines, fmt.Sprintf("  %d. %s", j.N, jobName(j)))
	}
	return strings.Join(lines, "\n")
}

// removeFolder begins the argument of /add-dir that takes a folder away.
const removeFolder = "remove "

// addFolder lets tools reach another folder once the user has agreed, takes one away, or lists
// them.
func addFolder(a *App, arg string) Effect {
	now := session.AddedFolders(a.Session)
	name, remove := strings.CutPrefix(arg, removeFolder)
	switch {
	case arg == "" && len(now) == 0:
		return Say("No folders added · /add-dir PATH adds one")
	case arg == "":
		return Effect{List: &List{Title: "Added folders: which one is removed?", Noun: "folder", Items: addedItems(a, ""), Choose: func(i Item, _ string) Effect { return addFolder(a, removeFolder+i.Value) }}}
	case remove:
		dir, err := a.absolute(strings.TrimSpace(name))
		if real, rerr := filepath.EvalSymlinks(dir); rerr == nil {
			dir = real
		}
		if err != nil || !slices.Contains(now, dir) {
			return Say(sanitize.Line(name) + " is not among the added folders")
		}
		return setFolders(a, slices.DeleteFunc(now, func(d string) bool { return d == dir }))
	}
	dir, err := a.absolute(arg)
	if err == nil {
		dir, err = session.CheckFolder(a.Session, dir)
	}
	if err != nil {
		return Effect{Err: err}
	}
	text := "Add " + sanitize.Line(dir) + " to this conversation?\nTools read in it without asking, and change it as the approval mode says; commands in the sandbox can change it. /undo covers edits by tools there, not what commands change. Its AGENTS.md, prompts, skills and hooks are not read."
	return Effect{Confirm: &Confirm{Text: text, Yes: "Add folder", No: "Cancel", Answer: func(yes bool) Effect {
		if !yes {
			return Effect{}
		}
		return setFolders(a, append(now, dir))
	}}}
}

// setFolders has tools reach these folders but for those that are gone, which the error of the
// effect tells, and tells the model with the next prompt: the system prompt stays as it is, which
// providers have in their caches.
func setFolders(a *App, dirs []string) Effect {
	before := session.AddedFolders(a.Session)
	err := session.SetFolders(a.Session, dirs...)
	now := session.AddedFolders(a.Session)
	if slices.Equal(now, before) {
		return Effect{Err: err}
	}
	if servers := a.Servers(); servers != nil {
		servers.SetRoots(append([]string{a.Folder}, now...)...)
	}
	var told []string
	for _, dir := range before {
		if !slices.Contains(now, dir) {
			told = append(told, "The folder "+dir+" was removed: tools no longer reach it.")
		}
	}
	if added := slices.DeleteFunc(slices.Clone(now), func(dir string) bool { return slices.Contains(before, dir) }); len(added) > 0 {
		told = append(told, "The user added a folder. "+session.FoldersText(added))
	}
	note := llm.Part{Kind: llm.Text, Name: "note on folders", Text: "<note>\n" + strings.Join(told, "\n") + "\n</note>"}
	a.Attached = append(a.Attached, note)
	return Effect{Event: session.Folders{Dirs: now}, Attached: []llm.Part{note}, Err: err}
}
