package schema

import "slices"

// inPlace lists the keywords that apply further schemas to the same value.
var inPlace = []string{"$ref", "$dynamicRef", "allOf", "anyOf", "oneOf", "not", "if", "dependentSchemas", "dependencies", "contains"}

// modernize returns a copy of in with keywords of older drafts and of OpenAPI converted to those of
// 2020-12.
func modernize(in *object) *object {
	s := in.copy()
	if tuple, ok := s.values["items"].([]any); ok {
		s.delete("items")
		s.set("prefixItems", tuple)
		if s.has("additionalItems") {
			s.set("items", s.values["additionalItems"])
		}
	}
	for _, bound := range []string{"inimum", "aximum"} { // draft 4: {"minimum":0,"exclusiveMinimum":true}
		exclusive := "exclusiveM" + bound
		if s.values[exclusive] == true && s.has("m"+bound) {
			s.set(exclusive, s.values["m"+bound])
			s.delete("m" + bound)
		}
	}
	if o := s.object("dependencies"); o != nil {
		for _, key := range o.keys {
			under := "dependentSchemas"
			if _, ok := o.values[key].([]any); ok {
				under = "dependentRequired"
			}
			if s.object(under) == nil {
				s.set(under, newObject())
			}
			into := s.object(under).copy()
			into.set(key, o.values[key])
			s.set(under, into)
		}
	}
	if !slices.ContainsFunc(inPlace, s.has) { // no other schema can evaluate properties or items
		for _, key := range [][2]string{{"unevaluatedProperties", "additionalProperties"}, {"unevaluatedItems", "items"}} {
			if s.has(key[0]) && !s.has(key[1]) {
				s.set(key[1], s.values[key[0]])
			}
		}
	}
	if s.has("example") && !s.has("examples") {
		s.set("examples", []any{s.values["example"]})
	}
	if s.values["nullable"] == true {
		makeNullable(s)
	}
	return s
}

// makeNullable makes s allow null. Its keywords need not be clean yet.
func makeNullable(s *object) {
	if enum := s.list("enum"); enum != nil && !slices.Contains(enum, nil) {
		s.set("enum", append(slices.Clip(enum), nil))
	}
	if s.has("const") && s.values["const"] != nil {
		s.set("enum", []any{s.values["const"], nil})
		s.delete("const")
	}
	switch t := s.values["type"].(type) {
	case string:
		if t != "null" {
			s.set("type", []any{t, "null"})
		}
	case []any:
		if !slices.Contains(t, any("null")) {
			s.set("type", append(slices.Clip(t), "null"))
		}
	}
	for _, key := range []string{"anyOf", "oneOf"} {
		branches := s.list(key)
		if branches != nil && !slices.ContainsFunc(branches, func(v any) bool {
			b, ok := v.(*object)
			return ok && (len(b.keys) == 0 || allowsType(b, "null"))
		}) {
			s.set(key, append(slices.Clip(branches), newObject("type", "null")))
		}
	}
}
