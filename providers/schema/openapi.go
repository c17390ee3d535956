package schema

import (
	"encoding/json"
	"slices"
)

// openAPI turns what 2020-12 says of null, of several types and of enum into
// OpenAPI 3.0, in the dialect of Gemini.
func openAPI(s *object) {
	if s.has("anyOf") {
		return // nothing may stand beside it
	}
	kinds := typesOf(s)
	null := slices.Contains(kinds, "null")
	kinds = slices.DeleteFunc(kinds, func(k string) bool { return k == "null" })
	switch len(kinds) {
	case 0:
		kinds = []string{"string"} // there is no type for null alone
	case 1:
	default:
		splitTypes(s, kinds, null)
		return
	}
	s.set("type", kinds[0])
	if null {
		s.set("nullable", true)
	}
	if enum := s.list("enum"); enum != nil {
		stringEnum(s, enum)
	} else if s.text("format") == "enum" {
		s.delete("format")
	}
}

// dropNullBranch tells null in the other branches: there is no type for it.
func dropNullBranch(branches []any) []any {
	isNull := func(v any) bool { return v.(*object).text("type") == "null" }
	if !slices.ContainsFunc(branches, isNull) {
		return branches
	}
	var out []any
	for _, b := range branches {
		if !isNull(b) {
			c := b.(*object).copy()
			nullable(c)
			out = append(out, c)
		}
	}
	if out == nil {
		return branches[:1]
	}
	return out
}

// splitTypes makes one branch of each type, with the keywords that apply to it.
func splitTypes(s *object, kinds []string, null bool) {
	var branches []any
	for _, k := range kinds {
		b := newObject()
		for _, key := range s.keys {
			if only := keywordType(key); key == "description" && len(branches) > 0 ||
				only != "" && only != k && !(only == "number" && k == "integer") {
				continue
			}
			b.set(key, s.values[key])
		}
		b.set("type", k)
		if null {
			b.set("type", []any{k, "null"})
		}
		dropRedundant(b)
		openAPI(b)
		branches = append(branches, b)
	}
	s.delete(slices.Clone(s.keys)...)
	s.set("anyOf", branches)
}

// stringEnum makes every value of enum a string, which is all there may be.
func stringEnum(s *object, enum []any) {
	var out []any
	for _, v := range enum {
		switch v := v.(type) {
		case nil:
			s.set("nullable", true)
		case string:
			if v != "" { // refused
				out = append(out, v)
			}
		case json.Number, bool:
			out = append(out, string(encode(v)))
		default:
			noteConstraint(s, "enum", enum)
			s.delete("enum")
			return
		}
	}
	if len(out) == 0 {
		s.delete("enum")
		return
	}
	for _, key := range slices.Clone(s.keys) {
		if keywordType(key) != "" {
			s.delete(key)
		}
	}
	s.set("type", "string")
	s.set("format", "enum")
	s.set("enum", out)
}
