package session

import (
	"context"
	"iter"
	"sync"
	"time"

	"parley/providers/llm"
	"parley/session/store"
)

// countdown is how long the user can intervene before another model takes over.
const countdown = 5 * time.Second

// A Failure is the subject of a Question after a model failed, and another one could take over or the
// limit that stopped it resets.
type Failure struct {
	Err     error
	From    string    // provider/model that failed
	To      string    // provider/model that would take over; "": none
	Visible bool      // part of the answer was shown and would be written again
	Until   time.Time // when the limit resets; zero if the provider did not say
}

// A FallbackNeed describes the model to replace, and why.
type FallbackNeed struct {
	Model  string    // provider/model to replace
	Fault  llm.Fault // why
	Tokens int       // approximate size of the next request; 0 if unknown
}

// FitsWindow reports whether a request of about that many tokens fits a context window of window
// tokens, with some room for the answer. It is true if either is 0, for unknown.
func FitsWindow(tokens, window int) bool { return window <= 0 || tokens <= window*fullWindow/100 }

// A fallbackChain holds the models that take over when one fails.
type fallbackChain struct {
	models       func(FallbackNeed) []string // models to try, in order; nil: none
	alternatives func(FallbackNeed) []string // models to offer if a conversation does not fit; nil: none
	open         func(string) (llm.Endpoint, error)
	onFilter     bool          // fall back after a content filter as well
	maxWait      time.Duration // see Options.MaxWait
	cooldowns    *Cooldowns

	limited    string         // model that a limit stopped in the last turn; "": none; guarded by the session's mutex
	limit      cooldown       // when that limit resets; guarded as limited
	overflowed map[string]int // tokens of the conversation when a model refused it as too large, by model name
}

// A Cooldowns tracks models that are skipped for a while after a failure, longer each time
// until they answer again. It serves all sessions of a program, and is safe for concurrent
// use. The zero value has none.
type Cooldowns struct {
	mu      sync.Mutex
	byModel map[string]cooldown
}

type cooldown struct {
	until    time.Time
	fault    llm.Fault
	failures int // since its last answer
}

// cooldownLengths holds the cooldown after the first fault of a kind, and its maximum.
// Faults not listed have none: a failed connection says little about the model.
var cooldownLengths = map[llm.Fault]struct{ first, most time.Duration }{
	llm.Quota: {10 * time.Minute, 6 * time.Hour}, llm.RateLimit: {time.Minute, time.Hour}, llm.ModelNotFound: {time.Hour, 24 * time.Hour},
	llm.Authentication: {5 * time.Minute, time.Hour}, llm.Permission: {10 * time.Minute, time.Hour},
	llm.Server: {30 * time.Second, 15 * time.Minute}, llm.Network: {30 * time.Second, 2 * time.Minute},
}

// maxServerWait bounds the wait that a server can demand.
const maxServerWait = 6 * time.Hour

// fail begins the cooldown of a model that failed at now, and returns its end. A longer
// wait demanded by the server is honored, up to maxServerWait.
func (c *Cooldowns) fail(model string, err error, now time.Time) time.Time {
	fault := llm.FaultOf(err)
	lengths, cools := cooldownLengths[fault]
	if !cools {
		return now
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	was := c.byModel[model]
	length := lengths.first
	for range min(was.failures, 20) {
		length = min(2*length, lengths.most)
	}
	if c.byModel == nil {
		c.byModel = map[string]cooldown{}
	}
	until := now.Add(max(length, min(llm.WaitOf(err), maxServerWait)))
	c.byModel[model] = cooldown{until, fault, was.failures + 1}
	return until
}

// clear ends the cooldown of a model: it answered, or the user chose it.
func (c *Cooldowns) clear(model string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.byModel, model)
}

// of returns when a model may be asked again, and the fault that caused the wait; the
// zero time if it may be asked now.
func (c *Cooldowns) of(model string, now time.Time) (until time.Time, fault llm.Fault) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if known, ok := c.byModel[model]; ok && now.Before(known.until) {
		return known.until, known.fault
	}
	return time.Time{}, ""
}

// EndCooldown ends the cooldown of the chosen model, and reports whether it had one.
func (s *Session) EndCooldown() bool {
	name := s.Model().Name
	until, _ := s.fallback.cooldowns.of(name, s.now())
	s.fallback.cooldowns.clear(name)
	return !until.IsZero()
}

// isReason reports whether another model takes over after a fault.
func (f *fallbackChain) isReason(fault llm.Fault) bool {
	_, cools := cooldownLengths[fault]
	return cools || fault == llm.ContextOverflow || fault == llm.ContentFilter && f.onFilter
}

// turnModels decides which model answers in a turn: the chosen one, or a stand-in from the chain.
type turnModels struct {
	turn  *turn
	tried map[string]bool // models that failed since the prompt

	waits  int           // number of waits for the same model since it last answered
	waited time.Duration // sum of these waits that the user was not asked about
}

