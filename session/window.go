package session

import (
	"context"
	"fmt"

	"parley/providers/llm"
	"parley/session/store"
)

// fullWindow is the share of a model's window, in percent, above which a request is not sent
// without a word: what is counted is an estimate.
const fullWindow = 95

// An Overflow is what a Question is about when the next request would not fit the window of
// the model that is to answer.
type Overflow struct {
	Model  string // provider/model
	Tokens int    // of the request, by estimate
	Window int
}

// String says how much too large the request is.
func (o Overflow) String() string {
	return fmt.Sprintf("about %d tokens, and the context window of %s is %d", o.Tokens, o.Model, o.Window)
}

// fitWindow asks what to do about a request that is too large for the model, before it is
// sent, and reports whether another one is sent instead. Where nobody can be asked it is told,
// and sent: estimates may be wrong.
func fitWindow(t *turn) (changed bool, err error) {
	if t.asked.sends {
		return false, nil
	}
	over, own, rest := overflow(t)
	if over.Tokens == 0 {
		return false, nil
	}
	if !t.attended {
		t.asked.sends = true
		t.emit(llm.Notice{Text: "sent as it is: " + over.String()})
		return false, nil
	}
	choice := decide(t, overflowQuestion(t, over, own, rest))
	switch choice.Action {
	case Summarize:
		if err := t.summarize(); err != nil {
			if t.ctx.Err() != nil {
				return false, context.Cause(t.ctx)
			}
			t.emit(llm.Notice{Text: fmt.Sprintf("could not summarize the conversation: %v", err)})
		}
	case OmitOldest:
		set(t.Session, &t.omitsOldest, true)
	case SwitchModel:
		model, err := t.fallback.open(choice.Model)
		if err != nil {
			t.emit(llm.Notice{Text: fmt.Sprintf("%s: %v", choice.Model, err)})
			return true, nil
		}
		goOnWith(t, model, Fallback{From: over.Model, Fault: llm.ContextOverflow})
	case SendAnyway:
		t.asked.sends = true
		return false, nil
	case StopTurn:
		return false, t.cause(errStoppedAtQuestion)
	}
	return true, nil
}

// overflow returns by how much the next request is too large, how many tokens the turn itself
// takes of it, and what would be left beside a summary; the zero value if the request fits, or
// nobody knows.
func overflow(t *turn) (o Overflow, own, rest int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	model := t.answering()
	if model.Context <= 0 {
		return o, 0, 0
	}
	path := t.tree.Path()
	rest = t.tokens.overhead(t.emptyRequest(model))
	own = rest
	if n := len(path); n > 0 && path[n-1].Role == llm.RoleUser && !path[n-1].Summary {
		rest += t.tokens.message(path[n-1])
	}
	from := turnStart(path, t.turnSeq)
	for i, n := range path[from:] {
		if n.Summary { // which stands for what is in front of it
			from += i
			break
		}
	}
	for _, n := range path[from:] {
		own += t.tokens.message(n)
	}
	size := t.contextTokens()
	if t.historyMode() != HistoryFull { // the rest fits: see compile
		size = own
	}
	if size > model.Context*fullWindow/100 {
		o = Overflow{Model: model.Name, Tokens: size, Window: model.Context}
	}
	return o, own, rest
}

// historyMode returns what of the conversation the requests of this turn hold.
func (s *Session) historyMode() History {
	if s.omitsOldest && s.mode == HistoryFull {
		return HistoryDynamic
	}
	return s.mode
}

// overflowQuestion returns what to ask about a request that is too large. What would not help
// is not offered: a summary where a prompt by itself is too large, and to leave out what stands
// in front of the turn where that by itself is.
func overflowQuestion(t *turn, o Overflow, own, rest int) Question {
	q := Question{About: o}
	path, _ := t.summarizable()
	room := o.Window * fullWindow / 100
	if rest <= room && len(path) > 1 && !(len(path) == 2 && path[0].Summary) {
		q.Choices = append(q.Choices, Choice{Action: Summarize})
	}
	if own <= room && t.HistoryMode() == HistoryFull && hasTurns(path) {
		q.Choices = append(q.Choices, Choice{Action: OmitOldest})
	}
	if name := fittingModel(t, o); name != "" {
		q.Choices = append(q.Choices, Choice{Action: SwitchModel, Model: name})
	}
	q.Default = len(q.Choices)
	q.Choices = append(q.Choices, Choice{Action: SendAnyway}, Choice{Action: StopTurn})
	return q
}

// hasTurns reports whether path holds a prompt.
func hasTurns(path []store.Node) bool {
	for _, n := range path {
		if n.Role == llm.RoleUser && !n.Summary {
			return true
		}
	}
	return false
}

// fittingModel returns the first model to go on with whose window takes o; "" if there is none.
func fittingModel(t *turn, o Overflow) string {
	if t.fallback.open == nil || t.fallback.larger == nil {
		return ""
	}
	for _, name := range t.fallback.larger(o.Model) {
		if m, err := t.fallback.open(name); err == nil && m.Name != o.Model && m.Context*fullWindow/100 >= o.Tokens {
			return m.Name
		}
	}
	return ""
}
