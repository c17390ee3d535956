package openai

import "slices"

// Settings that reasoning models refuse. OpenAI's models accept sampling settings if thinking is
// off.
var (
	samplingSettings = []string{"temperature", "top_p", "stop"}
	penaltySettings  = []string{"frequency_penalty", "presence_penalty"}
)

// reasoningFamily returns the rules of an OpenAI reasoning model.
func reasoningFamily(efforts, withTool string) Rules {
	return Rules{
		Effort:          Effort{Words: effortWords(efforts), WithTools: withTool},
		RefusedSettings: slices.Concat(samplingSettings, penaltySettings), SystemRole: "developer", CleanText: true, ReasoningSummary: true, Verbosity: true,
	}
}

// earlyReasoning returns the rules of an OpenAI reasoning model without verbosity.
func earlyReasoning(efforts string) Rules {
	f := reasoningFamily(efforts, "")
	f.Verbosity = false
	return f
}

// budgets holds thinking_budget for off to max; 0 at max leaves the model's own limit.
var budgets = [6]int{0, 1024, 2048, 8192, 16384, 0}

// audioModels holds globs of models that accept sound in chat completions on every server.
const audioModels = "gpt-audio* gpt-4o-audio* gpt-4o-mini-audio* *-omni* voxtral* gemini*"

