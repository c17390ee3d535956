package openai

import (
	"strings"

	"parley/providers/schema"
)

// A service is a row of the table below, under its name in the configuration.
type service struct {
	kind string
	Dialect
	echoes  bool       // its own rule of echo holds for every model
	efforts []spelling // it spells effort itself; nil leaves that to the model's family
}

// A spelling is how a service spells effort for the models that globs fit.
type spelling struct {
	globs string
	Effort
}

// The switches there are.
var (
	thinkingType     = Switch{"thinking", `{"type":"enabled"}`, `{"type":"disabled"}`}
	thinkingAdaptive = Switch{"thinking", `{"type":"adaptive"}`, `{"type":"disabled"}`}
	enableThinking   = Switch{"enable_thinking", `true`, `false`}
	templateEnable   = Switch{"chat_template_kwargs", `{"enable_thinking":true}`, `{"enable_thinking":false}`}
	templateThinking = Switch{"chat_template_kwargs", `{"thinking":true}`, `{"thinking":false}`}
)

// words are the effort words from off to max; a dash sends none.
func words(s string) (w [6]string) {
	for i, word := range strings.Fields(s) {
		if word != "-" {
			w[i] = word
		}
	}
	return w
}

// template spells effort for servers that render chat templates themselves:
// what the template of the model's publisher understands.
var template = []spelling{
	{"gpt-oss*", Effort{Words: words("low low low medium high high")}},
	{"deepseek* granite*", Effort{Switch: templateThinking}},
	{"*", Effort{Switch: templateEnable}},
}

// grammar is what llama.cpp makes of a schema, of which tools need an object.
var grammar = func() schema.Target {
	t := schema.Grammar
	t.Object = true
	return t
}()

// services says what each service does differently, whatever the model. A new
// one is a row here.
var services = []service{
	{kind: "openai", Dialect: Dialect{PerModel: true, Files: true, Strict: true}},

	// The stream may repeat its thinking (github.com/vercel/ai, packages/xai).
	{kind: "grok", Dialect: Dialect{Limit: "max_completion_tokens", Repeats: true, Schema: schema.XAI}},

	// Without tool_stream nothing comes until the arguments are complete, for
	// minutes with a large file. Messages need a content.
	{kind: "glm", Dialect: Dialect{Blank: true, Warm: true, Loose: true, Tooled: map[string]any{"tool_stream": true}}},

	// Parallel calls are off by default.
	{kind: "qwen", Dialect: Dialect{Tooled: map[string]any{"parallel_tool_calls": true}}},

	{kind: "deepseek", Dialect: Dialect{Loose: true}},

	// reasoning_split moves thinking out of the content into
	// reasoning_details; some versions send all of it again in each chunk.
	{kind: "minimax", Dialect: Dialect{Limit: "max_completion_tokens", Warm: true, Grows: true,
		Fields: map[string]any{"reasoning_split": true}}},

	// Thinking goes back as reasoning_details, never as text alone.
	{
		kind:    "openrouter",
		Dialect: Dialect{PerModel: true, Files: true, Strict: true},
		echoes:  true,
		efforts: []spelling{{"*", Effort{Field: "reasoning.effort", Words: words("none minimal low medium high max")}}},
	},

	{kind: "moonshot", Dialect: Dialect{Schema: schema.Kimi}},

	{
		kind: "mistral",
		Dialect: Dialect{
			NoUsage: true, Bridge: true, IDs: IDsNine,
			Renames: map[string]string{"seed": "random_seed"},
			Family:  Family{Echo: EchoParts},
		},
		echoes: true,
	},

	{
		kind:    "groq",
		Dialect: Dialect{Thinks: "reasoning"},
		efforts: []spelling{
			{"gpt-oss*", Effort{Words: words("low low low medium high high")}},
			{"qwen3.8*", Effort{Words: words("none low low medium high high")}},
			{"qwen3*", Effort{Words: words("none default default default default default")}},
		},
	},

	{
		kind:    "ollama",
		Dialect: Dialect{Thinks: "reasoning", Schema: grammar},
		efforts: []spelling{
			{"gpt-oss*", Effort{Words: words("low low low medium high high")}},
			{"*", Effort{Words: words("none low low medium high max")}},
		},
	},
	{kind: "llamacpp", Dialect: Dialect{Schema: grammar}, efforts: template},
	{kind: "vllm", Dialect: Dialect{Thinks: "reasoning"}, efforts: template},
	{kind: "lmstudio", Dialect: Dialect{Schema: grammar}, efforts: template[:1]},
}
