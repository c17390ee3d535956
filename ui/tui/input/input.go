// Package input is the user's input: the composer, attachments, the draft that
// outlives the program, the queue of prompts, and the user's own editor.
package input

import (
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"parley/providers/llm"
	"parley/tools/sanitize"
	"parley/ui/app"
	"parley/ui/edit"
	"parley/ui/format"
	"parley/ui/theme"
	"parley/ui/tui/band"
	"parley/ui/tui/common"
	"parley/ui/tui/composer"
	"parley/ui/tui/files"
	"parley/ui/tui/renderer"
)

// BarWidth is the width of the bar before the composer and the free cell after it.
const BarWidth = band.Width

// An Input is the composer with everything around it: attachments, draft and queue.
type Input struct {
	*common.Screen
	App      *app.App
	Composer *composer.Model
	Ended    func() func() // returns a function that removes the records of commands whose output is attached
	Aside    []llm.Part    // attachments stored with the draft but not sent with the next prompt

	files *files.Index // files of the workspace
	draft draft
	order draftOrder
	first firstRequest
	band  lastBand
}

// New returns an empty input.
func New(s *common.Screen, a *app.App) *Input {
	in := &Input{Screen: s, App: a, Composer: composer.New(s.Theme), files: files.New(a.Directory)}
	in.Composer.SetPlaceholder(askAnything)
	in.Composer.Now = s.Now
	in.Composer.SetModal(s.Config.Vim)
	in.Composer.SetCompleter(in.complete)
	in.files.Go = func(f func()) { go s.Guard(f) }
	return in
}

// Close stops indexing files.
func (in *Input) Close() { in.files.Close() }

// Update handles messages about the input other than keys, and reports whether msg is one.
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
	case app.Reconfigured:
		if ui, ok := msg.UI.(common.Config); ok {
			in.Composer.SetModal(ui.Vim)
		}
		return nil, false
	default:
		return nil, false
	}
	return nil, true
}

// editedMsg delivers the text from the user's editor, and the draft passed to the editor.
type editedMsg struct {
	given, text string
	err         error
}

// edited replaces the draft passed to the user's editor by the edited text. Text inserted before it
// meanwhile stays.
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
	cmd, written, err := edit.Text(in.App.Getenv, given)
	if err != nil {
		return in.ShowToast(format.ErrorText(err))
	}
	return renderer.Exec(cmd, func(err error) tea.Msg {
		text, err := written(err)
		return editedMsg{given: given, text: text, err: err}
	})
}

// InsertPrompt inserts a prompt before the text in the composer. The prompt may come
// from a server, so it never runs as a command.
func (in *Input) InsertPrompt(text string) {
	if rest := in.Composer.Recall.Written(); strings.TrimSpace(rest) != "" {
		text += "\n\n" + rest
	}
	in.Composer.SetPromptText(text)
}

// RestoreMessage makes a message of the user the draft again, with its attachments.
func (in *Input) RestoreMessage(msg llm.Message) {
	text, attached := app.SplitPrompt(msg)
	if app.IsImagePrompt(msg) {
		in.RestoreCommand(text, attached)
		return
	}
	in.App.Attached = append(in.App.Attached, attached...)
	in.InsertPrompt(text)
}

// RestoreCommand makes a line that did not run the draft again, with its attachments. If the user
// has typed other text meanwhile, the line goes to the history instead.
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

// Stash sets the draft aside. If there is no draft, it restores the last one set aside.
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

// SetAside stashes the draft, and also adds it to the history, because stashes end with the
// program. It reports whether there was a draft.
func (in *Input) SetAside() bool {
	text := in.Composer.Recall.Written()
	if !in.Composer.Recall.Stash() {
		return false
	}
	in.App.Drafts().RememberPrompt(text)
	return true
}

