package providers

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"parley/providers/adapter"
	"parley/providers/catalog"
	"parley/providers/discover"
)

// A listedModel is a model in the list of its server.
type listedModel struct {
	id    string
	title string // its name for people, "" if the server has none
	advertised
	embeds  bool   // it turns texts into vectors
	retires string // day from which the server refuses it, as 2006-01-02; "" if unknown
	refused string // the invalid part of its entry, for the user; "" for none
}

// facts returns what the list says, as it is kept.
func (m listedModel) facts() catalog.Facts {
	return catalog.Facts{
		ID: m.id, Name: m.title, Context: m.context, MaxOutput: m.maxOutput, Price: m.price,
		Tools: m.tools, Vision: m.vision, Thinks: m.thinks, Retires: m.retires,
	}
}

// advertised holds what a server says of a model; zero values are unknown.
type advertised struct {
	context   int
	maxOutput int
	price     catalog.Price
	tools     *bool
	vision    *bool
	thinks    *bool
}

// withDefaults returns t, completed by what a stored list says.
func (t advertised) withDefaults(f catalog.Facts) advertised {
	t.context, t.maxOutput = cmp.Or(t.context, f.Context), cmp.Or(t.maxOutput, f.MaxOutput)
	if !t.price.Known() {
		t.price = f.Price
	}
	t.tools, t.vision, t.thinks = cmp.Or(t.tools, f.Tools), cmp.Or(t.vision, f.Vision), cmp.Or(t.thinks, f.Thinks)
	return t
}

// applyTo returns m as the server has it.
func (t advertised) applyTo(m catalog.Model) catalog.Model {
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

// parseListing takes the models from a page:
//
//	{"data":[{"id":…}]}                                        OpenAI, Anthropic and most others
//	{"models":[{"name":"models/…","inputTokenLimit":…}]}       Gemini
//	{"models":[{"name":"qwen3:8b"}]}                           Ollama
//
// Models that do not chat or are retired are left out, where the server says so; those that turn texts
// into vectors are not, of a local server.
func parseListing(page map[string]any, local bool) []listedModel {
	rows, _ := page["data"].([]any)
	if rows == nil {
		rows, _ = page["models"].([]any)
	}
	var offers []listedModel
	for _, row := range rows {
		m, _ := row.(map[string]any)
		id := strings.TrimPrefix(firstText(m, idFields...), "models/")
		embeds := local && discover.Embeds(m, id)
		if id == "" || !embeds && !isChatModel(m) {
			continue
		}
		title := firstText(m, titleFields...)
		if strings.HasPrefix(title, "models/") || title == id {
			title = ""
		}
		price, refused := parsePrice(m)
		offers = append(offers, listedModel{id, title, advertised{
			context: firstCount(m, contextFields...), maxOutput: firstCount(m, outputFields...), price: price,
			tools: hasCapability(m, toolFields), vision: hasCapability(m, visionFields), thinks: hasCapability(m, thinkingFields),
		}, embeds, firstDay(m, "retires_at", "shutdown_date", "expiration_date"), refused})
	}
	return offers
}

// firstDay returns the day of the first of these fields that holds a date or an RFC 3339 time, as
// 2006-01-02: Anthropic has retires_at, OpenAI shutdown_date, OpenRouter expiration_date. It returns ""
// if none does.
func firstDay(m map[string]any, fields ...string) string {
	day, _, _ := strings.Cut(firstText(m, fields...), "T")
	if _, err := time.Parse(time.DateOnly, day); err != nil {
		return ""
	}
	return day
}

// isChatModel reports false for models that the server says do something else or are retired.
func isChatModel(m map[string]any) bool {
	if methods, ok := memberAt(m, "supportedGenerationMethods").([]any); ok && !slices.Contains(methods, any("generateContent")) {
		return false
	}
	return m["type"] != "embeddings" && m["type"] != "embedding" && m["lifecycle"] != "retired" && memberAt(m, "capabilities.completion_chat") != false
}

// A capabilityField is where a server says what a model is able to: a list that holds a
// word, or, without a word, true or false, which may stand under "supported".
type capabilityField struct{ path, word string }

var (
	toolFields = []capabilityField{
		{"capabilities", "tool_use"}, {"capabilities", "tools"}, // LM Studio, Ollama
		{"capabilities.function_calling", ""}, // Mistral
		{"supported_parameters", "tools"},     // OpenRouter
	}
	visionFields   = []capabilityField{{"type", "vlm"}, {"capabilities", "vision"}, {"capabilities.vision", ""}, {"capabilities.image_input", ""}, {"architecture.input_modalities", "image"}}
	thinkingFields = []capabilityField{{"capabilities.reasoning", ""}, {"capabilities.thinking", ""}, {"supported_parameters", "reasoning"}}
)

// hasCapability reports whether a model shows one of these signs, nil if the server does
// not say.
func hasCapability(m map[string]any, signs []capabilityField) *bool {
	said, is := false, false
	for _, s := range signs {
		switch v := memberAt(m, s.path).(type) {
		case bool:
			said, is = true, is || v
		case string: // LM Studio's type; other types are not about this
			said, is = said || v == s.word, is || v == s.word
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

// parsePrice reads prices, which are in dollars per token at OpenRouter, as text; -1 is a
// router's, which differs from request to request. A price that nobody asks is refused, as a
// whole, and told.
func parsePrice(m map[string]any) (p catalog.Price, refused string) {
	varies := false
	for _, figure := range []struct {
		name string
		to   *float64
		need bool
	}{{"prompt", &p.Input, true}, {"completion", &p.Output, true}, {"input_cache_read", &p.CacheRead, false}, {"input_cache_write", &p.CacheWrite, false}} {
		text := firstText(m, "pricing."+figure.name)
		dollars, err := strconv.ParseFloat(text, 64)
		dollars = math.Round(dollars*1e12) / 1e6
		switch {
		case text == "":
			varies = varies || figure.need
		case err == nil && dollars == -1e6:
			varies = true
		case err != nil || !catalog.IsPrice(dollars):
			return catalog.Price{}, fmt.Sprintf("price %q for a token", catalog.ShownID(text))
		default:
			*figure.to = dollars
		}
	}
	if varies {
		return catalog.Price{}, ""
	}
	p.Free = p.Input == 0 && p.Output == 0
	return p, ""
}

// addLoadedWindows notes the window that a server runs its models with: Ollama tells it
// of those in memory, llama.cpp of the one it has, and also whether that one sees.
func addLoadedWindows(offers []listedModel, page map[string]any) {
	n, sees := firstCount(page, "default_generation_settings.n_ctx"), hasCapability(page, []capabilityField{{"modalities.vision", ""}})
	for i := range offers {
		offers[i].context, offers[i].vision = cmp.Or(n, offers[i].context), cmp.Or(sees, offers[i].vision)
	}
	for _, running := range parseListing(page, true) {
		for i := range offers {
			if offers[i].id == running.id && running.context > 0 {
				offers[i].context = running.context
			}
		}
	}
}

// memberAt returns the member of m that path names, nil if there is none.
func memberAt(m map[string]any, path string) any {
	value, _ := adapter.Field(m, path)
	return value
}

// firstText returns the first of the members that holds some.
func firstText(m map[string]any, paths ...string) string {
	for _, path := range paths {
		if s, ok := memberAt(m, path).(string); ok && s != "" {
			return s
		}
	}
	return ""
}

// firstCount returns the first of the members that is a number of tokens.
func firstCount(m map[string]any, paths ...string) int {
	for _, path := range paths {
		n, ok := memberAt(m, path).(float64)
		if s, isText := memberAt(m, path).(string); isText {
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
