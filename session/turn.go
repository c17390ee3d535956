package session

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"parley/providers/llm"
	"parley/session/store"
	"parley/tools/act"
)

// A turn is one run of the loop: from a prompt to an answer without calls.
type turn struct {
	*conversation
	session  *Session
	ctx      context.Context
	emit     func(Event) // shows an event, and stores it if it is of a stored kind
	show     func(Event) // only shows it
	start    time.Time
	step     int // number of the request since the last prompt
	done     Done
	offered  act.Set  // tools that were available when it began; nil: none
	callable act.Set  // those that its calls may use: offered, as restricted by its prompt
	omitted  omission // omissions of the last request

	hookRounds int // how often Stop hooks made the turn continue since the last prompt

	questions  turnQuestions
	budget     turnBudget
	compaction compaction
	window     turnWindow
	models     turnModels

	given  givenPrompt // the last user message
	latest lastResponse
}

// A lastResponse holds facts of the last response that affect the next step.
type lastResponse struct {
	capped      bool // parley ended it at a limit: asking again would only repeat the cost
	toolless    bool // no tools were offered
	corrections int  // number of corrections requested; see checkSchema
}

// Turn sends parts as a prompt and yields events until the model has answered. Without
// parts it retries: it answers the last prompt or tool results; an interrupted response
// stays on a branch of its own.
//
// Canceling ctx ends the turn soon, with its cause in Done. A consumer that
// stops ranging cancels the turn as well. Only one turn runs at a time; a second
// one ends at once with an error.
func (s *Session) Turn(ctx context.Context, parts ...llm.Part) iter.Seq[Event] {
	return s.loop(ctx, func(t *turn) error { return t.run(parts) })
}

// run is a turn: it stores the prompt, and sends requests until the model has answered.
func (t *turn) run(parts []llm.Part) error {
	if err := t.begin(parts); err != nil {
		return err
	}
	return answer(t)
}

// begin appends parts as a prompt; without parts it prepares to retry the last one.
func (t *turn) begin(parts []llm.Part) error {
	if len(parts) == 0 {
		return t.prepareRetry()
	}
	m, err := t.given.submit(llm.Message{Role: llm.RoleUser, Parts: parts})
	if err != nil {
		return err
	}
	t.session.Connect() // while the prompt is stored, if a hook does not block it
	t.given.enter(m)
	return nil
}

// answer answers the prompt at the end of the conversation, and queued ones.
func answer(t *turn) error {
	beginPrompt(t)
	return answerSteps(t)
}

// beginPrompt resets decisions about the previous prompt, and chooses the model.
func beginPrompt(t *turn) {
	s := t.session
	t.compaction, t.window = compaction{turn: t}, turnWindow{turn: t}
	set(&t.mu, &s.Next.omitsOldest, false)
	s.Check.begin(t.ctx)
	t.budget.begin()
	t.models.choose()
	if s.tools != nil {
		s.tools.BeginPrompt()
	}
}

// answerSteps sends requests until the model calls no more tools and no prompt is queued.
func answerSteps(t *turn) error {
	for t.step = 1; ; t.step++ {
		if t.ctx.Err() != nil {
			return context.Cause(t.ctx)
		}
		if most := t.session.maxSteps; t.step > most {
			return fmt.Errorf("%w: %d", ErrSteps, most)
		}
		if err := t.prepareStep(); err != nil {
			return err
		}
		t.done.Steps = t.step
		response, reason, err := t.streamResponse()
		if err != nil {
			if t.compaction.onOverflow(err) || t.models.fallBack(response, err) {
				t.step-- // only answers count as steps
				continue
			}
			return t.cause(err)
		}
		t.models.answered(response.Model)
		if more, err := t.goOn(response, reason); !more || err != nil {
			return err
		}
	}
}

