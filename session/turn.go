package session

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"parley/providers/llm"
	"parley/tools"
)

// A turn is one run of the loop.
type turn struct {
	*Session
	ctx          context.Context
	emit         func(Event)
	start        time.Time
	done         Done
	tried        map[string]bool // models that failed in this turn
	tools        *tools.Set      // the tools as they were when it began; nil: none
	omittedTurns int             // turns the last request left out

	results             toolResults // of the last answer's calls, while they run
	compactedOnOverflow bool        // the conversation was summarized because it did not fit

	partial   *partialResponse // the answer that comes; nil: none does
	capped    bool             // the last answer ended at a limit of parley's: asking again would only be paid again
	corrected int              // how often the last answer was asked for again; see structure
}

func (t *turn) run(parts []llm.Part) error {
	if len(parts) > 0 {
		t.prompt(llm.Message{Role: llm.RoleUser, Parts: parts})
	} else if err := t.prepareRetry(); err != nil {
		return err
	}
	for step := 1; ; step++ {
		if t.ctx.Err() != nil {
			return context.Cause(t.ctx)
		}
		if step > t.maxSteps {
			return fmt.Errorf("%w: %d", ErrSteps, t.maxSteps)
		}
		if err := t.checkBudget(); err != nil {
			return err
		}
		if err := t.autoCompact(); err != nil {
			return err
		}
		t.done.Steps = step
		answer, reason, err := t.streamResponse(step)
		if err != nil {
			if t.fallBack(err) || t.compactOnOverflow(err) {
				continue
			}
			return err
		}
		if calls := answer.Calls(); len(calls) > 0 {
			if err := t.runCalls(calls, reason); err != nil {
				return err
			}
			if !t.capped {
				continue
			}
		}
		if again, err := t.checkSchema(answer, reason); err != nil {
			return err
		} else if again {
			continue
		}
		m, ok := t.dequeue()
		if !ok {
			return nil
		}
		t.prompt(m)
		step = 0
	}
}

// prompt adds a message of the user's to the conversation.
func (t *turn) prompt(m llm.Message) {
	n := t.append(m)
	t.mu.Lock()
	t.turnSeq = n.Seq
	t.mu.Unlock()
	t.saveInfo()
	t.emit(Prompt{Message: m, Seq: n.Seq})
	model := t.Model()
	_, changes := model.Portable([]llm.Message{m})
	for _, c := range changes {
		t.emit(llm.Notice{Text: model.Name + ": " + c.String()})
	}
}

// prepareRetry makes ready to go on from where the conversation stands.
func (t *turn) prepareRetry() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.tree.abandonPartial(t.log, t.now())
	if last, ok := t.tree.Last(); !ok || last.Role == llm.RoleAssistant && len(last.Calls()) == 0 {
		return errors.New("there is nothing to try again: the last answer is complete")
	}
	for _, n := range t.tree.Path() {
		if n.Role == llm.RoleUser && !n.Summary {
			t.turnSeq = n.Seq
		}
	}
	return nil
}

func (t *turn) dequeue() (llm.Message, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.queue) == 0 {
		return llm.Message{}, false
	}
	m := t.queue[0]
	t.queue = t.queue[1:]
	return m, true
}

func (t *turn) checkBudget() error {
	total, _ := t.Usage()
	if t.maxCost > 0 && t.hasUnpriced && !t.warnedUnpriced {
		t.warnedUnpriced = true
		t.emit(llm.Notice{Text: "the price of an answer is unknown: the spending limit counts only what is known"})
	}
	if t.maxCost > 0 && total.Cost >= t.maxCost {
		return fmt.Errorf("%w: $%.2f of $%.2f", ErrBudget, total.Cost, t.maxCost)
	}
	return nil
}

