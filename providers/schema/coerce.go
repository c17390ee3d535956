package schema

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Coerce puts right what models commonly get wrong in value, where raw leaves
// one meaning: "5" is 5 and "true" is true, text that holds an object or array
// is that, null for an optional property is no property, one value where only
// an array fits is an array of it. It takes back what For did to names, roots
// and free-form objects. What is valid, and what this does not help, comes back
// as it was.
func Coerce(raw json.RawMessage, value []byte) []byte {
	d := openDocumentOrObject(raw)
	v, err := decode(value)
	if err != nil {
		return value
	}
	before, c := d.coercer(v)
	if before.count == 0 {
		return value
	}
	better := c.coerce(d.root, v, 0)
	if d.check(better).distance(nil) >= before.distance(nil) {
		return value
	}
	return encode(better)
}

// Coercing may cost more than the check that found it needful, by so much.
const (
	coerceFactor   = 20
	minCoerceSteps = 2000 // steps
)

// coercer returns what is wrong with v, and a coercer that may take steps in
// proportion.
func (d *document) coercer(v any) (problems, *coercer) {
	before := d.checker()
	found := before.checkRoot(v)
	after := d.checker()
	after.stepsLeft = min(maxSteps, minCoerceSteps+coerceFactor*(maxSteps-before.stepsLeft))
	return found, &coercer{checker: after}
}

// A coercer rewrites values, without touching those it is given.
type coercer struct {
	*checker
	text  string // that was read last, for the next branch asks about it again
	inner any    // what it holds; nil: nothing
}

func (c *coercer) coerce(s *object, v any, around int) any {
	if !c.spend(1) || around > maxInPlace || len(s.keys) == 0 {
		return v
	}
	v = c.convert(s, v, around)
	switch w := v.(type) {
	case *object:
		v = c.coerceObject(s, w)
	case []any:
		v = c.coerceArray(s, w)
	}
	if s.has("$ref") {
		if target := c.resolve(s.text("$ref")); target != nil {
			v = c.coerce(target, v, around+1)
		}
	}
	for _, b := range s.list("allOf") {
		v = c.coerce(b.(*object), v, around+1)
	}
	for _, key := range []string{"anyOf", "oneOf"} {
		if branches := s.list(key); branches != nil {
			v = c.coerceBranch(branches, v, around+1)
		}
	}
	return v
}

// coerceBranch coerces v to the first branch that it fits then. One that it fits as it
// is comes first.
func (c *coercer) coerceBranch(branches []any, v any, around int) any {
	for _, b := range branches {
		if c.passes(b.(*object), v, around) {
			return v
		}
	}
	for _, b := range branches {
		if w := c.coerce(b.(*object), v, around); c.passes(b.(*object), w, around) {
			return w
		}
	}
	return v
}

func (c *coercer) coerceObject(s, v *object) *object {
	properties, extra := s.object("properties"), s.object("additionalProperties")
	out := newObject()
	for _, name := range v.keys {
		value := v.values[name]
		name = propertyOfAlias(properties, v, name)
		if properties == nil || !properties.has(name) {
			if extra != nil && !isFalse(extra) {
				value = c.coerce(extra, value, 0)
			}
			out.set(name, value)
			continue
		}
		p := properties.object(name)
		if value == nil && !slices.Contains(s.list("required"), any(name)) && !c.passes(p, nil, 0) {
			continue
		}
		out.set(name, c.coerce(p, value, 0))
	}
	return out
}

// propertyOfAlias returns the property of which name is the alias, or name.
func propertyOfAlias(properties, v *object, name string) string {
	if properties == nil || properties.has(name) {
		return name
	}
	for _, p := range properties.keys {
		if !v.has(p) && p != name && portableKey(p) == name {
			return p
		}
	}
	return name
}

func (c *coercer) coerceArray(s *object, v []any) []any {
	prefix, items := s.list("prefixItems"), s.object("items")
	out := slices.Clone(v)
	for i := range out {
		switch {
		case i < len(prefix):
			out[i] = c.coerce(prefix[i].(*object), out[i], 0)
		case items != nil:
			out[i] = c.coerce(items, out[i], 0)
		}
	}
	return out
}

