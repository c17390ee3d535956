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
	caches  string     // globs of the models whose prompts it caches only as far as they are marked
	fields  []extra    // go with every request to some models, in place of Fields
}

// extra are request fields for the models that globs fit.
type extra struct {
	globs  string
	fields map[string]any
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
	t.ObjectRoot = true
	return t
}()

// services says what each service does differently, whatever the model. A new
// one is a row here.
var services = []service{
	{kind: "openai", Dialect: Dialect{PerModel: true, Files: true, Strict: true, Several: true}},

	{kind: "grok", Dialect: Dialect{Limit: "max_completion_tokens", Schema: schema.XAI}},

	// Without tool_stream nothing comes until the arguments are complete, for
	// minutes with a large file. Messages need a content. Words of the user's
	// between results and the next answer make the model forget its thinking
	// (github.com/RooCodeInc/Roo-Code). With a coding plan thinking is kept over
	// turns.
	{kind: "glm", Dialect: Dialect{
		Blank: true, Warm: true, Joins: true, Kept: "/coding/", Choice: ChoiceNone,
		Formats: []Format{FormatObject}, Tooled: map[string]any{"tool_stream": true},
	}},

	// Parallel calls are off by default.
	{kind: "qwen", Dialect: Dialect{
		Formats: []Format{FormatSchema, FormatObject}, Tooled: map[string]any{"parallel_tool_calls": true},
		Family: Family{Refuses: []string{"frequency_penalty"}},
	}},

	{kind: "deepseek", Dialect: Dialect{Inline: true, Formats: []Format{FormatObject}}},

	// reasoning_split moves thinking out of the content into
	// reasoning_details; some versions send all of it again in each chunk.
	{kind: "minimax", Dialect: Dialect{
		Limit: "max_completion_tokens", Warm: true, Grows: true, Choice: ChoiceNone,
		Fields: map[string]any{"reasoning_split": true},
	}},

	// Thinking goes back as reasoning_details, never as text alone. Without
	// require_parameters an upstream that knows no schemas may get the request.
	{
		kind: "openrouter",
		Dialect: Dialect{
			PerModel: true, Files: true, Strict: true,
			Formats:  []Format{FormatSchema, FormatObject},
			Answered: map[string]any{"provider": map[string]any{"require_parameters": true}},
		},
		echoes:  true,
		efforts: []spelling{{"*", Effort{Field: "reasoning.effort", Words: words("none minimal low medium high max"), Tokens: "reasoning.max_tokens"}}},
		caches:  "anthropic/* google/gemini* qwen/*",
	},

	{kind: "moonshot", Dialect: Dialect{
		Schema: schema.Kimi, Inline: true, Choice: ChoiceMild, Formats: []Format{FormatSchema, FormatObject},
	}},

	{
		kind: "mistral",
		Dialect: Dialect{
			NoUsage: true, Bridge: true, IDs: IDsNine,
			Renames: map[string]string{"seed": "random_seed"},
			Formats: []Format{FormatSchema, FormatObject},
			Family:  Family{Echo: EchoParts},
		},
		echoes: true,
	},

	// Only some models take schemas. Qwen writes its thinking into the text
	// unless it is told to keep it apart; gpt-oss refuses to be told.
	{
		kind:    "groq",
		Dialect: Dialect{Thinks: "reasoning", Inline: true, Formats: []Format{FormatSchema, FormatObject}},
		efforts: []spelling{
			{"gpt-oss*", Effort{Words: words("low low low medium high high")}},
			{"qwen3.8*", Effort{Words: words("none low low medium high high")}},
			{"qwen3*", Effort{Words: words("none default default default default default")}},
		},
		fields: []extra{{"qwen3*", map[string]any{"reasoning_format": "parsed"}}},
	},

	// Thinking comes as reasoning, and does not go back: the field is refused
	// (github.com/Alishahryar1/free-claude-code issue 1136).
	{
		kind: "cerebras",
		Dialect: Dialect{
			Limit: "max_completion_tokens", Inline: true, Formats: []Format{FormatSchema, FormatObject},
			Family: Family{Refuses: penalties},
		},
		echoes: true,
		efforts: []spelling{
			{"gpt-oss*", Effort{Words: words("low low low medium high high")}},
			{"qwen*", Effort{Words: words("none low low medium high high")}},
		},
	},

	{
		kind:    "ollama",
		Dialect: Dialect{Thinks: "reasoning", Schema: grammar, Inline: true, Choice: ChoiceNone, Formats: []Format{FormatSchema, FormatObject}},
		efforts: []spelling{
			{"gpt-oss*", Effort{Words: words("low low low medium high high")}},
			{"*", Effort{Words: words("none low low medium high max")}},
		},
	},

	// A tool by its name becomes "auto" without a word. Older versions take the
	// schema elsewhere.
	{
		kind: "llamacpp",
		Dialect: Dialect{
			Schema: grammar, Choice: ChoiceWords,
			Formats: []Format{FormatSchema, FormatObjectSchema, FormatField},
		},
		efforts: append([]spelling{{"gpt-oss*", Effort{Field: "chat_template_kwargs.reasoning_effort", Words: words("low low low medium high high")}}}, template...),
	},

	// guided_json went with 0.12, structured_outputs came with 0.11.
	{
		kind:    "vllm",
		Dialect: Dialect{Thinks: "reasoning", Formats: []Format{FormatSchema, FormatStructured, FormatGuided}, Several: true},
		efforts: template,
	},

	{kind: "lmstudio", Dialect: Dialect{Schema: grammar, Inline: true}, efforts: template[:1]},
}
