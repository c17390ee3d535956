package session

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"parley/providers/llm"
	"parley/tools/act"
)

// Errors of hooks that end a turn.
var (
	ErrHookBlocked = errors.New("not sent: a hook blocked the prompt")
	ErrHookStopped = errors.New("stopped by a hook")
)

// HookPartName is the Name of the parts that hooks added to a prompt.
const HookPartName = "added by a hook"

// maxHookRounds is how often hooks may make a model continue after one answer.
const maxHookRounds = 8

// sessionHooks are the hooks of a session.
type sessionHooks struct {
	act.Hooks                // nil: there are none
	started   bool           // SessionStart was sent
	unsaid    []string       // context from it for a message that did not enter the conversation
	notifying sync.WaitGroup // running Notification hooks, which no turn waits for
}

// fire runs the hooks of an event and shows the user their messages.
func fire(t *turn, in act.HookInput) act.HookAnswer {
	in.Session = t.id
	a := t.session.hooks.Fire(t.ctx, in)
	for _, notice := range a.Notices {
		t.notice("%s", notice)
	}
	return a
}

// verdict returns the decision of the policy and the hooks about a call. If ok is false, the
// call has its result or the turn was canceled.
func (b *callBatch) verdict(call *pendingCall) (verdict act.Verdict, ok bool) {
	policy := b.turn.session.policy
	verdict = policy.Decide(call.action)
	if verdict == act.Deny || b.turn.session.hooks.Hooks == nil {
		return verdict, true
	}
	if call.hook == nil {
		if !b.askHooks(call) {
			return "", false
		}
		verdict = policy.Decide(call.action)
	}
	switch {
	case call.hook.Verdict == act.Ask && verdict == act.Allow:
		asking := *call.action
		asking.Caution = "a hook asks about it"
		if call.hook.Reason != "" {
			asking.Caution += ": " + call.hook.Reason
		}
		call.action, verdict = &asking, act.Ask
	case call.hook.Verdict == act.Allow && verdict == act.Ask && policy.MayHookAllow(call.action):
		verdict = act.Allow
	}
	return verdict, true
}

// askHooks asks the hooks about a call before the policy and the user. It reports whether the
// call continues, with any arguments that the hooks changed.
func (b *callBatch) askHooks(call *pendingCall) bool {
	a := fire(b.turn, act.HookInput{Event: act.HookPreToolUse, Tool: call.part.Name, Input: call.action.Input})
	if b.turn.ctx.Err() != nil {
		return false
	}
	call.hook = &a
	if denied := call.forbiddenByHook(); denied != "" {
		b.deny(call, "policy", denied)
		return false
	}
	if a.Input == nil || string(a.Input) == string(call.action.Input) {
		return true
	}
	// The changed call is planned, decided and shown again.
	call.changed, call.notice = string(a.Input), "A hook changed the arguments to "+string(a.Input)+"\n\n"
	b.turn.notice("a hook changed the arguments of %s to %s", call.part.Name, a.Input)
	if !b.plan(call, string(a.Input)) {
		b.setResult(call, act.Outcome{Text: call.err.Error(), Failed: true})
		return false
	}
	if a.Project != "" {
		call.action = act.FromProject(call.action, a.Project)
	}
	return true
}

// forbiddenByHook returns why hooks forbid a call, in words for the model; "" if they do not.
func (call *pendingCall) forbiddenByHook() string {
	why := call.hook.StopWhy
	switch {
	case call.hook.Verdict == act.Deny:
		why = call.hook.Reason
	case !call.hook.Stop:
		return ""
	}
	return withContext(notRun+"a hook forbids it: "+why, call.hook.Context())
}

// stoppedByHook returns an error if a hook ends the turn because of a call.
func (call *pendingCall) stoppedByHook() error {
	if call.hook == nil || call.hook.StopWhy == "" {
		return nil
	}
	return fmt.Errorf("%w: %s", ErrHookStopped, call.hook.StopWhy)
}

// withContext returns text with context that hooks add for the model.
func withContext(text, context string) string {
	if context == "" {
		return text
	}
	return text + "\n\nA hook adds: " + context
}

// afterCall passes a call's outcome to the hooks and adds their context for the model. It
// returns notices for the user.
func (h *sessionHooks) afterCall(ctx context.Context, session string, call *pendingCall, out *act.Outcome) (notices []string) {
	if h.Hooks == nil {
		return nil
	}
	a := h.Fire(ctx, act.HookInput{Session: session, Event: act.HookPostToolUse, Tool: call.part.Name, Input: call.action.Input, Response: &act.HookResponse{Output: out.Text, Failed: out.Failed}})
	added := withContext("", call.hook.Context())
	if a.Verdict == act.Deny {
		added = withContext(added, a.Reason)
	}
	added = withContext(added, a.Context())
	out.Text, out.Notes = out.Text+added, out.Notes+added
	if a.Stop {
		call.hook.StopWhy = a.StopWhy
	}
	return a.Notices
}

