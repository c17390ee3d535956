package providers

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"sync"

	"parley/providers/filter"
	"parley/providers/llm"
)

// The strategies; see Strategies.
const (
	auto   = "auto"
	native = "native"
	prompt = "prompt"
	guided = "guided"
	none   = "none"
)

// A toolStrategy is a model that gets its tools by the strategy that fits.
type toolStrategy struct {
	llm.Model        // as the adapter has it
	name      string // of the model, for notices
	strategy  string // native, prompt, guided, none; or auto: native, until the server refuses
	isProgram bool   // it is a program, which has tools of its own
	memory    *Memory
	served    servedModel

	supportsSchema bool // the server can hold an answer to a schema
	prefersGuided  bool // and does so well enough to be asked for it first
	notices        llm.Notices
}

// Strategy returns how the model gets tools now: "native", "prompt", "guided" or "none".
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

// withoutTools asks for words alone. Calls and results of earlier turns are told as
// text, but for programs, which tell them in their own way.
func (m *toolStrategy) withoutTools(ctx context.Context, req llm.Request) llm.Stream {
	req.Tools, req.ToolChoice, req.Parallel = nil, "", nil
	if m.isProgram {
		return m.Model.Stream(ctx, req)
	}
	return m.byPrompt(false, nil).Stream(ctx, req)
}

// promptTools describes the tools in the prompt: free text with calls in it at
// first, for that streams best, and the guided form, each reply one action that
// the server holds to its schema where it can, where the configuration asks for
// it, where the server is known to do it well, and once the model has written a
// call that cannot run: that gets an error, and the turn goes on in this form.
func (m *toolStrategy) promptTools(ctx context.Context, req llm.Request) llm.Stream {
	fixed := m.strategy == guided || m.prefersGuided || m.memory.load(m.served).guided
	s := m.byPrompt(fixed, &m.notices).Stream(ctx, req)
	if fixed || len(req.Tools) == 0 {
		return s
	}
	return func(yield func(llm.Event, error) bool) {
		unfit := false
		for event, err := range s {
			switch e := event.(type) {
			case llm.Delta:
				unfit = unfit || filter.InvalidCall(e.Part, req.Tools)
			case llm.Finish:
				if !unfit {
					break
				}
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

// byPrompt returns the model with tools in its prompt, or as it is if parley is built without those.
func (m *toolStrategy) byPrompt(guided bool, notices *llm.Notices) llm.Model {
	if parts.toolsByPrompt == nil {
		return m.Model
	}
	return parts.toolsByPrompt(m.Model, guided, m.supportsSchema, notices)
}

// toolTerms finds what a server says about tools that it does not take.
var toolTerms = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)\b(tools?|tool[ _-](use|calls?|calling|choice)|functions?|function[ _-]call(s|ing)?)\b`)
})

// refusesTools reports whether err says that the model or the server has no
// function calling.
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
