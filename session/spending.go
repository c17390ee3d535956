package session

import (
	"errors"
	"fmt"
	"slices"
	"sort"
	"sync"
	"time"

	"parley/providers/llm"
	"parley/session/settings"
	"parley/session/store"
)

// A Limit is a limit of spending, under the session's name: front ends know the session only.
type Limit = settings.Limit

// noticeShare is the share of a limit at which a notice is emitted.
const noticeShare = 0.8

// An Overspend is the subject of a Question when a limit is reached.
type Overspend struct{ settings.BudgetError }

// A spending holds the usage of a session and its limits.
type spending struct {
	conversation *conversation // its mutex guards the limits, the totals, hasUnpriced and unsettled; the running turn owns the rest

	limits                      []Limit
	confirmCost                 float64             // US dollars; a more expensive request needs confirmation; 0: never
	notified                    map[Limit]time.Time // when the noticeShare of a limit was last reported
	total, last, turnUsage      llm.Usage
	hasUnpriced, warnedUnpriced bool          // a response had no known price; the user was told
	noticedUnreserved           bool          // the user was told that reservations fail
	unsettled                   []Reservation // reservations that could not be ended

	beginning sync.Mutex          // held while a side request is checked against the limits and counted
	running   map[*llm.Usage]bool // estimates of the side requests that run; guarded by the conversation's mutex
}

// Usage returns the session's usage so far, and that of its last response. The
// last Input plus Output is the fill of the model's window.
func (p *spending) Usage() (total, last llm.Usage) {
	p.conversation.mu.Lock()
	defer p.conversation.mu.Unlock()
	return p.total, p.last
}

// Limits returns the limits of the session.
func (p *spending) Limits() []Limit {
	return locked(&p.conversation.mu, func() []Limit { return slices.Clone(p.limits) })
}

// SetLimit replaces the session's limit of the same kind; one without an amount removes it.
func (p *spending) SetLimit(l Limit) {
	p.conversation.mu.Lock()
	defer p.conversation.mu.Unlock()
	p.limits = slices.DeleteFunc(slices.Clone(p.limits), l.Same)
	if l.Cost > 0 || l.Tokens > 0 {
		p.limits = append(p.limits, l)
		limits := p.limits
		sort.SliceStable(limits, func(i, j int) bool {
			return slices.Index(settings.Periods, limits[i].Period) < slices.Index(settings.Periods, limits[j].Period)
		})
	}
}

// Used returns the usage counted for a limit so far; for a limit per turn, that of the running turn.
func (p *spending) Used(l Limit) (llm.Usage, error) {
	switch l.Period {
	case settings.PerTurn:
		return locked(&p.conversation.mu, func() llm.Usage { return p.turnUsage }), nil
	case settings.PerSession:
		total, _ := p.Usage()
		return total, nil
	}
	if p.conversation.log == nil {
		return llm.Usage{}, nil
	}
	sum, err := p.conversation.log.Ledger().Spent(l.Period.Began(p.conversation.now()), time.Time{}, l.Provider)
	return sum.Usage, err
}

// limitsOf returns the limits that apply to any of models.
func (p *spending) limitsOf(models ...llm.Endpoint) []Limit {
	return slices.DeleteFunc(p.Limits(), func(l Limit) bool {
		return !slices.ContainsFunc(models, func(m llm.Endpoint) bool { return l.AppliesTo(m.Name) })
	})
}

// overBudget returns a *settings.BudgetError if a limit of models is reached, or if an estimated usage of next
// would exceed it. The usage of a turn that has ended does not count for limits per turn.
func (p *spending) overBudget(next llm.Usage, models ...llm.Endpoint) error {
	idle := get(&p.conversation.mu, &p.conversation.turnSeq) == 0
	for _, l := range p.limitsOf(models...) {
		used, err := p.Used(l)
		if idle && l.Period == settings.PerTurn {
			used = llm.Usage{}
		}
		if reached := p.checkWithSide(l, used, next.Cost*leastShare); err == nil && reached != nil {
			return reached
		}
	}
	return nil
}

