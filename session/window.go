package session

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"parley/providers/llm"
	"parley/session/store"
)

// fullWindow is the share of a model's window, in percent, above which a request needs
// confirmation; token counts are estimates.
const fullWindow = 95

// errForked ends a turn that continues in a copy of the conversation.
var errForked = errors.New("the turn continues in a copy of the conversation")

// An Overflow is the subject of a Question when the next request would not fit the window
// of its model.
type Overflow struct {
	Model  string // provider/model
	Tokens int    // of the request, by estimate
	Window int
	Widen  string // how to make the window larger; see llm.Endpoint
}

// String describes the sizes of the request and the window.
func (o Overflow) String() string {
	return fmt.Sprintf("about %d tokens, and the context window of %s is %d", o.Tokens, o.Model, o.Window)
}

// A turnWindow makes the requests of a turn fit into the context windows of models.
type turnWindow struct {
	turn        *turn
	sendsAnyway bool // oversized requests are sent unchanged until the next prompt
}

// fit asks what to do about a request that is too large for the model, and reports whether
// another one is sent instead. If the user cannot be asked, it emits a notice and sends the
// request, because estimates may be wrong.
func (w *turnWindow) fit() (changed bool, err error) {
	t := w.turn
	if w.sendsAnyway {
		return false, nil
	}
	over, turnTokens, afterSummary := w.overflow(t.session.Next.current())
	if over.Tokens == 0 {
		return false, nil
	}
	if !t.session.attended {
		w.sendsAnyway = true
		t.notice("%s", sentAnyway(over))
		return false, nil
	}
	q := w.question(over, turnTokens, afterSummary)
	if i := slices.IndexFunc(q.Choices, func(c Choice) bool { return c.Action == Summarize }); i >= 0 && t.log != nil {
		q.Choices = slices.Insert(q.Choices, i+1, Choice{Action: Fork})
		q.Default++
	}
	choice := t.questions.ask(q)
	if choice.Action == SendAnyway {
		w.sendsAnyway = true
		return false, nil
	}
	model, err := w.makeRoom(choice)
	if model.Name != "" {
		t.models.continueWith(model, Fallback{From: over.Model, Fault: llm.ContextOverflow})
	}
	return true, err
}

// sentAnyway returns the notice for an oversized request that is sent.
func sentAnyway(o Overflow) string { return "sent as it is: " + o.String() }

// makeRoom carries out a choice about an oversized request. It returns the model that
// replaces the current one, if that was chosen and could be opened.
func (w *turnWindow) makeRoom(choice Choice) (model llm.Endpoint, err error) {
	t := w.turn
	switch choice.Action {
	case Summarize:
		return model, t.compaction.summarizeOrTell()
	case Fork:
		return model, errForked
	case OmitOldest:
		set(&t.mu, &t.session.Next.omitsOldest, true)
	case SwitchModel:
		if model, err = t.session.fallback.open(choice.Model); err != nil {
			t.notice("%s: %v", choice.Model, err)
			return llm.Endpoint{}, nil
		}
	case StopTurn:
		return model, t.cause(errStoppedAtQuestion)
	}
	return model, nil
}

// fitCandidates asks, for each compared model whose window is too small, whether another model
// replaces it, it is left out, or all get a shorter request. If the user cannot be asked
// nothing changes.
func (w *turnWindow) fitCandidates(list []*candidate) error {
	t := w.turn
	for i := 0; t.session.attended && i < len(list); i++ {
		over, turnTokens, afterSummary := w.overflow(list[i].model)
		if over.Tokens == 0 || list[i].skipped != nil || list[i].overflowNoticed {
			continue
		}
		q := w.question(over, turnTokens, afterSummary, modelsOf(list)...)
		if slices.ContainsFunc(list, func(one *candidate) bool { return one.skipped == nil && one.model.Name != over.Model }) {
			q.Choices = slices.Insert(q.Choices, q.Default, Choice{Action: LeaveOut, Model: over.Model})
			q.Default++
		}
		choice := t.questions.ask(q)
		other, err := w.makeRoom(choice)
		if err != nil {
			return err
		}
		for _, one := range list { // a model may occur several times
			switch {
			case one.model.Name != over.Model:
			case other.Name != "":
				one.model = other
			case choice.Action == LeaveOut:
				one.skipped = &llm.Error{Fault: llm.ContextOverflow, Message: "skipped in this comparison: " + over.String()}
			case choice.Action == SendAnyway:
				one.overflowNoticed = true
			}
		}
		i = -1 // start over: the changes may affect candidates already checked
	}
	return nil
}

// modelsOf returns the models of candidates that are not done.
func modelsOf(list []*candidate) (models []llm.Endpoint) {
	for _, one := range list {
		if one.skipped == nil && !one.done {
			models = append(models, one.model)
		}
	}
	return models
}

// overflow returns by how much the next request to a model is too large, how many tokens of it
// the turn takes, and how many would remain with a summary. The Overflow is zero if the request
// fits, or the model's window is unknown.
func (w *turnWindow) overflow(model llm.Endpoint) (o Overflow, turnTokens, afterSummary int) {
	t := w.turn
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.session.Next.overflow(model)
}

