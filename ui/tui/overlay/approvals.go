package overlay

import (
	"fmt"

	tea "charm.land/bubbletea/v2"

	"parley/session"
	"parley/ui/tui/composer"
	"parley/ui/tui/dialog"
)

// approvals are the calls that wait for the user's word, the first of them first.
type approvals struct {
	waiting []session.ApprovalRequest
	asking  string // id of the question about the first; calls may share theirs
	asked   int    // counts questions

	open *dialog.Approval // asks about the first, also while another dialog lies over it; nil: it was not asked about
}

// Approve asks about a call as soon as those before it are answered.
func (o *Overlay) Approve(r session.ApprovalRequest) {
	o.approvals.waiting = append(o.approvals.waiting, r)
}

// Waiting reports whether a call waits for the user's word.
func (o *Overlay) Waiting() bool { return len(o.approvals.waiting) > 0 }

// Forget takes back all that waits: the turn it belongs to ends.
func (o *Overlay) Forget() {
	o.approvals.waiting, o.approvals.open = nil, nil
	if _, ok := o.Dialog.(*dialog.Approval); ok {
		o.Close()
	}
}

// AskNext opens the approval of the next call that waits for one, unless a dialog is
// open: what is open first is answered first. An approval that another dialog took the
// place of comes back as it was left.
func (o *Overlay) AskNext() tea.Cmd {
	if o.Dialog != nil || !o.Waiting() {
		return nil
	}
	if left := o.approvals.open; left != nil {
		left.Uncover(o.Now())
		return o.Open(left)
	}
	o.approvals.asked++
	o.approvals.asking = fmt.Sprint("approval ", o.approvals.asked)
	approval := dialog.Approve(o.approvals.asking, o.approvals.waiting[0].Action, o.Now(), o.Theme)
	approval.Now, approval.Workspace, approval.Editor = o.Now, o.workspace, composer.New(o.Theme)
	if o.Writing() {
		approval.SelectNone()
	}
	o.approvals.open = approval
	return o.Open(approval)
}

// reply passes on what a user said to a call.
func (o *Overlay) reply(msg dialog.AnsweredMsg) {
	if !o.Waiting() || o.approvals.asking != msg.ID {
		return // of a turn that is over
	}
	if d, ok := o.Dialog.(*dialog.Approval); ok && d == o.approvals.open {
		o.Close() // another dialog that came in between stays
	}
	first := o.approvals.waiting[0]
	o.approvals.waiting, o.approvals.open = o.approvals.waiting[1:], nil
	first.Reply(msg.Answer)
}
