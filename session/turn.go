package session

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
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
	emit     func(Event)
	start    time.Time
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

func (t *turn) run(parts []llm.Part) error {
	if err := t.begin(parts); err != nil {
		return err
	}
	return answer(t)
}

// answer answers the prompt at the end of the conversation, and queued ones.
func answer(t *turn) error {
	beginPrompt(t)
	return answerSteps(t)
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

// answerSteps sends requests until the model calls no more tools and no prompt is queued.
func answerSteps(t *turn) error {
	s := t.session
	for step := 1; ; step++ {
		if t.ctx.Err() != nil {
			return context.Cause(t.ctx)
		}
		if step > s.maxSteps {
			return fmt.Errorf("%w: %d", ErrSteps, s.maxSteps)
		}
		if err := t.prepareStep(); err != nil {
			return err
		}
		t.done.Steps = step
		response, reason, err := t.streamResponse(step)
		if err != nil {
			if t.compaction.onOverflow(err) || t.models.fallBack(response, err) {
				step-- // only answers count as steps
				continue
			}
			return t.cause(err)
		}
		t.models.answered(response.Model)
		if calls := response.Calls(); len(calls) > 0 {
			if err := newCallBatch(t, calls, reason).run(); err != nil {
				return err
			}
			if !t.latest.capped {
				if err := steer(t); err != nil {
					return err
				}
				continue
			}
		}
		if again, err := t.checkSchema(response, reason); err != nil {
			return err
		} else if again {
			continue
		}
		m, ok, err := nextPrompt(t, false)
		if err != nil {
			return err
		}
		if !ok {
			if stopHooks(t, response) {
				continue
			}
			if again, err := runCheck(t); !again {
				return err
			}
			step, t.hookRounds = 0, 0 // but the limits of a turn are for all its rounds
			continue
		}
		t.restoreSettings()
		t.given.enter(m)
		beginPrompt(t)
		step, t.hookRounds = 0, 0
	}
}

// beginPrompt resets decisions about the previous prompt, and chooses the model.
func beginPrompt(t *turn) {
	s := t.session
	t.compaction, t.window = compaction{turn: t}, turnWindow{turn: t}
	set(&t.mu, &s.request.omitsOldest, false)
	set(&t.mu, &s.hooks.checked, t.ctx)
	t.budget.begin()
	t.models.choose()
	if s.tools != nil {
		s.tools.BeginPrompt()
	}
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

// Connect connects to the model's server because a prompt is being written or stored, unless a connection is open. It
// sends no request, looks up no key and returns at once; the request reports errors.
func (s *Session) Connect() {
	model := s.Model()
	m, ok := model.Model.(interface{ Connect() })
	if until, _ := s.fallback.cooldowns.Of(model.Name, s.now()); ok && until.IsZero() { // otherwise a fallback would answer
		m.Connect()
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
	return t.budget.checkExpense(t.session.current()) // which is now certain
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
	s.Branch().StoreGivenBack()
	own := len(m.Parts)
	m.Parts = withRestoredDirectories(t, withEndedJobs(t, withOpinions(t, append(slices.Clip(m.Parts), s.branch.unsaid...))))
	s.branch.unsaid = nil
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
	model := t.session.current()
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

// GenerateImage sends parts to an image model, whose Origin is llm.OriginImages, and stores its
// answer like any other, so that the session's model gets it with the next request. Parts are
// the prompt and the images to edit. Without images among them, those of the last answer are
// edited, unless anew is set. Without parts the last prompt is sent again. Its events are those
// of [Session.Turn].
func (s *Session) GenerateImage(ctx context.Context, model llm.Endpoint, anew bool, parts ...llm.Part) iter.Seq[Event] {
	return s.loop(ctx, func(t *turn) error { return generateImage(t, model, anew, parts) })
}

func generateImage(t *turn, model llm.Endpoint, anew bool, parts []llm.Part) error {
	if len(parts) == 0 { // the last prompt includes its source images
		if err := t.prepareRetry(); err != nil {
			return err
		}
		path := t.Path()
		parts = path[len(path)-1].Parts
	} else {
		own := parts
		if !anew && model.Accepts("image/") {
			parts = append(lastImages(t.Path(), parts), parts...)
		}
		m, err := t.given.submit(llm.Message{Role: llm.RoleUser, Model: model.Name, Parts: parts}, own...)
		if err != nil {
			return err
		}
		parts = m.Parts
		t.session.Branch().StoreGivenBack()
		t.session.saveInfo()
		n := t.append(m)
		set(&t.mu, &t.turnSeq, n.Seq)
		t.given.Seq = n.Seq
		t.emit(Prompt{Message: n.Message, Seq: n.Seq, At: n.At})
	}
	if err := t.budget.checkExpense(model); err != nil {
		return err
	}
	t.done.Steps = 1
	request := llm.Request{Session: t.id, Messages: []llm.Message{{Role: llm.RoleUser, Parts: parts}}}
	if _, _, err := streamFrom(t, 1, model, request); err != nil {
		return err
	}
	m, ok, err := nextPrompt(t, false)
	if !ok {
		return err
	}
	t.given.enter(m)
	return answer(t)
}

// lastImages returns the images of the last answer of path; none if prompt has images.
func lastImages(path []store.Node, prompt []llm.Part) (drawn []llm.Part) {
	isImage := func(p llm.Part) bool { return p.Kind == llm.Media && strings.HasPrefix(p.MIME, "image/") }
	for n := len(path); n > 0 && path[n-1].Role == llm.RoleUser && path[n-1].Model != "" && !path[n-1].Summary; n-- {
		path = path[:n-1] // an answer that was refused or stopped
	}
	if len(path) == 0 || slices.ContainsFunc(prompt, isImage) {
		return nil
	}
	last := path[len(path)-1]
	for _, p := range last.Parts {
		if last.Role == llm.RoleAssistant && isImage(p) && len(p.Data) > 0 {
			drawn = append(drawn, p)
		}
	}
	return drawn
}
