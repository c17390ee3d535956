package tui

import (
	"slices"
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"

	"parley/providers/llm"
	"parley/session"
	"parley/ui/app"
	"parley/ui/app/wording"
	"parley/ui/tui/chat"
	"parley/ui/tui/common"
	"parley/ui/tui/composer"
	"parley/ui/tui/dialog"
	"parley/ui/tui/input"
	"parley/ui/tui/panel"
	"parley/ui/tui/transcript"
)

// branches switches between branches of the conversation, and starts new ones.
type branches struct {
	*panel.Deps
	chat    *chat.Chat
	input   *input.Input
	editing int // Seq of the message being edited; 0 for none

	text     string     // text of that message as put into the composer
	attached []llm.Part // attachments of that message
	aside    *aside     // draft set aside for the edit; nil for none
}

// An aside is the draft, with its attachments, that was set aside for an edit.
type aside struct {
	attached []llm.Part
	stashed  bool // the draft's text is the composer's last stash
}

// jump lists the turns of the branch, the latest first, and scrolls to the chosen one.
func (b *branches) jump() tea.Cmd {
	var rows []dialog.Item
	for _, i := range app.Turns(b.App) {
		rows = append(rows, dialog.Item{Title: i.Title, Detail: i.Detail, Value: i.Value})
	}
	return b.Choose(dialog.Pick("Turns", rows, b.Theme), func(c dialog.Choice) tea.Cmd {
		seq, _ := strconv.Atoi(c.Value)
		b.Show(seq)
		return nil
	})
}

// Update handles the user's requests for a message, and reports whether msg is one.
func (b *branches) Update(msg tea.Msg) (tea.Cmd, bool) {
	switch msg := msg.(type) {
	case transcript.RegenerateMsg:
		if err := b.App.Session.Branch.Regenerate(msg.Seq); err != nil {
			return b.Perform(app.Fail(err)), true
		}
		return b.Perform(app.Then{app.SessionOpened{}, b.App.AnswerLast()}), true
	case common.OpenMsg:
		if msg.Panel == "jump" {
			return b.jump(), true
		}
		if msg.Panel == string(app.PanelBranches) {
			return b.tree(), true
		}
	case transcript.WireMsg:
		return b.Perform(app.PanelQuery{Panel: app.PanelWire, Query: strconv.Itoa(msg.User)}), true
	case transcript.SourcesMsg:
		return b.Perform(b.App.ChooseSource(msg.Seq)), true
	case transcript.EditMsg:
		if n, err := b.App.Session.At(msg.Seq); err == nil && n.Role == llm.RoleAssistant {
			return b.edit(msg.Seq), true
		}
		return b.edit(msg.User), true
	case transcript.ForkMsg:
		b.chat.Transcript.Browse(false)
		return b.fork(msg.Seq), true
	}
	return nil, false
}

// tree shows the branches of the conversation.
func (b *branches) tree() tea.Cmd {
	known := b.App.Session.Branches()
	rows := make([]dialog.Branch, len(known))
	for i, k := range known {
		rows[i] = dialog.Branch{
			Seq: k.Node.Seq, Depth: k.Depth, Label: app.Author(k.Node.Message), Text: app.MessageLine(k.Node.Message), Length: k.Path,
			Model: k.Node.Model, Age: b.App.Age(k.Node.At), Current: k.Active, Head: k.Active && k.Tip == b.App.Session.Head(),
		}
	}
	return b.Open(dialog.Tree(rows, b.switchTo, b.fork, b.Theme))
}

// fork opens a copy of the conversation up to a message.
func (b *branches) fork(seq int) tea.Cmd {
	b.Close()
	return b.Perform(b.App.ForkSession(b.App.Session.ID(), seq))
}

// switchTo continues at the end of the branch that contains a message.
func (b *branches) switchTo(seq int) tea.Cmd {
	b.Close()
	if err := b.App.Session.Branch.Switch(seq); err != nil {
		return b.ShowToast(wording.ShellError(err))
	}
	b.chat.Replay()
	b.chat.Transcript.ShowMessage(seq)
	return b.Perform(b.App.Files.Restore())
}

