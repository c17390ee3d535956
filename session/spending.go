package session

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"parley/providers/llm"
	"parley/session/settings"
)

// What the user lets a session spend, under the session's name: front ends know the session only.
type (
	Limit       = settings.Limit
	Period      = settings.Period
	Budget      = settings.Budget // the [budget] section of the configuration
	BudgetError = settings.BudgetError
)

// The periods of limits.
const (
	PerTurn    = settings.PerTurn
	PerSession = settings.PerSession
	PerDay     = settings.PerDay
	PerMonth   = settings.PerMonth
)

// Periods lists them from the shortest.
var Periods = settings.Periods

// DefaultBudget returns what holds where the configuration says nothing.
func DefaultBudget() Budget { return settings.DefaultBudget() }

// noticeShare is the share of a limit at which it is told that it will be reached.
const noticeShare = 0.8

// An Overspend is what a Question is about when a limit is reached.
type Overspend struct{ BudgetError }

// A spending holds what a session has used so far, and what it may use.
type spending struct {
	conversation *conversation // whose mutex guards the limits, the totals, hasUnpriced and unsettled; the rest is the running turn's

	limits                      []Limit
	confirmCost                 float64             // US dollars of one request above which it is asked about; 0: never
	notified                    map[Limit]time.Time // limits of which noticeShare was told, and when
	total, last, turnUsage      llm.Usage
	hasUnpriced, warnedUnpriced bool          // the price of a response is unknown; the user was told
	noticedUnreserved           bool          // that nothing could be reserved
	unsettled                   []Reservation // that could not be ended
}

// Usage returns what the session used so far, and what its last response used,
// whose Input and Output together are what fills the model's window.
func (p *spending) Usage() (total, last llm.Usage) {
	p.conversation.mu.Lock()
	defer p.conversation.mu.Unlock()
	return p.total, p.last
}

// Limits returns the limits that hold for the session.
func (p *spending) Limits() []Limit {
	return locked(&p.conversation.mu, func() []Limit { return slices.Clone(p.limits) })
}

// SetLimit replaces the limit on the same, for this session; one without an amount ends.
func (p *spending) SetLimit(l Limit) {
	p.conversation.mu.Lock()
	defer p.conversation.mu.Unlock()
	p.limits = slices.DeleteFunc(slices.Clone(p.limits), l.Same)
	if l.Cost > 0 || l.Tokens > 0 {
		p.limits = append(p.limits, l)
		slices.SortStableFunc(p.limits, func(a, b Limit) int {
			return slices.Index(Periods, a.Period) - slices.Index(Periods, b.Period)
		})
	}
}

// Used returns what was used of a limit so far, in the running turn if it is about one.
func (p *spending) Used(l Limit) (llm.Usage, error) {
	switch l.Period {
	case PerTurn:
		return locked(&p.conversation.mu, func() llm.Usage { return p.turnUsage }), nil
	case PerSession:
		total, _ := p.Usage()
		return total, nil
	}
	if p.conversation.log == nil {
		return llm.Usage{}, nil
	}
	sum, err := p.conversation.log.Ledger().Spent(l.Period.Began(p.conversation.now()), time.Time{}, l.Provider)
	return sum.Usage, err
}

// addUsage adds to the totals of the session and of the turn. The session is
// locked.
func (t *turn) addUsage(u llm.Usage) {
	u = u.Clamped()
	t.hasUnpriced = t.hasUnpriced || !u.Priced
	t.total = t.total.Add(u)
	t.done.Usage = t.done.Usage.Add(u)
	t.turnUsage = t.turnUsage.Add(u)
}

// recordSideUsage enters a request of the turn that is no message in the ledger and the totals, unless
// it failed before anything was used.
func recordSideUsage(t *turn, purpose, model string, u llm.Usage, err error) {
	t.spend(purpose, model, u, err)
	endReservationsOf(t)
	if err == nil || u != (llm.Usage{}) {
		t.mu.Lock()
		t.addUsage(u)
		t.mu.Unlock()
	}
}

// checkBudget checks limits, and reserves what one request to each of models may use, those that
// answer where there are none.
func checkBudget(t *turn, models ...llm.Endpoint) error {
	models = orCurrent(t, models)
	if err := checkLimits(t, models); err != nil {
		return err
	}
	return reserve(t, models)
}

