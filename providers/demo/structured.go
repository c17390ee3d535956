package demo

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
)

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

// schema is what the demo understands of JSON Schema.
type schema struct {
	Type       any               `json:"type"` // a string, or an array of them
	Properties map[string]schema `json:"properties"`
	Required   []string          `json:"required"`
	Items      *schema           `json:"items"`
	Enum       []any             `json:"enum"`
	Const      json.RawMessage   `json:"const"`
	AnyOf      []schema          `json:"anyOf"`
	OneOf      []schema          `json:"oneOf"`
	Format     string            `json:"format"`
	MinLength  int               `json:"minLength"`
	MaxLength  *int              `json:"maxLength"`
	MinItems   int               `json:"minItems"`
	MaxItems   *int              `json:"maxItems"`
	Minimum    *float64          `json:"minimum"`
	Above      *float64          `json:"exclusiveMinimum"`
	Maximum    *float64          `json:"maximum"`
	Below      *float64          `json:"exclusiveMaximum"`
	Step       float64           `json:"multipleOf"`
}

// deepest is how far example follows a schema, and longest how many items or
// characters it makes because a schema wants many.
const (
	deepest = 16
	longest = 1000
)

// formats are texts of the formats that people ask for.
var formats = map[string]string{
	"date-time": "2026-01-01T00:00:00Z", "date": "2026-01-01", "time": "00:00:00Z", "duration": "PT1M",
	"email": "somebody@example.com", "hostname": "example.com", "uri": "https://example.com/",
	"ipv4": "127.0.0.1", "ipv6": "::1", "uuid": "00000000-0000-4000-8000-000000000000",
}

// example is a value that fits the simple parts of s; nil if s says nothing it
// understands. Texts are the answer.
func (s schema) example(text string) any { return s.value(text, 0) }

func (s schema) value(text string, depth int) any {
	branches := slices.Concat(s.AnyOf, s.OneOf)
	switch {
	case s.Const != nil:
		return s.Const
	case len(s.Enum) > 0:
		return s.Enum[0]
	case len(branches) > 0 && s.Properties == nil && depth < deepest:
		return branches[0].value(text, depth+1)
	}
	switch s.kind() {
	case "string":
		return s.text(text)
	case "integer":
		return s.number(1)
	case "number":
		return s.number(0.5)
	case "boolean":
		return false
	case "array":
		return s.list(text, depth)
	case "object":
		object := map[string]any{}
		for name, property := range s.Properties {
			if depth < deepest && (len(s.Required) == 0 || slices.Contains(s.Required, name)) {
				object[name] = property.value(text, depth+1)
			}
		}
		return object
	}
	return nil
}

// text is the answer, as long as s wants it.
func (s schema) text(text string) string {
	if known, ok := formats[s.Format]; ok {
		return known
	}
	if missing := min(s.MinLength, longest) - len([]rune(text)); missing > 0 {
		text += strings.Repeat(".", missing)
	}
	if runes := []rune(text); s.MaxLength != nil && len(runes) > max(*s.MaxLength, 0) {
		return string(runes[:max(*s.MaxLength, 0)])
	}
	return text
}

// number is the one nearest to 0 that s lets pass, in steps of this size.
func (s schema) number(step float64) float64 {
	if s.Step > 0 {
		step = s.Step
	}
	n := 0.0
	for _, least := range []*float64{s.Minimum, s.Above} {
		if least != nil && *least >= n {
			n = math.Ceil(*least/step) * step
		}
	}
	if s.Above != nil && n <= *s.Above {
		n += step
	}
	for _, most := range []*float64{s.Maximum, s.Below} {
		if most != nil && *most < n {
			n = math.Floor(*most/step) * step
		}
	}
	if s.Below != nil && n >= *s.Below {
		n -= step
	}
	return n
}

// list has as few items as s lets pass, but one where it can.
func (s schema) list(text string, depth int) []any {
	list := []any{}
	if s.Items == nil || depth == deepest {
		return list
	}
	n := max(s.MinItems, 1)
	if s.MaxItems != nil {
		n = min(n, *s.MaxItems)
	}
	for range min(n, longest) {
		list = append(list, s.Items.value(text, depth+1))
	}
	return list
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
	switch {
	case s.Properties != nil:
		return "object"
	case s.Items != nil:
		return "array"
	}
	return ""
}
