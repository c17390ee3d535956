// Package input is what the user writes: the composer, what goes with the prompt, the
// draft that outlives the program, what waits to be sent, and the user's own editor.
package input

import (
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"parley/providers/llm"
	"parley/tools/sanitize"
	"parley/ui/app"
	"parley/ui/format"
	"parley/ui/tui/common"
	"parley/ui/tui/composer"
	"parley/ui/tui/files"
	"parley/ui/tui/renderer"
)

// SignWidth is how many cells the sign before the composer takes.
const SignWidth = 2

const sign = "› "

// An Input is the composer with everything around it: attachments, draft and queue.
type Input struct {
	*common.Screen
	App      *app.App
	Composer *composer.Model
	Ended    func() func() // takes back, when called and called again, the records of what is attached
	Aside    []llm.Part    // attachments that are stored with the draft, and are none of the next prompt

	files *files.Index // of the workspace
	draft draft
	order draftOrder
	first firstRequest
	sign  common.Label // before the first row
}

// New returns an empty input.
func New(s *common.Screen, a *app.App) *Input {
	in := &Input{Screen: s, App: a, Composer: composer.New(s.Theme), files: files.New(a.Directory)}
	in.Composer.SetPlaceholder("Ask anything")
	in.Composer.Focus(true)
	in.Composer.Now = s.Now
	in.Composer.SetVim(s.Config.Vim)
	in.Composer.SetCompleter(in.complete)
	in.files.Go = func(f func()) { go s.Guard(f) }
	return in
}

// Close stops indexing files.
func (in *Input) Close() { in.files.Close() }

// Update takes what is about the input and came from elsewhere than the keyboard, and
// reports whether msg is that.
func (in *Input) Update(msg tea.Msg) (tea.Cmd, bool) {
	switch msg := msg.(type) {
	case composer.CompletedMsg:
		return in.Composer.Update(msg), true
	case composer.UnqueueMsg:
		in.unqueueAt(msg)
	case composer.TooLongMsg:
		return in.ShowToast(format.Size(msg.Bytes) + " is too large for the input · " + in.KeyOf("editor") + " open in your editor"), true
	case editedMsg:
		if msg.err != nil {
			return in.ShowToast(format.ErrorText(msg.err)), true
		}
		in.edited(msg)
	case SaveDraftMsg:
		return in.SaveDraft(), true
	case draftTokensMsg:
		in.setTokens(msg)
	case promptHistoryMsg:
		for _, prompt := range msg {
			in.Composer.Recall.Remember(prompt)
		}
	default:
		return nil, false
	}
	return nil, true
}

// editedMsg brings what the user's editor left of the draft that it was given.
type editedMsg struct {
	given, text string
	err         error
}

// edited replaces the text that the user's editor was given by the text that it left. Text that came before
// it meanwhile stays.
func (in *Input) edited(msg editedMsg) {
	now := in.Composer.Recall.Written()
	switch came, only := strings.CutSuffix(now, msg.given); {
	case now == msg.given:
		in.Composer.SetValue(msg.text)
	case only && msg.given != "":
		in.Composer.SetValue(came + msg.text)
	default:
		in.Composer.SetValue(strings.TrimRight(now, "\n") + "\n\n" + msg.text)
	}
}

// Editor opens the draft in $VISUAL or $EDITOR.
func (in *Input) Editor() tea.Cmd {
	given := in.Composer.Recall.Written()
	cmd, written, err := app.Editor(in.App.Getenv, given)
	if err != nil {
		return in.ShowToast(format.ErrorText(err))
	}
	return renderer.Exec(cmd, func(err error) tea.Msg {
		text, err := written(err)
		return editedMsg{given: given, text: text, err: err}
	})
}

// InsertPrompt writes a prompt into the composer, before the text there. It may be a
// server's: nothing of it runs when it is sent unread.
func (in *Input) InsertPrompt(text string) {
	if rest := in.Composer.Recall.Written(); strings.TrimSpace(rest) != "" {
		text += "\n\n" + rest
	}
	in.Composer.SetPromptText(text)
}

// RestoreMessage makes a message of the user's the draft again, with its attachments.
func (in *Input) RestoreMessage(msg llm.Message) {
	text, attached := app.SplitPrompt(msg)
	if app.IsImagePrompt(msg) {
		in.RestoreCommand(text, attached)
		return
	}
	in.App.Attached = append(in.App.Attached, attached...)
	in.InsertPrompt(text)
}

// RestoreCommand makes a line that did not run the draft again, with what went along. It does not
// mix with what was typed meanwhile: then the history has it.
func (in *Input) RestoreCommand(line string, attached []llm.Part) {
	in.App.Attached = append(in.App.Attached, attached...)
	if in.Composer.Recall.Written() == "" {
		in.Composer.SetValue(line)
	} else {
		in.Composer.Recall.Remember(line)
	}
}

// Detach removes the last attachment.
func (in *Input) Detach() tea.Cmd {
	last := in.App.Attached[len(in.App.Attached)-1]
	in.App.Attached = in.App.Attached[:len(in.App.Attached)-1]
	return tea.Batch(in.Changed(), in.ShowToast("Removed: "+app.Labels([]llm.Part{last})[0]))
}

// Stash sets the draft aside, or restores the last one that was if there is no draft.
func (in *Input) Stash() tea.Cmd {
	if in.Composer.Empty() {
		if !in.Composer.Recall.Unstash() {
			return in.ShowToast("No stashed draft")
		}
		return in.Changed()
	}
	in.SetAside()
	return tea.Batch(in.Changed(), in.ShowToast("Draft stashed · "+in.KeyOf("stash")+" restores it"))
}

