package session

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"parley/providers/llm"
)

// A turnBudget holds the requests of a turn to the limits on spending: it asks the user where one is
// reached or where a request may cost much, keeps room for what is sent, and counts what is used. What
// outlasts the turn is in the spending of the session.
type turnBudget struct {
	turn          *turn
	reservations  []Reservation  // of what the running requests may cost
	notReached    map[Limit]bool // that were not reached when requests went out
	costConfirmed bool           // the user was asked about a high cost since the last prompt
}

// begin has what is used from now on count for the limits of a turn, and the next high cost be asked
// about.
func (b *turnBudget) begin() {
	t := b.turn
	b.costConfirmed = false
	set(&t.mu, &t.session.Spending.turnUsage, llm.Usage{})
	maps.DeleteFunc(t.session.Spending.notified, func(l Limit, _ time.Time) bool { return l.Period == PerTurn })
}

// add adds u to the totals of the session and of the turn. The session is
// locked.
func (b *turnBudget) add(u llm.Usage) {
	t := b.turn
	s := t.session
	u = u.Clamped()
	s.Spending.hasUnpriced = s.Spending.hasUnpriced || !u.Priced
	s.Spending.total = s.Spending.total.Add(u)
	t.done.Usage = t.done.Usage.Add(u)
	s.Spending.turnUsage = s.Spending.turnUsage.Add(u)
}

// addSideRequest enters a request of the turn that is no message in the ledger and the totals, unless
// it failed before anything was used.
func (b *turnBudget) addSideRequest(purpose, model string, u llm.Usage, err error) {
	t := b.turn
	t.spend(purpose, model, u, err)
	b.endReservations()
	if err == nil || u != (llm.Usage{}) {
		t.mu.Lock()
		b.add(u)
		t.mu.Unlock()
	}
}

// checkExpense checks limits for one request to each of models (none: the current model), asks
// the user about a high cost, and reserves the estimate.
func (b *turnBudget) checkExpense(models ...llm.Endpoint) error {
	models = b.orCurrent(models)
	if err := b.checkLimits(models); err != nil {
		return err
	}
	if err := b.confirmExpense(models); err != nil {
		return err
	}
	return b.reserve(models) // last: room is kept for a request, not while the user is asked
}

// check checks limits, and reserves what one request to each of models may use, those that
// answer where there are none.
func (b *turnBudget) check(models ...llm.Endpoint) error {
	models = b.orCurrent(models)
	if err := b.checkLimits(models); err != nil {
		return err
	}
	return b.reserve(models)
}

// checkLimits asks what to do once a limit of models that are to be asked is reached, or the input of
// the requests alone would exceed it. Where nobody can be asked, or the user stops, it returns a *BudgetError. Once it tells that a price is
// unknown, and that a limit is about to be reached.
func (b *turnBudget) checkLimits(models []llm.Endpoint) error {
	t := b.turn
	b.warnUnpriced("", models...)
	for _, l := range t.session.Spending.limitsOf(models...) {
		used, err := t.session.Spending.Used(l)
		if err != nil {
			return fmt.Errorf("what was spent cannot be read: %w", err)
		}
		if reached := l.Check(used, b.leastCost(l, models)); reached != nil {
			if err := b.askToRaise(reached); err != nil {
				return err
			}
			return b.checkLimits(models)
		}
		if b.notReached == nil {
			b.notReached = map[Limit]bool{}
		}
		b.notReached[l] = true
		b.noticeShare(l, used)
	}
	return nil
}

// noticeShare reports once in a period that most of a limit is used. All of it is what the next
// request reports.
func (b *turnBudget) noticeShare(l Limit, used llm.Usage) {
	t, share := b.turn, l.Share(used)
	s := t.session
	if share < noticeShare || share >= 1 || !s.Spending.notified[l].Before(l.Period.Began(t.now())) {
		return
	}
	if s.Spending.notified == nil {
		s.Spending.notified = map[Limit]time.Time{}
	}
	s.Spending.notified[l] = t.now()
	t.notice("%d%% of the %s used", int(100*share), l)
}

// booked ends all reservations once the answer of model is in the ledger, and reports limits that are
// almost used.
func (b *turnBudget) booked(model llm.Endpoint) {
	b.endReservations()
	for _, l := range b.turn.session.Spending.limitsOf(model) {
		if used, err := b.turn.session.Spending.Used(l); err == nil { // else the next request fails
			b.noticeShare(l, used)
		}
	}
}

// leastShare is how much of an estimate of tokens there is at least.
const leastShare = 0.75

