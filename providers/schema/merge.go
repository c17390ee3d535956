package schema

import "slices"

// canonical returns the root in canonical form: references inlined, allOf merged. If a reference is
// recursive, or the schema outgrows maxDepth or maxNodes, only the type of its target remains.
func (d *document) canonical() *object {
	d.nodes = 0
	return d.inline(d.root, []string{"#"}, 0)
}

func (d *document) inline(s *object, stack []string, depth int) *object {
	d.nodes++
	if depth > maxDepth || d.nodes > maxNodes {
		return typeOnly(s)
	}
	out := newObject()
	for _, key := range s.keys {
		switch v := s.values[key].(type) {
		case *object:
			if isSchemaMap(key) {
				m := newObject()
				for _, name := range v.keys {
					m.set(name, d.inlineValue(v.values[name], stack, depth))
				}
				out.set(key, m)
				continue
			}
			if isSchemaKey(key) {
				out.set(key, d.inline(v, stack, depth+1))
				continue
			}
			out.set(key, v)
		case []any:
			if !isSchemaKey(key) {
				out.set(key, v)
				continue
			}
			if key == "allOf" {
				continue
			}
			branches := make([]any, len(v))
			for i := range v {
				branches[i] = d.inlineValue(v[i], stack, depth)
			}
			out.set(key, branches)
		default:
			if key != "$ref" {
				out.set(key, v)
			}
		}
	}
	if ref := s.text("$ref"); s.has("$ref") {
		out = d.resolveInline(ref, out, stack, depth)
	}
	all := []*object{out}
	for _, branch := range s.list("allOf") {
		all = append(all, d.inlineValue(branch, stack, depth))
	}
	return mergeAll(all)
}

// mergeAll merges schemas recursively by halves, so that no schema is copied once for each of the
// others.
func mergeAll(all []*object) *object {
	if len(all) == 1 {
		return all[0]
	}
	half := (len(all) + 1) / 2
	return merge(mergeAll(all[:half]), mergeAll(all[half:]))
}

func (d *document) inlineValue(v any, stack []string, depth int) *object {
	return d.inline(v.(*object), stack, depth+1)
}

// resolveInline returns the target of ref, merged with the keywords beside it.
func (d *document) resolveInline(ref string, beside *object, stack []string, depth int) *object {
	target := d.resolve(ref)
	switch {
	case target == nil:
		return beside
	case slices.Contains(stack, ref):
		target = typeOnly(target)
	default:
		target = d.inline(target, append(slices.Clip(stack), ref), depth+1)
	}
	out := merge(target, beside)
	for _, note := range []string{"title", "description", "default", "examples"} {
		if beside.has(note) {
			out.set(note, beside.values[note])
		}
	}
	return out
}

// typeOnly returns the type and description of s, for a reference that cannot be inlined.
func typeOnly(s *object) *object {
	out := newObject()
	t := s.values["type"]
	if t == nil {
		t = "object"
		if branches := slices.Concat(s.list("anyOf"), s.list("oneOf")); len(branches) > 0 {
			t = typesOfAll(branches)
		}
	}
	if t != nil {
		out.set("type", t)
	}
	if s.has("description") {
		out.set("description", s.values["description"])
	}
	return out
}

// typesOfAll returns the union of the types of branches as a value of "type"; nil if a branch
// allows any type.
func typesOfAll(branches []any) any {
	var all []any
	for _, b := range branches {
		names := typesOf(b.(*object))
		if names == nil {
			return nil
		}
		for _, name := range names {
			all = append(all, name)
		}
	}
	return typeValue(all)
}

// typeValue returns the value of "type" for kinds, which may contain duplicates; nil if it is
// empty.
func typeValue(kinds []any) any {
	kinds = union([]any(nil), kinds).([]any)
	switch len(kinds) {
	case 0:
		return nil
	case 1:
		return kinds[0]
	}
	return kinds
}

// isSchemaMap reports whether the value of key maps names to schemas.
func isSchemaMap(key string) bool {
	return key == "properties" || key == "patternProperties" || key == "dependentSchemas"
}

