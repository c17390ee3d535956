package schema

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"regexp"
	"slices"
	"strings"
)

// render writes the canonical schema s as t takes it.
func (t Target) render(s *object) json.RawMessage {
	if t.Object {
		s = rooted(s)
	}
	out := t.fit(s, true)
	if t.Object && !t.OpenAPI && !out.has("properties") {
		out.set("properties", newObject())
	}
	return encode(out)
}

// rooted returns s as one object: branches of objects are joined, other values
// wrapped.
func rooted(s *object) *object {
	if v := values(s); !takes(s, "object") || v != nil && !slices.ContainsFunc(v, func(v any) bool { return kind(v) == "object" }) {
		return newObject("type", "object", "properties", newObject(wrapped, s), "required", []any{wrapped})
	}
	if typesOf(s) == nil && !s.has("properties") {
		if branches := slices.Concat(s.list("anyOf"), s.list("oneOf")); len(branches) > 0 &&
			!slices.ContainsFunc(branches, func(b any) bool { return takes(b.(*object), "object") }) {
			return newObject("type", "object", "properties", newObject(wrapped, s), "required", []any{wrapped})
		}
	}
	out := s.copy()
	for _, key := range []string{"anyOf", "oneOf"} {
		if branches := s.list(key); branches != nil {
			out = joined(out, branches)
		}
		out.delete(key)
	}
	out.set("type", "object")
	for _, key := range []string{"enum", "const", "not"} {
		if out.has(key) {
			note(out, key, out.values[key])
			out.delete(key)
		}
	}
	return out
}

// wrapped is the property that holds a root that is no object.
const wrapped = "value"

