package providers

import (
	"cmp"
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"
	"sync"

	"parley/providers/llm"
	"parley/providers/prompted"
)

// The strategies; see Strategies.
const (
	auto   = "auto"
	native = "native"
	prompt = "prompt"
	none   = "none"
)

// A Memory keeps what servers taught while the program runs, so that a model
// opened again does not run into the same refusal. The zero value is ready;
// share one among all calls.
type Memory struct {
	mu    sync.Mutex
	facts map[place]lesson
}

// A place is where a model is served.
type place struct{ url, model string }

// A lesson is what a server taught about a model.
type lesson struct {
	prompt bool // it takes no tools, or not this way: they go by prompt
	strict bool // it misspelled a call: its replies are held to a form
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
	strategy  string // native, prompt, none; or auto: native, until the server refuses
	kind      string
	program   bool // it is a program, which has tools of its own
	memory    *Memory
	at        place
}

// Strategy says how the model gets tools now: "native", "prompt" or "none".
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
	case prompt:
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
// first, for that streams best, and replies held to a schema once the model has
// misspelled a call.
func (m *tooled) byPrompt(ctx context.Context, req llm.Request) llm.Stream {
	o := prompted.Options{Style: prompted.TypeScript, Form: prompted.Free}
	strict := m.memory.recall(m.at).strict
	if strict {
		o = prompted.Options{Style: prompted.JSONSchema, Form: prompted.Action, Constrained: constrained[m.kind]}
	}
	s := prompted.Wrap(m.Model, o).Stream(ctx, req)
	if strict || len(req.Tools) == 0 {
		return s
	}
	return func(yield func(llm.Event, error) bool) {
		var calls misspelled
		for event, err := range s {
			finish, ok := event.(llm.Finish)
			if ok && finish.Reason == llm.Stop && calls.seen {
				m.memory.learn(m.at, func(l *lesson) { l.strict = true })
				if !yield(llm.Notice{Text: m.name + " misspelled a tool call; its next replies are held to a form"}, nil) {
					return
				}
			}
			if delta, ok := event.(llm.Delta); ok {
				calls.read(delta)
			}
			if !yield(event, err) {
				return
			}
		}
	}
}

// constrained is how a kind of server is asked for a reply that fits a schema.
// Those that are not here promise JSON at most.
var constrained = map[string]string{
	"openai": responseFormat, "openrouter": responseFormat, "groq": responseFormat, "mistral": responseFormat,
	"grok": responseFormat, "ollama": responseFormat, "llamacpp": responseFormat, "vllm": responseFormat,
	"lmstudio": responseFormat, "openai-responses": responseFormat, "gemini": responseFormat,
}

const responseFormat = "response_format"

// misspelled looks for calls that were left in the text, because they cannot be
// read: a line that begins with the mark of a call, outside of code fences.
type misspelled struct {
	block string
	line  string // the beginning of the current line
	fence bool
	seen  bool
}

const callMark = "<tool_call"

func (m *misspelled) read(d llm.Delta) {
	if d.Kind != llm.Text {
		return
	}
	if d.Block != m.block {
		*m = misspelled{block: d.Block, seen: m.seen}
	}
	for line := range strings.Lines(d.Text) {
		if len(m.line) < len(callMark) {
			m.line = strings.TrimLeft(m.line+line, " \t")
		}
		m.seen = m.seen || !m.fence && strings.HasPrefix(m.line, callMark)
		if !strings.HasSuffix(line, "\n") {
			continue
		}
		if strings.HasPrefix(m.line, "```") || strings.HasPrefix(m.line, "~~~") {
			m.fence = !m.fence
		}
		m.line = ""
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