// SetAside stashes what is written, and remembers it as a prompt: stashes end with the program. It
// reports whether anything is.
func (in *Input) SetAside() bool {
	text := in.Composer.Recall.Written()
	if !in.Composer.Recall.Stash() {
		return false
	}
	in.App.RememberPrompt(text)
	return true
}

// Clear empties the composer; the draft goes to the history.
func (in *Input) Clear() tea.Cmd {
	in.App.RememberPrompt(in.Composer.Value())
	in.Composer.Clear()
	return tea.Batch(in.Changed(), in.ShowToastWhile("Input cleared · ctrl+_ undo", in.Composer.Empty))
}

// Unqueue moves the queued prompts back into the composer.
func (in *Input) Unqueue() {
	waiting := in.App.Session.Queue.TakeAll()
	for i := range waiting {
		in.RestoreMessage(waiting[len(waiting)-1-i])
	}
}

// QueueToDraft adds the queued prompts to the draft, so that they are stored with it.
func (in *Input) QueueToDraft() {
	if in.App.Session.Queue.Len() > 0 {
		in.Unqueue()
		in.draft.changed = true
	}
}

// unqueueAt takes one queued prompt back, to be edited or to be dropped.
func (in *Input) unqueueAt(msg composer.UnqueueMsg) {
	queued, _ := in.App.Session.Queue.All()
	for i, waiting := range queued {
		text, _ := app.SplitPrompt(waiting)
		if i != msg.Index || text != msg.Text {
			continue
		}
		if !msg.Edit {
			in.App.Session.Queue.TakeAt(i, waiting.Text())
		} else if taken, ok := in.App.Session.Queue.Edit(i, waiting.Text()); ok {
			in.RestoreMessage(taken)
			in.Composer.Queue.MarkRequeued()
		}
	}
}

// ShowQueue shows the queued prompts above the composer.
func (in *Input) ShowQueue() {
	var texts []string
	queued, steer := in.App.Session.Queue.All()
	for _, waiting := range queued {
		text, _ := app.SplitPrompt(waiting)
		texts = append(texts, text)
	}
	in.Composer.Queue.SetQueue(texts, steer)
}

// complete finds the completions of the word after an @.
func (in *Input) complete(kind rune, word string) ([]composer.Candidate, bool) {
	const most = 50
	if kind != '@' {
		return nil, false
	}
	found, more := CompletePath(PathOutside, in.App.Directory, word), false
	if !files.MayLeaveWorkspace(word) {
		found, more = in.files.Find(word, most)
	}
	out := make([]composer.Candidate, len(found))
	for i, f := range found {
		out[i] = composer.Candidate{Text: f.Path, Directory: f.IsDirectory}
	}
	for _, r := range in.App.ResourcesNamed(word) {
		out = append(out, composer.Candidate{Text: r.Server + ":" + r.URI, Detail: r.Name})
	}
	return out, more
}

// PathOutside is a path that may lead out of the workspace; the files in that are found otherwise.
const PathOutside app.Path = "outside"

// CompletePath returns paths that begin with typed; relative ones begin in folder. It may be
// called from any goroutine.
func CompletePath(kind app.Path, folder, typed string) []files.File {
	const most = 200
	switch bare := !files.MayLeaveWorkspace(typed); {
	case kind == PathOutside && bare:
		return nil
	case kind == app.PathSiblingDirectory && bare && !strings.ContainsAny(typed, `/\`):
		typed = "../" + typed
	}
	return files.Complete(typed, files.Completion{Directory: folder, DirectoriesOnly: kind == app.PathDirectory || kind == app.PathSiblingDirectory, Limit: most})
}

// Paths returns files of the workspace, those that lie near first, as far as they are known
// by now. The first call begins to look for them.
func (in *Input) Paths() (paths []string) {
	const most = 2000
	found, _ := in.files.Find("", most)
	for _, f := range found {
		if !f.IsDirectory {
			paths = append(paths, f.Path)
		}
	}
	return paths
}

// Layout sets the size, of room rows at most, and returns the rows that the input takes.
func (in *Input) Layout(width, room int) int {
	in.Composer.SetSize(max(width-SignWidth, 0), max(room/2, 1))
	return in.Height(width)
}

// Height returns how many rows the input takes.
func (in *Input) Height(width int) int { return len(in.chips(width)) + in.Composer.Height() }

// Cursor returns the terminal cursor's place in the view; not ok if it is hidden.
func (in *Input) Cursor(width int) (x, y int, ok bool) {
	x, y, ok = in.Composer.Cursor()
	return x + SignWidth, y + len(in.chips(width)), ok
}

// Click handles a click at a cell of the view.
func (in *Input) Click(x, y int) tea.Cmd { return in.Composer.Click(x-SignWidth, y) }

// View returns the attachments and the composer after its sign.
func (in *Input) View(width int) string {
	rows, at := in.chips(width), in.Composer.PromptRow()
	for i, row := range strings.Split(in.Composer.View(), "\n") {
		lead := strings.Repeat(" ", SignWidth)
		if i == at {
			lead = in.sign.Render(in.Theme, &in.Theme.Accent, sign)
		}
		rows = append(rows, lead+row)
	}
	return strings.Join(rows, "\n")
}

// chips returns the line above the composer that names what goes with the prompt.
func (in *Input) chips(width int) []string {
	var names []string
	if len(in.App.Compared) > 0 {
		names = append(names, "comparing: "+sanitize.Line(strings.Join(app.CandidateLabels(in.App.Compared), " + ")))
	}
	for _, label := range app.Labels(in.App.Attached) {
		names = append(names, "["+sanitize.Line(label)+"]")
	}
	if len(names) == 0 {
		return nil
	}
	return []string{strings.Repeat(" ", SignWidth) + in.Theme.Dim.Render(ansi.Truncate(strings.Join(names, " "), max(width-SignWidth, 1), "…"))}
}
