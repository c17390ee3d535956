package session

import (
	"sync"
	"time"

	"parley/providers/llm"
	"parley/session/store"
)

// countdown is how long a user has to say otherwise before another model goes on.
const countdown = 5 * time.Second

// A Failure is what a Question is about when a model failed and another one could go on.
type Failure struct {
	Err     error
	From    string // provider/model that failed
	To      string // that would go on
	Visible bool   // a part of the answer was shown: it would be written anew
}

// A FallbackNeed says which model another one is to replace, and why.
type FallbackNeed struct {
	Model  string    // provider/model that they stand in for
	Fault  llm.Fault // why
	Tokens int       // about, that the next request takes of their window; 0: not known
}

// FitsWindow reports whether a request of about that many tokens fits a context window of window
// tokens, with some room for the answer. It is true if one of them is 0: not known.
func FitsWindow(tokens, window int) bool { return window <= 0 || tokens <= window*fullWindow/100 }

// A fallbackChain says which models go on when one fails.
type fallbackChain struct {
	models       func(FallbackNeed) []string // to go on with, in order; nil: none
	alternatives func(FallbackNeed) []string // to offer where a conversation does not fit; nil: none
	open         func(string) (llm.Endpoint, error)
	onFilter     bool // a content filter is a reason as well
	cooldowns    *Cooldowns

	standIn    llm.Endpoint   // answers in this turn in the place of the chosen model; without a Name: none does; guarded by the session's mutex
	stoodIn    string         // model that answered in an earlier turn in its place; "": none did; guarded as standIn
	overflowed map[string]int // tokens of the conversation when a model refused it as too large, by name
}

// current returns the model that answers in this turn: the chosen one, or one that stands
// in for it.
func (s *Session) current() llm.Endpoint {
	return locked(&s.mu, s.answering)
}

// answering returns current where the session is locked.
func (s *Session) answering() llm.Endpoint {
	if s.fallback.standIn.Name != "" {
		return s.fallback.standIn
	}
	return s.request.model
}

// A Cooldowns holds which models are not asked for a while since they failed: each time for
// longer, until they answer again. It serves all sessions of a program, and is safe for
// concurrent use. The zero value holds none.
type Cooldowns struct {
	mu      sync.Mutex
	byModel map[string]cooldown
}

type cooldown struct {
	until    time.Time
	fault    llm.Fault
	failures int // since it answered last
}

// cooldownLengths says how long a model is not asked after its first fault of that kind, and
// what that grows to; a fault that is not here has none. A connection that fails says little
// about the model.
var cooldownLengths = map[llm.Fault]struct{ first, most time.Duration }{
	llm.Quota: {10 * time.Minute, 6 * time.Hour}, llm.RateLimit: {time.Minute, time.Hour}, llm.ModelNotFound: {time.Hour, 24 * time.Hour},
	llm.Authentication: {5 * time.Minute, time.Hour}, llm.Permission: {10 * time.Minute, time.Hour},
	llm.Server: {30 * time.Second, 15 * time.Minute}, llm.Network: {30 * time.Second, 2 * time.Minute},
}

// maxServerWait bounds what a server can say for how long it is not to be asked.
const maxServerWait = 6 * time.Hour

// Fail begins the cooldown of a model that failed at now, and returns its end. A wait that
// the server named is kept, up to maxServerWait.
func (c *Cooldowns) Fail(model string, err error, now time.Time) time.Time {
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

// Clear ends the cooldown of a model: it answered, or the user chose it.
func (c *Cooldowns) Clear(model string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.byModel, model)
}

// Of returns when a model may be asked again, and why not before; the zero time if it may
// now.
func (c *Cooldowns) Of(model string, now time.Time) (until time.Time, fault llm.Fault) {
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
	until, _ := s.fallback.cooldowns.Of(name, s.now())
	s.fallback.cooldowns.Clear(name)
	return !until.IsZero()
}

// isReason reports whether another model is asked after a fault.
func (f *fallbackChain) isReason(fault llm.Fault) bool {
	_, cools := cooldownLengths[fault]
	return cools || fault == llm.ContextOverflow || fault == llm.ContentFilter && f.onFilter
}

// turnModels decides which model answers in a turn: the chosen one, or another one of the chain that
// stands in for it.
type turnModels struct {
	turn  *turn
	tried map[string]bool // that failed since the prompt
	waits int             // how often the same one was asked again after a while
}

// choose decides which model begins to answer a prompt: the chosen one, as soon as
// that may be asked again.
func (m *turnModels) choose() {
	t := m.turn
	s := t.session
	f := &s.fallback
	t.mu.Lock()
	chosen, stoodIn := s.request.model, f.stoodIn
	f.standIn, f.stoodIn = llm.Endpoint{}, "" // the chosen one has its place again
	t.mu.Unlock()
	m.tried = map[string]bool{}
	if f.models == nil || f.open == nil {
		return
	}
	until, fault := f.cooldowns.Of(chosen.Name, t.now())
	if at, known := f.overflowed[chosen.Name]; known && until.IsZero() && s.ContextTokens() >= at {
		fault = llm.ContextOverflow
	}
	if fault != "" {
		if next, ok := m.next(chosen, fault, false); ok {
			m.continueWith(next, Fallback{From: chosen.Name, Fault: fault, Until: until})
			return
		}
		m.tried = map[string]bool{} // nobody else can: it is asked all the same
	}
	if stoodIn != "" && stoodIn != chosen.Name {
		t.emit(ModelSwitched{From: stoodIn, To: chosen.Name, Changes: t.changesFor(chosen)})
	}
}

