package providers

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"parley/providers/catalog"
)

// An offer is a model as its server lists it.
type offer struct {
	id    string
	title string // its name for people, "" if the server has none
	told
}

// told is what a server tells of a model; zero values are not told.
type told struct {
	context   int
	maxOutput int
	price     catalog.Price
	tools     *bool
	vision    *bool
	thinks    *bool
}

// over returns m as the server has it.
func (t told) over(m catalog.Model) catalog.Model {
	if t.context > 0 {
		m.Context = t.context
	}
	if m.MaxInput > m.Context && m.Context > 0 {
		m.MaxInput = 0
	}
	m.MaxOutput = cmp.Or(t.maxOutput, m.MaxOutput)
	if t.price.Known() && !m.Price.Known() {
		m.Price = t.price
	}
	for _, said := range []struct {
		is *bool
		of *bool
	}{{t.tools, &m.Tools}, {t.vision, &m.Vision}, {t.thinks, &m.Thinks}} {
		if said.is != nil {
			*said.of = *said.is
		}
	}
	return m
}

// Where servers say what, the best first; a dot goes into an object. LM Studio
// and Ollama tell the window a model was loaded with, vLLM and llama.cpp the one
// they run with; the window a model could have does not help there.
var (
	idFields      = []string{"id", "name", "model"}
	titleFields   = []string{"display_name", "displayName", "name"}
	contextFields = []string{
		"loaded_context_length", "max_model_len", "meta.n_ctx", "context_length", "context_window", "max_context_length",
		"inputTokenLimit", "max_input_tokens",
	}
	outputFields = []string{"outputTokenLimit", "max_completion_tokens", "top_provider.max_completion_tokens", "max_tokens", "max_output_tokens"}
)

// read takes the models from a page:
//
//	{"data":[{"id":…}]}                                        OpenAI, Anthropic and most others
//	{"models":[{"name":"models/…","inputTokenLimit":…}]}       Gemini
//	{"models":[{"name":"qwen3:8b"}]}                           Ollama
//
// Models that do not chat are left out, where the server says so.
func read(page map[string]any) []offer {
	rows, _ := page["data"].([]any)
	if rows == nil {
		rows, _ = page["models"].([]any)
	}
	var offers []offer
	for _, row := range rows {
		m, _ := row.(map[string]any)
		id := strings.TrimPrefix(text(m, idFields...), "models/")
		if id == "" || !chats(m) {
			continue
		}
		title := text(m, titleFields...)
		if strings.HasPrefix(title, "models/") || title == id {
			title = ""
		}
		offers = append(offers, offer{id, title, told{
			context: count(m, contextFields...), maxOutput: count(m, outputFields...), price: price(m),
			tools: able(m, toolSigns), vision: able(m, visionSigns), thinks: able(m, thinkSigns),
		}})
	}
	return offers
}

// chats is false for models that the server says do something else.
func chats(m map[string]any) bool {
	if methods, ok := at(m, "supportedGenerationMethods").([]any); ok && !slices.Contains(methods, any("generateContent")) {
		return false
	}
	return m["type"] != "embeddings" && m["type"] != "embedding" && at(m, "capabilities.completion_chat") != false
}

// A sign is where a server says what a model is able to: a list that holds a
// word, or, without a word, true or false, which may stand under "supported".
type sign struct{ path, word string }

var (
	toolSigns = []sign{
		{"capabilities", "tool_use"}, {"capabilities", "tools"}, // LM Studio, Ollama
		{"capabilities.function_calling", ""}, // Mistral
		{"supported_parameters", "tools"},     // OpenRouter
	}
	visionSigns = []sign{{"capabilities.vision", ""}, {"capabilities.image_input", ""}, {"architecture.input_modalities", "image"}}
	thinkSigns  = []sign{{"capabilities.reasoning", ""}, {"capabilities.thinking", ""}, {"supported_parameters", "reasoning"}}
)

// able reports whether a model shows one of these signs, nil if the server does
// not say.
func able(m map[string]any, signs []sign) *bool {
	said, is := false, false
	for _, s := range signs {
		switch v := at(m, s.path).(type) {
		case bool:
			said, is = true, is || v
		case []any:
			said, is = true, is || slices.Contains(v, any(s.word))
		case map[string]any:
			if yes, ok := v["supported"].(bool); ok && s.word == "" {
				said, is = true, is || yes
			}
		}
	}
	if !said {
		return nil
	}
	return &is
}

// price is in dollars per token at OpenRouter, as text; -1 is a router's.
func price(m map[string]any) catalog.Price {
	dollars := func(name string) (float64, bool) {
		n, err := strconv.ParseFloat(text(m, "pricing."+name), 64)
		return math.Round(n*1e12) / 1e6, err == nil && n >= 0 && n < 1
	}
	input, ok := dollars("prompt")
	output, also := dollars("completion")
	if !ok || !also {
		return catalog.Price{}
	}
	read, _ := dollars("input_cache_read")
	written, _ := dollars("input_cache_write")
	return catalog.Price{Free: input == 0 && output == 0, Input: input, Output: output, CacheRead: max(read, 0), CacheWrite: max(written, 0)}
}

// loaded notes the window that a server runs its models with: Ollama tells it
// of those in memory, llama.cpp of the one it has.
func loaded(offers []offer, page map[string]any) {
	if n := count(page, "default_generation_settings.n_ctx"); n > 0 {
		for i := range offers {
			offers[i].context = n
		}
	}
	for _, running := range read(page) {
		for i := range offers {
			if offers[i].id == running.id && running.context > 0 {
				offers[i].context = running.context
			}
		}
	}
}

// at is the member of m that path names, nil if there is none.
func at(m map[string]any, path string) any {
	outer, inner, nested := strings.Cut(path, ".")
	if !nested {
		return m[outer]
	}
	object, _ := m[outer].(map[string]any)
	return at(object, inner)
}

// text is the first of the members that holds some.
func text(m map[string]any, paths ...string) string {
	for _, path := range paths {
		if s, ok := at(m, path).(string); ok && s != "" {
			return s
		}
	}
	return ""
}

// count is the first of the members that is a number of tokens.
func count(m map[string]any, paths ...string) int {
	for _, path := range paths {
		n, ok := at(m, path).(float64)
		if s, isText := at(m, path).(string); isText {
			var err error
			n, err = strconv.ParseFloat(s, 64)
			ok = err == nil
		}
		if ok && n >= 1 && n < 1<<40 {
			return int(n)
		}
	}
	return 0
}