// edit puts a message of the user into the composer, to be sent again as a
// branch. The conversation does not change before that.
func (b *branches) edit(seq int) tea.Cmd {
	if b.chat.Turn != nil {
		return b.ShowToast("Stop the running turn first")
	}
	n, err := b.App.Session.At(seq)
	if err != nil || n.Summary || n.Role != llm.RoleUser && (n.Role != llm.RoleAssistant || len(n.Calls()) > 0) {
		return b.ShowToast("Only your messages and answers without tool calls can be edited")
	}
	b.chat.Transcript.Browse(false)
	written := b.input.Composer
	if b.editing > 0 { // another message was being edited
		b.rememberEdit()
	} else {
		b.setAside()
	}
	text, attached := app.DraftFrom(n.Message)
	b.editing, b.attached, b.App.Attached = seq, attached, slices.Clone(attached)
	if app.IsImagePrompt(n.Message) {
		written.SetValue(text)
	} else {
		written.SetPromptText(text) // perhaps text of a model
	}
	b.text = written.Value()
	b.chat.Transcript.ShowMessage(seq)
	return nil
}

// setAside sets the draft and its attachments aside for an edit.
func (b *branches) setAside() {
	b.aside = &aside{attached: b.App.Attached, stashed: b.input.SetAside()}
	b.App.Attached, b.input.Aside = nil, b.aside.attached
}

// editAgain resumes the edit of a message that was not sent. The conversation is unchanged.
func (b *branches) editAgain(e session.Unsent) {
	b.setAside()
	if e.Command != "" {
		b.input.RestoreCommand(e.Command, e.Message.Parts)
	} else {
		b.input.RestoreMessage(e.Message)
	}
	b.editing, b.text, b.attached = e.Edits, "", slices.Clone(b.App.Attached)
	b.chat.Replay()
}

// leaveEdit restores the state before edit.
func (b *branches) leaveEdit() {
	if b.editing == 0 {
		return
	}
	b.rememberEdit()
	b.editing = 0
	b.App.Attached = app.Unmentioned(b.App.Attached, b.attached) // keep attachments added during the edit
	b.input.Composer.Reset()
	b.restoreAside()
}

// endEdit leaves an edit because the program ends. The edited text becomes the draft, unless
// another draft was set aside for it.
func (b *branches) endEdit() {
	if a := b.aside; a != nil && !a.stashed && len(a.attached) == 0 && b.input.Composer.Recall.Written() != b.text {
		b.rememberEdit()
		b.editing, b.aside = 0, nil
		return
	}
	b.leaveEdit()
}

// rememberEdit adds the edited text to the history.
func (b *branches) rememberEdit() {
	if text := b.input.Composer.Recall.Written(); text != b.text && strings.TrimSpace(text) != "" {
		b.App.Drafts().RememberPrompt(text)
		b.input.Composer.Recall.CommitHistory(text)
	}
}

// restoreAside restores the draft that was set aside for an edit, once the edit was sent or left.
func (b *branches) restoreAside() {
	if b.aside == nil || b.editing > 0 {
		return
	}
	left := *b.aside
	b.aside, b.input.Aside = nil, nil
	b.App.Attached = slices.Concat(left.attached, b.App.Attached)
	if left.stashed && b.input.Composer.Empty() {
		b.input.Composer.Recall.Unstash()
	}
	b.Defer(b.input.Changed())
}

// rewrites reports whether the draft is an edit of an answer.
func (b *branches) rewrites() bool {
	n, err := b.App.Session.At(b.editing)
	return b.editing > 0 && err == nil && n.Role == llm.RoleAssistant
}

// rewrite replaces the answer being edited with text, and reports whether an
// answer is being edited. It sends nothing.
func (b *branches) rewrite(text string) bool {
	if !b.rewrites() {
		return false
	}
	n, _ := b.App.Session.At(b.editing)
	b.editing = 0
	if was := n.Text(); composer.EscapeCommand(was) != was {
		text = strings.TrimPrefix(text, " ") // the space kept it from running as a command
	}
	if err := b.App.Session.Branch.Rewrite(n.Seq, text); err != nil {
		b.chat.Note(wording.ShellError(err))
		return true
	}
	b.chat.Replay()
	return true
}

// commitEdit makes the next sent message an edit of the message being edited, if any.
func (b *branches) commitEdit() error {
	if b.editing == 0 {
		return nil
	}
	if err := b.App.Session.Branch.Edit(b.editing); err != nil {
		return err // the edit stays open
	}
	b.editing = 0
	b.chat.Replay()
	return nil
}
