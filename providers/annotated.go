package providers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"parley/providers/adapter"
	"parley/providers/catalog"
	"parley/providers/llm"
	"parley/providers/similar"
	"parley/providers/wire"
)

// annotated completes the answers and errors of a model: the cost if the provider reports none, an
// error for a full window if the server returns an empty answer instead, similar names for an
// unknown model, and other addresses of the service for a refused key.
type annotated struct {
	*lazy
	price   catalog.Price
	window  int // in tokens; 0 if unknown or guessed
	service service
	options OpenOptions
	id      string
	notices llm.Notices
	looks   sync.Once // guards the one request that asks whether the model takes images
}

func (m *annotated) Stream(ctx context.Context, req llm.Request) llm.Stream {
	return func(yield func(llm.Event, error) bool) {
		out, shown := llm.NewOut(yield), false
		if slices.ContainsFunc(req.Messages, llm.HasImage) {
			m.looks.Do(func() { m.learnVision(ctx) })
		}
		var usage llm.Usage
		for event, err := range m.lazy.Stream(ctx, req) {
			switch e := event.(type) {
			case llm.Delta:
				shown = true
			case llm.Notice:
				e.Text = strings.ReplaceAll(e.Text, m.id, m.service.shownID(m.id))
				event = e
			case llm.Usage:
				e = e.Clamped()
				if !e.Priced || e.Cost == 0 && m.price.Configured { // many servers do not know prices and report 0
					e.Cost, e.Priced = m.price.Cost(e)
				}
				usage, event = e, e
			case llm.Finish:
				if full := m.overflowError(e, usage, shown); full != nil {
					yield(nil, m.explainError(full))
					return
				}
				if m.notices.SendOnce(out, m.truncationNotices(ctx, req, usage)...); out.Stopped() {
					return
				}
			}
			if !shown && llm.FaultOf(err) == llm.ModelNotFound && m.findPath(ctx) {
				m.Stream(ctx, req)(yield)
				return
			}
			if !yield(event, m.explainError(err)) {
				return
			}
		}
	}
}

// overflowError returns a ContextOverflow error if the answer shows nothing and stopped at the end
// of the window; nil otherwise.
func (m *annotated) overflowError(f llm.Finish, u llm.Usage, shown bool) error {
	if f.Reason != llm.Length || shown || m.window == 0 || u.Prompt() < m.window-m.window/100 {
		return nil
	}
	return &llm.Error{
		Fault: llm.ContextOverflow, Provider: m.service.name, URL: wire.Public(m.service.url), Key: m.service.key.name, ID: f.ID,
		Message: fmt.Sprintf("the prompt of %d tokens leaves no room for an answer in the context window of %d", u.Prompt(), m.window),
	}
}

// truncationNotices reports that a server silently dropped the beginning of a prompt, as Ollama
// does, and GLM may. A token count above the window proves it. A low count alone proves nothing,
// since many versions of Ollama count only uncached tokens. Then the window that the model is
// loaded with decides.
func (m *annotated) truncationNotices(ctx context.Context, req llm.Request, u llm.Usage) []string {
	switch {
	case u.Input == 0:
	case m.window > 0 && u.Prompt() > m.window:
		return []string{m.id + " got more than its context window, and may have seen only the end of it"}
	case m.service.row.cuts:
		sent := estimateTokens(req) // a rough estimate
		if u.Input >= sent*6/10 || sent-u.Input <= 1000 {
			return nil
		}
		if window := m.ask(ctx).Context; window > 0 && sent*9/10 > window {
			return []string{m.id + " got more than its context window, so the beginning was cut off; " + m.service.row.widen}
		}
	}
	return nil
}

// ask requests the model list of a server on this machine and returns the facts about this model. It
// drops the error: the chat request reports the same one.
func (m *annotated) ask(ctx context.Context) catalog.Facts {
	s, memory := m.service, m.options.Memory
	if s.isServer() && m.options.Replay == nil {
		ctx, cancel := context.WithTimeout(ctx, liveTimeout)
		defer cancel()
		if offers, err := s.listModels(ctx, m.options); err == nil {
			memory.recordListing(s, offers)
		}
	}
	return s.advertised(m.id, memory)
}

// learnVision removes images from requests if the server lists the model without vision.
func (m *annotated) learnVision(ctx context.Context) {
	if s := m.service; s.advertised(m.id, m.options.Memory).Vision == nil {
		if sees := m.ask(ctx).Vision; sees != nil && !*sees {
			m.options.Memory.limits(s.servedModel(m.id), s.kind).Learn(adapter.LimitImages, "", false)
		}
	}
}

// findPath makes the next request name the model by its path if the server has a file of that name. It
// reports whether the server has one.
func (m *annotated) findPath(ctx context.Context) bool {
	known := func() bool { return m.options.Memory.load(m.service.servedModel(m.id)).path != "" }
	if m.service.exactNames || known() {
		return false
	}
	m.ask(ctx)
	m.lazy.reset()
	return known()
}

// estimateTokens returns a rough token count of the texts of req.
func estimateTokens(req llm.Request) int {
	n := catalog.Estimate(req.System)
	for _, t := range req.Tools {
		n += catalog.Estimate(t.Description) + catalog.Estimate(string(t.Schema))
	}
	for _, m := range req.Messages {
		for _, p := range m.Parts {
			if p.Kind != llm.Thinking { // most services do not get thinking back
				n += catalog.Estimate(p.Text) + catalog.Estimate(p.Input)
			}
		}
	}
	return n
}

// explainError adds advice to err.
func (m *annotated) explainError(err error) error {
	if err == nil {
		return nil
	}
	if advised, ok := adviseCloud(m.service, err, m.id); ok {
		return advised
	}
	var e *llm.Error
	hint := m.service.row.widen
	switch {
	case !errors.As(err, &e), e.Fault != llm.ModelNotFound && (e.Fault != llm.ContextOverflow || hint == ""):
		return m.service.suggestRegions(err)
	case e.Fault == llm.ContextOverflow:
		return withHint(e, hint)
	}
	apiErr := *e
	if row, ok := catalog.FindExact(m.service.builtin.ID, m.id); ok && row.ReplacedBy != "" {
		apiErr.Successor = m.service.name + "/" + row.ReplacedBy
		return &apiErr
	}
	hint = "fetch it with: " + m.service.row.pull + m.id
	if m.service.row.pull == "" {
		near := similar.Names(m.id, m.service.modelIDs(), 3)
		if len(near) == 0 {
			return err
		}
		hint = "did you mean " + strings.Join(near, ", ") + "?"
	}
	return withHint(e, hint)
}

// withHint returns e with a hint after its message.
func withHint(e *llm.Error, hint string) *llm.Error {
	hinted := *e
	hinted.Message = strings.TrimRight(e.Message, ".!?; ") + "; " + hint
	return &hinted
}
