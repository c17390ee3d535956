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

// An embedBudget holds a run to the limits of days and months, and saves what it uses. Room is
// kept for a piece of the texts, about what a request has, before any of it is sent: once a
// limit is reached the texts end, and what is under way by then is written.
type embedBudget struct {
	run            *run
	spent          *ability.Spending
	limits         []session.Limit // of days and months at this provider; nil: none
	unsavedPrinted bool            // that usage is not saved

	mu         sync.Mutex
	pending    []pendingTexts // oldest first
	reached    error          // a limit, for which texts were left out
	unreserved error          // why the limits are not held among programs
	over       bool           // the run is
}

// pendingTexts are texts that are not embedded yet, with the room that is kept for them.
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

// until yields texts until a limit is reached, in pieces of up to most texts.
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

// reserve keeps room for n texts of so many tokens, and reports whether there was any.
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
	if b.over { // what is read no longer matters
		_ = room.Settle() // or it ends with the process
		return false
	}
	b.pending, b.unreserved = append(b.pending, pendingTexts{n, room}), err
	return true
}

// saveEvery is how many requests are collected before they are saved.
const saveEvery = 50

// spend counts a request that embedded n texts, and saves it at once if there are limits.
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

// save writes what is not saved yet. What cannot be written is tried again later.
func (b *embedBudget) save() {
	if err := b.spent.Save(b.run.library); err != nil && !b.unsavedPrinted {
		b.unsavedPrinted = true
		b.run.Note("usage is not saved: " + format.ErrorText(err))
	}
}

// settle ends reservations. That limits are not held is told once.
func (b *embedBudget) settle(rooms []session.Reservation, unreserved error) {
	for _, room := range rooms {
		unreserved = errors.Join(unreserved, room.Settle())
	}
	if unreserved != nil && !b.unsavedPrinted {
		b.unsavedPrinted = true
		b.run.Note(ability.UnreservedText(unreserved))
	}
}

// end saves what is left, ends what is still reserved, and returns the limit for which texts
// were left out.
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