// isSchemaKey reports whether the value of key is a schema or a list of them.
func isSchemaKey(key string) bool {
	switch key {
	case "items", "contains", "additionalProperties", "propertyNames", "not", "if", "then", "else",
		"anyOf", "oneOf", "allOf", "prefixItems":
		return true
	}
	return false
}

// merge returns a schema that allows every value allowed by both a and b, and as few others as one
// schema can express. Annotations of a win.
func merge(a, b *object) *object {
	out := a.copy()
	if len(b.keys) == 0 {
		return out
	}
	for _, key := range b.keys {
		value, join := b.values[key], mergeFuncFor(key)
		switch {
		case !a.has(key):
			if (key == "then" || key == "else") && a.has("if") {
				continue // it belongs to another if
			}
			out.set(key, value)
		case join != nil:
			out.set(key, join(a.values[key], value))
		}
	}
	if out.has("type") && out.values["type"] == nil {
		out.set("type", a.values["type"])
	}
	dropRedundant(out)
	return out
}

// mergeFuncFor returns the function that merges the values of a keyword in two schemas; nil if the
// first value stays, which widens the result.
func mergeFuncFor(key string) func(a, b any) any {
	switch key {
	case "type":
		return intersectTypes
	case "required":
		return union
	case "properties", "patternProperties", "dependentSchemas":
		return mergeMaps
	case "dependentRequired":
		return func(a, b any) any { return joinMaps(a, b, union) }
	case "items", "propertyNames", "additionalProperties":
		return mergeBoth
	case "not":
		return func(a, b any) any { return newObject("anyOf", []any{a, b}) }
	case "anyOf":
		return crossProduct
	case "enum":
		return intersect
	case "minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties":
		return larger
	case "maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties":
		return smaller
	}
	return nil
}

func mergeBoth(a, b any) any { return merge(a.(*object), b.(*object)) }

func mergeMaps(a, b any) any { return joinMaps(a, b, mergeBoth) }

func joinMaps(a, b any, join func(a, b any) any) any {
	out := a.(*object).copy()
	for _, name := range b.(*object).keys {
		value := b.(*object).values[name]
		if out.has(name) {
			value = join(out.values[name], value)
		}
		out.set(name, value)
	}
	return out
}

func union(a, b any) any {
	out := slices.Clip(a.([]any))
	seen := setOf(out)
	for _, v := range b.([]any) {
		if text := string(encode(v)); !seen[text] {
			seen[text] = true
			out = append(out, v)
		}
	}
	return out
}

// setOf returns the set of values in a list, encoded as JSON.
func setOf(list []any) map[string]bool {
	set := map[string]bool{}
	for _, v := range list {
		set[string(encode(v))] = true
	}
	return set
}

// intersect returns the values in both lists; a if there are none.
func intersect(a, b any) any {
	var out []any
	both := setOf(b.([]any))
	for _, v := range a.([]any) {
		if both[string(encode(v))] {
			out = append(out, v)
		}
	}
	if out == nil {
		return a
	}
	return out
}

// intersectTypes returns the types in both a and b; nil if there are none.
func intersectTypes(a, b any) any {
	var out []any
	other := typesOf(newObject("type", b))
	for _, t := range typesOf(newObject("type", a)) {
		switch {
		case slices.Contains(other, t):
			out = append(out, t)
		case t == "number" && slices.Contains(other, "integer"), t == "integer" && slices.Contains(other, "number"):
			out = append(out, "integer")
		}
	}
	return typeValue(out)
}

// crossProduct merges every branch of a with every branch of b; it returns a if there would be too
// many.
func crossProduct(a, b any) any {
	as, bs := a.([]any), b.([]any)
	if len(as)*len(bs) > maxSpread {
		return a
	}
	var out []any
	for _, x := range as {
		for _, y := range bs {
			out = append(out, merge(x.(*object), y.(*object)))
		}
	}
	return out
}

func larger(a, b any) any {
	x, _ := toFloat(a)
	if y, _ := toFloat(b); y > x {
		return b
	}
	return a
}

func smaller(a, b any) any {
	x, _ := toFloat(a)
	if y, _ := toFloat(b); y < x {
		return b
	}
	return a
}