// submit returns a user message with the texts that hooks add. The error says why it is not
// sent. In that case Unsent gives the message back, with only the parts in own if there are
// any.
func (g *givenPrompt) submit(m llm.Message, own ...llm.Part) (llm.Message, error) {
	t := g.turn
	*g = givenPrompt{turn: t, Unsent: Unsent{Message: m}}
	if len(own) > 0 {
		g.Message.Parts = own
	}
	if t.session.hooks.Hooks == nil {
		return m, nil
	}
	added, err := g.hookContexts(m)
	if err != nil {
		g.giveBackBlocked()
		return m, err
	}
	for _, text := range added {
		m.Parts = append(m.Parts[:len(m.Parts):len(m.Parts)], llm.Part{Kind: llm.Text, Name: HookPartName, Text: "<context of=\"hook\">\n" + text + "\n</context>"})
	}
	return m, nil
}

// giveBackBlocked gives a blocked message back to the user.
func (g *givenPrompt) giveBackBlocked() {
	t := g.turn
	s := t.session
	t.mu.Lock()
	g.Edits, g.Ends = s.Branch.undoEdit(s.Branch.edited), t.turnSeq == 0
	head := t.tree.head
	t.mu.Unlock()
	if g.Edits > 0 {
		t.persistHead(head)
		s.Personas.follow()
	}
	if g.Command != "" || len(g.Message.Parts) > 0 {
		t.emit(g.Unsent)
	}
}

// hookContexts runs the hooks for a user message, and returns the texts that they add.
func (g *givenPrompt) hookContexts(m llm.Message) (added []string, err error) {
	t := g.turn
	s := t.session
	if !s.hooks.started {
		s.hooks.started = true
		source := "startup"
		if !t.Empty() {
			source = "resume"
		}
		a := fire(t, act.HookInput{Event: act.HookSessionStart, Source: source})
		s.hooks.unsaid = a.Contexts
		if a.Stop {
			return nil, fmt.Errorf("%w: %s", ErrHookStopped, a.StopWhy)
		}
	}
	a := fire(t, act.HookInput{Event: act.HookUserPromptSubmit, Prompt: m.Text()})
	switch {
	case t.ctx.Err() != nil:
		return nil, context.Cause(t.ctx)
	case a.Verdict == act.Deny:
		return nil, fmt.Errorf("%w: %s", ErrHookBlocked, a.Reason)
	case a.Stop:
		return nil, fmt.Errorf("%w: %s", ErrHookBlocked, a.StopWhy)
	}
	added = append(slices.Clip(s.hooks.unsaid), a.Contexts...)
	g.starts, s.hooks.unsaid = s.hooks.unsaid, nil
	return added, nil
}

// nextPrompt takes the next queued message, or the next steering one, that hooks do not
// block; false if there is none.
func nextPrompt(t *turn, steers bool) (llm.Message, bool, error) {
	for {
		m, ok := t.session.Queue.next(steers)
		if !ok {
			return m, false, nil
		}
		m, err := t.given.submit(m)
		switch {
		case err == nil:
			return m, true, nil
		case t.ctx.Err() != nil:
			return m, false, err
		}
		t.notice("%v", err)
	}
}

// stopHooks asks the hooks, after the last answer, whether the turn may end. It reports
// whether the model continues, with the hooks' message as a prompt.
func stopHooks(t *turn, last llm.Message) (again bool) {
	if t.session.hooks.Hooks == nil || t.ctx.Err() != nil {
		return false
	}
	a := fire(t, act.HookInput{Event: act.HookStop, StopActive: t.hookRounds > 0, LastMessage: last.Text()})
	if a.Verdict != act.Deny || a.Stop || t.ctx.Err() != nil {
		return false
	}
	if t.hookRounds++; t.hookRounds > maxHookRounds {
		t.notice("hooks asked %d times to continue; the turn ends here", maxHookRounds)
		return false
	}
	t.prompt(llm.UserText("A hook asks to continue: " + a.Reason))
	return true
}

// notifyHooks runs the hooks for an approval request or a question of the model, without waiting for them.
func notifyHooks(t *turn, a *act.Action) {
	s := t.session
	if s.hooks.Hooks == nil {
		return
	}
	in := act.HookInput{Session: t.id, Event: act.HookNotification, Notification: "permission_prompt", Message: "parley needs your permission to use " + a.Tool}
	if a.Tool == act.AskTool {
		in.Notification, in.Message = "elicitation_dialog", "the model asks you a question"
	}
	s.hooks.notifying.Go(func() { s.hooks.Fire(t.ctx, in) })
}

// end runs the hooks for the end of a conversation that had begun, and waits for all running hooks.
func (h *sessionHooks) end(session string) {
	if h.Hooks == nil {
		return
	}
	h.notifying.Wait()
	if h.started {
		h.started = false
		h.Fire(context.Background(), act.HookInput{Session: session, Event: act.HookSessionEnd})
	}
}

// deny gives a call a result that says why it was not allowed.
func (b *callBatch) deny(call *pendingCall, by, text string) {
	call.unwatch()
	b.turn.emit(Decision{ID: call.part.ID, Verdict: act.Deny, By: by})
	call.denied = true
	b.setResult(call, act.Outcome{Text: text, Failed: true})
}
