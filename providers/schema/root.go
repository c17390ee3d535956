package schema

import (
	"slices"
	"strings"
)

// objectRoot returns s as the schema of one object: branches of objects are joined, other types
// are wrapped in a property.
func objectRoot(s *object) *object {
	v, branches := values(s), slices.Concat(s.list("anyOf"), s.list("oneOf"))
	switch {
	case !allowsType(s, "object"),
		v != nil && !slices.ContainsFunc(v, func(v any) bool { return kindOf(v) == "object" }),
		typesOf(s) == nil && !s.has("properties") && len(branches) > 0 &&
			!slices.ContainsFunc(branches, func(b any) bool { return allowsType(b.(*object), "object") }):
		return newObject("type", "object", "properties", newObject(wrapperKey, s), "required", []any{wrapperKey})
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

// joinBranches returns s as one object schema that allows everything that any of branches allows.
func joinBranches(s *object, branches []any) *object {
	s = s.copy()
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
	}
	properties := newObject()
	for _, b := range append([]*object{s}, all...) {
		if p := b.object("properties"); p != nil {
			for _, name := range p.keys {
				properties.set(name, append(properties.list(name), p.values[name]))
			}
		}
	}
	for _, name := range properties.keys {
		properties.set(name, eitherOf(properties.list(name)))
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

// eitherOf returns a schema that allows everything that any of branches allows.
func eitherOf(branches []any) any {
	branches = distinctBranches(branches)
	if len(branches) == 1 {
		return branches[0]
	}
	var enum, anyOf []any
	allValues := true
	for _, b := range branches {
		b := b.(*object)
		allValues = allValues && values(b) != nil
		enum = append(enum, values(b)...)
		if inner := b.list("anyOf"); inner != nil && len(b.keys) == 1 {
			anyOf = append(anyOf, inner...)
		} else {
			anyOf = append(anyOf, b)
		}
	}
	if !allValues {
		return newObject("anyOf", anyOf)
	}
	out := newObject("enum", union([]any(nil), enum))
	if kinds := typesOfAll(branches); kinds != nil {
		out.set("type", kinds)
	}
	return out
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
