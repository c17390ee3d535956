package schema

import (
	"slices"
	"strings"
)

// objectRoot returns s as the schema of one object: branches of objects are joined, other types
// are wrapped in a property.
func objectRoot(s *object) *object {
	if v := values(s); !allowsType(s, "object") || v != nil && !slices.ContainsFunc(v, func(v any) bool { return kindOf(v) == "object" }) {
		return newObject("type", "object", "properties", newObject(wrapperKey, s), "required", []any{wrapperKey})
	}
	if typesOf(s) == nil && !s.has("properties") {
		if branches := slices.Concat(s.list("anyOf"), s.list("oneOf")); len(branches) > 0 &&
			!slices.ContainsFunc(branches, func(b any) bool { return allowsType(b.(*object), "object") }) {
			return newObject("type", "object", "properties", newObject(wrapperKey, s), "required", []any{wrapperKey})
		}
	}
	out := s.copy()
	for _, key := range []string{"anyOf", "oneOf"} {
		if branches := s.list(key); branches != nil {
			out = joinBranches(out, branches)
		}
		out.delete(key)
	}
	out.set("type", "object")
	dropRedundant(out)
	for _, key := range []string{"enum", "const", "not"} {
		if out.has(key) {
			noteConstraint(out, key, out.values[key])
			out.delete(key)
		}
	}
	return out
}

// wrapperKey is the property that holds a root of another type than object.
const wrapperKey = "value"

// joinBranches returns s as one object schema that allows what any of branches allows.
func joinBranches(s *object, branches []any) *object {
	s = s.copy()
	properties := newObject()
	if own := s.object("properties"); own != nil {
		properties = own.copy()
	}
	var all []*object
	for _, b := range branches {
		if b := b.(*object); allowsType(b, "object") {
			all = append(all, b)
		}
	}
	var required []any
	var forms []string
	for i, b := range all {
		if i == 0 {
			required = b.list("required")
		}
		both := b.required()
		required = slices.DeleteFunc(slices.Clone(required), func(v any) bool { return !both[v] })
		forms = append(forms, strings.Join(textsOf(b.list("required")), ", "))
		if p := b.object("properties"); p != nil {
			for _, name := range p.keys {
				properties.set(name, eitherOf(properties.object(name), p.object(name)))
			}
		}
	}
	if len(properties.keys) > 0 {
		s.set("properties", properties)
	}
	if required = union(s.list("required"), required).([]any); len(required) > 0 {
		s.set("required", required)
	}
	closed := func(b *object) bool { return isFalse(b.values["additionalProperties"]) }
	if len(all) > 0 && !slices.ContainsFunc(all, func(b *object) bool { return !closed(b) }) && !s.has("additionalProperties") {
		s.set("additionalProperties", newObject("not", newObject()))
	}
	forms = slices.DeleteFunc(slices.Compact(forms), func(f string) bool { return f == "" })
	if len(forms) > 1 {
		addRemark(s, "give one of these sets of properties: "+strings.Join(forms, "; or "))
	}
	return s
}

// eitherOf returns a schema that allows what a or b allows; b if a is nil, that is, not named by
// earlier branches.
func eitherOf(a, b *object) *object {
	if a == nil || string(encode(a)) == string(encode(b)) {
		return b
	}
	va, vb := values(a), values(b)
	if va != nil && vb != nil {
		out := newObject("enum", union(va, vb))
		if a.has("type") && string(encode(a.values["type"])) == string(encode(b.values["type"])) {
			out.set("type", a.values["type"])
		}
		return out
	}
	if branches := a.list("anyOf"); branches != nil && len(a.keys) == 1 {
		return newObject("anyOf", append(slices.Clip(branches), b))
	}
	return newObject("anyOf", []any{a, b})
}

// values lists the values of enum or const of s; nil if it has neither.
func values(s *object) []any {
	if s.has("const") {
		return []any{s.values["const"]}
	}
	return s.list("enum")
}

func textsOf(list []any) []string {
	var out []string
	for _, v := range list {
		out = append(out, v.(string))
	}
	return out
}
