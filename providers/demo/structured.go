package demo

import "encoding/json"

// structured answers a request that wants JSON: an object by the schema, with
// the ordinary answer where a text fits.
func (c *chat) structured() reply {
	r := c.decide()
	if len(r.calls) > 0 {
		return r
	}
	var value any = map[string]any{"answer": r.text}
	if c.format == "json_schema" {
		value = c.schema.example(r.text)
	}
	text, err := json.Marshal(value)
	if err != nil {
		return r
	}
	return reply{thinking: "The answer has to be JSON, and nothing but JSON.", text: string(text)}
}

// deepest is how far example follows a schema.
const deepest = 16

// example is a value that fits the simple parts of s; nil if s says nothing it
// understands. The first text is the answer.
func (s schema) example(text string) any { return s.value(text, 0) }

func (s schema) value(text string, depth int) any {
	if len(s.Enum) > 0 {
		return s.Enum[0]
	}
	switch s.kind() {
	case "string":
		return text
	case "integer", "number":
		return 0
	case "boolean":
		return false
	case "array":
		if s.Items == nil || depth == deepest {
			return []any{}
		}
		return []any{s.Items.value(text, depth+1)}
	case "object":
		object := map[string]any{}
		for name, property := range s.Properties {
			if depth < deepest {
				object[name] = property.value(text, depth+1)
			}
		}
		return object
	}
	return nil
}

// kind is the type, the first that is not null where there are several.
func (s schema) kind() string {
	switch t := s.Type.(type) {
	case string:
		return t
	case []any:
		for _, one := range t {
			if name, ok := one.(string); ok && name != "null" {
				return name
			}
		}
	}
	if s.Properties != nil {
		return "object"
	}
	return ""
}
