package models

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"parley/providers/llm"
	"parley/providers/similar"
	"parley/ui/app"
)

// noteUnlisted warns if the model's provider does not list it: the name may be mistyped. Services have unlisted models,
// so it is used anyway. If parley has no list, it asks the provider for one.
func (f *flow) noteUnlisted(model llm.Endpoint) app.Effect {
	if model.Known {
		return nil
	}
	return app.Async(func(context.Context) app.Effect {
		listed := modelsOf(model.Name, f.app.Models.Choices())
		if len(listed) == 0 {
			listed = modelsOf(model.Name, f.app.Models.Live())
		}
		if note := unlistedText(model.Name, listed); note != "" {
			return app.Notes{note}
		}
		return nil
	})
}

// modelsOf returns the listed models of the provider in name.
func modelsOf(name string, choices []app.ModelChoice) (names []string) {
	provider, _, _ := strings.Cut(name, "/")
	for _, c := range choices {
		if id, ok := strings.CutPrefix(c.Name, provider+"/"); ok && id != "" && c.Alias == "" {
			names = append(names, strings.TrimSuffix(c.Name, ":latest")) // Ollama lists the default tag, but nobody types it
		}
	}
	return names
}

// unlistedText says that a model is not listed and suggests a similar one; "" if it is listed, or there is no list.
// Text after a colon is a variant of the same model: a tag, or a routing option.
func unlistedText(name string, listed []string) string {
	base := func(s string) string { s, _, _ = strings.Cut(s, ":"); return s }
	if len(listed) == 0 || slices.ContainsFunc(listed, func(l string) bool { return base(l) == base(name) }) {
		return ""
	}
	provider, id, _ := strings.Cut(name, "/")
	text := fmt.Sprintf("%s lists no model %q", provider, id)
	if near := similar.Names(name, listed, 3); len(near) > 0 {
		return text + ": did you mean " + strings.Join(near, ", ") + "?"
	}
	return text + ": /model shows those it lists"
}