// families lists the rules of models, wherever they are served. The first row with a matching glob
// applies.
var families = []struct {
	globs string
	Rules
}{
	// OpenAI. From 5.2 on, chat completions refuse function tools together with reasoning, whether
	// default or requested, so that only "none" works (github.com/openai/openai-openapi issue 541,
	// github.com/BerriAI/litellm pull 34569). Unknown versions are treated like 5.6.
	{"gpt-oss*", Rules{Echo: EchoCalls, Effort: Effort{Words: effortWords("low low low medium high high")}}},
	{"gpt-3* gpt-4* chatgpt-* gpt-5*-chat* gpt-6*-chat* gpt-chat*", Rules{CleanText: true, NoReasoning: true}},
	{"o1* o3* o4-mini*", earlyReasoning("low low low medium high high")},
	{"gpt-5-pro*", reasoningFamily("high high high high high high", "")},
	{"gpt-5.1-codex-max* gpt-5.2-codex* gpt-5.3-codex-spark*", reasoningFamily("low low low medium high xhigh", "")},
	{"gpt-5-codex* gpt-5.1-codex*", reasoningFamily("low low low medium high high", "")},
	{"gpt-5.1*", reasoningFamily("none low low medium high high", "")},
	{"gpt-5.[2-5]-pro*", reasoningFamily("medium medium medium medium high xhigh", "")},
	{"gpt-5.[2-5]*", reasoningFamily("none low low medium high xhigh", "none")},
	{"gpt-5.*", reasoningFamily("none low low medium high max", "none")},
	{"gpt-5*", reasoningFamily("minimal minimal low medium high high", "")},
	{"gpt-6-astra* gpt-6.1-sol*", reasoningFamily("low low low medium high max", "none")},
	{"gpt-[6-9]* gpt-1[0-9]*", reasoningFamily("none low low medium high max", "none")},

	// Other models with clean text. Gateways, and Google's own endpoint for chat completions,
	// translate the effort (ai.google.dev/gemini-api/docs/openai).
	{"claude*", Rules{CleanText: true, Effort: Effort{Words: effortWords("- low low medium high high")}}},
	{"gemini-2.5-pro*", Rules{CleanText: true, Effort: Effort{Words: effortWords("low low low medium high high")}}},
	{"gemini-2.5*", Rules{CleanText: true, Effort: Effort{Words: effortWords("none low low medium high high")}}},
	{"gemini-[012]* gemini-*-image* gemini-*-tts*", Rules{CleanText: true}},
	{"gemini-3-pro*", Rules{CleanText: true, Effort: Effort{Words: effortWords("low low low high high high")}}},
	{"gemini-3-flash* gemini-3.[0-6]-flash*", Rules{CleanText: true, Effort: Effort{Words: effortWords("minimal minimal low medium high high")}}},
	{"gemini*", Rules{CleanText: true, Effort: Effort{Words: effortWords("low low low medium high high")}}},

	// xAI. The other models think or not depending on their name, and refuse the field.
	{"grok-3-mini*", Rules{Effort: Effort{Words: effortWords("low low low low high high")}, RefusedSettings: append(penaltySettings, "stop")}},
	{"grok-4.20* grok-4-* grok-4 grok-4.1* grok-[23]* grok-code* grok-build*", Rules{RefusedSettings: append(penaltySettings, "stop")}},
	{"grok-4.3*", Rules{Effort: Effort{Words: effortWords("none low low medium high high")}, RefusedSettings: append(penaltySettings, "stop")}},
	{"grok-4.5*", Rules{Effort: Effort{Words: effortWords("low low low medium high high")}, RefusedSettings: append(penaltySettings, "stop")}},
	{"grok-*", Rules{Effort: Effort{Words: effortWords("low low low medium high xhigh")}, RefusedSettings: append(penaltySettings, "stop")}},

	// GLM wants its thinking back while it uses tools.
	{"glm-4.[5-9]* glm-5 glm-5-* glm-5v* glm-5:* glm-5.[01]*", Rules{Echo: EchoCalls, Effort: Effort{Switch: thinkingType}}},
	{"glm-5.2*", Rules{Echo: EchoCalls, Effort: Effort{Words: effortWords("- high high high high max"), Switch: thinkingType}}},
	{"glm-3* glm-4*", Rules{}},
	{"glm-*", Rules{Echo: EchoCalls, Effort: Effort{Words: effortWords("low low low high high max")}}},

	// Qwen wants no thinking back; see Chat for preserve_thinking.
	{"qwen*-instruct* qwen*coder*", Rules{}},
	{"qwq* qvq* qwen*-thinking*", Rules{Effort: Effort{Budgets: budgets, AlwaysOn: true}}},
	{"qwen3.8*", Rules{Effort: Effort{Words: effortWords("- low low medium xhigh xhigh"), Switch: enableThinking}}},
	{"qwen3* qwen-plus* qwen-flash* qwen-turbo* qwen-max*", Rules{Effort: Effort{Budgets: budgets, Switch: enableThinking}}},
	{"qwen*", Rules{}},

	// DeepSeek. R1 refuses its thinking back; from V3.2 on, every message with calls must contain
	// it in all later requests.
	{"deepseek-r1*", Rules{Effort: Effort{AlwaysOn: true}}},
	{"deepseek-v2* deepseek-v3 deepseek-v3-* deepseek-v3:* deepseek-v3.1* deepseek-coder*", Rules{}},
	{"deepseek-v3* deepseek-chat* deepseek-reasoner*", Rules{Echo: EchoCalls, EmptyReasoning: true}},
	{"deepseek-v4-pro*", Rules{Echo: EchoCalls, EmptyReasoning: true,
		Effort: Effort{Words: effortWords("- high high high high max"), Switch: thinkingType}}},
	{"deepseek-*", Rules{Echo: EchoCalls, EmptyReasoning: true,
		Effort: Effort{Words: effortWords("- low low high high max"), Switch: thinkingType}}},

	// MiniMax fails between calls without its thinking, which goes back in the form it came in.
	{"minimax-m1* minimax-m2*", Rules{Echo: EchoTags, Effort: Effort{AlwaysOn: true}}},
	{"minimax-m3.1-flash*", Rules{Echo: EchoTags, Effort: Effort{Words: effortWords("low low low medium high high")}}},
	{"minimax-*", Rules{Echo: EchoTags, Effort: Effort{Switch: thinkingAdaptive}}},

	// Kimi has fixed sampling, and refuses calls without their thinking.
	{"kimi-k2.[56]*", Rules{Echo: EchoCalls, EmptyReasoning: true, RefusedSettings: samplingSettings[:2], Effort: Effort{Switch: thinkingType}}},
	{"kimi-k2.7* kimi-k2-thinking*", Rules{Echo: EchoCalls, EmptyReasoning: true, RefusedSettings: samplingSettings[:2], Effort: Effort{AlwaysOn: true}}},
	{"kimi-k2* kimi-latest*", Rules{}},
	{"kimi-*", Rules{Echo: EchoCalls, EmptyReasoning: true, RefusedSettings: samplingSettings[:2],
		Effort: Effort{Words: effortWords("low low low high high max")}}},

	{"mistral-small* mistral-medium*", Rules{Effort: Effort{Words: effortWords("none high high high high high")}}},
	{"mistral-large-4*", Rules{Effort: Effort{Words: effortWords("low low low medium high high")}}},
	{"magistral*", Rules{Effort: Effort{AlwaysOn: true}}},
}