// prepareStep makes room in the context window for the next request, and checks its cost.
func (t *turn) prepareStep() error {
	if err := t.compaction.automatic(); err != nil {
		return err
	}
	if changed, err := t.window.fit(); err != nil {
		return err
	} else if changed { // the checks above may no longer apply
		return t.prepareStep()
	}
	return t.budget.checkExpense(t.session.Next.current()) // which is now certain
}

// goOn runs the calls of a response, and reports whether another request follows: with the results of the calls, for a
// corrected answer, for a queued prompt, or because a hook or a check asks for it.
func (t *turn) goOn(response llm.Message, reason llm.Reason) (more bool, err error) {
	if calls := response.Calls(); len(calls) > 0 {
		if err := newCallBatch(t, calls, reason).run(); err != nil {
			return false, err
		}
		if !t.latest.capped {
			return true, steer(t)
		}
	}
	if again, err := t.checkSchema(response, reason); again || err != nil {
		return again, err
	}
	m, queued, err := nextPrompt(t, false)
	switch {
	case err != nil:
		return false, err
	case queued:
		_ = useSettings(t, TurnSettings{}) // cannot fail
		t.given.enter(m)
		beginPrompt(t)
	case stopHooks(t, response):
		return true, nil
	default:
		if again, err := runCheck(t); !again {
			return false, err
		}
	}
	t.step, t.hookRounds = 0, 0 // but the limits of a turn are for all its prompts
	return true, nil
}

// TurnFromSummary summarizes the conversation, and then runs Turn without parts. If it cannot
// be summarized, it emits a Notice.
func (s *Session) TurnFromSummary(ctx context.Context) iter.Seq[Event] {
	return s.loop(ctx, func(t *turn) error {
		if err := t.prepareRetry(); err != nil {
			return err
		}
		beginPrompt(t)
		if err := t.compaction.summarizeOrTell(); err != nil {
			return err
		}
		return answerSteps(t)
	})
}

// Connect connects to the model's server because a prompt is being written or stored, unless a connection is open. It
// sends no request, looks up no key and returns at once; the request reports errors.
func (s *Session) Connect() {
	model := s.Model()
	m, ok := model.Model.(interface{ Connect() })
	if until, _ := s.fallback.cooldowns.of(model.Name, s.now()); ok && until.IsZero() { // otherwise a fallback would answer
		m.Connect()
	}
}

// steer appends the queued steering messages.
func steer(t *turn) error {
	for {
		m, ok, err := nextPrompt(t, true)
		if !ok {
			return err
		}
		n := t.appendAt(m, func(n *store.Node) { n.Steers = true })
		showPrompt(t, n)
	}
}

// prompt appends a user message with notes for the model, begins a turn with it, and returns its Seq and
// the notes.
func (t *turn) prompt(m llm.Message) (seq int, notes []llm.Part) {
	s := t.session
	s.Branch.StoreGivenBack()
	own := len(m.Parts)
	m.Parts = withRestoredDirectories(t, withEndedJobs(t, withOpinions(t, append(slices.Clip(m.Parts), s.Branch.unsaid...))))
	s.Branch.unsaid = nil
	s.saveInfo()
	n := t.append(m)
	set(&t.mu, &t.turnSeq, n.Seq)
	showPrompt(t, n)
	return n.Seq, m.Parts[own:]
}

// showPrompt emits a stored prompt, and notices about parts that the model does not get.
func showPrompt(t *turn, n store.Node) {
	m := n.Message
	t.emit(Prompt{Message: m, Seq: n.Seq, At: n.At, Steers: n.Steers})
	model := t.session.Next.current()
	_, changes := model.Portable([]llm.Message{m})
	for _, c := range changes {
		t.notice("%s: %s", model.Name, c)
	}
}

