package session

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"parley/providers/llm"
	"parley/session/settings"
)

// A turnBudget applies the spending limits to the requests of a turn: it asks the user at a limit or
// before a high cost, reserves the cost of requests, and counts usage. State beyond the turn is in the
// session's spending.
type turnBudget struct {
	turn          *turn
	reservations  []Reservation  // for the running requests
	notReached    map[Limit]bool // limits that were not reached when requests were sent
	costConfirmed bool           // the user was asked about a high cost since the last prompt
}

// begin starts counting usage for the limits of a turn, and resets the confirmation of high costs.
func (b *turnBudget) begin() {
	t := b.turn
	b.costConfirmed = false
	set(&t.mu, &t.session.Spending.turnUsage, llm.Usage{})
	maps.DeleteFunc(t.session.Spending.notified, func(l Limit, _ time.Time) bool { return l.Period == settings.PerTurn })
}

// add adds u to the totals of the session and of the turn. The caller locks the
// session.
func (b *turnBudget) add(u llm.Usage) {
	t := b.turn
	s := t.session
	u = u.Clamped()
	s.Spending.hasUnpriced = s.Spending.hasUnpriced || !u.Priced
	s.Spending.total = s.Spending.total.Add(u)
	t.done.Usage = t.done.Usage.Add(u)
	s.Spending.turnUsage = s.Spending.turnUsage.Add(u)
}

// addSideRequest records a request of the turn without a message in the ledger and the totals, unless
// it failed without usage.
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

// checkExpense checks limits for one request to each of models, asks the user about a high cost, and
// reserves the estimate.
func (b *turnBudget) checkExpense(models ...llm.Endpoint) error {
	if err := b.checkLimits(models); err != nil {
		return err
	}
	if err := b.confirmExpense(models); err != nil {
		return err
	}
	return b.reserve(models) // last, so that nothing is reserved while the user is asked
}

// check checks limits, and reserves the estimate for one request to each of models.
func (b *turnBudget) check(models ...llm.Endpoint) error {
	if err := b.checkLimits(models); err != nil {
		return err
	}
	return b.reserve(models)
}

