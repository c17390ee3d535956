package overlay

import (
	tea "charm.land/bubbletea/v2"

	"parley/session"
	"parley/ui/tui/composer"
	"parley/ui/tui/dialog"
)

// approvals holds the calls waiting for approval, oldest first.
type approvals struct {
	waiting []session.ApprovalRequest

	open *dialog.Approval // asks about the first call, even while another dialog covers it; nil before it is asked

	asked *dialog.ModelQuestion // question of the model, even while another dialog covers it; nil for none

	question *turnQuestion // about the turn itself; nil for none
	under    dialog.Dialog // dialog covered by the question until it is answered; nil for none
}

// A turnQuestion is a question about the turn, with its texts.
type turnQuestion struct {
	session.Question
	text    string
	answers []string
	dialog  *dialog.Confirmation // nil if it was not asked yet
}

// Decide asks a question of the turn, once no dialog is open.
func (o *Overlay) Decide(q session.Question, text string, answers []string) {
	o.approvals.question = &turnQuestion{Question: q, text: text, answers: answers}
}

// CloseQuestion removes a question that was answered or has ended.
func (o *Overlay) CloseQuestion(q session.Question) {
	if mine := o.approvals.question; mine != nil && mine.ID == q.ID {
		o.forgetQuestion()
	}
}

// A waiting dialog shows a turn that may need an answer to continue.
type waiting interface{ AwaitsTurn() }

// forgetQuestion withdraws the question about the turn.
func (o *Overlay) forgetQuestion() {
	if q := o.approvals.question; q != nil && q.dialog != nil && o.Dialog == dialog.Dialog(q.dialog) {
		o.Close()
	}
	o.approvals.question = nil
	if under := o.approvals.under; under != nil {
		o.Dialog, o.approvals.under = under, nil
	}
}

// askQuestion opens the question about the turn. If another dialog covered the question,
// it is asked again from the start.
func (o *Overlay) askQuestion() tea.Cmd {
	q := o.approvals.question
	selected := q.Default
	if o.IsWriting() || q.Wait == 0 && q.Choices[selected].Action != session.StopTurn {
		selected = -1 // enter pressed by habit must not send anything
	}
	q.dialog = dialog.Decide(q.text, q.answers, selected, o.Theme)
	q.dialog.Gate.Now, q.dialog.OnTouched, q.dialog.Answered = o.Now, q.StopCountdown, o.decide
	if !o.IsWriting() { // a user who is writing may not have seen it
		q.MarkShown()
	}
	return o.Open(q.dialog)
}

// decide passes on the user's answer to the question about the turn.
func (o *Overlay) decide(answer int) tea.Cmd {
	q := o.approvals.question
	o.forgetQuestion()
	q.Reply(answer)
	return nil
}

// Approve asks about a call after the calls before it.
func (o *Overlay) Approve(r session.ApprovalRequest) {
	o.approvals.waiting = append(o.approvals.waiting, r)
}

// AskUser adds a question of the model, in place of an earlier one. AskNext opens it.
func (o *Overlay) AskUser(d *dialog.ModelQuestion) {
	answered := d.Answered
	d.Gate.Now = o.Now
	d.Answered = func(chosen []int, text string) tea.Cmd {
		o.DropModelQuestion(d)
		return answered(chosen, text)
	}
	o.approvals.asked = d
}

// DropModelQuestion drops a question of the model, if it is not answered.
func (o *Overlay) DropModelQuestion(d *dialog.ModelQuestion) {
	if d == nil || o.approvals.asked != d {
		return
	}
	if o.approvals.asked = nil; o.Dialog == dialog.Dialog(d) {
		o.Close()
	}
}

// IsWaiting reports whether a call or the turn waits for the user's answer.
func (o *Overlay) IsWaiting() bool {
	return len(o.approvals.waiting) > 0 || o.approvals.question != nil || o.approvals.asked != nil
}

// DropPending removes all approvals and questions of a turn that has ended.
func (o *Overlay) DropPending() {
	o.approvals.waiting, o.approvals.open = nil, nil
	o.forgetQuestion()
	o.DropModelQuestion(o.approvals.asked)
	if _, ok := o.Dialog.(*dialog.Approval); ok {
		o.Close()
	}
}

// AskNext opens the approval of the next waiting call, unless a dialog is open, which
// is answered first. An approval that another dialog replaced returns unchanged.
func (o *Overlay) AskNext() tea.Cmd {
	if q := o.approvals.question; q != nil && q.dialog == nil && o.Dialog != nil {
		if _, ok := o.Dialog.(waiting); ok { // for the same turn
			o.approvals.under, o.Dialog = o.Dialog, nil
		}
	}
	if o.Dialog != nil || !o.IsWaiting() {
		return nil
	}
	if o.approvals.question != nil {
		return o.askQuestion()
	}
	if left := o.approvals.open; left != nil {
		left.Uncover(o.Now())
		return o.Open(left)
	}
	if asked := o.approvals.asked; asked != nil {
		asked.Uncover(o.Now(), o.IsWriting())
		return o.Open(asked)
	}
	first := o.approvals.waiting[0]
	approval := dialog.Approve(first.Action, o.Now(), o.Theme)
	approval.Gate.Now, approval.Workspace, approval.Editor, approval.Policy = o.Now, o.workspace, composer.New(o.Theme), first.Policy
	approval.Reply, approval.Answered = first.Reply, func() {
		o.Close()
		o.approvals.waiting, o.approvals.open = o.approvals.waiting[1:], nil
	}
	if o.IsWriting() {
		approval.SelectNone()
	}
	o.approvals.open = approval
	return o.Open(approval)
}
