package providers

import (
	"cmp"
	"context"
	"errors"
	"regexp"
	"slices"
	"sync"

	"parley/providers/filter"
	"parley/providers/llm"
	"parley/providers/openai"
	"parley/providers/prompted"
)

// The strategies; see Strategies.
const (
	auto   = "auto"
	native = "native"
	prompt = "prompt"
	guided = "guided"
	none   = "none"
)

// A Memory keeps what servers taught while the program runs, so that a model
// opened again does not run into the same refusal. The zero value is ready;
// share one among all calls.
type Memory struct {
	mu    sync.Mutex
	facts map[place]lesson
	cures map[cured]*openai.Lessons
}

// cured is what lessons about request fields are about: a place, and how it is
// spoken to.
type cured struct {
	place
	kind string
}

// lessons keeps what a server taught of request fields.
func (m *Memory) lessons(at place, kind string) *openai.Lessons {
	m.mu.Lock()
	defer m.mu.Unlock()
	of := cured{at, kind}
	if m.cures == nil {
		m.cures = map[cured]*openai.Lessons{}
	}
	if m.cures[of] == nil {
		m.cures[of] = &openai.Lessons{}
	}
	return m.cures[of]
}

// A place is where a model is served.
type place struct{ url, model string }

// A lesson is what a server taught about a model.
type lesson struct {
	prompt bool // it takes no tools, or not this way: they go by prompt
	guided bool // it wrote a call that cannot run: its replies follow a form
	told   told
}

// recall returns what is remembered of a place; nothing, of a nil Memory.
func (m *Memory) recall(at place) lesson {
	if m == nil {
		return lesson{}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.facts[at]
}

func (m *Memory) learn(at place, change func(*lesson)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.facts == nil {
		m.facts = map[place]lesson{}
	}
	l := m.facts[at]
	change(&l)
	m.facts[at] = l
}

// note keeps what a server told of its models.
func (m *Memory) note(s service, offers []offer) {
	for _, o := range offers {
		m.learn(s.place(o.id), func(l *lesson) { l.told = o.told })
	}
}

// place is where s serves a model. Programs have no address, but a name.
func (s service) place(model string) place { return place{cmp.Or(s.url, s.name), s.id(model)} }

// A tooled is a model that gets its tools by the strategy that fits.
type tooled struct {
	llm.Model        // as the adapter has it
	name      string // of the model, for notices
	strategy  string // native, prompt, guided, none; or auto: native, until the server refuses
	program   bool   // it is a program, which has tools of its own
	memory    *Memory
	at        place

	constrains bool // the server can hold an answer to a schema
	guides     bool // and does so well enough to be asked for it first
	told       llm.Notices
}

// Strategy says how the model gets tools now: "native", "prompt", "guided" or "none".
func (m *tooled) Strategy() string {
	switch {
	case m.strategy != auto:
		return m.strategy
	case m.memory.recall(m.at).prompt:
		return prompt
	}
	return native
}

// Stream implements llm.Model.
func (m *tooled) Stream(ctx context.Context, req llm.Request) llm.Stream {
	switch m.Strategy() {
	case prompt, guided:
		return m.byPrompt(ctx, req)
	case none:
		return m.without(ctx, req)
	}
	s := m.Model.Stream(ctx, req)
	if m.strategy != auto || len(req.Tools) == 0 {
		return s
	}
	return func(yield func(llm.Event, error) bool) {
		shown := false
		for event, err := range s {
			if !shown && refusesTools(err) {
				m.memory.learn(m.at, func(l *lesson) { l.prompt = true })
				if yield(llm.Notice{Text: m.name + " has no tools of its own here; it gets them by prompt"}, nil) {
					m.byPrompt(ctx, req)(yield)
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

// without asks for words alone. Calls and results of earlier turns are told as
// text, but for programs, which tell them in their own way.
func (m *tooled) without(ctx context.Context, req llm.Request) llm.Stream {
	req.Tools, req.ToolChoice, req.Parallel = nil, "", nil
	if m.program {
		return m.Model.Stream(ctx, req)
	}
	return prompted.Wrap(m.Model, prompted.Options{}).Stream(ctx, req)
}

// byPrompt describes the tools in the prompt: free text with calls in it at
// first, for that streams best, and the guided form, each reply one action that
// the server holds to its schema where it can, where the configuration asks for
// it, where the server is known to do it well, and once the model has written a
// call that cannot run: that gets an error, and the turn goes on in this form.
func (m *tooled) byPrompt(ctx context.Context, req llm.Request) llm.Stream {
	o := prompted.Options{Style: prompted.TypeScript, Form: prompted.Free, Told: &m.told}
	fixed := m.strategy == guided || m.guides || m.memory.recall(m.at).guided
	if fixed {
		o.Style, o.Form = prompted.JSONSchema, prompted.Action
		if m.constrains {
			o.Constrained = "response_format" // or whatever the adapter writes it into
		}
	}
	s := prompted.Wrap(m.Model, o).Stream(ctx, req)
	if fixed || len(req.Tools) == 0 {
		return s
	}
	return func(yield func(llm.Event, error) bool) {
		unfit := false
		for event, err := range s {
			switch e := event.(type) {
			case llm.Delta:
				unfit = unfit || filter.Unfit(e.Part, req.Tools)
			case llm.Finish:
				if !unfit {
					break
				}
				m.memory.learn(m.at, func(l *lesson) { l.guided = true })
				if !yield(llm.Notice{Text: m.name + " wrote a tool call that cannot run; its next replies follow a fixed form"}, nil) {
					return
				}
			}
			if !yield(event, err) {
				return
			}
		}
	}
}

// aboutTools finds what a server says about tools that it does not take.
var aboutTools = sync.OnceValue(func() *regexp.Regexp {
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
	return aboutTools().MatchString(e.Message)
}
