package openai

import (
	"encoding/json"
	"reflect"
	"slices"

	"parley/providers/adapter"
	"parley/providers/llm"
	"parley/providers/schema"
)

// functionTools encodes tools.
func functionTools(tools []llm.Tool, target schema.Target) []any {
	return adapter.Tools(tools, func(t llm.Tool) map[string]any {
		return map[string]any{"name": adapter.WireName(t.Name), "parameters": schema.For(t.Schema, target)}
	})
}

// toolChoice returns the encoded tool choice; nil if it is not restricted. Named encodes the choice
// of one tool.
func toolChoice(req llm.Request, named func(name string) any) any {
	switch {
	case req.ToolChoice == "" || len(req.Tools) == 0:
		return nil
	case req.ToolChoice == "auto", req.ToolChoice == "none", req.ToolChoice == "required":
		return req.ToolChoice
	}
	return named(adapter.WireName(req.ToolChoice))
}

// limitToolChoice expresses a tool choice that the service does not support: it removes tools that
// may not be called, and offers a named tool alone.
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

// schemaFormat encodes the schema of the answer.
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

// strictSchema returns a schema in strict form, and whether it is equivalent except for undeclared
// properties. Without equivalence, strict answers would contain null for optional properties.
func strictSchema(raw json.RawMessage) (json.RawMessage, bool) {
	narrow := schema.For(raw, schema.OpenAIStrict)
	return narrow, reflect.DeepEqual(withOpenObjects(narrow), withOpenObjects(schema.For(raw, schema.OpenAI)))
}

// withOpenObjects returns a schema whose objects allow additional properties.
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

// schemaPrompt returns the system prompt with the schema of the answer, for services without schema
// support.
func schemaPrompt(req llm.Request) string {
	system := req.System
	if system != "" {
		system += "\n\n"
	}
	return system + "Answer with nothing but JSON that fits this JSON schema:\n" + string(req.AnswerSchema.JSON)
}
