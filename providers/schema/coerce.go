package schema

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Coerce corrects common mistakes of models in value, a JSON text, if the schema raw leaves one
// interpretation. The string "5" becomes 5 and "true" becomes true, a string that contains an
// object or array becomes that, null for an optional property removes it, and a single value is
// wrapped in an array where only an array fits. Coerce also undoes the changes of For to names,
// roots and free-form objects. A value that is valid, or has no fewer problems afterwards, is
// returned unchanged.
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

// Coercing may take minCoerceSteps, and coerceFactor times the steps of the check before it.
const (
	coerceFactor   = 20
	minCoerceSteps = 2000
)

// coercer returns the problems of v, and a coercer whose step limit is proportional to the steps
// needed to find them.
func (d *document) coercer(v any) (problems, *coercer) {
	before := d.checker()
	found := before.checkRoot(v)
	after := d.checker()
	after.stepsLeft = min(maxSteps, minCoerceSteps+coerceFactor*(maxSteps-before.stepsLeft))
	return found, &coercer{checker: after}
}

// A coercer returns corrected copies of values.
type coercer struct {
	*checker
	text  string // last argument of parseNested, since the next branch uses it again
	inner any    // result for text; nil if it holds no object or array
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

// coerceBranch coerces v to the first branch that the result fits. It returns v unchanged if v is
// valid already, or if no branch helps.
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
	required := s.required()
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
		if value == nil && !required[name] && !c.passes(p, nil, 0) {
			continue
		}
		out.set(name, c.coerce(p, value, 0))
	}
	return out
}

// propertyOfAlias returns the property that portableKey renames to name; name if there is none.
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

// convert returns v as a value of the type or enum of s; v itself if it cannot be converted.
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

// convertTo returns v as a value of the type want; false if it cannot be converted.
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
			w := c.coerce(items, v, around+1) // +1 bounds an array whose items are the schema itself
			return []any{w}, c.passes(items, w, 0)
		}
	}
	return nil, false
}

// parseNumber returns text as a json.Number; false if it is not a finite JSON number, or not an
// integer if one is required.
func parseNumber(text string, integer bool) (any, bool) {
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsInf(f, 0) || integer && f != math.Trunc(f) || !json.Valid([]byte(text)) {
		return nil, false
	}
	if integer && strings.ContainsAny(text, ".eE") {
		if math.Abs(f) >= 1<<53 {
			return nil, false
		}
		text = strconv.FormatInt(int64(f), 10) // 5.0 is an integer in JSON Schema but not in Go
	}
	return json.Number(text), true
}

// parseNested decodes text that contains a JSON object or array, repairing it if necessary; nil if
// it contains none.
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

// unwrap returns the value inside the object that objectRoot wraps around a root of another type.
func unwrap(v any) (any, bool) {
	o, ok := v.(*object)
	if !ok || len(o.keys) != 1 || !o.has(wrapperKey) {
		return nil, false
	}
	return o.values[wrapperKey], true
}

// isListed reports whether v is the const of s or one of its enum.
func (c *coercer) isListed(s *object, v any) bool {
	if s.has("const") {
		return c.isConst(s, "const", v)
	}
	return c.inEnum(s, "enum", v)
}

// listedValue returns the only value of const or enum whose text equals that of v, ignoring case; v
// if there is none, or more than one.
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
