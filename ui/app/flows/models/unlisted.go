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

// noteUnlisted tells that no list has model, although its provider's list is known: the name may
// be mistyped. Services have models that they do not list, so it is used all the same. The provider
// is asked for its list where only it has one.
func (f *flow) noteUnlisted(model llm.Endpoint) app.Effect {
	if model.Known {
		return nil
	}
	return app.Async(func(context.Context) app.Effect {
		listed := modelsOf(model.Name, f.app.Choices())
		if len(listed) == 0 {
			listed = modelsOf(model.Name, f.app.Live())
		}
		if note := unlistedText(model.Name, listed); note != "" {
			return app.Notes{note}
		}
		return nil
	})
}

// modelsOf returns the names of the models that the provider of name lists.
func modelsOf(name string, choices []app.ModelChoice) (names []string) {
	provider, _, _ := strings.Cut(name, "/")
	for _, c := range choices {
		if id, ok := strings.CutPrefix(c.Name, provider+"/"); ok && id != "" && c.Alias == "" {
			names = append(names, strings.TrimSuffix(c.Name, ":latest")) // which Ollama lists, and nobody types
		}
	}
	return names
}

// unlistedText says that a model is not listed, and which one may be meant; "" if it is, or if there
// is no list. What follows a colon is a variant of the same model: a tag, or a way to route requests.
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
