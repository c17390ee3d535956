package schema

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

// tupleToItems replaces prefixItems with an items that allows any of its schemas.
func tupleToItems(s *object) {
	prefix := s.list("prefixItems")
	if prefix == nil {
		return
	}
	s.delete("prefixItems")
	rest := s.object("items")
	branches := slices.Clone(prefix)
	most, bounded := toFloat(s.values["maxItems"])
	switch {
	case bounded && most <= float64(len(prefix)):
	case rest == nil:
		branches = append(branches, newObject())
	case isFalse(rest):
		s.set("maxItems", json.Number(strconv.Itoa(len(prefix))))
	default:
		branches = append(branches, rest)
	}
	var order []string
	for _, p := range prefix {
		order = append(order, describeSchema(p.(*object)))
	}
	addRemark(s, "items in this order: "+truncate(strings.Join(order, ", "), 300))
	s.set("items", newObject("anyOf", branches))
}

// rewriteValues turns const into enum if t needs it, and derives a missing type from the values.
func (t Target) rewriteValues(s *object) {
	if s.has("const") && (t.isDropped("const") || s.has("enum")) {
		s.set("enum", []any{s.values["const"]})
		s.delete("const")
	}
	if t.TypeRequired && !s.has("type") && values(s) != nil {
		var kinds []any
		for _, v := range values(s) {
			kinds = append(kinds, kindOf(v))
		}
		s.set("type", typeValue(kinds))
	}
}

// rewriteBranches simplifies anyOf and oneOf and rewrites their branches for t.
func (t Target) rewriteBranches(s *object) {
	if t.isDropped("oneOf") && s.has("oneOf") {
		if s.has("anyOf") {
			noteConstraint(s, "oneOf", s.values["oneOf"])
		} else {
			s.set("anyOf", s.values["oneOf"])
		}
		s.delete("oneOf")
	}
	for _, key := range []string{"anyOf", "oneOf"} {
		branches := distinctBranches(s.list(key))
		switch {
		case branches == nil:
			continue
		case slices.ContainsFunc(branches, func(b any) bool { return len(b.(*object).keys) == 0 }) && key == "anyOf":
			s.delete(key) // any value passes
			continue
		case len(branches) == 1:
			s.delete(key)
			merged := merge(s, branches[0].(*object))
			s.keys, s.values = merged.keys, merged.values
			t.rewriteValues(s)
			if s.has("prefixItems") {
				tupleToItems(s)
			}
			if s.has("anyOf") || s.has("oneOf") {
				t.rewriteBranches(s)
			}
			return
		}
		s.set(key, branches)
	}
	describeRequired(s)
	t.pushIntoBranches(s)
	for _, key := range []string{"anyOf", "oneOf"} {
		if branches := s.list(key); branches != nil {
			out := make([]any, len(branches))
			for i, b := range branches {
				out[i] = t.rewrite(b.(*object), false)
			}
			s.set(key, distinctBranches(out))
		}
	}
}

// describeRequired moves branches with only "required" into the description: providers want every
// required name among the properties of the branch itself.
func describeRequired(s *object) {
	for _, key := range []string{"anyOf", "oneOf"} {
		var sets []string
		for _, b := range s.list(key) {
			b := b.(*object)
			if !b.has("required") || len(withoutKeys(b, "required", "type", "title", "description").keys) > 0 {
				return
			}
			sets = append(sets, strings.Join(textsOf(b.list("required")), ", "))
		}
		if sets != nil && s.has("properties") {
			addRemark(s, "give one of these sets of properties: "+strings.Join(sets, "; or "))
			s.delete(key)
		}
	}
}

// distinctBranches drops duplicates and branches that match nothing. It keeps at least one branch.
func distinctBranches(branches []any) []any {
	seen := map[string]bool{}
	var out []any
	for _, b := range branches {
		if key := string(encode(b)); !seen[key] && !isFalse(b) {
			seen[key] = true
			out = append(out, b)
		}
	}
	if out == nil && branches != nil {
		return branches[:1]
	}
	return out
}

// pushIntoBranches moves keywords that t does not allow beside anyOf into its branches.
func (t Target) pushIntoBranches(s *object) {
	branches := s.list("anyOf")
	if branches == nil || !t.NotBesideAnyOf {
		return
	}
	beside := newObject()
	for _, key := range s.keys {
		switch key {
		case "type", "properties", "required", "items":
			beside.set(key, s.values[key])
		}
	}
	if len(beside.keys) == 0 {
		return
	}
	var out []any
	for _, b := range branches {
		b := b.(*object)
		if common := intersectTypes(s.values["type"], b.values["type"]); s.has("type") && b.has("type") && common == nil {
			continue // no value matches both
		}
		out = append(out, merge(beside, b))
	}
	if out == nil {
		s.delete("anyOf")
		return
	}
	s.delete(beside.keys...)
	s.set("anyOf", out)
}
