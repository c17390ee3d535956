package tui

import (
	"context"
	"errors"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"parley/providers/llm"
	"parley/session"
	"parley/ui/app"
	"parley/ui/app/classify"
	"parley/ui/app/wording"
	"parley/ui/tui/composer"
	"parley/ui/tui/dialog"
)

// takeSubmitted handles the prompts submitted in the composer.
func takeSubmitted(m *Model) tea.Cmd {
	var cmds []tea.Cmd
	for {
		sent := m.input.Composer.TakeSubmitted()
		if len(sent) == 0 {
			if m.pending.refused != "" && m.pending.refused != m.input.Composer.Value() {
				m.pending.refused = ""
			}
			return tea.Batch(cmds...)
		}
		for _, s := range sent {
			if m.pending.preparing > 0 {
				m.pending.submitted = append(m.pending.submitted, s)
				cmds = append(cmds, m.ShowToastWhile("Sent as soon as that is done", func() bool { return len(m.pending.submitted) > 0 }))
				continue
			}
			cmds = append(cmds, m.submit(s))
		}
	}
}

// submit sends a prompt, runs it if it is a command, or queues it while the
// model is busy.
func (m *Model) submit(msg composer.Submission) tea.Cmd {
	text := msg.Text
	if strings.TrimSpace(text) == "" {
		return nil
	}
	if msg.Shell {
		forget := m.input.Forget()
		return tea.Batch(m.chat.Shell(text, m.App.DraftKey(), forget), m.input.Changed()) // attachments stay
	}
	if !msg.Plain {
		if strings.HasPrefix(text, app.ImageCommand) {
			if err := m.branches.commitEdit(); err != nil {
				m.input.InsertPrompt(text)
				return m.ShowToast(wording.ShellError(err))
			}
		}
		switch l := m.keymap.classify(m.App, text); {
		case l.Kind == classify.Command, l.Kind == classify.PromptFile:
			return m.command(text)
		case l.Kind == classify.Mistyped && text != m.pending.refused:
			return m.refuse(text, l)
		}
	}
	var cmd tea.Cmd
	rewrites := m.branches.rewrites()
	if m.App.Mentions().In(msg.Typed) {
		cmd = m.expand(msg)
	} else {
		cmd = m.dispatch(msg, nil)
	}
	if none := m.App.Mentions().Missing(msg.Typed); none != "" && !rewrites {
		return tea.Batch(cmd, m.ShowToast("No file "+none+": sent as text"))
	}
	return cmd
}

// refuse makes a mistyped line the draft again, and shows the problem. Submitted again, it is a prompt.
func (m *Model) refuse(text string, l classify.Line) tea.Cmd {
	why, again := l.Hint, ""
	if why == "" {
		why, again = l.Problem, dialog.AgainSends
	}
	if l.Unlike {
		why += " " + m.keymap.keyOf("palette") + " lists them"
	}
	if m.input.RestoreCommand(text, nil); m.input.Composer.Value() != text { // the user has typed other text meanwhile
		return m.ShowToast(why)
	}
	m.pending.refused = text
	return m.ShowToastWhile(why+again, func() bool { return m.input.Composer.Value() == text })
}

// An expansion is a prompt whose files are being read, with its conversation.
type expansion struct {
	composer.Submission
	session *session.Session
}

// expandedMsg delivers the files that a prompt mentions.
type expandedMsg struct {
	of    *expansion
	parts []llm.Part
	notes []string
	err   error
}

// expand reads the files that a prompt mentions. Prompts submitted meanwhile wait.
func (m *Model) expand(typed composer.Submission) tea.Cmd {
	o, of := m.App.Options, &expansion{typed, m.App.Session}
	m.pending.preparing++
	m.pending.expanding = append(m.pending.expanding, of)
	return func() tea.Msg {
		msg := expandedMsg{of: of}
		msg.parts, msg.notes, msg.err = o.Mentions().Expand(context.Background(), typed.Typed)
		return msg
	}
}

// expanded sends a prompt with the files it mentions.
func (m *Model) expanded(msg expandedMsg) tea.Cmd {
	i := slices.Index(m.pending.expanding, msg.of)
	if i < 0 {
		return nil // it is the draft by now
	}
	m.pending.expanding = slices.Delete(m.pending.expanding, i, i+1)
	if msg.err == nil && msg.of.session != m.App.Session {
		msg.err = errors.New("another conversation was opened: not sent")
	}
	if msg.err != nil {
		again := proceed(m, true)
		m.input.InsertPrompt(msg.of.Text)
		return tea.Batch(again, m.ShowToast(wording.ShellError(msg.err)))
	}
	for _, n := range slices.Concat(msg.notes, m.App.VisionNotes(msg.parts)) {
		m.chat.Note(n)
	}
	sent := m.dispatch(msg.of.Submission, msg.parts)
	return tea.Batch(sent, proceed(m, false))
}

// dispatch sends a prompt. While the model is busy, the prompt goes with the next tool
// results, or waits for the end of the answer.
func (m *Model) dispatch(s composer.Submission, mentioned []llm.Part) tea.Cmd {
	text := s.Text
	if m.branches.rewrite(text) {
		return m.ShowToast("New branch created · " + m.keymap.keyOf("tree") + " shows both")
	}
	var ask func(parts []llm.Part) tea.Cmd
	var err error
	if m.chat.Turn == nil {
		ask, err = m.openCompared()
	}
	if err == nil {
		err = m.branches.commitEdit()
	}
	if err != nil {
		m.input.InsertPrompt(text)
		return m.ShowToast(wording.ShellError(err))
	}
	parts := append(append(app.Unmentioned(m.App.Attached, mentioned), mentioned...), llm.Part{Kind: llm.Text, Text: text})
	m.App.Attached = nil
	sent := m.input.Sent(text)
	if m.chat.Turn != nil { // queued messages show above the input and move nothing
		return tea.Batch(sent, m.ShowToastWhile(app.QueueOrSteer(m.App, s.Later, s.Requeued, parts)+" · ↑ to edit", func() bool { return m.App.Session.Queue.Len() > 0 }))
	}
	m.chat.Transcript.Bottom()
	m.HideToast()
	if ask != nil {
		return tea.Batch(sent, ask(parts))
	}
	return tea.Batch(sent, m.chat.SendPrompt(parts...))
}

// queue queues text, or the draft if text is "", to follow the answer; with no answer coming, it is
// sent at once.
func queue(m *Model, text string) tea.Cmd {
	if text == "" && m.input.Composer.Empty() {
		return m.ShowToast("Nothing to queue: write a message first")
	}
	if text == "" {
		m.input.Composer.SendLater()
		return nil
	}
	return m.submit(composer.Submission{Text: text, Typed: text, Later: true})
}
