package openai

import (
	"strings"

	"parley/providers/adapter"
	"parley/providers/schema"
)

// A service is one row of the services table.
type service struct {
	kind        string
	dialect     Dialect
	ownServers  bool          // it follows the rules of OpenAI's own servers
	verbosity   bool          // it passes verbosity on to the model
	choicesHost string        // the only host that can give several answers; "" for none
	ownEcho     bool          // the dialect's Echo applies to every model
	efforts     []modelEffort // how it spells effort; nil uses the spelling of the model's family
	cacheGlobs  string        // globs of models whose prompts are cached only up to cache marks
	modelFields []modelFields // sent with every request to some models, instead of ExtraFields
}

// modelFields holds request fields for the models that globs match.
type modelFields struct {
	globs  string
	fields map[string]any
}

// A modelEffort is a service's spelling of effort for the models that globs match.
type modelEffort struct {
	globs string
	Effort
}

// Known switches.
var (
	thinkingType     = Switch{"thinking", `{"type":"enabled"}`, `{"type":"disabled"}`}
	thinkingAdaptive = Switch{"thinking", `{"type":"adaptive"}`, `{"type":"disabled"}`}
	enableThinking   = Switch{"enable_thinking", `true`, `false`}
	templateEnable   = Switch{"chat_template_kwargs", `{"enable_thinking":true}`, `{"enable_thinking":false}`}
	templateThinking = Switch{"chat_template_kwargs", `{"thinking":true}`, `{"thinking":false}`}
)

// effortWords parses the effort words from off to max; a dash is "".
func effortWords(s string) (w [6]string) {
	for i, word := range strings.Fields(s) {
		if word != "-" {
			w[i] = word
		}
	}
	return w
}

// templateEfforts spells effort for servers that render chat templates, in the words of the
// publisher's template.
var templateEfforts = []modelEffort{
	{"gpt-oss*", Effort{Words: effortWords("low low low medium high high")}},
	{"deepseek* granite*", Effort{Switch: templateThinking}},
	{"*", Effort{Switch: templateEnable}},
}

// llamaSchema is the schema target of llama.cpp: its grammar, with objects for tools.
var llamaSchema = func() schema.Target {
	t := schema.Grammar
	t.ObjectRoot = true
	return t
}()

// services lists the differences of each service that apply to all models. A new service is a new
// row.
var services = []service{
	{kind: "openai", ownServers: true, verbosity: true, choicesHost: adapter.OpenAI, dialect: Dialect{ImageDetail: true, PerModel: true, PDFs: true, StrictSchemas: true, MultipleChoices: true}},

	{kind: "grok", dialect: Dialect{ImageDetail: true, WebByResponses: true, MaxTokensField: "max_completion_tokens", Schema: schema.XAI}},

	// Without tool_stream nothing arrives until the arguments are complete, which takes minutes for
	// a large file. Messages need a content. A user message between tool results and the next
	// answer makes the model forget its thinking (github.com/RooCodeInc/Roo-Code). The endpoint of
	// coding plans keeps thinking over turns.
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

	// reasoning_split moves thinking out of the content into reasoning_details; some versions
	// repeat all of it in each chunk.
	{kind: "minimax", dialect: Dialect{
		MaxTokensField: "max_completion_tokens", PositiveTemperature: true, CumulativeReasoning: true, ToolChoice: ChoiceNone,
		ExtraFields: map[string]any{"reasoning_split": true},
	}},

	// Thinking goes back as reasoning_details, never as text only. Without require_parameters, an
	// upstream without schema support may get the request.
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

	// Only some models support schemas. Qwen writes its thinking into the text unless
	// reasoning_format separates it; gpt-oss refuses that field.
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

	// Thinking comes in the reasoning field and does not go back, since the service refuses it
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

	// A tool_choice with a tool's name silently becomes "auto". Older versions expect the schema in
	// another field.
	{
		kind: "llamacpp",
		dialect: Dialect{
			Schema: llamaSchema, ToolChoice: ChoiceWords,
			Formats: []Format{FormatSchema, FormatObjectSchema, FormatField},
		},
		efforts: append([]modelEffort{{"gpt-oss*", Effort{Field: "chat_template_kwargs.reasoning_effort", Words: effortWords("low low low medium high high")}}}, templateEfforts...),
	},

	// guided_json was removed in 0.12; structured_outputs was added in 0.11.
	{
		kind:    "vllm",
		dialect: Dialect{ReasoningField: "reasoning", Formats: []Format{FormatSchema, FormatStructured, FormatGuided}, MultipleChoices: true},
		efforts: templateEfforts,
	},

	{kind: "lmstudio", dialect: Dialect{Schema: llamaSchema, InlineImagesOnly: true}, efforts: templateEfforts[:1]},
}