// streamResponse asks the model once and keeps what it says.
func (t *turn) streamResponse(step int) (llm.Message, llm.Reason, error) {
	model, req := t.request()
	keep := t.beginPartial(llm.Message{Role: llm.RoleAssistant, Origin: model.Origin, Model: model.Name})
	t.emit(Step{Model: model.Name, N: step, Seq: keep.node.Seq, Partial: PartialResponse{keep}})
	t.partial = keep
	var (
		a     Response
		fail  error
		began = t.now()
	)
	for e, err := range model.Stream(t.ctx, req) {
		if err != nil {
			fail = err
			break
		}
		switch d := e.(type) {
		case llm.Delta:
			if a.TTFT == 0 {
				a.TTFT = t.now().Sub(began)
			}
			d.Kind = keep.Add(d) // a front end need not remember it
			e = d
		case llm.Usage:
			a.Usage, a.UsageKnown = d, true
		case llm.Finish:
			a.Finish = d
			continue // told by Answer
		}
		t.emit(e)
		if t.ctx.Err() != nil {
			fail = context.Cause(t.ctx)
			break
		}
	}
	keep.stop()
	t.partial = nil
	if fail == nil && a.Finish.Reason == "" {
		fail = &llm.Error{Fault: llm.Network, Message: "the answer broke off before it was complete"}
	}
	a.Duration = t.now().Sub(began)
	a.Message = keep.node.Message
	a.Message.Interrupted = fail != nil
	a.Message.Parts = keep.parts(a.Finish, fail)
	t.capped = a.Finish.Limit != ""
	if keep.node.ThinkingDurations = keep.thinkingDurations(fail != nil); fail != nil {
		if !llm.Canceled(fail) {
			keep.node.InterruptedBy = fail.Error()
		}
		t.estimateUsage(&a)
		keep.recordDroppedCalls(t)
	}
	a.Seq = t.addResponse(a, keep)
	if fail == nil {
		t.done.Reason = a.Finish.Reason
	}
	t.emit(a)
	return a.Message, a.Finish.Reason, fail
}

// estimateUsage counts an answer that broke off or was stopped, of which providers
// report nothing, or only what was sent: it is paid for all the same. The price of
// an estimate is not known.
func (t *turn) estimateUsage(a *Response) {
	size := 0
	for _, p := range a.Message.Parts {
		if !p.Remote {
			size += t.estimateTokens(p.Text) + t.estimateTokens(p.Input)
		}
	}
	if size <= a.Usage.Output || len(a.Message.Parts) == 0 {
		return
	}
	if a.Usage.Input == 0 {
		a.Usage.Input = t.ContextTokens()
	}
	a.Usage.Output, a.Usage.Priced, a.UsageKnown = size, false, true
}

// addResponse adds an answer to the conversation and its usage to the totals. An
// answer of which nothing arrived is not kept.
func (t *turn) addResponse(a Response, kept *partialResponse) (seq int) {
	n := kept.node
	n.Message, n.Partial, n.Reason, n.TTFT, n.Duration = a.Message, false, a.Finish.Reason, a.TTFT, a.Duration
	if a.UsageKnown {
		n.Usage = &a.Usage
	}
	t.mu.Lock()
	if a.UsageKnown {
		t.addUsage(a.Usage)
		t.last = a.Usage
	}
	empty := len(n.Parts) == 0 && n.Usage == nil && !kept.onDisk
	if !empty {
		t.tree.Put(n)
	}
	t.mu.Unlock()
	if empty {
		return 0
	}
	t.persist(n)
	return n.Seq
}

// addUsage adds to the totals. The session is locked.
func (t *turn) addUsage(u llm.Usage) {
	t.hasUnpriced = t.hasUnpriced || !u.Priced
	t.total = t.total.Add(u)
	t.done.Usage = t.done.Usage.Add(u)
}

// uniqueCallIDs gives every call an id of its own: results are told apart by it. One whose
// id was taken must not run: an id runs at most once.
func uniqueCallIDs(parts []llm.Part) []llm.Part {
	seen := map[string]bool{}
	for i, p := range parts {
		if p.Kind != llm.Call {
			continue
		}
		if p.ID == "" || seen[p.ID] {
			parts[i].Repeated = p.Repeated || p.ID != ""
			parts[i].ID = "call_" + rand.Text()[:20]
		}
		seen[parts[i].ID] = true
	}
	return parts
}

// fallBack switches to the next fallback model if err is a reason to, and reports
// whether it did. What the failed model left behind becomes a branch.
func (t *turn) fallBack(err error) bool {
	fault := llm.FaultOf(err)
	if t.ctx.Err() != nil || t.openModel == nil {
		return false
	}
	switch fault {
	case llm.Quota, llm.Server, llm.RateLimit:
	default:
		return false
	}
	failed := t.Model()
	if t.tried == nil {
		t.tried = map[string]bool{}
	}
	t.tried[failed.Name] = true
	for _, name := range t.fallback {
		if t.tried[name] {
			continue
		}
		t.tried[name] = true
		model, err := t.openModel(name)
		if err != nil {
			t.emit(llm.Notice{Text: fmt.Sprintf("fallback %s: %v", name, err)})
			continue
		}
		t.mu.Lock()
		t.tree.abandonPartial(t.log, t.now())
		t.mu.Unlock()
		t.emit(Fallback{From: failed.Name, To: model.Name, Fault: fault})
		if sw := t.SetModel(model); len(sw.Changes) > 0 {
			t.emit(sw)
		}
		return true
	}
	return false
}
