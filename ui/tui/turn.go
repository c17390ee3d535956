package tui

import (
	"slices"

	tea "charm.land/bubbletea/v2"

	"parley/providers/llm"
	"parley/session"
	"parley/ui/app"
	"parley/ui/app/blocks"
	"parley/ui/app/wording"
	"parley/ui/tui/dialog"
)

// event shows an event of the turn, and performs its further effects.
func (m *Model) event(e session.Event) tea.Cmd {
	if d, ok := e.(session.Done); ok {
		return m.done(d)
	}
	resumes := m.chat.Turn != nil && m.chat.Turn.AwaitsReset()
	m.chat.Apply(e, nil)
	switch e := e.(type) {
	case session.Step:
		if resumes {
			return m.Notify("Continuing: " + m.App.Session.Title())
		}
	case session.Unsent:
		if e.Edits > 0 || e.Ends && e.Command == "" { // they go before the prompts queued after them; see done
			m.pending.givenBack = append(m.pending.givenBack, e)
			return nil
		}
		restoreUnsent(m, e)
		return m.input.Changed()
	case session.ApprovalRequest:
		m.overlay.Approve(e)
		return m.Notify("Approval needed: " + e.Action.Title)
	case session.Question:
		text, answers := wording.Question(e)
		m.overlay.Decide(e, text, answers)
		return m.Notify(text)
	case session.QuestionAnswered:
		m.overlay.CloseQuestion(e.Question)
	case session.CandidateEvent, session.Verdict:
		cmd, _ := m.parts.offer(e)
		return cmd
	}
	return nil
}

// A turnDialog shows the turn in place of the conversation.
type turnDialog interface {
	dialog.Dialog
	Finish() (next func() tea.Cmd) // ends the turn; next continues the conversation, nil if the user has to choose
	ShowsErrors() bool             // reports whether it has shown the turn's error
}

// done ends the turn on the screen.
func (m *Model) done(d session.Done) (cmd tea.Cmd) {
	shown, shows := m.overlay.Dialog.(turnDialog)
	if shows {
		if next := shown.Finish(); next != nil {
			defer func() { cmd = tea.Batch(cmd, next()) }()
		}
	}
	m.chat.Apply(d, func(b blocks.Change) bool { return b.Kind == blocks.EventBlock && shows && shown.ShowsErrors() })
	m.chat.Turn = nil
	m.overlay.DropPending()
	if d.Err != nil { // queued prompts return to the composer for changes
		m.input.Unqueue()
	}
	if d.Unsent {
		s := m.App.Session
		m.chat.OnDraftStored(func() { s.Branch.StoreGivenBack() })
	}
	given := restoreGivenBack(m)
	if given != nil {
		defer func() { cmd = tea.Batch(given, cmd) }()
	}
	again := m.compacting
	m.compacting = false
	switch {
	case d.Unsent:
		m.chat.Replay()
		return m.ShowToast("Not sent: your message is in the input again")
	case d.Fork > 0:
		return m.perform(app.ContinueInFork(m.App, d.Fork))
	case again && d.Err == nil:
		return m.chat.SendPrompt()
	case !again && llm.FaultOf(d.Err) == llm.ContextOverflow && m.overlay.Dialog == nil:
		return m.perform(app.SummaryOffer(m.App, func() app.Effect {
			m.compacting = m.chat.Turn == nil
			return app.Play(m.App.Session.Compact)
		}))
	case m.App.Session.Queue.Len() > 0: // queued after the turn last checked
		return m.chat.Next()
	case d.Err == nil:
		return tea.Batch(m.chat.GenerateTitle(), m.perform(m.App.Models.Learn()), m.Notify("Answered: "+m.App.Session.Title()))
	}
	return m.Notify("Failed: " + wording.Error(d.Err))
}

// restoreUnsent moves an unsent message to the draft, or resumes the edit that it was.
func restoreUnsent(m *Model, e session.Unsent) {
	switch {
	case e.Edits > 0:
		m.branches.editAgain(e)
	case e.Command != "":
		m.input.RestoreCommand(e.Command, e.Message.Parts)
	default:
		m.input.RestoreMessage(e.Message)
	}
}

// restoreGivenBack moves unsent messages to the draft, in order, and stores it at once. It returns nil if there
// are none.
func restoreGivenBack(m *Model) tea.Cmd {
	given := m.pending.givenBack
	if len(given) == 0 {
		return nil
	}
	for _, e := range slices.Backward(given) {
		restoreUnsent(m, e)
	}
	m.pending.givenBack = nil
	return tea.Batch(m.input.Changed(), m.input.SaveDraft())
}