// choose decides which model answers a prompt first: the chosen one, unless it is
// in a cooldown.
func (m *turnModels) choose() {
	t := m.turn
	s := t.session
	f := &s.fallback
	t.mu.Lock()
	chosen, stoodIn := s.Next.now().Model, s.Next.stoodIn
	s.Next.standIn, s.Next.stoodIn = llm.Endpoint{}, "" // return to the chosen model
	t.mu.Unlock()
	m.tried = map[string]bool{}
	if f.models == nil || f.open == nil {
		return
	}
	until, fault := f.cooldowns.of(chosen.Name, t.now())
	if at, known := f.overflowed[chosen.Name]; known && until.IsZero() && s.Next.ContextTokens() >= at {
		fault = llm.ContextOverflow
	}
	if fault != "" {
		if next, ok := m.next(chosen, fault, false); ok {
			m.continueWith(next, Fallback{From: chosen.Name, Fault: fault, Until: until})
			return
		}
		m.tried = map[string]bool{} // no other model is available: ask it anyway
	}
	if stoodIn != "" && stoodIn != chosen.Name {
		t.emit(ModelSwitched{From: stoodIn, To: chosen.Name, Changes: t.ChangesFor(chosen)})
	}
}

// continueWith makes another model answer in this turn, and emits e.
func (m *turnModels) continueWith(model llm.Endpoint, e Fallback) {
	t := m.turn
	e.To = model.Name
	t.emit(e)
	if changes := t.ChangesFor(model); len(changes) > 0 {
		t.emit(ModelSwitched{From: e.From, To: model.Name, Changes: changes})
	}
	t.mu.Lock()
	t.session.Next.standIn, t.session.Next.stoodIn = model, model.Name
	t.mu.Unlock()
}

// next opens the next model of the chain that can replace failed: first those without a
// cooldown, then, with all set, the others. It emits a notice for models that cannot be
// opened.
func (m *turnModels) next(failed llm.Endpoint, fault llm.Fault, all bool) (llm.Endpoint, bool) {
	t := m.turn
	s := t.session
	need := FallbackNeed{Model: s.Model().Name, Fault: fault, Tokens: s.Next.ContextTokens()}
	if fault == llm.ContextOverflow { // regardless of the estimate
		need.Tokens = max(need.Tokens, failed.Context)
	}
	m.tried[failed.Name] = true
	var rest []llm.Endpoint
	for _, name := range s.fallback.models(need) {
		if m.tried[name] {
			continue
		}
		model, err := s.fallback.open(name)
		if err != nil {
			m.tried[name] = true
			t.notice("fallback %s: %v", name, err)
			continue
		}
		until, _ := s.fallback.cooldowns.of(model.Name, t.now())
		switch { // checked by its own name, because its chain entry may use another
		case m.tried[model.Name], fault == llm.Authentication && store.ProviderOf(model.Name) == store.ProviderOf(failed.Name),
			fault == llm.ContextOverflow && (model.Context == 0 || !FitsWindow(need.Tokens, model.Context)):
		case until.IsZero():
			return model, true
		default:
			rest = append(rest, model)
		}
	}
	if all && len(rest) > 0 {
		return rest[0], true
	}
	return llm.Endpoint{}, false
}

// fallBack handles the failure of a model: another one takes over, or the same one is asked again. It
// reports whether to send the request again. The failed response becomes a branch, and none of its calls
// ever runs.
func (m *turnModels) fallBack(response llm.Message, err error) bool {
	t := m.turn
	s := t.session
	f := &s.fallback
	model, fault := s.Next.current(), llm.FaultOf(err)
	chain := f.models != nil && f.open != nil
	wait := m.waitFor(err)
	if t.ctx.Err() != nil || !chain && wait == 0 || !f.isReason(fault) {
		return false
	}
	now := t.now()
	if response.Model != model.Name { // the user chose another model meanwhile
		f.cooldowns.fail(response.Model, err, now)
		return false
	}
	until := f.cooldowns.fail(model.Name, err, now)
	if fault == llm.ContextOverflow {
		if f.overflowed == nil {
			f.overflowed = map[string]int{}
		}
		f.overflowed[model.Name] = s.Next.ContextTokens()
	}
	failed := Failure{Err: err, From: model.Name, Visible: hasText(response)}
	if wait > 0 {
		failed.Until = now.Add(wait).Round(0)
		t.mu.Lock()
		f.limited, f.limit = model.Name, cooldown{until: failed.Until, fault: fault}
		t.mu.Unlock()
	}
	var next llm.Endpoint
	if chain {
		next, _ = m.next(model, fault, true)
	}
	if failed.To = next.Name; failed.To == "" && wait == 0 {
		return false
	}
	chosen := s.Model().Name
	choice := Choice{Action: WaitAndTry}
	if unasked := failed.To == "" && !failed.Visible && m.waitsUnasked(wait, fault); unasked {
		m.waited += wait
	} else {
		choice = t.questions.ask(failureQuestion(failed, fault))
	}
	if s.Model().Name != chosen && t.ctx.Err() == nil && choice.Action != StopTurn { // the user chose another model meanwhile, which is kept
		t.abandonInterrupted()
		return true
	}
	if wait > 0 {
		until = failed.Until
	}
	return m.carryOut(choice.Action, failed, next, until, fault)
}

