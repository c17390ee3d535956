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

// sideRequests makes requests beside the conversation, within its limits: asides, titles, and what tools ask of models.
type sideRequests struct {
	session *Session
	open    func(string) (llm.Endpoint, error) // nil: no models can be opened
	title   string                             // model that writes the conversation's title, once; "": its first words are used
	summary string                             // model that writes summaries; "": the current model
	small   string                             // model that looks around; "": the current model

	// With the session locked, either the context has ended or an aside can still be added.
	ctx     context.Context // of asides; Close ends it and waits, so that their usage is stored
	end     context.CancelFunc
	running sync.WaitGroup
	keep    []func() // store asides once no turn is running

	titled bool // a title was requested, or the conversation had an answer before this session; guarded by the session's mutex
}

// ErrNoModels is returned if a session cannot open models.
var ErrNoModels = errors.New("no other model can be opened here")

// OpenModel opens a model for requests beside the conversation.
func (b *sideRequests) OpenModel(name string) (llm.Endpoint, error) {
	if b.open == nil {
		return llm.Endpoint{}, ErrNoModels
	}
	return b.open(name)
}

// NeedsConfirmation returns the expected cost of asking model about the conversation if the user wants to confirm
// it. Ok is false otherwise.
func (b *sideRequests) NeedsConfirmation(model llm.Endpoint) (about Expense, ok bool) {
	most := b.session.Spending.confirmCost
	if most <= 0 {
		return about, false
	}
	u := b.session.Next.estimate(model)
	return Expense{model.Name, u.Input, u.Cost}, u.Priced && u.Cost > most
}

// Sample sends a request of an MCP server to the conversation's model: without the conversation, its
// system prompt and its tools, but within its limits. It returns the answer and the model's name.
func (b *sideRequests) Sample(ctx context.Context, req llm.Request) (said, name string, err error) {
	model := b.session.Model()
	answer, _, err := b.send(ctx, store.PurposeSampling, model, req, nil)
	return answer.Text(), model.Name, err
}

// send makes one request to model outside the conversation, within its limits, and records the cost in the ledger. It
// passes on the events of the answer, and an error, until pass returns false.
func (b *sideRequests) send(ctx context.Context, purpose string, model llm.Endpoint, req llm.Request, pass func(llm.Event, error) bool) (said llm.Message, usage llm.Usage, err error) {
	s := b.session
	estimate := s.Next.tokens.sideUsage(model, req, llm.Usage{}, nil, nil)
	end, err := s.Spending.beginSide(estimate, model)
	if err == nil {
		defer func() { end(usage) }()
	}
	var room Reservation
	if s.log != nil && err == nil {
		if room, err = Reserve(s.log.Ledger(), s.now(), s.Spending.Limits(), model.Name, estimate); !errors.Is(err, ErrBudget) {
			err = nil // nothing can be written
		}
	}
	if err != nil {
		if pass != nil {
			pass(nil, err)
		}
		return said, usage, err
	}
	said, usage, err = b.complete(ctx, model, req, pass)
	switch {
	case s.log == nil:
	case !s.Empty():
		s.spend(purpose, model.Name, usage, err)
	case err == nil || usage != (llm.Usage{}): // an empty conversation may never be stored
		_ = s.log.Ledger().Add(store.LedgerEntry{At: s.now(), Folder: s.log.Session().Dir, Model: model.Name, Purpose: purpose, Usage: usage})
	}
	_ = s.Spending.endReservations(room) // retried with the next reservation
	return said, usage, err
}

// errRefused is returned beside the text of a model that refused to answer.
var errRefused = errors.New("the model refused")

// complete makes one request to model outside the conversation, and returns its answer. It passes
// on all events, and an error, until pass returns false, and estimates usage that the provider did not report.
func (b *sideRequests) complete(ctx context.Context, model llm.Endpoint, req llm.Request, pass func(llm.Event, error) bool) (answer llm.Message, usage llm.Usage, err error) {
	var draft llm.Draft
	for e, failed := range model.Stream(ctx, req) {
		if pass != nil && !pass(e, failed) {
			failed = context.Canceled
		}
		if failed != nil {
			err = failed
			break
		}
		switch e := e.(type) {
		case llm.Usage:
			usage = e.Clamped()
		case llm.Finish:
			if e.Reason == llm.Refused {
				err = errRefused
			}
		case llm.Delta:
			draft.Add(e)
		case llm.Retry:
			draft.Discard(e.Discards)
		}
	}
	answer = llm.Message{Role: llm.RoleAssistant, Model: model.Name, Origin: model.Origin, Parts: draft.Complete()}
	return answer, b.session.Next.tokens.sideUsage(model, req, usage, answer.Parts, err), err
}

// NewHelper returns a session in memory for a task of a tool that the session runs, in which Config.SmallModel answers.
// It has the tools of the session that read. A call that would need an approval is denied. Its requests are made within
// the limits of the session, and are in the ledger under purpose. Of o, it uses System and MaxSteps.
func (b *sideRequests) NewHelper(purpose string, o Options) (*Session, error) {
	s := b.session
	s.mu.Lock()
	o.Model, o.Tools = s.Next.answering(), s.Next.turnTools
	if o.Tools == nil {
		o.Tools = s.Next.offered()
	}
	s.mu.Unlock()
	if b.small != "" {
		model, err := b.OpenModel(b.small)
		if err != nil {
			return nil, fmt.Errorf("session.small_model %s: %w", b.small, err)
		}
		o.Model = model
	}
	if o.Tools != nil {
		o.Tools = o.Tools.ReadOnly()
	}
	if o.Tools == nil || len(o.Tools.Tools()) == 0 || o.Model.Strategy == "none" {
		return nil, errors.New("there are no tools to look around with")
	}
	o.Model.Model = sideModel{b, purpose, o.Model}
	o.Policy, o.Now, o.EstimateTokens, o.PrepareMedia, o.Schemas = unasking{s.policy}, s.now, s.Next.tokens.estimate, s.prepareMedia, s.Schemas
	if s.hooks.Hooks != nil {
		o.Hooks = callHooks{s.hooks.Hooks, s.id}
	}
	return New(o), nil
}

// A sideModel makes its requests to model beside a conversation.
type sideModel struct {
	beside  *sideRequests
	purpose string
	model   llm.Endpoint
}

// Stream implements llm.Model.
func (m sideModel) Stream(ctx context.Context, req llm.Request) llm.Stream {
	return func(yield func(llm.Event, error) bool) { _, _, _ = m.beside.send(ctx, m.purpose, m.model, req, yield) }
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