// Clear empties the composer; the draft goes to the history.
func (in *Input) Clear() tea.Cmd {
	in.App.Drafts().RememberPrompt(in.Composer.Value())
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

// unqueueAt removes a queued prompt, to edit it or drop it.
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

// complete returns completions of the word after an @.
func (in *Input) complete(kind rune, word string) ([]composer.Candidate, bool) {
	const most = 50
	if kind != '@' {
		return nil, false
	}
	found, more := CompletePath(PathOutside, in.App.Directory, word), false
	if !files.MayLeaveWorkspace(word) {
		in.files.Await()
		found, more = in.files.Find(word, most)
	}
	out := make([]composer.Candidate, len(found))
	for i, f := range found {
		out[i] = composer.Candidate{Text: f.Path, Directory: f.IsDirectory}
	}
	for _, r := range in.App.Mentions().Resources(word) {
		out = append(out, composer.Candidate{Text: r.Server + ":" + r.URI, Detail: r.Name})
	}
	return out, more
}

// PathOutside is a path that may be outside of the workspace, whose files are completed in another way.
const PathOutside app.Path = "outside"

// CompletePath returns the paths that begin with typed. Relative paths are relative to
// folder. It may be called from any goroutine.
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

// Paths returns the files of the workspace found so far, those nearest to its root first.
// The first call starts the search.
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

const askAnything = "Ask anything"

// A lastBand is the drawn composer: attachments and text on a background of their own, with the lists of
// the composer above it.
type lastBand struct {
	pad  int // empty rows above and below the text
	busy bool
	of   bandFacts
	view string
}

// bandFacts holds the facts on a drawn band.
type bandFacts struct {
	composer, chips string
	width, pad      int
	busy            bool
	theme           *theme.Theme
}

// Layout sets the size and returns the number of rows of the input, at most room. The band gets a third of
// the room; with lists above it, the input gets half.
func (in *Input) Layout(width, room int) int {
	in.band.pad = 0
	if room >= band.AiryFrom {
		in.band.pad = 1
	}
	if busy := in.App.FrontEnd.Busy(); busy != in.band.busy {
		in.band.busy = busy
		in.Composer.SetPlaceholder(map[bool]string{false: askAnything, true: "Queue a message"}[busy])
	}
	around := 2*in.band.pad + in.chipRows(width)
	in.Composer.SetSize(width-band.Width-1, room/2-around)
	in.Composer.SetTextRows(max(room/3-around, 1))
	return in.Height(width)
}

// Height returns the number of rows of the input.
func (in *Input) Height(width int) int {
	return in.chipRows(width) + in.Composer.Height() + 2*in.band.pad
}

// chipRows returns the number of rows for the attachments, with the empty row after them.
func (in *Input) chipRows(width int) int {
	if in.chips(width) == "" {
		return 0
	}
	return 1 + in.band.pad
}

// Cursor returns the position of the terminal's cursor in the view; ok is false if it is hidden.
func (in *Input) Cursor(width int) (x, y int, ok bool) {
	x, y, ok = in.Composer.Cursor()
	if y >= in.Composer.PromptRow() {
		y += in.band.pad + in.chipRows(width)
	}
	return x + band.Width, y, ok
}

// Click handles a click on a cell of the view.
func (in *Input) Click(x, y, width int) tea.Cmd {
	if above := in.Composer.PromptRow(); y >= above {
		if y -= in.band.pad + in.chipRows(width); y < above {
			return nil
		}
	}
	return in.Composer.Click(x-band.Width, y)
}

// View returns the lists of the composer, and the band with the attachments and the text.
func (in *Input) View(width int) string {
	now := bandFacts{in.Composer.View(), in.chips(width), width, in.band.pad, in.band.busy, in.Theme}
	if now != in.band.of {
		in.band.of, in.band.view = now, drawBand(now, in.Composer.PromptRow())
	}
	return in.band.view
}

// drawBand draws the view; above is the number of rows of the composer above the band.
func drawBand(f bandFacts, above int) string {
	rows := strings.Split(f.composer, "\n")
	above = min(above, len(rows))
	pad := make([]string, f.pad)
	own := slices.Clone(pad)
	if f.chips != "" {
		own = append(append(own, f.chips), pad...)
	}
	own = append(append(own, rows[above:]...), pad...)
	lead := f.theme.Accent
	if f.busy {
		lead = f.theme.Voice
	}
	all := make([]string, 0, above+len(own))
	for _, row := range rows[:above] {
		all = append(all, strings.Repeat(" ", band.Width)+row)
	}
	return strings.Join(band.Rows(all, own, f.width, lead, f.theme), "\n")
}

// chips returns the line in the band that lists the attachments; "" if there are none.
func (in *Input) chips(width int) string {
	var names []string
	if len(in.App.Compared.Models) > 0 {
		names = append(names, "comparing: "+sanitize.Line(strings.Join(app.CandidateLabels(in.App.Compared.Models), " + ")))
	}
	for _, label := range app.Labels(in.App.Attached) {
		names = append(names, "["+sanitize.Line(label)+"]")
	}
	if len(names) == 0 {
		return ""
	}
	return in.Theme.Dim.Render(ansi.Truncate(strings.Join(names, " "), max(width-2*band.Width, 1), "…"))
}