// checkLimits asks what to do once a limit of models that are to be asked is reached. Where nobody
// can be asked, or the user stops, it returns a *BudgetError. Once it tells that a price is
// unknown, and that a limit is about to be reached.
func checkLimits(t *turn, models []llm.Endpoint) error {
	warnUnpriced(t, "", models...)
	for _, l := range t.limitsOf(models...) {
		used, err := t.Used(l)
		if err != nil {
			return fmt.Errorf("what was spent cannot be read: %w", err)
		}
		share := l.Share(used)
		if share >= 1 {
			if err := overspent(t, &BudgetError{Limit: l, Used: used}); err != nil {
				return err
			}
			return checkLimits(t, models)
		}
		if t.notReached == nil {
			t.notReached = map[Limit]bool{}
		}
		t.notReached[l] = true
		if share >= noticeShare && t.notified[l].Before(l.Period.Began(t.now())) {
			if t.notified == nil {
				t.notified = map[Limit]time.Time{}
			}
			t.notified[l] = t.now()
			t.emit(llm.Notice{Text: fmt.Sprintf("%d%% of the %s used", int(100*share), l)})
		}
	}
	return nil
}

// noticeReached tells of limits that requests of the turn went below, and reached: the next one is
// not sent. What the turn asked about, or ended with, was told.
func noticeReached(t *turn) {
	var ended *BudgetError
	errors.As(t.done.Err, &ended)
	for _, l := range t.Limits() {
		if !t.notReached[l] || ended != nil && ended.Limit == l {
			continue
		}
		if used, err := t.Used(l); err == nil && l.Share(used) >= 1 {
			t.emit(llm.Notice{Text: (&BudgetError{Limit: l, Used: used}).Error()})
		}
	}
}

// orCurrent returns models, or the one that answers if there are none.
func orCurrent(t *turn, models []llm.Endpoint) []llm.Endpoint {
	if len(models) == 0 {
		models = []llm.Endpoint{t.current()}
	}
	return models
}

// limitsOf returns the limits that hold for one of models or more.
func (p *spending) limitsOf(models ...llm.Endpoint) []Limit {
	return slices.DeleteFunc(p.Limits(), func(l Limit) bool {
		return !slices.ContainsFunc(models, func(m llm.Endpoint) bool { return l.AppliesTo(m.Name) })
	})
}

// overBudget returns a *BudgetError once a limit of models is reached.
func (p *spending) overBudget(models ...llm.Endpoint) error {
	for _, l := range p.limitsOf(models...) {
		if used, err := p.Used(l); err == nil && l.Share(used) >= 1 {
			return &BudgetError{Limit: l, Used: used}
		}
	}
	return nil
}

// overspent asks what to do about a limit that is reached.
func overspent(t *turn, e *BudgetError) error {
	delete(t.notReached, e.Limit)
	from := max(e.Limit.Cost, e.Used.Cost) // a raise leaves room
	choices := []Choice{{Action: RaiseLimit, Amount: from + 1}, {Action: RaiseLimit, Amount: from * 1.5}, {Action: StopTurn}}
	byTokens := e.Limit.Share(e.Used) > e.Limit.Share(llm.Usage{Cost: e.Used.Cost})
	if byTokens {
		from := float64(max(e.Limit.Tokens, e.Used.Input+e.Used.Output))
		choices = []Choice{{Action: RaiseLimit, Amount: from * 1.5}, {Action: RaiseLimit, Amount: from * 2}, {Action: StopTurn}}
	}
	choice := decide(t, Question{About: Overspend{*e}, Choices: choices, Default: len(choices) - 1})
	if choice.Action != RaiseLimit {
		return t.cause(e)
	}
	raised := e.Limit
	if byTokens {
		raised.Tokens = int(choice.Amount)
	} else {
		raised.Cost = choice.Amount
	}
	t.SetLimit(raised)
	return nil
}

// reserve keeps room in the limits that other processes share for a request to each of models,
// in their order, until endReservationsOf.
func reserve(t *turn, models []llm.Endpoint) error {
	endReservationsOf(t)
	if t.log == nil {
		return nil
	}
	reserved := map[Limit]bool{} // what is reserved here is no reason not to ask the others
	for _, m := range models {
		shared := slices.DeleteFunc(t.limitsOf(m), func(l Limit) bool { return !l.Shared() })
		limits := slices.DeleteFunc(slices.Clone(shared), func(l Limit) bool { return reserved[l] })
		var room Reservation
		var err error
		switch {
		case len(limits) > 0:
			room, err = Reserve(t.log.Ledger(), t.now(), limits, m.Name, estimateRequest(t, m))
		case len(shared) > 0:
			room, err = t.log.Ledger().Reserve(m.Name, estimateRequest(t, m))
		}
		for _, l := range limits {
			reserved[l] = true
		}
		var full *BudgetError
		if errors.As(err, &full) { // other processes spend at this moment
			endReservationsOf(t)
			if err := overspent(t, full); err != nil {
				return err
			}
			return checkBudget(t, models...)
		}
		noticeUnreserved(t, err) // what cannot be written now is counted all the same once it can be
		t.reservations = append(t.reservations, room)
	}
	return nil
}