// checkLimits asks the user if a limit of models is reached, or the input of the requests alone would exceed it. If the
// user cannot be asked, or stops, it returns a *settings.BudgetError. It also emits, once each, notices about an unknown price
// and about a limit that is almost reached.
func (b *turnBudget) checkLimits(models []llm.Endpoint) error {
	t := b.turn
	b.warnUnpriced("", models...)
	for _, l := range t.session.Spending.limitsOf(models...) {
		used, err := t.session.Spending.Used(l)
		if err != nil {
			return fmt.Errorf("what was spent cannot be read: %w", err)
		}
		if reached := t.session.Spending.checkWithSide(l, used, b.leastCost(l, models)); reached != nil {
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

// noticeShare reports once per period that most of a limit is used. A limit that is fully used
// is reported with the next request.
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
// almost reached.
func (b *turnBudget) booked(model llm.Endpoint) {
	b.endReservations()
	for _, l := range b.turn.session.Spending.limitsOf(model) {
		if used, err := b.turn.session.Spending.Used(l); err == nil { // on error the next request fails
			b.noticeShare(l, used)
		}
	}
}

// leastShare is the lower bound for the actual share of estimated tokens.
const leastShare = 0.75

// leastCost returns the minimum input cost, in US dollars, of the next requests to those of models
// that l covers. It assumes that cacheable input is cached and ignores images. Unknown prices and
// image models count as 0.
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
		u := s.Next.estimateInput(m)
		for _, n := range s.Next.tokens.countBranch(s.Next.mode).media {
			u.Input -= n * imageTokens
		}
		u.Input = int(leastShare * float64(max(u.Input, 0)))
		u.CacheRead = min(u.Input, max(u.CacheRead, s.Next.tokens.overhead(s.Next.empty(m))))
		if least, priced := m.Cost(u); priced && least > 0 {
			cost += least
		}
	}
	return cost
}

// noticeReached reports limits that requests of the turn have just reached, because the next
// request will not be sent. Limits already asked about, or reported by the turn's error, are
// skipped.
func (b *turnBudget) noticeReached() {
	t := b.turn
	var ended *settings.BudgetError
	errors.As(t.done.Err, &ended)
	for _, l := range t.session.Spending.Limits() {
		if !b.notReached[l] || ended != nil && ended.Limit == l {
			continue
		}
		if used, err := t.session.Spending.Used(l); err == nil && l.Share(used) >= 1 {
			t.notice("%v", &settings.BudgetError{Limit: l, Used: used})
		}
	}
}

// askToRaise asks the user about a limit that is reached.
func (b *turnBudget) askToRaise(e *settings.BudgetError) error {
	t := b.turn
	delete(b.notReached, e.Limit)
	from := max(e.Limit.Cost, e.Used.Cost+e.Next) // a raised limit leaves room
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

// confirmExpense asks the user, once in a turn, before requests to models with a high estimated
// cost; if it cannot ask, it emits a notice. Models without a known price are ignored.
func (b *turnBudget) confirmExpense(models []llm.Endpoint) error {
	t := b.turn
	s := t.session
	if s.Spending.confirmCost <= 0 || b.costConfirmed {
		return nil
	}
	var about Expense
	var names []string
	for _, m := range models {
		estimate := t.session.Next.estimate(m)
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

// reserve reserves, for one request to each of models in order, room in the limits shared with
// other processes, until endReservations.
func (b *turnBudget) reserve(models []llm.Endpoint) error {
	t := b.turn
	b.endReservations()
	if t.log == nil {
		return nil
	}
	reserved := map[Limit]bool{} // own reservations do not prevent the other requests
	for _, m := range models {
		shared := slices.DeleteFunc(t.session.Spending.limitsOf(m), func(l Limit) bool { return !l.Shared() })
		limits := slices.DeleteFunc(slices.Clone(shared), func(l Limit) bool { return reserved[l] })
		var room Reservation
		var err error
		switch {
		case len(limits) > 0:
			room, err = Reserve(t.log.Ledger(), t.now(), limits, m.Name, t.session.Next.estimate(m))
		case len(shared) > 0:
			room, err = t.log.Ledger().Reserve(m.Name, t.session.Next.estimate(m))
		}
		for _, l := range limits {
			reserved[l] = true
		}
		var full *settings.BudgetError
		if errors.As(err, &full) { // other processes are spending at the moment
			b.endReservations()
			if err := b.askToRaise(full); err != nil {
				return err
			}
			return b.check(models...)
		}
		b.noticeUnreserved(err) // usage that cannot be written now is still counted later
		b.reservations = append(b.reservations, room)
	}
	return nil
}

// noticeUnreserved reports once in a session why limits are not shared among processes; it does nothing for a nil
// error.
func (b *turnBudget) noticeUnreserved(err error) {
	t := b.turn
	if err != nil && !t.session.Spending.noticedUnreserved {
		t.session.Spending.noticedUnreserved = true
		t.notice("what other windows spend at the same time is not held to the limits of a day and a month now: %v", err)
	}
}

// endReservations ends rooms, or all reservations of the turn: the answers are in the ledger.
func (b *turnBudget) endReservations(rooms ...Reservation) {
	if rooms == nil {
		rooms = b.reservations
	}
	b.noticeUnreserved(b.turn.session.Spending.endReservations(rooms...))
	b.reservations = slices.DeleteFunc(slices.Clone(b.reservations), func(r Reservation) bool { return slices.Contains(rooms, r) })
}

// warnUnpriced reports once, if there is a limit for the models asked, that it does not count a response, and where
// its model can be given a price; model is "" if it cannot. It does so with the first such response, which may be the
// only one.
func (b *turnBudget) warnUnpriced(model string, asked ...llm.Endpoint) {
	t := b.turn
	s := t.session
	if !get(&t.mu, &s.Spending.hasUnpriced) || s.Spending.warnedUnpriced || len(s.Spending.limitsOf(asked...)) == 0 {
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
