package openai

import (
	"encoding/json"
	"reflect"
	"slices"

	"parley/providers/adapter"
	"parley/providers/llm"
	"parley/providers/schema"
)

// functionTool describes a tool.
func functionTool(t llm.Tool, target schema.Target) map[string]any {
	f := map[string]any{"name": adapter.WireName(t.Name), "parameters": schema.For(t.Schema, target)}
	if t.Description != "" {
		f["description"] = t.Description
	}
	return f
}

// toolChoice returns which tools may or must be called, nil if that is left open.
// A tool by its name is written by named.
func toolChoice(req llm.Request, named func(name string) any) any {
	switch {
	case req.ToolChoice == "" || len(req.Tools) == 0:
		return nil
	case req.ToolChoice == "auto", req.ToolChoice == "none", req.ToolChoice == "required":
		return req.ToolChoice
	}
	return named(adapter.WireName(req.ToolChoice))
}

// limitToolChoice puts a choice of tools that the service has no word for in another way:
// what may not be called is not offered, and a tool by its name is the only one
// that is.
func (d Dialect) limitToolChoice(req llm.Request, model string) (llm.Request, []string) {
	choice, weak := req.ToolChoice, d.ToolChoice == ChoiceMild || d.ToolChoice == ChoiceNone
	switch {
	case d.ToolChoice == ChoiceAll, choice == "", choice == "auto", len(req.Tools) == 0:
		return req, nil
	case choice == "none":
		if d.ToolChoice == ChoiceNone {
			req.Tools, req.ToolChoice, req.Parallel = nil, "", nil
		}
		return req, nil
	case choice != "required":
		req.Tools = slices.DeleteFunc(slices.Clone(req.Tools), func(t llm.Tool) bool { return t.Name != choice })
		req.ToolChoice = "required"
	}
	if weak {
		req.ToolChoice = ""
		return req, []string{adapter.LeftOut(model, "tool_choice "+choice)}
	}
	return req, nil
}

// schemaFormat describes the answer that is wanted.
func schemaFormat(s *llm.Schema, target schema.Target, strict bool) map[string]any {
	format := map[string]any{"name": s.Name, "schema": schema.For(s.JSON, target)}
	if strict {
		narrow, ok := strictSchema(s.JSON)
		if ok {
			format["schema"] = schema.For(narrow, target)
		}
		format["strict"] = ok
	}
	return format
}

// strictSchema returns a schema in its strict form, and whether that means the same
// but for properties that were never named: strict answers would otherwise hold
// null for what may be missing.
func strictSchema(raw json.RawMessage) (json.RawMessage, bool) {
	narrow := schema.For(raw, schema.OpenAIStrict)
	return narrow, reflect.DeepEqual(withOpenObjects(narrow), withOpenObjects(schema.For(raw, schema.OpenAI)))
}

// withOpenObjects returns a schema whose objects are no longer closed to other properties.
func withOpenObjects(raw json.RawMessage) any {
	var v any
	if json.Unmarshal(raw, &v) != nil {
		return nil
	}
	openObjects(v)
	return v
}

func openObjects(v any) {
	switch v := v.(type) {
	case map[string]any:
		if v["additionalProperties"] == false {
			delete(v, "additionalProperties")
		}
		for _, inner := range v {
			openObjects(inner)
		}
	case []any:
		for _, inner := range v {
			openObjects(inner)
		}
	}
}

// schemaPrompt returns the system prompt with the schema of the answer, for services that
// take none.
func schemaPrompt(req llm.Request) string {
	system := req.System
	if system != "" {
		system += "\n\n"
	}
	return system + "Answer with nothing but JSON that fits this JSON schema:\n" + string(req.AnswerSchema.JSON)
}