// noticeUnreserved tells once in a session why limits are not held among processes; nil: they are.
func noticeUnreserved(t *turn, err error) {
	if err != nil && !t.noticedUnreserved {
		t.noticedUnreserved = true
		t.emit(llm.Notice{Text: fmt.Sprintf("what other windows spend at the same time is not held to the limits of a day and a month now: %v", err)})
	}
}

// Reserve keeps room for what a request to a model is estimated to use in those of limits that
// all processes share. A *BudgetError reports one that is reached, another error that nothing
// can be written: then only what is spent already is held to the limits.
func Reserve(ledger Ledger, now time.Time, limits []Limit, model string, estimate llm.Usage) (Reservation, error) {
	var caps []Cap
	var of []Limit
	for _, l := range limits {
		if l.Shared() && l.AppliesTo(model) {
			of, caps = append(of, l), append(caps, Cap{Since: l.Period.Began(now), Provider: l.Provider, Cost: l.Cost, Tokens: l.Tokens})
		}
	}
	if len(caps) == 0 {
		return Reservation{}, nil
	}
	room, err := ledger.Reserve(model, estimate, caps...)
	var full *CapError
	if errors.As(err, &full) {
		return room, &BudgetError{Limit: of[max(slices.Index(caps, full.Cap), 0)], Used: full.Spent.Usage.Add(full.Reserved)}
	}
	for i := 0; err != nil && i < len(caps); i++ {
		if sum, unread := ledger.Spent(caps[i].Since, time.Time{}, caps[i].Provider); unread == nil && of[i].Share(sum.Usage) >= 1 {
			return room, &BudgetError{Limit: of[i], Used: sum.Usage}
		}
	}
	return room, err
}

// endReservationsOf ends rooms that the turn reserved, or all: the answers are in the ledger.
func endReservationsOf(t *turn, rooms ...Reservation) {
	if rooms == nil {
		rooms = t.reservations
	}
	noticeUnreserved(t, t.endReservations(rooms...))
	t.reservations = slices.DeleteFunc(slices.Clone(t.reservations), func(r Reservation) bool { return slices.Contains(rooms, r) })
}

// endReservations ends rooms, and those that could not be ended before. It keeps what cannot be
// ended now: it counts until the process ends, or a later call ends it.
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

// An Expense is what a Question is about when requests are estimated to cost much.
type Expense struct {
	Model  string  // or several
	Tokens int     // of its input; 0 of an image
	Cost   float64 // US dollars
}

// String says what the request may cost.
func (e Expense) String() string {
	if e.Tokens == 0 {
		return fmt.Sprintf("about %s for the next request to %s", settings.Dollars(e.Cost), e.Model)
	}
	return fmt.Sprintf("about %s for the next request: %d tokens to %s", settings.Dollars(e.Cost), e.Tokens, e.Model)
}

// confirmExpense asks the user, once in a turn, before requests to models that are estimated to cost
// much; where nobody can be asked it emits a notice. Models without a known price do not count.
func confirmExpense(t *turn, models []llm.Endpoint) error {
	if t.confirmCost <= 0 || t.asked.costConfirmed {
		return nil
	}
	var about Expense
	var names []string
	for _, m := range models {
		estimate := estimateRequest(t, m)
		if !estimate.Priced || !(estimate.Cost > 0) {
			continue
		}
		about.Tokens, about.Cost = about.Tokens+estimate.Input, about.Cost+estimate.Cost
		if !slices.Contains(names, m.Name) {
			names = append(names, m.Name)
		}
	}
	if about.Cost <= t.confirmCost {
		return nil
	}
	about.Model, t.asked.costConfirmed = strings.Join(names, ", "), true
	if !t.attended {
		t.emit(llm.Notice{Text: about.String()})
		return nil
	}
	if decide(t, Question{About: about, Choices: []Choice{{Action: SendAnyway}, {Action: StopTurn}}}).Action == StopTurn {
		return t.cause(errStoppedAtQuestion)
	}
	return nil
}
