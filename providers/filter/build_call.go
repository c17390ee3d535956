package filter

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"parley/providers/llm"
)

// An argSchema holds the parts of a JSON Schema needed to convert arguments.
type argSchema struct {
	Type       any                  `json:"type"` // a name or a list of names
	AnyOf      []argSchema          `json:"anyOf"`
	OneOf      []argSchema          `json:"oneOf"`
	Properties map[string]argSchema `json:"properties"`
	Required   []string             `json:"required"`
}

// decodeSchema decodes the schema of a tool; zero if it is not valid.
func decodeSchema(t *llm.Tool) argSchema {
	var s argSchema
	if json.Unmarshal(t.Schema, &s) != nil {
		return argSchema{}
	}
	return s
}

// types returns the JSON types that a value of s may have.
func (s argSchema) types() []string {
	var all []string
	switch t := s.Type.(type) {
	case string:
		all = append(all, t)
	case []any:
		for _, name := range t {
			if name, ok := name.(string); ok {
				all = append(all, name)
			}
		}
	}
	for _, branch := range append(s.AnyOf, s.OneOf...) {
		all = append(all, branch.types()...)
	}
	return all
}

// buildCall returns a call with text parameters, each converted to the type in the tool's schema.
// The last of equal keys counts.
func (p *parser) buildCall(name string, params []param) call {
	var properties map[string]argSchema
	if tool := p.findTool(name); tool != nil {
		properties = decodeSchema(tool).Properties
	}
	var b bytes.Buffer
	b.WriteByte('{')
	for i, a := range params {
		if slices.ContainsFunc(params[i+1:], func(later param) bool { return later.key == a.key }) {
			continue
		}
		if b.Len() > 1 {
			b.WriteByte(',')
		}
		b.Write(JSON(a.key))
		b.WriteByte(':')
		b.Write(convertParam(properties[a.key].types(), a))
	}
	b.WriteByte('}')
	c, _ := p.buildJSONCall(name, b.String())
	return c
}

// convertParam returns the value as JSON of one of types. It is a string if types allow it, or if
// it has none of the other types.
func convertParam(types []string, a param) []byte {
	if slices.Contains(types, "string") {
		return JSON(a.value)
	}
	value := strings.TrimSpace(a.value)
	kind := kindOf(value)
	switch {
	case kind == "" && slices.Contains(types, "boolean") && strings.EqualFold(value, "true"):
		return []byte("true") // Python's True
	case kind == "" && slices.Contains(types, "boolean") && strings.EqualFold(value, "false"):
		return []byte("false")
	case kind == "":
		return JSON(a.value)
	case slices.Contains(types, kind), kind == "number" && slices.Contains(types, "integer"),
		len(types) == 0 && (a.json || kind == "object" || kind == "array"):
		return []byte(value)
	}
	return JSON(a.value)
}

// kindOf returns the JSON Schema type of a JSON text, "" if it is not JSON.
func kindOf(text string) string {
	if text == "" || !json.Valid([]byte(text)) {
		return ""
	}
	switch text[0] {
	case '{':
		return "object"
	case '[':
		return "array"
	case '"':
		return "string"
	case 't', 'f':
		return "boolean"
	case 'n':
		return "null"
	}
	return "number"
}

// JSON returns v as JSON, without escapes that only HTML needs; null if it cannot be encoded.
func JSON(v any) json.RawMessage {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if enc.Encode(v) != nil {
		return json.RawMessage("null")
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
