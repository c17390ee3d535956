package session

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"parley/providers/llm"
	"parley/session/store"
)

// payAside counts a request of the turn that is no message. One that failed before anything was
// used was not paid for.
func payAside(t *turn, purpose, model string, u llm.Usage, err error) {
	t.spend(purpose, model, u, err)
	if err == nil || u != (llm.Usage{}) {
		t.mu.Lock()
		t.addUsage(u)
		t.mu.Unlock()
	}
}

// checkBudget asks what to do once a limit of models that are to be asked is reached, those
// that answer where there are none, and reserves what one request to each may use. Where nobody
// can be asked, or the user stops, it returns a *BudgetError. Once it tells that a price is
// unknown, and that a limit is about to be reached.
func checkBudget(t *turn, models ...llm.Endpoint) error {
	models = orCurrent(t, models)
	limits := limitsOf(t.Session, models...)
	warnUnpriced(t, "", models...)
	for _, l := range limits {
		used, err := t.Used(l)
		if err != nil {
			return fmt.Errorf("what was spent cannot be read: %w", err)
		}
		switch share := l.share(used); {
		case share >= 1:
			if err := overspent(t, &BudgetError{l, used}); err != nil {
				return err
			}
			return checkBudget(t, models...)
		case share >= noticeShare && t.told[l].Before(l.Period.began(t.now())):
			if t.told == nil {
				t.told = map[Limit]time.Time{}
			}
			t.told[l] = t.now()
			t.emit(llm.Notice{Text: fmt.Sprintf("%d%% of the %s used", int(100*share), l)})
		}
	}
	return reserve(t, limits, models)
}

// orCurrent returns models, or the one that answers if there are none.
func orCurrent(t *turn, models []llm.Endpoint) []llm.Endpoint {
	if len(models) == 0 {
		models = []llm.Endpoint{t.current()}
	}
	return models
}

// limitsOf returns the limits that hold for one of models or more.
func limitsOf(s *Session, models ...llm.Endpoint) []Limit {
	return slices.DeleteFunc(s.Limits(), func(l Limit) bool {
		return !slices.ContainsFunc(models, func(m llm.Endpoint) bool { return l.Concerns(m.Name) })
	})
}

// overBudget returns a *BudgetError once a limit of models is reached.
func overBudget(s *Session, models ...llm.Endpoint) error {
	for _, l := range limitsOf(s, models...) {
		if used, err := s.Used(l); err == nil && l.share(used) >= 1 {
			return &BudgetError{l, used}
		}
	}
	return nil
}

// overspent asks what to do about a limit that is reached.
func overspent(t *turn, e *BudgetError) error {
	from := max(e.Limit.Cost, e.Used.Cost) // a raise leaves room
	choices := []Choice{{Action: RaiseLimit, Amount: from + 1}, {Action: RaiseLimit, Amount: from * 1.5}, {Action: StopTurn}}
	byTokens := e.Limit.share(e.Used) > e.Limit.share(llm.Usage{Cost: e.Used.Cost})
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
// until settle.
func reserve(t *turn, limits []Limit, models []llm.Endpoint) error {
	settle(t)
	if t.log == nil {
		return nil
	}
	byProvider := map[string][]llm.Endpoint{}
	for _, m := range models {
		provider := store.ProviderOf(m.Name)
		byProvider[provider] = append(byProvider[provider], m)
	}
	for i, provider := range slices.Sorted(maps.Keys(byProvider)) {
		hold := limits
		if i > 0 { // what was just reserved is no reason not to ask the others
			hold = slices.DeleteFunc(slices.Clone(limits), func(l Limit) bool { return l.Provider != provider })
		}
		held, err := Reserve(t.log.Ledger(), t.now(), hold, byProvider[provider][0].Name, estimateRequests(t, byProvider[provider]))
		var full *BudgetError
		switch {
		case errors.As(err, &full): // other processes spend at this moment
			settle(t)
			if err := overspent(t, full); err != nil {
				return err
			}
			return checkBudget(t, models...)
		case err != nil && !t.toldUnreserved: // what cannot be written now is counted all the same once it can be
			t.toldUnreserved = true
			t.emit(llm.Notice{Text: fmt.Sprintf("what other windows spend at the same time is not held to the limits of a day and a month now: %v", err)})
		}
		t.reservations = append(t.reservations, held)
	}
	return nil
}

// Reserve keeps room for what a request to a model is estimated to use in those of limits that
// all processes share. A *BudgetError reports one that is reached, another error that nothing
// can be written: then only what is spent already is held to the limits.
func Reserve(ledger Ledger, now time.Time, limits []Limit, model string, estimate llm.Usage) (Reservation, error) {
	var caps []Cap
	var of []Limit
	for _, l := range limits {
		if l.Shared() && l.Concerns(model) {
			of, caps = append(of, l), append(caps, Cap{Since: l.Period.began(now), Provider: l.Provider, Cost: l.Cost, Tokens: l.Tokens})
		}
	}
	if len(caps) == 0 {
		return Reservation{}, nil
	}
	held, err := ledger.Reserve(model, estimate, caps...)
	var full *CapError
	if errors.As(err, &full) {
		return held, &BudgetError{of[max(slices.Index(caps, full.Cap), 0)], full.Spent.Usage.Add(full.Reserved)}
	}
	for i := 0; err != nil && i < len(caps); i++ {
		if sum, unread := ledger.Spent(caps[i].Since, time.Time{}, caps[i].Provider); unread == nil && of[i].share(sum.Usage) >= 1 {
			return held, &BudgetError{of[i], sum.Usage}
		}
	}
	return held, err
}

// settle ends what was reserved: the answers are in the ledger.
func settle(t *turn) {
	for _, r := range t.reservations {
		_ = r.Settle()
	}
	t.reservations = nil
}