// joined lets pass in s what any of branches does, as one object.
func joined(s *object, branches []any) *object {
	s = s.copy()
	properties := newObject()
	if own := s.object("properties"); own != nil {
		properties = own.copy()
	}
	var all []*object
	for _, b := range branches {
		if b := b.(*object); takes(b, "object") {
			all = append(all, b)
		}
	}
	var required []any
	var forms []string
	for i, b := range all {
		if i == 0 {
			required = b.list("required")
		}
		required = slices.DeleteFunc(slices.Clone(required), func(v any) bool { return !slices.Contains(b.list("required"), v) })
		forms = append(forms, strings.Join(texts(b.list("required")), ", "))
		if p := b.object("properties"); p != nil {
			for _, name := range p.keys {
				properties.set(name, either(properties.object(name), p.object(name)))
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
		remark(s, "give one of these sets of properties: "+strings.Join(forms, "; or "))
	}
	return s
}

// either lets pass what a or b does. A property that one branch names and
// another one does not is as the former says.
func either(a, b *object) *object {
	if a == nil || string(encode(a)) == string(encode(b)) {
		return b
	}
	va, vb := values(a), values(b)
	if va != nil && vb != nil {
		out := newObject("enum", union(va, slices.DeleteFunc(slices.Clone(vb), func(v any) bool {
			return slices.ContainsFunc(va, func(w any) bool { return string(encode(v)) == string(encode(w)) })
		})))
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

// values lists what enum or const of s let pass, nil if it has neither.
func values(s *object) []any {
	if s.has("const") {
		return []any{s.values["const"]}
	}
	return s.list("enum")
}

func texts(list []any) []string {
	var out []string
	for _, v := range list {
		out = append(out, v.(string))
	}
	return out
}

// isFalse reports whether v is the schema that nothing passes.
func isFalse(v any) bool {
	s, ok := v.(*object)
	return ok && s != nil && len(s.keys) == 1 && s.object("not") != nil && len(s.object("not").keys) == 0
}

// fit rewrites s, and what is in it, for t.
func (t Target) fit(s *object, root bool) *object {
	s = s.copy()
	tuple(s)
	t.values(s)
	t.branches(s)
	t.drop(s)
	if properties := s.object("properties"); properties != nil {
		s = t.properties(s, properties)
	}
	t.required(s)
	if items := s.object("items"); items != nil {
		s.set("items", t.fit(items, false))
	}
	t.object(s, root)
	if slices.Contains(typesOf(s), "array") && !s.has("items") {
		s.set("items", t.fit(newObject(), false))
	}
	if t.OpenAPI {
		openAPI(s)
	}
	return s
}

// tuple turns prefixItems into items, which hold any of them.
func tuple(s *object) {
	prefix := s.list("prefixItems")
	if prefix == nil {
		return
	}
	s.delete("prefixItems")
	rest := s.object("items")
	branches := slices.Clone(prefix)
	switch {
	case rest == nil:
		branches = append(branches, newObject())
	case isFalse(rest):
		if _, ok := float(s.values["maxItems"]); !ok {
			s.set("maxItems", json.Number(fmt.Sprint(len(prefix))))
		}
	default:
		branches = append(branches, rest)
	}
	var order []string
	for _, p := range prefix {
		order = append(order, brief(p.(*object)))
	}
	remark(s, "items in this order: "+clip(strings.Join(order, ", "), 300))
	s.set("items", newObject("anyOf", branches))
}

// values rewrites const and enum.
func (t Target) values(s *object) {
	if s.has("const") && (t.drops("const") || s.has("enum")) {
		s.set("enum", []any{s.values["const"]})
		s.delete("const")
	}
	if t.Typed && !s.has("type") && values(s) != nil {
		var kinds []any
		for _, v := range values(s) {
			if k := any(kind(v)); !slices.Contains(kinds, k) {
				kinds = append(kinds, k)
			}
		}
		s.set("type", kinds)
		if len(kinds) == 1 {
			s.set("type", kinds[0])
		}
	}
}

// branches rewrites oneOf and anyOf.
func (t Target) branches(s *object) {
	if t.drops("oneOf") && s.has("oneOf") {
		if s.has("anyOf") {
			note(s, "oneOf", s.values["oneOf"])
		} else {
			s.set("anyOf", s.values["oneOf"])
		}
		s.delete("oneOf")
	}
	for _, key := range []string{"anyOf", "oneOf"} {
		branches := distinct(s.list(key))
		if t.OpenAPI {
			branches = withoutNull(branches)
		}
		switch {
		case branches == nil:
			continue
		case slices.ContainsFunc(branches, func(b any) bool { return len(b.(*object).keys) == 0 }) && key == "anyOf":
			s.delete(key) // anything passes
			continue
		case len(branches) == 1:
			s.delete(key)
			merged := merge(s, branches[0].(*object))
			s.keys, s.values = merged.keys, merged.values
			t.values(s)
			if s.has("prefixItems") {
				tuple(s)
			}
			if s.has("anyOf") || s.has("oneOf") {
				t.branches(s)
			}
			return
		}
		s.set(key, branches)
	}
	needs(s)
	t.inside(s)
	for _, key := range []string{"anyOf", "oneOf"} {
		if branches := s.list(key); branches != nil {
			out := make([]any, len(branches))
			for i, b := range branches {
				out[i] = t.fit(b.(*object), false)
			}
			s.set(key, distinct(out))
		}
	}
}

// needs tells branches that only ask for properties in words: what a branch
// requires has to be a property of its own.
func needs(s *object) {
	for _, key := range []string{"anyOf", "oneOf"} {
		var sets []string
		for _, b := range s.list(key) {
			b := b.(*object)
			if !b.has("required") || len(without(b, "required", "type", "title", "description").keys) > 0 {
				return
			}
			sets = append(sets, strings.Join(texts(b.list("required")), ", "))
		}
		if sets != nil && s.has("properties") {
			remark(s, "give one of these sets of properties: "+strings.Join(sets, "; or "))
			s.delete(key)
		}
	}
}

// distinct leaves out branches that are there before, or that nothing passes.
func distinct(branches []any) []any {
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

// inside moves what must not stand beside anyOf into its branches.
func (t Target) inside(s *object) {
	branches := s.list("anyOf")
	if branches == nil || t.Inside == "" {
		return
	}
	beside := newObject()
	for _, key := range s.keys {
		switch {
		case key == "anyOf" || key == "description" || key == "title" || key == "default" || key == "examples":
		case t.Inside == "all" || key == "type" || key == "properties" || key == "required" || key == "items":
			beside.set(key, s.values[key])
		}
	}
	if len(beside.keys) == 0 {
		return
	}
	var out []any
	for _, b := range branches {
		b := b.(*object)
		if common := commonTypes(s.values["type"], b.values["type"]); s.has("type") && b.has("type") && common == nil {
			continue // nothing passes both
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

func (t Target) drops(key string) bool {
	return slices.Contains(strings.Fields(t.Drop), key)
}

// lookAround is what matchers with linear time leave out: look-around and back
// references.
var lookAround = regexp.MustCompile(`\(\?<?[=!]|\\[1-9]|\\k<`)

// drop turns what t does not know into words.
func (t Target) drop(s *object) {
	for _, key := range slices.Clone(s.keys) {
		v := s.values[key]
		if f, ok := float(v); key == "exclusiveMinimum" && ok && t.drops(key) && !t.drops("minimum") && !s.has("minimum") {
			s.set("minimum", json.Number(fmt.Sprint(f)))
		} else if key == "exclusiveMaximum" && ok && t.drops(key) && !t.drops("maximum") && !s.has("maximum") {
			s.set("maximum", json.Number(fmt.Sprint(f)))
		}
		p := s.text("pattern")
		f, _ := float(v)
		switch {
		case key == "additionalProperties" && t.Closed, key == "oneOf":
			continue
		case t.drops(key),
			key == "format" && t.Formats != "" && !slices.Contains(strings.Fields(t.Formats), s.text("format")),
			key == "pattern" && t.Linear && lookAround.MatchString(p),
			key == "pattern" && t.Whole && !(strings.HasPrefix(p, "^") && strings.HasSuffix(p, "$")),
			t.Bound > 0 && f > t.Bound && strings.Contains("minLength maxLength minItems maxItems", key):
			note(s, key, v)
			s.delete(key)
			if key == "patternProperties" && isFalse(s.values["additionalProperties"]) {
				s.delete("additionalProperties") // it would forbid them
			}
		}
	}
}

// properties rewrites the properties of s.
func (t Target) properties(s, properties *object) *object {
	out, respelled := newObject(), map[string]string{}
	for _, name := range properties.keys {
		as := name
		if t.Keys {
			as = alias(name)
		}
		p := t.fit(properties.object(name), false)
		if as != name {
			respelled[name] = as
			remark(p, fmt.Sprintf("the property %q", clip(name, 80)))
		}
		if t.Strict && !slices.Contains(s.list("required"), any(name)) {
			nullable(p)
		}
		out.set(as, p)
	}
	s.set("properties", out)
	if required := s.list("required"); required != nil && len(respelled) > 0 {
		required = slices.Clone(required)
		for i, name := range texts(required) {
			if as, ok := respelled[name]; ok {
				required[i] = as
			}
		}
		s.set("required", required)
	}
	return s
}

var plainKey = regexp.MustCompile(`^[a-zA-Z0-9_.-]{1,64}$`)

// alias is a property name in the letters that every provider takes. It is the
// name itself if that has no others, and distinct for distinct names.
func alias(name string) string {
	if plainKey.MatchString(name) {
		return name
	}
	h := fnv.New32a()
	h.Write([]byte(name))
	clean := strings.Map(func(r rune) rune {
		if r < 0x80 && plainKey.MatchString(string(r)) {
			return r
		}
		return '_'
	}, name)
	return fmt.Sprintf("%s_%08x", clip(clean, 50), h.Sum32())
}

// required leaves only properties that there are, or all of them.
func (t Target) required(s *object) {
	properties := s.object("properties")
	if t.Strict && properties != nil {
		var all []any
		for _, name := range properties.keys {
			all = append(all, name)
		}
		s.set("required", all)
	}
	required := s.list("required")
	if len(required) == 0 {
		s.delete("required")
		return
	}
	kept := slices.DeleteFunc(slices.Clone(required), func(v any) bool { return properties == nil || !properties.has(v.(string)) })
	s.set("required", kept)
	if len(kept) == 0 {
		s.delete("required")
	}
}

// object rewrites what s says of objects, and gives it a type where t wants
// one.
func (t Target) object(s *object, root bool) {
	extra := s.object("additionalProperties")
	switch {
	case extra == nil:
	case len(extra.keys) == 0, t.Open && isFalse(extra):
		s.delete("additionalProperties")
	case isFalse(extra):
		s.set("additionalProperties", false)
	case !t.Closed:
		s.set("additionalProperties", t.fit(extra, false))
	}
	if t.Typed {
		t.typed(s)
	}
	names := s.object("properties")
	free := (names == nil || len(names.keys) == 0) && !isFalse(extra) && s.values["additionalProperties"] != false
	switch {
	case typesOf(s) == nil || !takes(s, "object"):
	case free && !root && (t.Closed || t.OpenAPI):
		if extra != nil && len(extra.keys) > 0 {
			remark(s, "each value is "+brief(extra))
		}
		asText(s)
	case t.Closed:
		s.set("additionalProperties", false)
		if names == nil {
			s.set("properties", newObject())
		}
	}
	if t.Closed && s.object("additionalProperties") != nil { // no object any more
		s.delete("additionalProperties")
	}
}

// asText makes the object s a string that holds one as JSON.
func asText(s *object) {
	var kinds []any
	for _, k := range typesOf(s) {
		if k == "object" {
			k = "string"
		}
		if !slices.Contains(kinds, any(k)) {
			kinds = append(kinds, k)
		}
	}
	s.delete("properties", "required", "additionalProperties", "minProperties", "maxProperties")
	s.set("type", kinds)
	if len(kinds) == 1 {
		s.set("type", kinds[0])
	}
	if enum := slices.Clone(s.list("enum")); enum != nil {
		for i, v := range enum {
			if kind(v) == "object" {
				enum[i] = string(encode(v))
			}
		}
		s.set("enum", enum)
	}
	remark(s, "a JSON object, written as text")
}

// typed gives s a type, from what else it says.
func (t Target) typed(s *object) {
	if s.has("type") || s.has("anyOf") || s.has("oneOf") {
		return
	}
	for _, key := range s.keys {
		if k := keywordType(key); k != "" {
			s.set("type", k)
			return
		}
	}
	kinds := []string{"string", "number", "boolean"}
	if !t.Closed && !t.OpenAPI {
		kinds = append(kinds, "object")
	}
	branches := []any{newObject("type", "array", "items", newObject("type", "string"))}
	for _, k := range kinds {
		branches = append(branches, newObject("type", k))
	}
	branches = append(branches, newObject("type", "null"))
	if t.OpenAPI {
		branches = withoutNull(branches)
	}
	for i, b := range branches {
		branches[i] = t.fit(b.(*object), false)
	}
	s.set("anyOf", branches)
}

// keywordType is the only type to which a keyword applies, "" if there are
// several.
func keywordType(key string) string {
	switch key {
	case "properties", "required", "additionalProperties", "patternProperties", "propertyNames", "minProperties", "maxProperties",
		"dependentRequired", "dependentSchemas":
		return "object"
	case "items", "minItems", "maxItems", "uniqueItems", "contains", "minContains", "maxContains":
		return "array"
	case "minLength", "maxLength", "pattern", "format":
		return "string"
	case "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf":
		return "number"
	}
	return ""
}
