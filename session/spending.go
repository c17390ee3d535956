package session

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"time"

	"parley/providers/llm"
	"parley/session/store"
)

// A Limit is what may be spent in a period. Cost, Tokens, or both bound it; 0 does not.
type Limit struct {
	Period   Period
	Provider string  // at which provider, of a day or a month; "": at all of them
	Cost     float64 // US dollars
	Tokens   int     // of input and output
}

// Period is what a Limit is about. Days and months are those of the clock, and hold for all
// conversations of all processes that share a store.
type Period string

// The periods.
const (
	PerTurn    Period = "turn"
	PerSession Period = "session"
	PerDay     Period = "day"
	PerMonth   Period = "month"
)

// Periods lists them from the shortest.
var Periods = []Period{PerTurn, PerSession, PerDay, PerMonth}

// String names the limit as in "daily limit of $5.00 at openai".
func (l Limit) String() string {
	var amounts []string
	if l.Cost > 0 {
		amounts = append(amounts, dollars(l.Cost))
	}
	if l.Tokens > 0 {
		amounts = append(amounts, strconv.Itoa(l.Tokens)+" tokens")
	}
	text := map[Period]string{PerDay: "daily", PerMonth: "monthly"}[l.Period]
	text = cmp.Or(text, string(l.Period)) + " limit"
	for i, a := range amounts {
		text += []string{" of ", " and "}[min(i, 1)] + a
	}
	if l.Provider != "" {
		text += " at " + l.Provider
	}
	return text
}

// dollars returns an amount in cents, or finer where that is little.
func dollars(amount float64) string {
	if amount > 0 && amount < 0.1 {
		return fmt.Sprintf("$%.4f", amount)
	}
	return fmt.Sprintf("$%.2f", amount)
}

// same reports whether m is a limit on the same.
func (l Limit) same(m Limit) bool { return l.Period == m.Period && l.Provider == m.Provider }

// share returns how much of the limit is used, 1 being all of it.
func (l Limit) share(used llm.Usage) float64 {
	var share float64
	if l.Cost > 0 {
		share = used.Cost / l.Cost
	}
	if l.Tokens > 0 {
		share = max(share, float64(used.Input+used.Output)/float64(l.Tokens))
	}
	return share
}

// noticeShare is the share of a limit at which it is told that it will be reached.
const noticeShare = 0.8

// A BudgetError reports that a limit is reached.
type BudgetError struct {
	Limit Limit
	Used  llm.Usage
}

func (e *BudgetError) Error() string { return e.Limit.String() + " reached: " + e.used() + " used" }

// used says how much of what is limited was used.
func (e *BudgetError) used() string {
	if e.Limit.Cost > 0 && e.Used.Cost >= e.Limit.Cost || e.Limit.Tokens == 0 {
		return dollars(e.Used.Cost)
	}
	return strconv.Itoa(e.Used.Input+e.Used.Output) + " tokens"
}

// Is reports that it is an ErrBudget.
func (e *BudgetError) Is(target error) bool { return target == ErrBudget }

// An Overspend is what a Question is about when a limit is reached.
type Overspend struct{ BudgetError }

// Budget holds the [budget] section of the configuration. 0 is no limit.
type Budget struct {
	Confirm float64 `toml:"confirm"` // US dollars: what is estimated to cost more is asked about
	Turn    float64 `toml:"turn"`    // US dollars, as all that follow
	Session float64 `toml:"session"`

	TurnTokens    int `toml:"turn_tokens"`
	SessionTokens int `toml:"session_tokens"`
	ProviderBudget
	Providers map[string]ProviderBudget `toml:"providers"` // by name
}

// ProviderBudget holds limits that are counted across conversations.
type ProviderBudget struct {
	Day         float64 `toml:"day"`
	Month       float64 `toml:"month"`
	DayTokens   int     `toml:"day_tokens"`
	MonthTokens int     `toml:"month_tokens"`
}

// DefaultBudget returns what holds where the configuration says nothing.
func DefaultBudget() Budget { return Budget{Confirm: 1} }

