package schema

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"unicode/utf8"

	"parley/tools/lazy"
)

// render returns the canonical schema s in the subset that t supports.
func (t Target) render(s *object) *object {
	if t.ObjectRoot {
		s = objectRoot(s)
	}
	out := t.rewrite(s, true)
	if t.ObjectRoot && !out.has("properties") {
		out.set("properties", newObject())
	}
	return out
}

// isFalse reports whether v is {"not":{}}, the canonical form of the schema false.
func isFalse(v any) bool {
	s, ok := v.(*object)
	return ok && s != nil && len(s.keys) == 1 && s.object("not") != nil && len(s.object("not").keys) == 0
}

// rewrite returns a copy of s and its inner schemas that t supports.
func (t Target) rewrite(s *object, root bool) *object {
	s = s.copy()
	tupleToItems(s)
	t.rewriteValues(s)
	t.rewriteBranches(s)
	t.dropUnsupported(s)
	if properties := s.object("properties"); properties != nil {
		s = t.rewriteProperties(s, properties)
	}
	t.rewriteRequired(s)
	if items := s.object("items"); items != nil {
		s.set("items", t.rewrite(items, false))
	}
	t.rewriteObject(s, root)
	dropRedundant(s)
	if slices.Contains(typesOf(s), "array") && !s.has("items") {
		s.set("items", t.rewrite(newObject(), false))
	}
	return s
}

func (t Target) isDropped(key string) bool {
	for word := range strings.FieldsSeq(t.Unsupported) {
		if word == key {
			return true
		}
	}
	return false
}

// lookAroundRE matches look-around and back references, which linear-time matchers do not support.
var lookAroundRE = lazy.NewRegexp(`\(\?<?[=!]|\\[1-9]|\\k<`)

// dropUnsupported moves keywords that t does not support into the description.
func (t Target) dropUnsupported(s *object) {
	for _, key := range slices.Clone(s.keys) {
		v := s.values[key]
		p := s.text("pattern")
		f, _ := toFloat(v)
		switch {
		case key == "oneOf":
			continue
		case t.isDropped(key),
			key == "format" && t.Formats != "" && !slices.Contains(strings.Fields(t.Formats), s.text("format")),
			key == "pattern" && t.NoLookAround && lookAroundRE.MatchString(p),
			key == "pattern" && t.AnchoredPatterns && !(strings.HasPrefix(p, "^") && strings.HasSuffix(p, "$")),
			t.MaxBound > 0 && f > t.MaxBound && strings.Contains("minLength maxLength minItems maxItems", key):
			noteConstraint(s, key, v)
			s.delete(key)
			if key == "patternProperties" && isFalse(s.values["additionalProperties"]) {
				s.delete("additionalProperties") // false would forbid the properties matched by pattern
			}
		}
	}
}

// rewriteProperties rewrites the properties of s in place and returns s. It renames those with
// names that t does not accept.
func (t Target) rewriteProperties(s, properties *object) *object {
	out, respelled := newObject(), map[string]string{}
	required := s.required()
	for _, name := range properties.keys {
		as := name
		if t.PortableKeys {
			as = portableKey(name)
		}
		p := t.rewrite(properties.object(name), false)
		if as != name {
			respelled[name] = as
			addRemark(p, fmt.Sprintf("the property %q", truncate(name, 80)))
		}
		if t.AllRequired && !required[name] {
			makeNullable(p)
		}
		out.set(as, p)
	}
	s.set("properties", out)
	if required := s.list("required"); required != nil && len(respelled) > 0 {
		required = slices.Clone(required)
		for i, name := range textsOf(required) {
			if as, ok := respelled[name]; ok {
				required[i] = as
			}
		}
		s.set("required", required)
	}
	return s
}

// isPortableKey reports whether every provider accepts name as the name of a property.
func isPortableKey(name string) bool {
	return name != "" && len(name) <= 64 && strings.IndexFunc(name, func(r rune) bool { return !isPortableRune(r) }) < 0
}

func isPortableRune(r rune) bool {
	return r < utf8.RuneSelf && r != '$' && (isWordByte(byte(r)) || r == '.' || r == '-')
}

// portableKey returns a property name that every provider accepts: name itself if it is portable,
// else a respelling with a hash, so that distinct names stay distinct.
func portableKey(name string) string {
	if isPortableKey(name) {
		return name
	}
	h := fnv.New32a()
	h.Write([]byte(name))
	clean := strings.Map(func(r rune) rune {
		if isPortableRune(r) {
			return r
		}
		return '_'
	}, name)
	return fmt.Sprintf("%s_%08x", clean[:min(len(clean), 50)], h.Sum32()) // it is ASCII
}

// rewriteRequired limits "required" to existing properties, or sets it to all of them if t needs
// that.
func (t Target) rewriteRequired(s *object) {
	properties := s.object("properties")
	if t.AllRequired && properties != nil {
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

// rewriteObject rewrites additionalProperties for t, adds a type if t needs one, and turns
// free-form objects into strings if t cannot express them.
func (t Target) rewriteObject(s *object, root bool) {
	extra := s.object("additionalProperties")
	switch {
	case extra == nil:
	case len(extra.keys) == 0, t.OpenObjects && isFalse(extra):
		s.delete("additionalProperties")
	case isFalse(extra):
		s.set("additionalProperties", false)
	case !t.ClosedObjects:
		s.set("additionalProperties", t.rewrite(extra, false))
	}
	if t.TypeRequired {
		t.addType(s)
	}
	names := s.object("properties")
	free := (names == nil || len(names.keys) == 0) && !isFalse(extra) && s.values["additionalProperties"] != false
	switch {
	case typesOf(s) == nil || !allowsType(s, "object"):
	case free && !root && t.ClosedObjects:
		if extra != nil && len(extra.keys) > 0 {
			addRemark(s, "each value is "+describeSchema(extra))
		}
		objectToString(s)
	case t.ClosedObjects:
		s.set("additionalProperties", false)
		if names == nil {
			s.set("properties", newObject())
		}
	}
	if t.ClosedObjects && s.object("additionalProperties") != nil { // left over: s is no longer an object
		s.delete("additionalProperties")
	}
}

// objectToString replaces the type object of s with a string that contains the object as JSON.
func objectToString(s *object) {
	var kinds []any
	for _, k := range typesOf(s) {
		if k == "object" {
			k = "string"
		}
		kinds = append(kinds, k)
	}
	s.delete("properties", "required", "additionalProperties", "minProperties", "maxProperties")
	s.set("type", typeValue(kinds))
	if c := s.object("const"); c != nil {
		s.set("const", string(encode(c)))
	}
	if enum := slices.Clone(s.list("enum")); enum != nil {
		for i, v := range enum {
			if kindOf(v) == "object" {
				enum[i] = string(encode(v))
			}
		}
		s.set("enum", enum)
	}
	addRemark(s, "a JSON object, written as text")
}

// addType derives the type of s from its other keywords; otherwise it allows each type by name.
func (t Target) addType(s *object) {
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
	if !t.ClosedObjects {
		kinds = append(kinds, "object")
	}
	branches := []any{newObject("type", "array", "items", newObject("type", "string"))}
	for _, k := range kinds {
		branches = append(branches, newObject("type", k))
	}
	branches = append(branches, newObject("type", "null"))
	for i, b := range branches {
		branches[i] = t.rewrite(b.(*object), false)
	}
	s.set("anyOf", branches)
}

// keywordType returns the only type that a keyword applies to; "" if it applies to several.
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
