package session

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"parley/providers/llm"
	"parley/session/store"
)

// fullWindow is the share of a model's window, in percent, above which a request is not sent
// without a word: what is counted is an estimate.
const fullWindow = 95

// errForked ends a turn that is to go on in a copy of the conversation.
var errForked = errors.New("the turn continues in a copy of the conversation")

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

// A turnWindow has the requests of a turn fit into the context windows of models.
type turnWindow struct {
	turn        *turn
	sendsAnyway bool // a request that does not fit goes out as it is, until the next prompt
}

// fit asks what to do about a request that is too large for the model, before it is
// sent, and reports whether another one is sent instead. Where nobody can be asked it is told,
// and sent: estimates may be wrong.
func (w *turnWindow) fit() (changed bool, err error) {
	t := w.turn
	if w.sendsAnyway {
		return false, nil
	}
	over, turnTokens, afterSummary := w.overflow(t.session.current())
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

// sentAnyway says that a request goes out although it does not fit.
func sentAnyway(o Overflow) string { return "sent as it is: " + o.String() }

// makeRoom does what was chosen about a request that is too large. It returns the model that
// is to be asked in the place of the one that it is too large for, if that was chosen and can
// be opened.
func (w *turnWindow) makeRoom(choice Choice) (model llm.Endpoint, err error) {
	t := w.turn
	switch choice.Action {
	case Summarize:
		return model, t.compaction.summarizeOrTell()
	case Fork:
		return model, errForked
	case OmitOldest:
		set(&t.mu, &t.session.request.omitsOldest, true)
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

// fitCandidates asks about each of the models that are to be compared for which the request is
// too large: another one is asked in its place, none, or all of them something shorter. Where
// nobody can be asked nothing changes.
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
		for _, one := range list { // a model may be asked several times
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
		i = -1 // what fitted before may not any more, and the other way round
	}
	return nil
}

// modelsOf returns the models of candidates that are asked, or were not yet.
func modelsOf(list []*candidate) (models []llm.Endpoint) {
	for _, one := range list {
		if one.skipped == nil && !one.done {
			models = append(models, one.model)
		}
	}
	return models
}

// overflow returns by how much the next request to a model is too large, how many tokens the turn
// itself takes of it, and how many would be left beside a summary. The Overflow is zero if the
// request fits, or the model's window is not known.
func (w *turnWindow) overflow(model llm.Endpoint) (o Overflow, turnTokens, afterSummary int) {
	t := w.turn
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.session.overflowOf(model)
}

// overflowOf does as overflow. The session is locked.
func (s *Session) overflowOf(model llm.Endpoint) (o Overflow, turnTokens, afterSummary int) {
	if model.Context <= 0 {
		return o, 0, 0
	}
	path := s.tree.pathFrom(s.tree.lastPrompt(s.turnSeq)) // of the turn
	afterSummary = s.tokens.overhead(s.emptyRequest(model))
	turnTokens = afterSummary
	for _, n := range path[firstWaiting(path):] {
		afterSummary += s.tokens.message(n)
	}
	from := max(slices.IndexFunc(path, func(n store.Node) bool { return n.Summary }), 0) // it replaces the messages before it
	for _, n := range path[from:] {
		turnTokens += s.tokens.message(n)
	}
	size := s.contextTokensFor(model)
	if s.historyMode() != HistoryFull { // the rest fits: see compile
		size = turnTokens
	}
	if !FitsWindow(size, model.Context) {
		o = Overflow{Model: model.Name, Tokens: size, Window: model.Context}
	}
	return o, turnTokens, afterSummary
}

// historyMode returns what of the conversation the requests of this turn hold.
func (s *Session) historyMode() HistoryMode {
	if s.request.omitsOldest && s.request.mode == HistoryFull {
		return HistoryDynamic
	}
	return s.request.mode
}

// question returns what to ask about a request that is too large. Choices that would not help
// are not offered: a summary if a prompt by itself is too large, and leaving out the messages
// before the turn if the turn by itself is. Models that are asked already are not offered.
func (w *turnWindow) question(o Overflow, turnTokens, afterSummary int, asked ...llm.Endpoint) Question {
	t := w.turn
	q := Question{About: o}
	path, _ := t.compaction.summarizable()
	room := o.Window * fullWindow / 100
	if afterSummary <= room && len(path) > 1 && !(len(path) == 2 && path[0].Summary) {
		q.Choices = append(q.Choices, Choice{Action: Summarize})
	}
	if turnTokens <= room && t.session.HistoryMode() == HistoryFull && slices.ContainsFunc(path, isPrompt) {
		q.Choices = append(q.Choices, Choice{Action: OmitOldest})
	}
	if name := w.fittingModel(o, asked); name != "" {
		q.Choices = append(q.Choices, Choice{Action: SwitchModel, Model: name})
	}
	q.Default = len(q.Choices)
	q.Choices = append(q.Choices, Choice{Action: SendAnyway}, Choice{Action: StopTurn})
	return q
}

// fittingModel returns the first model to go on with whose window takes o; "" if there is
// none but those that are asked.
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

// An omission is what the history mode leaves out of a request. The zero value is nothing.
type omission struct {
	turns   int
	summary bool // and the summary of the messages before them
}

// isTrimmed reports whether a request that leaves out omitted has less than the current branch.
func (s *Session) isTrimmed(omitted omission) bool {
	return omitted != omission{} || s.HistoryMode() == HistoryStateless
}

// String says what is left out, with the verb for it.
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

// notice says what is left out of a request to model, if that is more than before; "": it is not.
func (o omission) notice(before omission, model llm.Endpoint) string {
	if o.turns <= before.turns && (!o.summary || before.summary) {
		return ""
	}
	return fmt.Sprintf("%s not sent: the context window of %s is %d tokens", o, model.Name, model.Context)
}

// newestTurns leaves out the oldest whole turns of path until the rest takes no more than room; the
// one that began with the message began, or the last one if that is 0, always stays.
func (c *tokenCounter) newestTurns(path []store.Node, began, room int) (rest []store.Node, omitted omission) {
	if room == 0 {
		return path, omitted
	}
	last, size := turnStart(path, began), 0
	cut := len(path)
	for i := len(path) - 1; i >= 0; i-- {
		size += c.message(path[i])
		if path[i].Role != llm.RoleUser || path[i].Steers {
			continue
		}
		if size > room && i < last {
			break
		}
		cut = i
	}
	cut = min(cut, last)
	for _, n := range path[:cut] {
		if n.Summary {
			omitted.summary = true
		} else if beginsTurn(&n) {
			omitted.turns++
		}
	}
	return path[cut:], omitted
}