// carryOut does what was chosen about a failed model, which can be asked again at until. It reports whether to send the
// request again.
func (m *turnModels) carryOut(chosen Action, failed Failure, next llm.Endpoint, until time.Time, fault llm.Fault) bool {
	t := m.turn
	switch chosen {
	case StopTurn:
		if t.session.attended { // the user wants no other model: ask this one with the next prompt
			t.session.fallback.cooldowns.clear(failed.From)
		}
		return false
	case WaitAndTry, TryAgain:
		delete(m.tried, failed.From)
		if chosen == WaitAndTry && !m.pause(until, failed.Until, fault) {
			return false
		}
	}
	t.abandonInterrupted()
	if chosen == SwitchModel {
		m.continueWith(next, Fallback{From: failed.From, Fault: fault})
	}
	return true
}

// waitFor returns how long to wait until the failed model can be asked again: until the provider's limit
// resets, longer with each wait in vain. After a wait, the connection may take some time too: the machine may
// have slept. 0 means unknown, or too long.
func (m *turnModels) waitFor(err error) time.Duration {
	wait := llm.WaitOf(err)
	vain := time.Duration(0)
	if m.waits > 0 {
		vain = min(time.Minute<<min(m.waits-1, 10), time.Hour)
	}
	switch fault := llm.FaultOf(err); {
	case wait > llm.MaxReset:
		return 0
	case wait == 0 && (m.waits == 0 || m.waits > maxReconnects || !fault.Temporary()):
		return 0
	}
	return max(wait, vain)
}

// maxReconnects is how often a turn waits for the connection after it waited for the reset of a limit.
const maxReconnects = 5

// waitsUnasked reports whether to wait without asking the user, who has allowed or chosen it.
func (m *turnModels) waitsUnasked(wait time.Duration, fault llm.Fault) bool {
	return wait <= m.turn.session.fallback.maxWait-m.waited || m.waits > 0 && m.waits <= maxReconnects && (fault == llm.Network || fault == llm.Server)
}

// answered notes that a model answered.
func (m *turnModels) answered(model string) {
	f := &m.turn.session.fallback
	m.waits, m.waited = 0, 0
	f.cooldowns.clear(model)
	set(&m.turn.mu, &f.limited, "")
}

// LimitReset returns when the limit resets that ended the last turn of the chosen model; the zero time if the
// provider did not say.
func (s *Session) LimitReset() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fallback.limited != s.Next.now().Model.Name {
		return time.Time{}
	}
	return s.fallback.limit.until
}

// TurnAfterReset is Turn without parts, after a wait until LimitReset.
func (s *Session) TurnAfterReset(ctx context.Context) iter.Seq[Event] {
	return s.loop(ctx, func(t *turn) error {
		if err := t.prepareRetry(); err != nil {
			return err
		}
		limit := get(&t.mu, &s.fallback.limit)
		s.EndCooldown()
		beginPrompt(t)
		if !t.models.pause(limit.until, limit.until, limit.fault) {
			return context.Cause(t.ctx)
		}
		return answerSteps(t)
	})
}

// pause waits before the same model is asked again, and reports whether to ask it; the
// user may decline. Reset is zero if until is not the reset of a limit.
func (m *turnModels) pause(until, reset time.Time, fault llm.Fault) bool {
	t := m.turn
	ctx := llm.AnnouncePause(t.ctx)
	t.emit(llm.Retry{Attempt: m.waits + 1, Wait: max(until.Sub(t.now().Round(0)), 0), Until: reset, Fault: fault})
	chosen := t.session.Model().Name
	now := func() time.Time {
		if t.session.Model().Name != chosen { // the user chose another model, which is asked now
			return until
		}
		return t.now()
	}
	err := llm.PauseUntil(ctx, until, now)
	if !now().Before(until) { // otherwise the user does not want to wait
		m.waits++
	}
	return err == nil
}

// failureQuestion returns the question for a failed model. Without another model, or if text was already shown, the
// default is to stop: the shown text is kept when no user is present.
func failureQuestion(f Failure, fault llm.Fault) (q Question) {
	q.About = f
	for _, c := range [...]struct {
		offered bool
		Choice
	}{
		{f.To != "", Choice{Action: SwitchModel, Model: f.To}},
		{f.Visible, Choice{Action: TryAgain}},
		{!f.Until.IsZero() || !f.Visible && fault.Temporary(), Choice{Action: WaitAndTry}},
		{true, Choice{Action: StopTurn}},
	} {
		if c.offered {
			q.Choices = append(q.Choices, c.Choice)
		}
	}
	if q.Wait = countdown; f.Visible || f.To == "" {
		q.Wait, q.Default = 0, len(q.Choices)-1
	}
	return q
}

// hasText reports whether an answer has visible text or media.
func hasText(m llm.Message) bool {
	for _, p := range m.Parts {
		if p.Kind == llm.Text && p.Text != "" || p.Kind == llm.Media {
			return true
		}
	}
	return false
}
