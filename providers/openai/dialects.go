package openai

import (
	"strings"

	"parley/providers/adapter/openaiclient"
	"parley/providers/schema"
)

// A service is a row of the table below, under its name in the configuration.
type service struct {
	kind        string
	dialect     Dialect
	ownServers  bool          // it follows the rules of OpenAI's own servers
	verbosity   bool          // it passes verbosity on
	choicesHost string        // the only host that gives several answers, if any
	ownEcho     bool          // its own rule of echo holds for every model
	efforts     []modelEffort // it spells effort itself; nil leaves that to the model's family
	cacheGlobs  string        // globs of the models whose prompts it caches only as far as they are marked
	modelFields []modelFields // go with every request to some models, in place of ExtraFields
}

// modelFields holds request fields for the models that globs fit.
type modelFields struct {
	globs  string
	fields map[string]any
}

// A modelEffort is how a service spells effort for the models that globs fit.
type modelEffort struct {
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

// effortWords returns the effort words from off to max; a dash sends none.
func effortWords(s string) (w [6]string) {
	for i, word := range strings.Fields(s) {
		if word != "-" {
			w[i] = word
		}
	}
	return w
}

// templateEfforts spells effort for servers that render chat templates themselves:
// what the template of the model's publisher understands.
var templateEfforts = []modelEffort{
	{"gpt-oss*", Effort{Words: effortWords("low low low medium high high")}},
	{"deepseek* granite*", Effort{Switch: templateThinking}},
	{"*", Effort{Switch: templateEnable}},
}

// llamaSchema is what llama.cpp makes of a schema; tools need an object.
var llamaSchema = func() schema.Target {
	t := schema.Grammar
	t.ObjectRoot = true
	return t
}()

// services lists what each service does differently, whatever the model. A new
// one is a row here.
var services = []service{
	{kind: "openai", ownServers: true, verbosity: true, choicesHost: openaiclient.Host, dialect: Dialect{ImageDetail: true, PerModel: true, PDFs: true, StrictSchemas: true, MultipleChoices: true}},

	{kind: "grok", dialect: Dialect{ImageDetail: true, WebByResponses: true, MaxTokensField: "max_completion_tokens", Schema: schema.XAI}},

	// Without tool_stream nothing comes until the arguments are complete, for
	// minutes with a large file. Messages need a content. Words of the user's
	// between results and the next answer make the model forget its thinking
	// (github.com/RooCodeInc/Roo-Code). With a coding plan thinking is kept over
	// turns.
	{kind: "glm", dialect: Dialect{
		EmptyContentString: true, PositiveTemperature: true, UserIntoToolResult: true, KeepsReasoningURL: "/coding/", ToolChoice: ChoiceNone,
		Formats: []Format{FormatObject}, ToolFields: map[string]any{"tool_stream": true},
		WebTool: map[string]any{"type": "web_search", "web_search": map[string]any{"enable": true, "search_engine": "search-prime", "search_result": true}},
	}},

	// Parallel calls are off by default.
	{kind: "qwen", dialect: Dialect{
		Formats: []Format{FormatSchema, FormatObject}, ToolFields: map[string]any{"parallel_tool_calls": true},
		WebFields: map[string]any{"enable_search": true},
		Rules:     Rules{RefusedSettings: []string{"frequency_penalty"}},
	}},

	{kind: "deepseek", dialect: Dialect{
		InlineImagesOnly: true, Formats: []Format{FormatObject}, RenamedFields: map[string]string{"user": "user_id"},
		Rules: Rules{RefusedSettings: penaltySettings},
	}},

	// reasoning_split moves thinking out of the content into
	// reasoning_details; some versions send all of it again in each chunk.
	{kind: "minimax", dialect: Dialect{
		MaxTokensField: "max_completion_tokens", PositiveTemperature: true, CumulativeReasoning: true, ToolChoice: ChoiceNone,
		ExtraFields: map[string]any{"reasoning_split": true},
	}},

	// Thinking goes back as reasoning_details, never as text alone. Without
	// require_parameters an upstream that knows no schemas may get the request.
	{
		kind: "openrouter",
		dialect: Dialect{ImageDetail: true,
			PerModel: true, PDFs: true, StrictSchemas: true,
			Formats:      []Format{FormatSchema, FormatObject},
			SchemaFields: map[string]any{"provider": map[string]any{"require_parameters": true}},
			WebTool:      map[string]any{"type": "openrouter:web_search"},
		},
		ownEcho:    true,
		verbosity:  true,
		efforts:    []modelEffort{{"*", Effort{Field: "reasoning.effort", Words: effortWords("none minimal low medium high max"), BudgetField: "reasoning.max_tokens"}}},
		cacheGlobs: "anthropic/* google/gemini* qwen/*",
	},

	{kind: "moonshot", dialect: Dialect{
		Schema: schema.Kimi, InlineImagesOnly: true, ToolChoice: ChoiceMild, Formats: []Format{FormatSchema, FormatObject},
	}},

	{
		kind: "mistral",
		dialect: Dialect{
			NoStreamOptions: true, AssistantAfterTools: true, IDs: IDsNine,
			RenamedFields: map[string]string{"seed": "random_seed"},
			Formats:       []Format{FormatSchema, FormatObject},
			Rules:         Rules{Echo: EchoParts},
		},
		ownEcho: true,
	},

	// Only some models take schemas. Qwen writes its thinking into the text
	// unless it is told to keep it apart; gpt-oss refuses to be told.
	{
		kind:    "groq",
		dialect: Dialect{ReasoningField: "reasoning", InlineImagesOnly: true, Formats: []Format{FormatSchema, FormatObject}},
		efforts: []modelEffort{
			{"gpt-oss*", Effort{Words: effortWords("low low low medium high high")}},
			{"qwen3.8*", Effort{Words: effortWords("none low low medium high high")}},
			{"qwen3*", Effort{Words: effortWords("none default default default default default")}},
		},
		modelFields: []modelFields{{"qwen3*", map[string]any{"reasoning_format": "parsed"}}},
	},

	// Thinking comes as reasoning, and does not go back: the field is refused
	// (github.com/Alishahryar1/free-claude-code issue 1136).
	{
		kind: "cerebras",
		dialect: Dialect{
			MaxTokensField: "max_completion_tokens", InlineImagesOnly: true, Formats: []Format{FormatSchema, FormatObject},
			Rules: Rules{RefusedSettings: penaltySettings},
		},
		ownEcho: true,
		efforts: []modelEffort{
			{"gpt-oss*", Effort{Words: effortWords("low low low medium high high")}},
			{"qwen*", Effort{Words: effortWords("none low low medium high high")}},
		},
	},

	{
		kind:    "ollama",
		dialect: Dialect{ReasoningField: "reasoning", Schema: llamaSchema, InlineImagesOnly: true, ToolChoice: ChoiceNone, Formats: []Format{FormatSchema, FormatObject}},
		efforts: []modelEffort{
			{"gpt-oss*", Effort{Words: effortWords("low low low medium high high")}},
			{"*", Effort{Words: effortWords("none low low medium high max")}},
		},
	},

	// A tool by its name becomes "auto" without a word. Older versions take the
	// schema elsewhere.
	{
		kind: "llamacpp",
		dialect: Dialect{
			Schema: llamaSchema, ToolChoice: ChoiceWords,
			Formats: []Format{FormatSchema, FormatObjectSchema, FormatField},
		},
		efforts: append([]modelEffort{{"gpt-oss*", Effort{Field: "chat_template_kwargs.reasoning_effort", Words: effortWords("low low low medium high high")}}}, templateEfforts...),
	},

	// guided_json went with 0.12, structured_outputs came with 0.11.
	{
		kind:    "vllm",
		dialect: Dialect{ReasoningField: "reasoning", Formats: []Format{FormatSchema, FormatStructured, FormatGuided}, MultipleChoices: true},
		efforts: templateEfforts,
	},

	{kind: "lmstudio", dialect: Dialect{Schema: llamaSchema, InlineImagesOnly: true}, efforts: templateEfforts[:1]},
}
