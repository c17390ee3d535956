package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"parley/providers/llm"
	"parley/session/store"
	"parley/tools/act"
	"parley/tools/sanitize"
)

// sessionKey is the context key of the session whose turn runs.
type sessionKey struct{}

// Of returns the session whose turn plans or runs an action with ctx; nil for none.
func Of(ctx context.Context) *Session {
	s, _ := ctx.Value(sessionKey{}).(*Session)
	return s
}

// PromptSeq returns the Seq of the prompt that the running turn answers; 0 if none runs.
func (s *Session) PromptSeq() int { return get(&s.mu, &s.turnSeq) }

// ErrNoModels is returned if a session cannot open models.
var ErrNoModels = errors.New("no other model can be opened here")

// OpenModel opens a model for requests beside the conversation.
func (s *Session) OpenModel(name string) (llm.Endpoint, error) {
	if s.helpers.open == nil {
		return llm.Endpoint{}, ErrNoModels
	}
	return s.helpers.open(name)
}

// NeedsConfirmation returns the expected cost of asking model about the conversation if the user wants to confirm
// it. Ok is false otherwise.
func (s *Session) NeedsConfirmation(model llm.Endpoint) (about Expense, ok bool) {
	most := s.Spending.confirmCost
	if most <= 0 {
		return about, false
	}
	u := estimateRequest(s, model)
	return Expense{model.Name, u.Input, u.Cost}, u.Priced && u.Cost > most
}

// NewHelper returns a session in memory for a task of a tool that s runs, in which Config.SmallModel answers. It has the
// tools of s that read. A call that would need an approval is denied. Its requests are made within the limits of s,
// and are in the ledger under purpose. Of o, it uses System and MaxSteps.
func (s *Session) NewHelper(purpose string, o Options) (*Session, error) {
	s.mu.Lock()
	o.Model, o.Tools = s.answering(), s.request.turnTools
	if o.Tools == nil {
		o.Tools = s.offeredTools()
	}
	s.mu.Unlock()
	if name := s.helpers.small; name != "" {
		model, err := s.OpenModel(name)
		if err != nil {
			return nil, fmt.Errorf("session.small_model %s: %w", name, err)
		}
		o.Model = model
	}
	if o.Tools != nil {
		o.Tools = o.Tools.ReadOnly()
	}
	if o.Tools == nil || len(o.Tools.Tools()) == 0 || o.Model.Strategy == "none" {
		return nil, errors.New("there are no tools to look around with")
	}
	o.Model.Model = sideModel{s, purpose, o.Model}
	o.Policy, o.Now, o.EstimateTokens, o.PrepareMedia, o.Schemas = unasking{s.policy}, s.now, s.tokens.estimate, s.prepareMedia, s.Schemas
	if s.hooks.Hooks != nil {
		o.Hooks = callHooks{s.hooks.Hooks, s.id}
	}
	return New(o), nil
}

// A sideModel makes its requests to model beside the conversation of session.
type sideModel struct {
	session *Session
	purpose string
	model   llm.Endpoint
}

// Stream implements llm.Model.
func (m sideModel) Stream(ctx context.Context, req llm.Request) llm.Stream {
	return func(yield func(llm.Event, error) bool) {
		t := &teeModel{Model: m.model.Model, yield: yield}
		side := m.model
		side.Model = t
		if _, err := m.session.sideRequest(ctx, m.purpose, side, req, nil); err != nil && !t.began {
			yield(nil, err)
		}
	}
}

// A teeModel passes the events of one answer to yield as well.
type teeModel struct {
	llm.Model
	yield func(llm.Event, error) bool
	began bool
}

