package providers

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"parley/providers/catalog"
)

// A listedModel is an entry in a server's model list.
type listedModel struct {
	catalog.Facts
	embeds  bool   // it is an embedding model
	refused string // the invalid part of its entry, for the user; "" for none
}

// asAdvertised returns m updated by the facts that its server told.
func asAdvertised(m catalog.Model, told catalog.Facts) catalog.Model {
	m.Context = cmp.Or(told.Context, m.Context)
	if m.MaxInput > m.Context && m.Context > 0 {
		m.MaxInput = 0
	}
	m.MaxOutput = cmp.Or(told.MaxOutput, m.MaxOutput)
	if told.Price.Known() && !m.Price.Known() {
		m.Price = told.Price
	}
	for _, said := range []struct {
		is *bool
		of *bool
	}{{told.Tools, &m.Tools}, {told.Vision, &m.Vision}, {told.Thinks, &m.Thinks}} {
		if said.is != nil {
			*said.of = *said.is
		}
	}
	return m
}

// Fields of listed models, in order of preference; a dot descends into an object. LM Studio and
// Ollama report the context window that a model is loaded with, vLLM and llama.cpp the one they run
// with. The largest window a model supports is of no use there.
var (
	idFields      = []string{"id", "name", "model"}
	titleFields   = []string{"display_name", "displayName", "name"}
	contextFields = []string{
		"loaded_context_length", "max_model_len", "meta.n_ctx", "context_length", "context_window", "max_context_length",
		"inputTokenLimit", "max_input_tokens",
	}
	outputFields = []string{"outputTokenLimit", "max_completion_tokens", "top_provider.max_completion_tokens", "max_tokens", "max_output_tokens"}
)

// parseListing returns the models in a page:
//
//	{"data":[{"id":…}]}                                        OpenAI, Anthropic and most others
//	{"models":[{"name":"models/…","inputTokenLimit":…}]}       Gemini
//	{"models":[{"name":"qwen3:8b"}]}                           Ollama
//
// It omits models that the server marks as retired or as unable to chat, but keeps embedding models of
// a local server.
func parseListing(page map[string]any, local bool) []listedModel {
	rows, _ := page["data"].([]any)
	if rows == nil {
		rows, _ = page["models"].([]any)
	}
	var offers []listedModel
	for _, row := range rows {
		m, _ := row.(map[string]any)
		id := strings.TrimPrefix(catalog.FirstText(m, idFields...), "models/")
		embeds := local && catalog.Embeds(m, id)
		if id == "" || !embeds && !isChatModel(m) {
			continue
		}
		title := catalog.FirstText(m, titleFields...)
		if strings.HasPrefix(title, "models/") || title == id {
			title = ""
		}
		price, refused := parsePrice(m)
		offers = append(offers, listedModel{catalog.Facts{
			ID: id, Name: title, Context: catalog.FirstCount(m, contextFields...), MaxOutput: catalog.FirstCount(m, outputFields...), Price: price,
			Tools: hasCapability(m, toolFields), Vision: hasCapability(m, visionFields), Thinks: hasCapability(m, thinkingFields),
			Retires: firstDay(m, "retires_at", "shutdown_date", "expiration_date"),
		}, embeds, refused})
	}
	return offers
}

// firstDay returns the day of the first of these fields that holds a date or an RFC 3339 time, as
// 2006-01-02: Anthropic has retires_at, OpenAI shutdown_date, OpenRouter expiration_date. It returns ""
// if none does.
func firstDay(m map[string]any, fields ...string) string {
	day, _, _ := strings.Cut(catalog.FirstText(m, fields...), "T")
	if _, err := time.Parse(time.DateOnly, day); err != nil {
		return ""
	}
	return day
}

// isChatModel reports false for models that the server marks as retired or as made for other uses.
func isChatModel(m map[string]any) bool {
	if methods, ok := catalog.Member(m, "supportedGenerationMethods").([]any); ok && !slices.Contains(methods, any("generateContent")) {
		return false
	}
	return m["type"] != "embeddings" && m["type"] != "embedding" && m["lifecycle"] != "retired" && catalog.Member(m, "capabilities.completion_chat") != false
}

// A capabilityField is where a server reports a capability of a model. The field is a list that
// contains word or, if word is "", a bool, possibly under "supported".
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

// hasCapability reports whether one of signs shows the capability; nil if the server does not say.
func hasCapability(m map[string]any, signs []capabilityField) *bool {
	said, is := false, false
	for _, s := range signs {
		switch v := catalog.Member(m, s.path).(type) {
		case bool:
			said, is = true, is || v
		case string: // LM Studio's type; other values say nothing about this
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

// parsePrice reads prices: OpenRouter's are dollars per token, as strings; -1 is a router's, whose
// price varies by request. An implausible price is rejected as a whole and returned in refused.
func parsePrice(m map[string]any) (p catalog.Price, refused string) {
	varies := false
	for _, figure := range []struct {
		name string
		to   *float64
		need bool
	}{{"prompt", &p.Input, true}, {"completion", &p.Output, true}, {"input_cache_read", &p.CacheRead, false}, {"input_cache_write", &p.CacheWrite, false}} {
		text := catalog.FirstText(m, "pricing."+figure.name)
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

// addLoadedWindows adds the context window that a server runs its models with. Ollama reports it
// for models in memory; llama.cpp for its only one, with whether that one takes images.
func addLoadedWindows(offers []listedModel, page map[string]any) {
	n, sees := catalog.FirstCount(page, "default_generation_settings.n_ctx"), hasCapability(page, []capabilityField{{"modalities.vision", ""}})
	for i := range offers {
		offers[i].Context, offers[i].Vision = cmp.Or(n, offers[i].Context), cmp.Or(sees, offers[i].Vision)
	}
	for _, running := range parseListing(page, true) {
		for i := range offers {
			if offers[i].ID == running.ID && running.Context > 0 {
				offers[i].Context = running.Context
			}
		}
	}
}