// overflow is turnWindow.overflow with the conversation locked.
func (r *nextRequest) overflow(model llm.Endpoint) (o Overflow, turnTokens, afterSummary int) {
	if model.Context <= 0 {
		return o, 0, 0
	}
	path := r.conversation.tree.pathFrom(r.conversation.tree.lastPrompt(r.conversation.turnSeq)) // the messages of the turn
	afterSummary = r.tokens.overhead(r.empty(model))
	turnTokens = afterSummary
	for _, n := range path[firstWaiting(path):] {
		afterSummary += r.tokens.message(n)
	}
	from := max(slices.IndexFunc(path, func(n store.Node) bool { return n.Summary }), 0) // a summary replaces the messages before it
	for _, n := range path[from:] {
		turnTokens += r.tokens.message(n)
	}
	size := r.contextTokensFor(model)
	if r.historyMode() != HistoryFull { // compile makes the rest fit
		size = turnTokens
	}
	if !FitsWindow(size, model.Context) {
		o = Overflow{Model: model.Name, Tokens: size, Window: model.Context, Widen: model.Widen}
	}
	return o, turnTokens, afterSummary
}

// historyMode returns the history mode for the requests of this turn.
func (r *nextRequest) historyMode() HistoryMode {
	if r.omitsOldest && r.mode == HistoryFull {
		return HistoryDynamic
	}
	return r.mode
}

// question returns the question about an oversized request. It leaves out choices that would
// not help: a summary if the prompt alone is too large, and omitting older messages if the
// turn alone is. It does not offer the models in asked.
func (w *turnWindow) question(o Overflow, turnTokens, afterSummary int, asked ...llm.Endpoint) Question {
	t := w.turn
	q := Question{About: o}
	path, _ := t.summarizable()
	room := o.Window * fullWindow / 100
	if afterSummary <= room && t.CanSummarize() {
		q.Choices = append(q.Choices, Choice{Action: Summarize})
	}
	if turnTokens <= room && t.session.Next.HistoryMode() == HistoryFull && slices.ContainsFunc(path, isPrompt) {
		q.Choices = append(q.Choices, Choice{Action: OmitOldest})
	}
	if name := w.fittingModel(o, asked); name != "" {
		q.Choices = append(q.Choices, Choice{Action: SwitchModel, Model: name})
	}
	q.Default = len(q.Choices)
	q.Choices = append(q.Choices, Choice{Action: SendAnyway}, Choice{Action: StopTurn})
	return q
}

// fittingModel returns the first fallback model whose window fits o and that is not in
// asked; "" if there is none.
func (w *turnWindow) fittingModel(o Overflow, asked []llm.Endpoint) string {
	t := w.turn
	s := t.session
	if s.fallback.open == nil || s.fallback.alternatives == nil {
		return ""
	}
	for _, name := range s.fallback.alternatives(FallbackNeed{Model: o.Model, Fault: llm.ContextOverflow, Tokens: o.Tokens}) {
		m, err := s.fallback.open(name)
		if err == nil && m.Context > 0 && FitsWindow(o.Tokens, m.Context) && m.Name != o.Model && !slices.ContainsFunc(asked, func(a llm.Endpoint) bool { return a.Name == m.Name }) {
			return m.Name
		}
	}
	return ""
}

// An omission counts the turns that the history mode leaves out of a request. The zero value omits nothing.
type omission struct {
	turns   int
	summary bool // the summary before them is left out too
}

// isTrimmed reports whether a request that leaves out omitted has less than the current branch.
func (r *nextRequest) isTrimmed(omitted omission) bool {
	return omitted != omission{} || get(&r.conversation.mu, &r.mode) == HistoryStateless
}

// String describes the omission, including the verb.
func (o omission) String() string {
	turns := "the oldest turn is"
	if o.turns > 1 {
		turns = fmt.Sprintf("the oldest %d turns are", o.turns)
	}
	switch {
	case !o.summary:
		return turns
	case o.turns == 0:
		return "the summary of the messages before is"
	}
	return "the summary and " + strings.TrimSuffix(strings.TrimSuffix(turns, " is"), " are") + " are"
}

// notice describes the omissions of a request to model if there are more than before; "" otherwise.
func (o omission) notice(before omission, model llm.Endpoint) string {
	if o.turns <= before.turns && (!o.summary || before.summary) {
		return ""
	}
	return fmt.Sprintf("%s not sent: the context window of %s is %d tokens", o, model.Name, model.Context)
}

// newestTurns returns the current branch since its last summary, and waiting messages after it, without the oldest whole
// turns, so that the rest takes at most room tokens. The turn begun by the message began, or the last one if began is
// 0, always stays. It reads only the rest, and the turn before it.
func (c *tokenCounter) newestTurns(waiting []store.Node, began, room int) (rest []store.Node, omitted omission) {
	last, size, kept := len(waiting) == 0, 0, 0 // last: the turn that stays is not complete yet
	for _, n := range waiting {
		size += c.message(n)
	}
	for n := range c.tree.back(c.tree.head) {
		size += c.message(*n)
		rest = append(rest, *n)
		if n.Role == llm.RoleUser && !n.Steers {
			if room > 0 && size > room && !last {
				break
			}
			kept = len(rest)
			last = last && !(beginsTurn(n) && (began == 0 || n.Seq <= began))
		}
		if n.Summary {
			break
		}
	}
	if room == 0 || last {
		kept = len(rest)
	}
	if kept < len(rest) {
		omitted = c.tree.turnsTo(rest[kept].Seq)
	}
	rest = rest[:kept]
	slices.Reverse(rest)
	return append(rest, waiting...), omitted
}
