package demo

import (
	"cmp"
	"math"
	"slices"
	"strings"
)

// Limits of an instance: total values, and items or characters in one of them.
const (
	maxValues = 10_000
	maxSize   = 2000
)

// exampleText returns a text of a common format; "" for others.
func exampleText(format string) string {
	switch format {
	case "date-time":
		return "2026-01-01T00:00:00Z"
	case "date":
		return "2026-01-01"
	case "time":
		return "00:00:00Z"
	case "duration":
		return "PT1M"
	case "email":
		return "somebody@example.com"
	case "hostname":
		return "example.com"
	case "uri":
		return "https://example.com/"
	case "ipv4":
		return "127.0.0.1"
	case "ipv6":
		return "::1"
	case "uuid":
		return "00000000-0000-4000-8000-000000000000"
	}
	return ""
}

// instance returns a small value that fits a JSON Schema, with text where a string fits. It returns
// nil if the schema requires nothing that the demo supports, or if left, the number of values that
// may still be made, is used up.
func instance(schema any, text string, left *int) any {
	s, _ := schema.(object)
	if *left--; *left < 0 {
		return nil
	}
	if fixed, ok := s["const"]; ok {
		return fixed
	}
	if list, _ := s["enum"].([]any); len(list) > 0 {
		return list[0]
	}
	properties, isObject := s["properties"].(object)
	for _, key := range []string{"anyOf", "oneOf"} {
		if branches, _ := s[key].([]any); len(branches) > 0 && !isObject {
			return instance(branches[0], text, left)
		}
	}
	switch kind := kindOf(s); {
	case kind == "string":
		return stringInstance(s, text)
	case kind == "integer":
		return numberInstance(s, 1)
	case kind == "number":
		return numberInstance(s, 0.5)
	case kind == "boolean":
		return false
	case kind == "object", kind == "" && isObject:
		required, _ := s["required"].([]any)
		members := object{}
		for name, property := range properties {
			if len(required) == 0 || slices.Contains(required, any(name)) {
				members[name] = instance(property, text, left)
			}
		}
		return members
	case kind == "array", s["items"] != nil:
		list := []any{}
		for i := bound(s, 1, "minItems", "maxItems", 0); i > 0 && s["items"] != nil && *left > 0; i-- {
			list = append(list, instance(s["items"], text, left))
		}
		return list
	}
	return nil
}

// kindOf returns the type, or the first one other than null if there are several; "" if there is
// none.
func kindOf(s object) string {
	names, _ := s["type"].([]any)
	for _, name := range append(names, s["type"]) {
		if name, ok := name.(string); ok && name != "null" {
			return name
		}
	}
	return ""
}

func stringInstance(s object, text string) string {
	format, _ := s["format"].(string)
	if known := exampleText(format); known != "" {
		return known
	}
	runes := []rune(text)
	n := int(min(max(bound(s, float64(len(runes)), "minLength", "maxLength", 0), 0), maxSize))
	return string(runes[:min(n, len(runes))]) + strings.Repeat(".", max(n-len(runes), 0))
}

// numberInstance returns a multiple of step, or of multipleOf, near 0.
func numberInstance(s object, step float64) float64 {
	given, _ := s["multipleOf"].(float64)
	step = cmp.Or(given, step)
	n := bound(s, 0, "minimum", "maximum", 0)
	return math.Ceil(bound(s, n, "exclusiveMinimum", "exclusiveMaximum", step)/step) * step
}

// bound returns the number nearest to n that is inside the limits low and high of s by at least
// margin.
func bound(s object, n float64, low, high string, margin float64) float64 {
	if limit, ok := s[low].(float64); ok {
		n = max(n, limit+margin)
	}
	if limit, ok := s[high].(float64); ok {
		n = min(n, limit-margin)
	}
	return n
}
