package embed

import (
	"errors"
	"iter"
	"sync"
	"time"

	"parley/providers/catalog"
	"parley/providers/llm"
	"parley/session"
	"parley/ui/cli/ability"
	"parley/ui/cli/cmd/embed/embedding"
	"parley/ui/format"
)

// An embedBudget applies the limits of days and months to a run and saves its usage. It reserves the cost of some
// texts, about one request, before sending any of them. Once a limit is reached no further texts are read, and requests
// in progress are completed.
type embedBudget struct {
	run            *run
	spent          *ability.Spending
	limits         []session.Limit // limits per day and month for this provider; nil for none
	unsavedPrinted bool            // a failed save of usage was reported

	mu         sync.Mutex
	pending    []pendingTexts // oldest first
	reached    error          // the reached limit, if texts were left out
	unreserved error          // why the limits are not shared with other programs
	over       bool           // the run has ended
}

// pendingTexts are texts not embedded yet, with their reservation.
type pendingTexts struct {
	n    int
	room session.Reservation
}

func newEmbedBudget(r *run) *embedBudget {
	b := &embedBudget{run: r, spent: &ability.Spending{Purpose: session.PurposeEmbed, Model: r.model.Name}}
	for _, l := range r.Limits {
		if l.Shared() && l.AppliesTo(r.model.Name) {
			b.limits = append(b.limits, l)
		}
	}
	return b
}

// until yields texts until a limit is reached. It reserves for up to most texts at a time.
func (b *embedBudget) until(texts iter.Seq2[embedding.Input, error], most int) iter.Seq2[embedding.Input, error] {
	if b.limits == nil {
		return texts
	}
	some, tokens := b.run.model.Service.Batch()
	most = min(most, max(some, 1))
	return func(yield func(embedding.Input, error) bool) {
		var piece []embedding.Input
		size := 0
		send := func() bool {
			now := piece
			if len(now) > 0 && !b.reserve(len(now), size) {
				return false
			}
			piece, size = nil, 0
			for _, in := range now {
				if !yield(in, nil) {
					return false
				}
			}
			return true
		}
		for in, err := range texts {
			if err != nil {
				if send() {
					yield(in, err)
				}
				return
			}
			n := catalog.Estimate(in.Text)
			if (len(piece) >= most || tokens > 0 && size+n > tokens) && !send() {
				return
			}
			piece, size = append(piece, in), size+n
		}
		send()
	}
}

// reserve reserves the cost of n texts of so many tokens, and returns false if a limit is reached.
func (b *embedBudget) reserve(n, tokens int) bool {
	estimate := llm.Usage{Input: tokens}
	estimate.Cost, estimate.Priced = b.run.model.Facts.Price.Cost(estimate)
	room, err := session.Reserve(b.run.library.Ledger(), time.Now(), b.limits, b.run.model.Name, estimate)
	b.mu.Lock()
	defer b.mu.Unlock()
	if errors.Is(err, session.ErrBudget) {
		b.reached = err
		return false
	}
	if b.over { // further texts no longer matter
		_ = room.Settle() // on failure it ends with the process
		return false
	}
	b.pending, b.unreserved = append(b.pending, pendingTexts{n, room}), err
	return true
}

// saveEvery is the number of requests between saves without limits.
const saveEvery = 50

// spend counts a request that embedded n texts. It saves the usage at once if there are limits.
func (b *embedBudget) spend(n int, bill llm.Bill) {
	b.spent.Add(bill)
	if b.limits != nil || len(b.spent.Unsaved)%saveEvery == 0 {
		b.save()
	}
	b.mu.Lock()
	unreserved := b.unreserved
	var done []session.Reservation
	for n > 0 && len(b.pending) > 0 {
		oldest := &b.pending[0]
		some := min(n, oldest.n)
		oldest.n, n = oldest.n-some, n-some
		if oldest.n == 0 {
			done, b.pending = append(done, oldest.room), b.pending[1:]
		}
	}
	b.mu.Unlock()
	b.settle(done, unreserved)
}

// save writes unsaved usage. After an error it tries again later.
func (b *embedBudget) save() {
	if err := b.spent.Save(b.run.library); err != nil && !b.unsavedPrinted {
		b.unsavedPrinted = true
		b.run.Note("usage is not saved: " + format.ErrorText(err))
	}
}

// settle ends reservations. It reports once that limits are not shared with other programs.
func (b *embedBudget) settle(rooms []session.Reservation, unreserved error) {
	for _, room := range rooms {
		unreserved = errors.Join(unreserved, room.Settle())
	}
	if unreserved != nil && !b.unsavedPrinted {
		b.unsavedPrinted = true
		b.run.Note(ability.UnreservedText(unreserved))
	}
}

// end saves the remaining usage, ends all reservations, and returns the limit for which texts were left out.
func (b *embedBudget) end() error {
	b.save()
	b.mu.Lock()
	defer b.mu.Unlock()
	var rooms []session.Reservation
	for _, h := range b.pending {
		rooms = append(rooms, h.room)
	}
	b.pending, b.over = nil, true
	b.settle(rooms, b.unreserved)
	return b.reached
}
