package tui

import (
	"slices"
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"

	"parley/providers/llm"
	"parley/session"
	"parley/ui/app"
	"parley/ui/tui/chat"
	"parley/ui/tui/common"
	"parley/ui/tui/composer"
	"parley/ui/tui/dialog"
	"parley/ui/tui/input"
	"parley/ui/tui/panel"
	"parley/ui/tui/transcript"
)

// branches goes from one branch of the conversation to another, and grows new ones.
type branches struct {
	*panel.Deps
	chat    *chat.Chat
	input   *input.Input
	editing int // message that is being edited; 0: none

	text     string     // that the message came into the composer with
	attached []llm.Part // that came with it
	aside    *aside     // nil: nothing was set aside for the edit
}

// aside is what was written and attached when a message was taken to be edited.
type aside struct {
	attached []llm.Part
	stashed  bool // what was written is the composer's last stash
}

// Update takes what the user wants of a message, and reports whether msg is that.
func (b *branches) Update(msg tea.Msg) (tea.Cmd, bool) {
	switch msg := msg.(type) {
	case transcript.RegenerateMsg:
		return b.Perform(b.App.Regenerate(msg.Seq)), true
	case common.OpenMsg:
		if msg.Panel == string(app.PanelBranches) {
			return b.tree(), true
		}
	case transcript.WireMsg:
		return b.Perform(app.PanelQuery{Panel: app.PanelWire, Query: strconv.Itoa(msg.User)}), true
	case transcript.SourcesMsg:
		return b.Perform(app.ChooseSource(b.App, msg.Seq)), true
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

// tree shows the ways the conversation went.
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

// switchTo goes on at the end of the branch that a message is on.
func (b *branches) switchTo(seq int) tea.Cmd {
	b.Close()
	if err := b.App.Session.Branch().Switch(seq); err != nil {
		return b.ShowToast(app.ShellErrorText(err))
	}
	b.chat.Replay()
	b.chat.Transcript.ShowMessage(seq)
	return b.Perform(b.App.BranchFiles())
}

// edit takes a message of the user's into the composer, to be sent anew as a
// branch. Nothing changes before that.
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
	if b.editing > 0 { // another message was to be edited
		b.rememberEdit()
	} else {
		b.setAside()
	}
	text, attached := app.DraftFrom(n.Message)
	b.editing, b.attached, b.App.Attached = seq, attached, slices.Clone(attached)
	if app.IsImagePrompt(n.Message) {
		written.SetValue(text)
	} else {
		written.SetPromptText(text) // a model's words, perhaps
	}
	b.text = written.Value()
	b.chat.Transcript.ShowMessage(seq)
	return nil
}

// setAside sets aside what is written and attached, for an edit.
func (b *branches) setAside() {
	b.aside = &aside{attached: b.App.Attached, stashed: b.input.SetAside()}
	b.App.Attached, b.input.Aside = nil, b.aside.attached
}

// editAgain has an edit of a message go on that did not enter the conversation, which is as before it.
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

// leaveEdit goes back to how things were before edit.
func (b *branches) leaveEdit() {
	if b.editing == 0 {
		return
	}
	b.rememberEdit()
	b.editing = 0
	b.App.Attached = app.Unmentioned(b.App.Attached, b.attached) // what came meanwhile
	b.input.Composer.Reset()
	b.restoreAside()
}

// endEdit leaves an edit where the program ends. What was made of the message is the draft, unless
// another one was set aside for it.
func (b *branches) endEdit() {
	if a := b.aside; a != nil && !a.stashed && len(a.attached) == 0 && b.input.Composer.Recall.Written() != b.text {
		b.rememberEdit()
		b.editing, b.aside = 0, nil
		return
	}
	b.leaveEdit()
}

// rememberEdit adds what was made of the message to the history.
func (b *branches) rememberEdit() {
	if text := b.input.Composer.Recall.Written(); text != b.text && strings.TrimSpace(text) != "" {
		b.App.RememberPrompt(text)
		b.input.Composer.Recall.CommitHistory(text)
	}
}

// restoreAside brings back what was set aside for an edit that was sent or left.
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

// rewrites reports whether what is written stands in the place of an answer.
func (b *branches) rewrites() bool {
	n, err := b.App.Session.At(b.editing)
	return b.editing > 0 && err == nil && n.Role == llm.RoleAssistant
}

// rewrite puts text in the place of an answer that is being edited, and reports
// whether one is. Nothing is sent.
func (b *branches) rewrite(text string) bool {
	if !b.rewrites() {
		return false
	}
	n, _ := b.App.Session.At(b.editing)
	b.editing = 0
	if was := n.Text(); composer.EscapeCommand(was) != was {
		text = strings.TrimPrefix(text, " ") // which kept it from running
	}
	if err := b.App.Session.Branch().Rewrite(n.Seq, text); err != nil {
		b.chat.Note(app.ShellErrorText(err))
		return true
	}
	b.chat.Replay()
	return true
}

// commitEdit makes what is sent next an edit of the message that was chosen, if one was.
func (b *branches) commitEdit() error {
	if b.editing == 0 {
		return nil
	}
	if err := b.App.Session.Branch().Edit(b.editing); err != nil {
		return err // it is still to be edited
	}
	b.editing = 0
	b.chat.Replay()
	return nil
}
