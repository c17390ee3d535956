package embed

import (
	"errors"
	"sync"
	"time"

	"parley/providers/llm"
	"parley/providers/llm/works"
	"parley/session"
	"parley/ui/cli/ability"
	"parley/ui/format"
)

// An embedBudget applies the limits of days and months to a run and saves its usage. It reserves the cost of each
// request. Once a limit is reached no further request is sent, and those in progress are completed.
type embedBudget struct {
	run            *run
	spent          *ability.Spending
	unsavedPrinted bool // a failed save of usage was reported

	mu         sync.Mutex
	pending    []session.Reservation // of the requests in progress, oldest first
	unreserved error                 // why the limits are not shared with other programs
	over       bool                  // the run has ended
}

func newEmbedBudget(r *run) *embedBudget {
	return &embedBudget{run: r, spent: &ability.Spending{Purpose: session.PurposeEmbed, Model: r.model.Name}}
}

// reserve reserves the cost of a request of so many tokens, and returns an error if a limit is reached.
func (b *embedBudget) reserve(tokens int) error {
	estimate := llm.Usage{Input: tokens}
	estimate.Cost, estimate.Priced = b.run.model.Facts.Price.Cost(estimate)
	room, err := session.Reserve(b.run.library.Ledger(), time.Now(), b.run.Limits, b.run.model.Name, estimate)
	if errors.Is(err, session.ErrBudget) {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.over { // further requests no longer matter
		return room.Settle() // on failure it ends with the process
	}
	b.pending, b.unreserved = append(b.pending, room), err
	return nil
}

// spend counts a request and saves its usage.
func (b *embedBudget) spend(bill works.Bill) {
	b.spent.Add(bill)
	b.save()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.settle(min(1, len(b.pending)))
}

// save writes unsaved usage. After an error it tries again later.
func (b *embedBudget) save() {
	if err := b.spent.Save(b.run.library); err != nil && !b.unsavedPrinted {
		b.unsavedPrinted = true
		b.run.Note("usage is not saved: " + format.ErrorText(err))
	}
}

// settle ends the n oldest reservations. It reports once that limits are not shared with other programs. b.mu is held.
func (b *embedBudget) settle(n int) {
	failed := b.unreserved
	for _, room := range b.pending[:n] {
		failed = errors.Join(failed, room.Settle())
	}
	b.pending = b.pending[n:]
	if failed != nil && !b.unsavedPrinted {
		b.unsavedPrinted = true
		b.run.Note(ability.UnreservedText(failed))
	}
}

// end saves the remaining usage and ends all reservations.
func (b *embedBudget) end() {
	b.save()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.over = true
	b.settle(len(b.pending))
}