// leastCost returns what the input of the next requests to those of models that l is about costs at
// least, in US dollars: what may be in a cache is, and images are as good as nothing. Unknown prices
// are 0, and that of an image is.
func (b *turnBudget) leastCost(l Limit, models []llm.Endpoint) (cost float64) {
	t := b.turn
	s := t.session
	if l.Cost == 0 {
		return 0
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, m := range models {
		if !l.AppliesTo(m.Name) || m.Cost == nil || m.Origin == llm.OriginImages {
			continue
		}
		u := s.estimateInput(m)
		for _, n := range s.tokens.countBranch(s.request.mode).media {
			u.Input -= n * imageTokens
		}
		u.Input = int(leastShare * float64(max(u.Input, 0)))
		u.CacheRead = min(u.Input, max(u.CacheRead, s.tokens.overhead(s.emptyRequest(m))))
		if least, priced := m.Cost(u); priced && least > 0 {
			cost += least
		}
	}
	return cost
}

// noticeReached tells of limits that requests of the turn went below, and reached: the next one is
// not sent. What the turn asked about, or ended with, was told.
func (b *turnBudget) noticeReached() {
	t := b.turn
	var ended *BudgetError
	errors.As(t.done.Err, &ended)
	for _, l := range t.session.Spending.Limits() {
		if !b.notReached[l] || ended != nil && ended.Limit == l {
			continue
		}
		if used, err := t.session.Spending.Used(l); err == nil && l.Share(used) >= 1 {
			t.notice("%v", &BudgetError{Limit: l, Used: used})
		}
	}
}

// askToRaise asks what to do about a limit that is reached.
func (b *turnBudget) askToRaise(e *BudgetError) error {
	t := b.turn
	delete(b.notReached, e.Limit)
	from := max(e.Limit.Cost, e.Used.Cost+e.Next) // a raise leaves room
	choices := []Choice{{Action: RaiseLimit, Amount: from + 1}, {Action: RaiseLimit, Amount: from * 1.5}, {Action: StopTurn}}
	byTokens := e.Next == 0 && e.Limit.Share(e.Used) > e.Limit.Share(llm.Usage{Cost: e.Used.Cost})
	if byTokens {
		from := float64(max(e.Limit.Tokens, e.Used.Input+e.Used.Output))
		choices = []Choice{{Action: RaiseLimit, Amount: from * 1.5}, {Action: RaiseLimit, Amount: from * 2}, {Action: StopTurn}}
	}
	choice := t.questions.ask(Question{About: Overspend{*e}, Choices: choices, Default: len(choices) - 1})
	if choice.Action != RaiseLimit {
		return t.cause(e)
	}
	raised := e.Limit
	if byTokens {
		raised.Tokens = int(choice.Amount)
	} else {
		raised.Cost = choice.Amount
	}
	t.session.Spending.SetLimit(raised)
	return nil
}

// confirmExpense asks the user, once in a turn, before requests to models that are estimated to cost
// much; where nobody can be asked it emits a notice. Models without a known price do not count.
func (b *turnBudget) confirmExpense(models []llm.Endpoint) error {
	t := b.turn
	s := t.session
	if s.Spending.confirmCost <= 0 || b.costConfirmed {
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
	if about.Cost <= s.Spending.confirmCost {
		return nil
	}
	about.Model, b.costConfirmed = strings.Join(names, ", "), true
	if !s.attended {
		t.notice("%v", about)
		return nil
	}
	if t.questions.ask(Question{About: about, Choices: []Choice{{Action: SendAnyway}, {Action: StopTurn}}}).Action == StopTurn {
		return t.cause(errStoppedAtQuestion)
	}
	return nil
}

// reserve keeps room in the limits that other processes share for a request to each of models,
// in their order, until endReservations.
func (b *turnBudget) reserve(models []llm.Endpoint) error {
	t := b.turn
	b.endReservations()
	if t.log == nil {
		return nil
	}
	reserved := map[Limit]bool{} // what is reserved here is no reason not to ask the others
	for _, m := range models {
		shared := slices.DeleteFunc(t.session.Spending.limitsOf(m), func(l Limit) bool { return !l.Shared() })
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
			b.endReservations()
			if err := b.askToRaise(full); err != nil {
				return err
			}
			return b.check(models...)
		}
		b.noticeUnreserved(err) // what cannot be written now is counted all the same once it can be
		b.reservations = append(b.reservations, room)
	}
	return nil
}

// noticeUnreserved tells once in a session why limits are not held among processes; nil: they are.
func (b *turnBudget) noticeUnreserved(err error) {
	t := b.turn
	if err != nil && !t.session.Spending.noticedUnreserved {
		t.session.Spending.noticedUnreserved = true
		t.notice("what other windows spend at the same time is not held to the limits of a day and a month now: %v", err)
	}
}

// endReservations ends rooms that the turn reserved, or all: the answers are in the ledger.
func (b *turnBudget) endReservations(rooms ...Reservation) {
	if rooms == nil {
		rooms = b.reservations
	}
	b.noticeUnreserved(b.turn.session.Spending.endReservations(rooms...))
	b.reservations = slices.DeleteFunc(slices.Clone(b.reservations), func(r Reservation) bool { return slices.Contains(rooms, r) })
}

// warnUnpriced tells once, where there is a limit, that it does not count a response, and where
// its model, "" if it cannot have one there, can be given a price: as soon as the response is
// there, for there may be no other.
func (b *turnBudget) warnUnpriced(model string, asked ...llm.Endpoint) {
	t := b.turn
	s := t.session
	if !get(&t.mu, &s.Spending.hasUnpriced) || s.Spending.warnedUnpriced || len(s.Spending.limitsOf(b.orCurrent(asked)...)) == 0 {
		return
	}
	s.Spending.warnedUnpriced = true
	const what = "has no known price: the spending limit does not count it"
	text := "An answer " + what
	if provider, id, ok := strings.Cut(model, "/"); ok {
		text = fmt.Sprintf("%s: an answer %s; give it one under [providers.%s.model.%q.price]", model, what, provider, id)
	}
	t.notice("%s", text)
}

// orCurrent returns models, or the one that answers if there are none.
func (b *turnBudget) orCurrent(models []llm.Endpoint) []llm.Endpoint {
	if len(models) == 0 {
		models = []llm.Endpoint{b.turn.session.current()}
	}
	return models
}