// Validate names a value that cannot be meant.
func (b Budget) Validate() error {
	for _, l := range b.all() {
		if !(l.Cost >= 0) || math.IsInf(l.Cost, 0) || l.Tokens < 0 {
			name := "budget."
			if l.Provider != "" {
				name += "providers." + l.Provider + "."
			}
			return fmt.Errorf("%s%s cannot be negative; 0 is no limit", name, l.Period)
		}
	}
	if !(b.Confirm >= 0) || math.IsInf(b.Confirm, 0) {
		return errors.New("budget.confirm cannot be negative; 0 asks about every image and video")
	}
	return nil
}

// Limits returns the limits that are set.
func (b Budget) Limits() []Limit {
	return slices.DeleteFunc(b.all(), func(l Limit) bool { return l.Cost == 0 && l.Tokens == 0 })
}

// all returns all limits that there can be.
func (b Budget) all() []Limit {
	list := []Limit{
		{Period: PerTurn, Cost: b.Turn, Tokens: b.TurnTokens}, {Period: PerSession, Cost: b.Session, Tokens: b.SessionTokens},
		{Period: PerDay, Cost: b.Day, Tokens: b.DayTokens}, {Period: PerMonth, Cost: b.Month, Tokens: b.MonthTokens},
	}
	for _, name := range slices.Sorted(maps.Keys(b.Providers)) {
		p := b.Providers[name]
		list = append(list, Limit{PerDay, name, p.Day, p.DayTokens}, Limit{PerMonth, name, p.Month, p.MonthTokens})
	}
	return list
}

// A spending holds what a session has used so far, and what it may use.
type spending struct {
	limits                      []Limit
	confirmCost                 float64             // US dollars of one request above which it is asked about; 0: never
	told                        map[Limit]time.Time // limits of which noticeShare was told, and when
	total, last, turnUsage      llm.Usage
	hasUnpriced, warnedUnpriced bool // the price of a response is unknown; the user was told
	toldUnreserved              bool // that nothing could be reserved
}

// Usage returns what the session used so far, and what its last response used,
// whose Input and Output together are what fills the model's window.
func (s *Session) Usage() (total, last llm.Usage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.total, s.last
}

// Limits returns the limits that hold for the session.
func (s *Session) Limits() []Limit {
	return locked(&s.mu, func() []Limit { return slices.Clone(s.limits) })
}

// SetLimit replaces the limit on the same, for this session; one without an amount ends.
func (s *Session) SetLimit(l Limit) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.limits = slices.DeleteFunc(slices.Clone(s.limits), l.same)
	if l.Cost > 0 || l.Tokens > 0 {
		s.limits = append(s.limits, l)
		slices.SortStableFunc(s.limits, func(a, b Limit) int {
			return slices.Index(Periods, a.Period) - slices.Index(Periods, b.Period)
		})
	}
}

// Used returns what was used of a limit so far, in the running turn if it is about one.
func (s *Session) Used(l Limit) (llm.Usage, error) {
	switch l.Period {
	case PerTurn:
		return locked(&s.mu, func() llm.Usage { return s.turnUsage }), nil
	case PerSession:
		total, _ := s.Usage()
		return total, nil
	}
	if s.log == nil {
		return llm.Usage{}, nil
	}
	sum, err := s.log.Ledger().Spent(l.Period.began(s.now()), time.Time{}, l.Provider)
	return sum.Usage, err
}

// began returns when the day or the month of now began.
func (p Period) began(now time.Time) time.Time {
	now = now.Local()
	day := now.Day()
	if p == PerMonth {
		day = 1
	}
	return time.Date(now.Year(), now.Month(), day, 0, 0, 0, 0, time.Local)
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
		return l.Provider != "" && !slices.ContainsFunc(models, func(m llm.Endpoint) bool { return store.ProviderOf(m.Name) == l.Provider })
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
// are about days and months, which all processes share. A *BudgetError reports one that is
// reached, another error that nothing can be written.
func Reserve(ledger Ledger, now time.Time, limits []Limit, model string, estimate llm.Usage) (Reservation, error) {
	var caps []Cap
	var of []Limit
	for _, l := range limits {
		if l.Period == PerDay || l.Period == PerMonth {
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
	return held, err
}

// settle ends what was reserved: the answers are in the ledger.
func settle(t *turn) {
	for _, r := range t.reservations {
		_ = r.Settle()
	}
	t.reservations = nil
}