// prepareRetry drops an interrupted response from the branch, and checks that something is unanswered.
func (t *turn) prepareRetry() error {
	if t.abandonInterrupted() {
		t.notice("trying again: the answer above is not sent")
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if last, ok := t.tree.Last(); !ok || last.Role == llm.RoleAssistant && len(last.Calls()) == 0 {
		return errors.New("nothing to retry: the last answer is complete")
	}
	if seq := t.tree.lastPrompt(0); seq > 0 {
		t.turnSeq = seq
	}
	return nil
}

// loop returns the events of f, run as the session's only turn.
func (s *Session) loop(ctx context.Context, f func(*turn) error) iter.Seq[Event] {
	return func(yield func(Event) bool) { // short: the compiler copies it into each caller of Turn
		(&turn{conversation: &s.conversation, session: s, ctx: ctx, start: s.now()}).play(f, yield)
	}
}

// play runs f as the session's only turn, and yields its events.
func (t *turn) play(f func(*turn) error, yield func(Event) bool) {
	s := t.session
	ctx, cancel := context.WithCancelCause(context.WithValue(act.WithJobOwner(t.ctx, s.id), sessionKey{}, s))
	defer cancel(nil)
	t.ctx, t.show, t.emit = ctx, stopAfterBreak(yield, cancel), t.record
	t.given.turn, t.questions.turn, t.budget.turn, t.compaction.turn, t.window.turn, t.models.turn = t, t, t, t, t, t
	if !s.turn.TryLock() {
		t.show(Done{Err: errors.New("a turn is running already")})
		return
	}
	t.playLocked(f)
	t.done.Duration = s.now().Sub(t.start)
	if t.done.Err != nil {
		t.done.Reason = ""
	}
	if s.afterTurn != nil {
		s.afterTurn()
	}
	t.show(t.done) // unlocked: the consumer may start the next turn
}

// playLocked runs f with the session's turn locked, stores how the turn ended, and unlocks it, also after a panic.
func (t *turn) playLocked(f func(*turn) error) {
	s := t.session
	defer s.Beside.keepAll()
	defer s.turn.Unlock()
	defer func() {
		t.budget.endReservations()
		s.Check.end(t.ctx)
		t.mu.Lock()
		t.turnSeq, s.Next.turnTools, s.Next.omitsOldest, s.Next.standIn, s.Branch.edited = 0, nil, false, llm.Endpoint{}, edit{}
		t.mu.Unlock()
	}()
	if s.tools != nil {
		t.offered = locked(&s.mu, s.Next.offered)
	}
	t.callable = t.offered
	set(&s.mu, &s.Next.turnTools, t.callable)
	t.budget.begin()
	if t.done.Err = f(t); t.done.Err == errForked {
		t.done.Err, t.done.Fork = nil, t.Head()
	}
	t.reportSandbox()
	if llm.Canceled(t.done.Err) {
		t.done.Err = t.cause(t.done.Err)
	}
	t.done.Unsent = t.questions.unsent && t.ctx.Err() == nil && t.given.giveBack()
	t.done.AnswerComplete = !s.Unanswered()
	t.budget.noticeReached()
	s.saveInfo()
	if !t.done.Unsent { // calls are stopped only in messages that are still part of the conversation
		t.annotate(t.done, 0)
	}
	if s.log != nil {
		_ = s.log.Flush() // as in persist
	}
}

// record stores an event if it is of a stored kind, and shows it.
func (t *turn) record(e Event) {
	if kind, _ := kindOf(e); kind != "" {
		t.annotate(e, t.partial.visibleParts())
	}
	t.show(e)
	if _, ok := e.(Result); ok {
		t.reportSandbox()
	}
}

// notice emits a notice.
func (t *turn) notice(format string, args ...any) {
	t.emit(llm.Notice{Text: fmt.Sprintf(format, args...)})
}

func (t *turn) reportSandbox() {
	if e, ok := t.session.TakeSandbox(); ok {
		t.emit(e)
	}
}

var errConsumerLeft = fmt.Errorf("the consumer left: %w", context.Canceled)

// stopAfterBreak wraps yield so that it may be called after the consumer stopped ranging.
func stopAfterBreak(yield func(Event) bool, cancel context.CancelCauseFunc) func(Event) {
	left := false
	return func(e Event) {
		if !left && !yield(e) {
			left = true
			cancel(errConsumerLeft)
		}
	}
}
