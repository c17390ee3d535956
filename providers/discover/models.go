package discover

import (
	"slices"
	"strings"

	"parley/providers/catalog"
	"parley/tools/sanitize"
)

// listedModels returns the models of the list in OpenAI's format.
func (s *session) listedModels() []model {
	rows, _ := s.get(listPath).list("data")
	return parseModels(rows)
}

// parseModels returns the models in rows that have valid names.
func parseModels(rows []map[string]any) []model {
	var models []model
	for _, m := range rows {
		id := catalog.FirstText(m, "id", "key", "model", "name")
		if !isName(id) {
			continue
		}
		models = append(models, model{catalog.Facts{
			ID: id, Context: catalog.FirstCount(m, "loaded_context_length", "max_model_len", "meta.n_ctx", "context_length", "max_context_length", "meta.n_ctx_train"),
			Tools:  ability(m, "capabilities.trained_for_tool_use", "tools", "tool_use"),
			Vision: ability(m, "capabilities.vision", "vision", "vlm"),
			Thinks: ability(m, "capabilities.reasoning", "thinking"),
		}, m["state"] == "loaded", catalog.Embeds(m, id)})
	}
	return models
}

// isName reports whether a model id can be shown and sent back unchanged.
func isName(id string) bool {
	return id != "" && len(id) <= maxID && !strings.ContainsAny(id, " \t\n") && sanitize.Line(id) == id
}

// ability returns the value at path or, if there is none, whether the list of capabilities contains
// one of words; nil if the model has neither.
func ability(m map[string]any, path string, words ...string) *bool {
	switch told := catalog.Member(m, path).(type) {
	case bool:
		return &told
	case map[string]any: // LM Studio describes its reasoning options
		yes := true
		return &yes
	}
	if list, ok := m["capabilities"].([]any); ok {
		list = append(list, m["type"]) // LM Studio: "vlm"
		yes := slices.ContainsFunc(words, func(w string) bool { return slices.Contains(list, any(w)) })
		return &yes
	}
	return nil
}

// withContext sets the context window that a server runs its models with; 0 is unknown.
func withContext(models []model, context int) []model {
	for i := range models {
		if context > 0 {
			models[i].Context = context
		}
	}
	return models
}

// llamaModels returns the model of llama.cpp and of servers based on it.
func llamaModels(s *session) []model {
	props := s.get("/props").object
	models := withContext(s.listedModels(), catalog.FirstCount(props, "default_generation_settings.n_ctx"))
	for i := range models {
		models[i].Tools = cmpAbility(models[i].Tools, catalog.Member(props, "chat_template_caps.supports_tools"))
		models[i].Vision = cmpAbility(models[i].Vision, catalog.Member(props, "modalities.vision"))
	}
	return models
}

// cmpAbility returns said if it is a bool, otherwise known.
func cmpAbility(known *bool, said any) *bool {
	if yes, ok := said.(bool); ok {
		return &yes
	}
	return known
}

// studioModels returns the models of LM Studio, from its newer API if it has one.
func studioModels(s *session) []model {
	rows, ok := s.get("/api/v1/models").list("models")
	if !ok {
		rows, _ = s.get("/api/v0/models").list("data")
		return parseModels(rows)
	}
	models := parseModels(rows)
	for i := range models {
		at := slices.IndexFunc(rows, func(m map[string]any) bool { return catalog.FirstText(m, "key") == models[i].ID })
		if at < 0 {
			continue
		}
		instances, _ := rows[at]["loaded_instances"].([]any)
		for _, instance := range instances {
			loaded, _ := instance.(map[string]any)
			models[i].loaded = true
			if n := catalog.FirstCount(loaded, "config.context_length"); n > 0 {
				models[i].Context = n
			}
		}
	}
	return models
}

// ollamaModels returns the models of Ollama. The context window of a model is known only while it
// is loaded.
func ollamaModels(s *session) []model {
	rows, _ := s.get("/api/tags").list("models")
	models := parseModels(rows)
	running, _ := s.get("/api/ps").list("models")
	for i := range models {
		models[i].Context = 0 // largest window that the model supports
		for _, r := range running {
			if catalog.FirstText(r, "model", "name") == models[i].ID {
				models[i].loaded, models[i].Context = true, catalog.FirstCount(r, "context_length")
			}
		}
	}
	return models
}
