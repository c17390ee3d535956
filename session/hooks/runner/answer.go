package runner

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"parley/session/hooks"
	"parley/tools/act"
	"parley/tools/process"
	"parley/tools/sanitize"
)

// output is the JSON that a hook may write to standard output.
type output struct {
	Continue *bool  `json:"continue"`
	StopWhy  string `json:"stopReason"`
	Message  string `json:"systemMessage"`
	Decision string `json:"decision"` // block or deny; approve means no decision
	Reason   string `json:"reason"`
	Specific struct {
		Decision string          `json:"permissionDecision"` // allow, deny or ask
		Reason   string          `json:"permissionDecisionReason"`
		Input    json.RawMessage `json:"updatedInput"`
		Context  string          `json:"additionalContext"`
	} `json:"hookSpecificOutput"`
}

// read returns the answer of one hook.
func (r *runner) read(h hooks.Hook, res process.Result) (a act.HookAnswer) {
	switch {
	case res.Err != nil:
		return r.failed(h, res.Err.Error())
	case res.Exit == blocks:
		return act.HookAnswer{Verdict: act.Deny, Reason: cmp.Or(plain(res.Stderr), "the hook "+h.Command.String()+" forbids it")}
	case res.Exit != 0:
		return r.failed(h, fmt.Sprintf("exit status %d: %s", res.Exit, plain(res.Stderr)))
	}
	text := bytes.TrimSpace(res.Stdout)
	if len(text) == 0 || text[0] != '{' {
		if len(text) > 0 && (h.Event == act.HookUserPromptSubmit || h.Event == act.HookSessionStart) { // these events also accept plain text
			a.Contexts = []string{plain(string(text))}
		}
		return a
	}
	var out output
	if err := json.Unmarshal(text, &out); err != nil {
		return r.failed(h, "its answer is not valid JSON: "+err.Error())
	}
	return out.answer(h)
}

// answer returns the answer in the output.
func (o output) answer(h hooks.Hook) (a act.HookAnswer) {
	switch decision := cmp.Or(o.Specific.Decision, o.Decision); decision {
	case "deny", "block":
		a.Verdict, a.Reason = act.Deny, cmp.Or(o.Specific.Reason, o.Reason, "the hook "+h.Command.String()+" forbids it")
	case "ask":
		a.Verdict, a.Reason = act.Ask, o.Specific.Reason
	case "allow":
		if !h.Project { // hooks of a project cannot allow
			a.Verdict = act.Allow
		}
	}
	if o.Decision == "block" || o.Decision == "deny" { // neither of the two fields revokes the other's denial
		a.Verdict, a.Reason = act.Deny, cmp.Or(o.Reason, a.Reason, "the hook "+h.Command.String()+" forbids it")
	}
	a.Reason = plain(a.Reason)
	if input := bytes.TrimSpace(o.Specific.Input); len(input) > 0 && input[0] == '{' && h.Event == act.HookPreToolUse {
		a.Input = input
		if h.Project {
			a.Project = h.Source
		}
	}
	if text := plain(o.Specific.Context); text != "" {
		a.Contexts = []string{text}
	}
	if text := plain(o.Message); text != "" {
		a.Notices = []string{"hook: " + text}
	}
	if o.Continue != nil && !*o.Continue {
		a.Stop, a.StopWhy = true, cmp.Or(plain(o.StopWhy), "the hook "+plain(h.Command.String())+" asked for it")
	}
	return a
}

// failed reports, once, that a hook does not work. A failed hook forbids
// nothing.
func (r *runner) failed(h hooks.Hook, why string) (a act.HookAnswer) {
	r.mu.Lock()
	defer r.mu.Unlock()
	key := h.Event + "\x00" + h.Source + "\x00" + h.Command.String()
	if r.noticed[key] {
		return a
	}
	r.noticed[key] = true
	a.Notices = []string{plain(fmt.Sprintf("hook %s (%s): %s", h.Command, h.Event, why))}
	return a
}

// rank orders verdicts: of several hooks, the highest applies.
var rank = []act.Verdict{"", act.Allow, act.Ask, act.Deny}

// merge adds the answer of a hook to the combined answer of earlier ones.
func merge(a *act.HookAnswer, b act.HookAnswer) {
	if slices.Index(rank, b.Verdict) > slices.Index(rank, a.Verdict) {
		a.Verdict, a.Reason = b.Verdict, b.Reason
	}
	if b.Input != nil {
		a.Input, a.Project = b.Input, cmp.Or(a.Project, b.Project)
	}
	a.Contexts, a.Notices = append(a.Contexts, b.Contexts...), append(a.Notices, b.Notices...)
	if b.Stop && !a.Stop {
		a.Stop, a.StopWhy = true, b.StopWhy
	}
}

// plain sanitizes text for a model and a user.
func plain(text string) string {
	runes := []rune(strings.TrimSpace(sanitize.Played(text)))
	if more := len(runes) - maxContext; more > 0 {
		return fmt.Sprintf("%s\n[… %d characters hidden …]", string(runes[:maxContext]), more)
	}
	return string(runes)
}
