package providers

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"sync"

	"parley/providers/llm"
)

// Strategies of tool use; see Strategies.
const (
	auto   = "auto"
	native = "native"
	prompt = "prompt"
	guided = "guided"
	none   = "none"
)

// A toolStrategy gives a model its tools by a fitting strategy.
type toolStrategy struct {
	llm.Model        // of the adapter
	name      string // model name, for notices
	strategy  string // native, prompt, guided, none or auto: native until the server refuses tools
	isProgram bool   // it is a program with its own tools
	memory    *Memory
	served    servedModel

	supportsSchema bool // the server can constrain an answer to a schema
	prefersGuided  bool // constrained answers work so well that they are tried first
	notices        llm.Notices
}

// Strategy returns the current tool strategy: "native", "prompt", "guided" or "none".
func (m *toolStrategy) Strategy() string {
	switch {
	case m.strategy != auto:
		return m.strategy
	case m.memory.limits(m.served, "").Has(learnedTools):
		return prompt
	}
	return native
}

// Stream implements llm.Model.
func (m *toolStrategy) Stream(ctx context.Context, req llm.Request) llm.Stream {
	switch m.Strategy() {
	case prompt, guided:
		return m.promptTools(ctx, req)
	case none:
		return m.withoutTools(ctx, req)
	}
	s := m.Model.Stream(ctx, req)
	if m.strategy != auto || len(req.Tools) == 0 {
		return s
	}
	return func(yield func(llm.Event, error) bool) {
		shown := false
		for event, err := range s {
			if !shown && refusesTools(err) {
				m.memory.limits(m.served, "").Learn(learnedTools, prompt, true)
				if yield(llm.Notice{Text: m.name + " has no tool calling here; tools are described in the prompt"}, nil) {
					m.promptTools(ctx, req)(yield)
				}
				return
			}
			if _, ok := event.(llm.Delta); ok {
				shown = true
			}
			if !yield(event, err) {
				return
			}
		}
	}
}

// withoutTools requests a text answer. Tool calls and results of earlier turns become text, except
// for programs, which convert them on their own.
func (m *toolStrategy) withoutTools(ctx context.Context, req llm.Request) llm.Stream {
	req.Tools, req.ToolChoice, req.Parallel = nil, "", nil
	if m.isProgram {
		return m.Model.Stream(ctx, req)
	}
	return m.byPrompt(false, nil, nil).Stream(ctx, req)
}

// promptTools describes the tools in the prompt. It starts with free text that contains calls,
// which streams best. In the guided form, each reply is one action, constrained to a schema if the
// server can. The guided form is used if it is configured, if the server is known to do it well,
// and after the model wrote an invalid call: that call gets an error, and the turn continues in the
// guided form.
func (m *toolStrategy) promptTools(ctx context.Context, req llm.Request) llm.Stream {
	fixed := m.strategy == guided || m.prefersGuided || m.memory.load(m.served).guided
	unfit := false
	s := m.byPrompt(fixed, &m.notices, func() { unfit = true }).Stream(ctx, req)
	if fixed || len(req.Tools) == 0 {
		return s
	}
	return func(yield func(llm.Event, error) bool) {
		for event, err := range s {
			if _, ok := event.(llm.Finish); ok && unfit {
				m.memory.update(m.served, func(l *learnedFacts) { l.guided = true })
				if !yield(llm.Notice{Text: m.name + " wrote a tool call that cannot run; its next answers follow a fixed form"}, nil) {
					return
				}
			}
			if !yield(event, err) {
				return
			}
		}
	}
}

// byPrompt returns the model with its tools in the prompt; the model itself in a build without that
// feature. Unfit is called for each call that cannot run; nil ignores them.
func (m *toolStrategy) byPrompt(guided bool, notices *llm.Notices, unfit func()) llm.Model {
	if parts.toolsByPrompt == nil {
		return m.Model
	}
	return parts.toolsByPrompt(m.Model, guided, m.supportsSchema, notices, unfit)
}

// toolTerms matches the words for tools in a server's error.
var toolTerms = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)\b(tools?|tool[ _-](use|calls?|calling|choice)|functions?|function[ _-]call(s|ing)?)\b`)
})

// refusesTools reports whether err says that the model or the server lacks function calling.
func refusesTools(err error) bool {
	var e *llm.Error
	if !errors.As(err, &e) || e.Fault != llm.Unsupported {
		return false
	}
	if slices.Contains([]string{"tools", "tool_choice", "functions"}, e.Param) {
		return true
	}
	return toolTerms().MatchString(e.Message)
}
