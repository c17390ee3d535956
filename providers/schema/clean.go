package schema

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
)

// A cleaner returns the value of a keyword in its proper form; false if it is malformed, so that
// the keyword is dropped. Depth is the number of enclosing schemas.
type cleaner func(v any, depth int) (any, bool)

// cleanerOf returns the cleaner of a keyword of the canonical form; nil for all others, which are
// annotations for tools and are dropped: $schema, $id, $comment, x-….
func cleanerOf(key string) cleaner {
	switch key {
	case "$ref", "description", "title", "format":
		return cleanText
	case "type":
		return cleanTypes
	case "const", "default":
		return cleanAny
	case "enum", "examples":
		return cleanList
	case "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum":
		return cleanNumber
	case "multipleOf":
		return cleanPositive
	case "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties", "minContains", "maxContains":
		return cleanCount
	case "pattern":
		return cleanPattern
	case "uniqueItems":
		return cleanBool
	case "required":
		return cleanNames
	case "dependentRequired":
		return cleanNamesMap
	case "items", "contains", "additionalProperties", "propertyNames", "not", "if", "then", "else":
		return cleanSchema
	case "anyOf", "oneOf", "allOf", "prefixItems":
		return cleanSchemas
	case "properties", "dependentSchemas":
		return cleanSchemaMap
	case "patternProperties":
		return cleanPatternMap
	}
	return nil
}

// clean returns a copy of the schema v with its keywords in the form of 2020-12. Keywords of older
// drafts and of OpenAPI are converted, malformed ones dropped. References stay unchanged. Anything
// that is not a schema, or is nested deeper than maxDepth, becomes {}.
func clean(v any, depth int) *object {
	in, ok := v.(*object)
	switch {
	case v == false:
		return newObject("not", newObject())
	case !ok || depth > maxDepth:
		return newObject()
	}
	in = modernize(in)
	out := newObject()
	for _, key := range in.keys {
		cleanValue := cleanerOf(key)
		if cleanValue == nil {
			continue
		}
		if value, ok := cleanValue(in.values[key], depth+1); ok {
			out.set(key, value)
		}
	}
	if !out.has("if") {
		out.delete("then", "else")
	}
	dropRedundant(out)
	return out
}

// dropRedundant drops keywords for types that s excludes, and values of const and enum that are
// repeated or do not fit its type.
func dropRedundant(s *object) {
	for _, key := range slices.Clone(s.keys) {
		only := keywordType(key)
		if only != "" && !allowsType(s, only) && !(only == "number" && allowsType(s, "integer")) ||
			key == "const" && !fitsType(s, s.values[key]) {
			s.delete(key)
		}
	}
	enum := s.list("enum")
	if enum == nil {
		return
	}
	var kept []any
	seen := map[string]bool{}
	for _, v := range enum {
		if key := string(encode(v)); !seen[key] && fitsType(s, v) {
			seen[key] = true
			kept = append(kept, v)
		}
	}
	if len(kept) == 0 {
		s.delete("enum")
		return
	}
	s.set("enum", kept)
}

// typesOf lists the types that s names; nil means any.
func typesOf(s *object) []string {
	switch t := s.values["type"].(type) {
	case string:
		return []string{t}
	case []any:
		var all []string
		for _, v := range t {
			if name, ok := v.(string); ok {
				all = append(all, name)
			}
		}
		return all
	}
	return nil
}

// allowsType reports whether the type of s includes kind.
func allowsType(s *object, kind string) bool {
	all := typesOf(s)
	return all == nil || slices.Contains(all, kind)
}

func fitsType(s *object, v any) bool {
	all := typesOf(s)
	k := kindOf(v)
	return all == nil || slices.Contains(all, k) ||
		k == "number" && slices.Contains(all, "integer") && isInteger(v.(json.Number))
}

func isInteger(n json.Number) bool {
	f, _ := n.Float64() // infinite outside the range of floats, and then an integer
	return f == math.Trunc(f)
}

// typeAliases maps type names of other languages to those of JSON Schema.
var typeAliases = map[string]string{
	"str": "string", "text": "string", "int": "integer", "long": "integer", "float": "number", "double": "number",
	"bool": "boolean", "list": "array", "dict": "object", "map": "object", "none": "null", "nil": "null",
}

func cleanTypes(v any, _ int) (any, bool) {
	var all []any
	for _, name := range typesOf(newObject("type", v)) {
		name = strings.ToLower(name)
		if right, ok := typeAliases[name]; ok {
			name = right
		}
		switch name {
		case "string", "integer", "number", "boolean", "object", "array", "null":
			all = append(all, name)
		default:
			return nil, false // "any", "file", …: cannot be checked
		}
	}
	return typeValue(all), len(all) > 0
}

func cleanText(v any, _ int) (any, bool) {
	_, ok := v.(string)
	return v, ok
}

func cleanAny(v any, _ int) (any, bool) { return v, true }

func cleanList(v any, _ int) (any, bool) {
	l, _ := v.([]any)
	return l, len(l) > 0
}

func cleanBool(v any, _ int) (any, bool) { return v, v == true }

// toFloat returns v as a float64; false if it is not a number or out of range.
func toFloat(v any) (float64, bool) {
	n, ok := v.(json.Number)
	if !ok {
		return 0, false
	}
	f, err := n.Float64()
	return f, err == nil
}

func cleanNumber(v any, _ int) (any, bool) {
	_, ok := toFloat(v)
	return v, ok
}

func cleanPositive(v any, _ int) (any, bool) {
	f, ok := toFloat(v)
	return v, ok && f > 0
}

func cleanCount(v any, _ int) (any, bool) {
	f, ok := toFloat(v)
	if !ok || f < 0 || f != math.Trunc(f) || f > 1<<40 {
		return nil, false
	}
	return json.Number(strconv.FormatInt(int64(f), 10)), true
}

func cleanNames(v any, _ int) (any, bool) {
	l, _ := v.([]any)
	all := union([]any(nil), slices.DeleteFunc(slices.Clone(l), func(v any) bool { return kindOf(v) != "string" })).([]any)
	return all, len(all) > 0
}

func cleanNamesMap(v any, depth int) (any, bool) {
	return mapMembers(v, func(_ string, v any) (any, bool) { return cleanNames(v, depth) })
}

func cleanSchema(v any, depth int) (any, bool) {
	switch v.(type) {
	case *object, bool:
		return clean(v, depth), true
	}
	return nil, false
}

func cleanSchemas(v any, depth int) (any, bool) {
	l, _ := v.([]any)
	var all []any
	for _, v := range l {
		if s, ok := cleanSchema(v, depth); ok {
			all = append(all, s)
		}
	}
	return all, len(all) > 0
}

func cleanSchemaMap(v any, depth int) (any, bool) {
	return mapMembers(v, func(_ string, v any) (any, bool) { return cleanSchema(v, depth) })
}

func cleanPatternMap(v any, depth int) (any, bool) {
	return mapMembers(v, func(key string, v any) (any, bool) {
		if _, ok := compile(key); !ok {
			return nil, false
		}
		return cleanSchema(v, depth)
	})
}

func mapMembers(v any, f func(key string, v any) (any, bool)) (any, bool) {
	o, ok := v.(*object)
	if !ok {
		return nil, false
	}
	out := newObject()
	for _, key := range o.keys {
		if value, ok := f(key, o.values[key]); ok {
			out.set(key, value)
		}
	}
	return out, true
}

// cleanPattern also accepts patterns that Go cannot compile: a provider may support them.
func cleanPattern(v any, _ int) (any, bool) {
	s, ok := v.(string)
	return v, ok && s != ""
}