// continueWith makes another model answer in this turn, which e tells.
func (m *turnModels) continueWith(model llm.Endpoint, e Fallback) {
	t := m.turn
	e.To = model.Name
	t.emit(e)
	if changes := t.changesFor(model); len(changes) > 0 {
		t.emit(ModelSwitched{From: e.From, To: model.Name, Changes: changes})
	}
	t.mu.Lock()
	t.session.fallback.standIn, t.session.fallback.stoodIn = model, model.Name
	t.mu.Unlock()
}

// next opens the next model of the chain that can take the place of failed: first of
// those that have no cooldown, then, with all, of the others. Those that cannot be opened are
// told.
func (m *turnModels) next(failed llm.Endpoint, fault llm.Fault, all bool) (llm.Endpoint, bool) {
	t := m.turn
	s := t.session
	need := FallbackNeed{Model: s.Model().Name, Fault: fault, Tokens: s.ContextTokens()}
	if fault == llm.ContextOverflow { // whatever was estimated
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
		until, _ := s.fallback.cooldowns.Of(model.Name, t.now())
		switch { // by its own name: a chain may have another one for it
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

// fallBack handles the failure of a model: another one goes on, or the same one is asked again. It
// reports whether the request is to be sent again. The response of the failed model becomes a branch, and
// none of its calls ever runs.
func (m *turnModels) fallBack(response llm.Message, err error) bool {
	t := m.turn
	s := t.session
	f := &s.fallback
	model, fault := s.current(), llm.FaultOf(err)
	if t.ctx.Err() != nil || f.models == nil || f.open == nil || !f.isReason(fault) {
		return false
	}
	if response.Model != model.Name { // the user chose another one meanwhile
		f.cooldowns.Fail(response.Model, err, t.now())
		return false
	}
	until := f.cooldowns.Fail(model.Name, err, t.now())
	if fault == llm.ContextOverflow {
		if f.overflowed == nil {
			f.overflowed = map[string]int{}
		}
		f.overflowed[model.Name] = s.ContextTokens()
	}
	next, ok := m.next(model, fault, true)
	if !ok {
		return false
	}
	failed := Failure{Err: err, From: model.Name, To: next.Name, Visible: hasText(response)}
	chosen := s.Model().Name
	choice := t.questions.ask(failureQuestion(failed, fault))
	if s.Model().Name != chosen && t.ctx.Err() == nil && choice.Action != StopTurn { // the user chose another one meanwhile, which stays
		t.abandonInterrupted()
		return true
	}
	switch choice.Action {
	case SwitchModel:
		t.abandonInterrupted()
		m.continueWith(next, Fallback{From: model.Name, Fault: fault})
		return true
	case WaitAndTry:
		delete(m.tried, model.Name)
		if m.pause(until.Sub(t.now()), fault) {
			t.abandonInterrupted()
			return true
		}
	case TryAgain:
		delete(m.tried, model.Name)
		t.abandonInterrupted()
		return true
	case StopTurn:
		if s.attended { // the user wants nobody else: it is asked with the next prompt
			f.cooldowns.Clear(model.Name)
		}
	}
	return false
}

// pause waits before the same model is asked again, unless the user does not want to, and
// reports whether it is to be.
func (m *turnModels) pause(wait time.Duration, fault llm.Fault) bool {
	t := m.turn
	ctx := llm.AnnouncePause(t.ctx)
	m.waits++
	t.emit(llm.Retry{Attempt: m.waits, Wait: wait, Fault: fault})
	return llm.Pause(ctx, wait) == nil
}

// failureQuestion returns what to ask when a model failed. After text that was shown, nothing
// goes on without a key: where nobody attends, what came stays.
func failureQuestion(f Failure, fault llm.Fault) Question {
	q := Question{About: f, Choices: []Choice{{Action: SwitchModel, Model: f.To}}, Wait: countdown}
	switch {
	case f.Visible:
		q.Choices = append(q.Choices, Choice{Action: TryAgain})
		q.Wait, q.Default = 0, len(q.Choices)
	case fault.Temporary():
		q.Choices = append(q.Choices, Choice{Action: WaitAndTry})
	}
	q.Choices = append(q.Choices, Choice{Action: StopTurn})
	return q
}

// hasText reports whether an answer has text or media, which the user saw.
func hasText(m llm.Message) bool {
	for _, p := range m.Parts {
		if p.Kind == llm.Text && p.Text != "" || p.Kind == llm.Media {
			return true
		}
	}
	return false
}