// checkWithSide is l.Check with the estimates of the side requests that run; in shared limits, those are reserved.
func (p *spending) checkWithSide(l Limit, used llm.Usage, next float64) *settings.BudgetError {
	p.conversation.mu.Lock()
	defer p.conversation.mu.Unlock()
	for u := range p.running {
		if !l.Shared() {
			used = used.Add(*u)
		}
	}
	return l.Check(used, next)
}

// beginSide counts a side request to model with its estimated input, until the returned function is called with its
// usage. It returns a *settings.BudgetError if a limit leaves no room for it.
func (p *spending) beginSide(input llm.Usage, model llm.Endpoint) (end func(llm.Usage), err error) {
	p.beginning.Lock()
	defer p.beginning.Unlock()
	if err := p.overBudget(input, model); err != nil {
		return nil, err
	}
	estimate := estimatedUsage(model, input, input.Input, usualOutput)
	p.conversation.mu.Lock()
	defer p.conversation.mu.Unlock()
	if p.running == nil {
		p.running = map[*llm.Usage]bool{}
	}
	p.running[&estimate] = true
	return func(used llm.Usage) {
		p.conversation.mu.Lock()
		defer p.conversation.mu.Unlock()
		delete(p.running, &estimate)
		if used == (llm.Usage{}) {
			return
		}
		p.hasUnpriced = p.hasUnpriced || used.Output > 0 && !used.Priced
		p.total = p.total.Add(used)
		if p.conversation.turnSeq > 0 {
			p.turnUsage = p.turnUsage.Add(used)
		}
	}, nil
}

// Reserve reserves the estimated usage of a request in those of limits that all processes
// share. A *settings.BudgetError reports a limit that is reached. Any other error means that nothing
// can be written; then the limits apply only to past usage.
func Reserve(ledger store.Ledger, now time.Time, limits []Limit, model string, estimate llm.Usage) (Reservation, error) {
	var caps []store.Cap
	var of []Limit
	for _, l := range limits {
		if l.Shared() && l.AppliesTo(model) {
			of, caps = append(of, l), append(caps, store.Cap{Since: l.Period.Began(now), Provider: l.Provider, Cost: l.Cost, Tokens: l.Tokens})
		}
	}
	if len(caps) == 0 {
		return Reservation{}, nil
	}
	room, err := ledger.Reserve(model, estimate, caps...)
	var full *store.CapError
	if errors.As(err, &full) {
		return room, &settings.BudgetError{Limit: of[max(slices.Index(caps, full.Cap), 0)], Used: full.Spent.Usage.Add(full.Reserved)}
	}
	for i := 0; err != nil && i < len(caps); i++ {
		if sum, unread := ledger.Spent(caps[i].Since, time.Time{}, caps[i].Provider); unread == nil && of[i].Share(sum.Usage) >= 1 {
			return room, &settings.BudgetError{Limit: of[i], Used: sum.Usage}
		}
	}
	return room, err
}

// endReservations ends rooms, and earlier ones that could not be ended. Reservations that still
// cannot be ended count until the process ends or a later call ends them.
func (p *spending) endReservations(rooms ...Reservation) (err error) {
	p.conversation.mu.Lock()
	rooms, p.unsettled = append(p.unsettled, rooms...), nil
	p.conversation.mu.Unlock()
	var left []Reservation
	for _, r := range rooms {
		if failed := r.Settle(); failed != nil {
			left, err = append(left, r), failed
		}
	}
	p.conversation.mu.Lock()
	p.unsettled = append(p.unsettled, left...)
	p.conversation.mu.Unlock()
	return err
}

// An Expense is the subject of a Question about requests with a high estimated cost.
type Expense struct {
	Model  string  // or several
	Tokens int     // of the input; 0 for an image
	Cost   float64 // US dollars
}

// String describes the estimated cost.
func (e Expense) String() string {
	if e.Tokens == 0 {
		return fmt.Sprintf("about %s for the next request to %s", settings.Dollars(e.Cost), e.Model)
	}
	return fmt.Sprintf("about %s for the next request: %d tokens to %s", settings.Dollars(e.Cost), e.Tokens, e.Model)
}