// Stream implements llm.Model.
func (t *teeModel) Stream(ctx context.Context, req llm.Request) llm.Stream {
	return func(yield func(llm.Event, error) bool) {
		t.began = true
		for e, err := range t.Model.Stream(ctx, req) {
			if !t.yield(e, err) {
				yield(nil, context.Canceled)
				return
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

// unasking is a policy that denies what another one would ask about, and everything but reading.
type unasking struct{ act.Policy }

// Decide denies what the policy would ask about.
func (p unasking) Decide(a *act.Action) act.Verdict {
	if a.Access == act.AccessRead && p.Policy.Decide(a) == act.Allow {
		return act.Allow
	}
	return act.Deny
}

// DenialReason returns the reason of the policy, or that nobody is asked.
func (p unasking) DenialReason(a *act.Action) string {
	if p.Policy.Decide(a) == act.Deny {
		return p.Policy.DenialReason(a)
	}
	return "it needs the approval of the user, who is not asked here."
}

// callHooks are the hooks of a session about calls only.
type callHooks struct {
	act.Hooks
	session string
}

// Fire runs the hooks of an event about a call, as one of the session.
func (h callHooks) Fire(ctx context.Context, in act.HookInput) act.HookAnswer {
	if in.Event != act.HookPreToolUse && in.Event != act.HookPostToolUse {
		return act.HookAnswer{}
	}
	in.Session = h.session
	return h.Hooks.Fire(ctx, in)
}

// kindOpinion is the kind of an annotation that holds an Opinion.
const kindOpinion = "opinion"

// An Opinion is the answer of another model that the user asked about the conversation. It is not part of a turn:
// flows store it with Annotate. The next prompt includes it.
type Opinion struct {
	Model    string        `json:"model"`
	Question string        `json:"question"`
	Answer   string        `json:"answer"`       // or why there is none, if Failed
	By       string        `json:"by,omitempty"` // see act.Outcome
	Failed   bool          `json:"failed,omitempty"`
	Stopped  bool          `json:"stopped,omitempty"` // with Failed: the user stopped it
	Duration time.Duration `json:"took,omitempty"`    // in ns
}

// opinionEnd matches the end of an opinion, which only parley writes.
var opinionEnd = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)<(\s*/\s*opinion)`) })

// part returns the answer as a part of a prompt.
func (o Opinion) part() llm.Part {
	model, answer := sanitize.Plain(o.Model), opinionEnd().ReplaceAllString(sanitize.Plain(o.Answer), "< $1")
	text := fmt.Sprintf("<opinion of=%q question=%q>\n%s\n</opinion>", model, sanitize.Plain(o.Question), answer)
	return llm.Part{Kind: llm.Text, Name: "opinion of " + model, Text: text}
}

// isOpinion reports whether p is the part of an opinion.
func isOpinion(p llm.Part) bool {
	return strings.HasPrefix(p.Name, "opinion of ") && strings.HasPrefix(p.Text, "<opinion of=")
}

// withOpinions returns a prompt with the opinions that it does not have yet, from the last prompt on that has some. An
// opinion follows a message: a branch without that message, as after Regenerate, does not have the opinion either.
func withOpinions(t *turn, parts []llm.Part) []llm.Part {
	t.mu.Lock()
	defer t.mu.Unlock()
	var followed map[int]int // Seq of the message that follows, by Seq
	for _, a := range t.tree.annotations {
		if a.Kind != kindOpinion {
			continue
		}
		o, ok := DecodeAnnotation(a).(Opinion)
		if !ok || o.Failed {
			continue
		}
		if followed == nil {
			followed = t.tree.followed(a.Next, func(n *store.Node) bool { return n.Role == llm.RoleUser && slices.ContainsFunc(n.Parts, isOpinion) })
		}
		after := a.After
		if n, err := t.tree.At(after); err == nil && followed[after] == 0 && n.Interrupted {
			after = n.Parent // a retry dropped it
		}
		part := o.part()
		if followed[after] >= a.Next && !slices.ContainsFunc(parts, func(p llm.Part) bool { return p.Name == part.Name && p.Text == part.Text }) {
			parts = append(slices.Clip(parts), part)
		}
	}
	return parts
}

// Consult is the [consult] section of the configuration: a model that the answering one may ask.
type Consult struct {
	Model string `toml:"model"` // provider/model; "" for none
	Max   int    `toml:"max"`   // how often in a turn; 0: defaultConsultations
}

// defaultConsultations is how often a model may ask another one in a turn by default.
const defaultConsultations = 3

// Validate returns an error for an invalid value.
func (c Consult) Validate() error {
	if c.Max < 0 {
		return fmt.Errorf("consult.max = %d: use 1 or more, or 0 for %d", c.Max, defaultConsultations)
	}
	return nil
}

// Most returns how often a model may ask another one in a turn.
func (c Consult) Most() int { return cmp.Or(c.Max, defaultConsultations) }