// convert makes v a value of the type of s, or of its enum, if it can mean one.
func (c *coercer) convert(s *object, v any, around int) any {
	if enum := values(s); enum != nil {
		if inner, ok := unwrap(v); ok && !c.isListed(s, v) && c.isListed(s, c.listedValue(s, inner)) {
			return c.listedValue(s, inner)
		}
		return c.listedValue(s, v)
	}
	kinds := typesOf(s)
	if kinds == nil || fitsType(s, v) {
		return v
	}
	for _, want := range kinds {
		if w, ok := c.convertTo(want, s, v, around); ok {
			return w
		}
	}
	return v
}

// convertTo reads v as a value of the type want.
func (c *coercer) convertTo(want string, s *object, v any, around int) (any, bool) {
	if inner, ok := unwrap(v); ok && (kindOf(inner) == want || want == "integer" && fitsType(s, inner)) {
		return inner, true
	}
	text, isText := v.(string)
	trimmed := strings.TrimSpace(text)
	switch want {
	case "string":
		switch v.(type) {
		case json.Number, bool:
			return string(encode(v)), true
		}
	case "number", "integer":
		return parseNumber(trimmed, want == "integer")
	case "boolean":
		if strings.EqualFold(trimmed, "true") || strings.EqualFold(trimmed, "false") {
			return strings.EqualFold(trimmed, "true"), true
		}
	case "null":
		return nil, isText && (trimmed == "null" || trimmed == "None")
	case "object", "array":
		if w := c.parseNested(trimmed); w != nil && kindOf(w) == want {
			return w, true
		}
		if items := s.object("items"); want == "array" && v != nil {
			if items == nil {
				return []any{v}, true
			}
			w := c.coerce(items, v, around+1) // a list of itself has no end
			return []any{w}, c.passes(items, w, 0)
		}
	}
	return nil, false
}

// parseNumber reads text as a number in the form of JSON.
func parseNumber(text string, integer bool) (any, bool) {
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsInf(f, 0) || integer && f != math.Trunc(f) || !json.Valid([]byte(text)) {
		return nil, false
	}
	if integer && strings.ContainsAny(text, ".eE") {
		if math.Abs(f) >= 1<<53 {
			return nil, false
		}
		text = strconv.FormatInt(int64(f), 10) // 5.0 is an integer to JSON Schema and not to Go
	}
	return json.Number(text), true
}

// parseNested reads text that holds an object or array; nil if it does not.
func (c *coercer) parseNested(text string) any {
	if text == "" || text[0] != '{' && text[0] != '[' {
		return nil
	}
	if text == c.text {
		return c.inner
	}
	c.text, c.inner = text, nil
	if !c.spend(len(text) / bytesPerStep) {
		return nil
	}
	if fixed, ok := Repair([]byte(text)); ok && fixed[0] == text[0] {
		c.inner, _ = decode(fixed)
	}
	return c.inner
}

// unwrap takes the value out of the object that a root which is no object was
// put into.
func unwrap(v any) (any, bool) {
	o, ok := v.(*object)
	if !ok || len(o.keys) != 1 || !o.has(wrapperKey) {
		return nil, false
	}
	return o.values[wrapperKey], true
}

// isListed reports whether v is one of the values of s.
func (c *coercer) isListed(s *object, v any) bool {
	if s.has("const") {
		return c.isConst(s, "const", v)
	}
	return c.inEnum(s, "enum", v)
}

// listedValue returns the value of s that v means: as text, or in another case.
func (c *coercer) listedValue(s *object, v any) any {
	enum := values(s)
	if c.isListed(s, v) || kindOf(v) == "object" || kindOf(v) == "array" || !c.spend(len(enum)/itemsPerStep) {
		return v
	}
	text := strings.TrimSpace(showKeywordValue(v))
	var found []any
	for _, e := range enum {
		if strings.EqualFold(showKeywordValue(e), text) {
			found = append(found, e)
		}
	}
	if len(found) == 1 {
		return found[0]
	}
	return v
}
