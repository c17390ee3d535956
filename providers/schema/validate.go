package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// A problem is one constraint that a value does not meet.
type problem struct {
	path string // of the value, such as "items[2].name"; "" is the root
	key  string // the keyword
	text string // what was expected, and what there is
}

type problems []problem

// maxProblems is how many an error names.
const maxProblems = 8

// err is the problems as one error, nil if there are none.
func (p problems) err() error {
	if len(p) == 0 {
		return nil
	}
	var lines []string
	for i, one := range p {
		if i == maxProblems {
			lines = append(lines, fmt.Sprintf("and %d more", len(p)-i))
			break
		}
		if one.path != "" {
			one.text = one.path + ": " + one.text
		}
		if !slices.Contains(lines, one.text) {
			lines = append(lines, one.text)
		}
	}
	return errors.New(strings.Join(lines, "; "))
}

// A checker holds a value against a document. It walks the schema itself, for
// it has to name every problem, follow references that lead into themselves and
// bound its work; what a keyword means is jsonschema's to say.
type checker struct {
	*doc
	steps int
	rules map[*object]*rules
}

func (d *doc) checker() *checker {
	return &checker{doc: d, rules: map[*object]*rules{}}
}

func (d *doc) check(v any) problems { return d.checker().check(d.root, v, "", 0) }

// maxInPlace is how many schemas may apply to one value through each other;
// beyond, a reference leads into itself and says nothing.
const maxInPlace = 64

// check returns what is wrong with v. Around counts the schemas that led here
// without leaving v.
func (c *checker) check(s *object, v any, path string, around int) problems {
	if c.steps++; c.steps > maxSteps {
		return problems{{path, "", "the schema is too complex to check"}}
	}
	if around > maxInPlace || len(s.keys) == 0 {
		return nil
	}
	found := c.assert(s, v, path)
	if s.has("$ref") {
		if target := c.resolve(s.text("$ref")); target != nil {
			found = append(found, c.check(target, v, path, around+1)...)
		}
	}
	for _, b := range s.list("allOf") {
		found = append(found, c.check(b.(*object), v, path, around+1)...)
	}
	found = append(found, c.choose(s, v, path, around+1)...)
	switch v := v.(type) {
	case *object:
		found = append(found, c.members(s, v, path, around+1)...)
	case []any:
		found = append(found, c.items(s, v, path)...)
	}
	return found
}

// passes reports whether v is valid by s.
func (c *checker) passes(s *object, v any, around int) bool {
	return len(c.check(s, v, "", around)) == 0
}

// choose checks the keywords that look at v as a whole through other schemas.
func (c *checker) choose(s *object, v any, path string, around int) problems {
	var found problems
	if branches := s.list("anyOf"); branches != nil {
		found = append(found, c.closest(branches, v, path, around)...)
	}
	if branches := s.list("oneOf"); branches != nil {
		n := 0
		for _, b := range branches {
			if c.passes(b.(*object), v, around) {
				n++
			}
		}
		switch {
		case n == 0:
			found = append(found, c.closest(branches, v, path, around)...)
		case n > 1:
			found = append(found, problem{path, "oneOf", fmt.Sprintf("fits %d of the allowed forms, must fit exactly one", n)})
		}
	}
	if not := s.object("not"); not != nil && c.passes(not, v, around) {
		text := "must not be " + brief(not)
		if len(not.keys) == 0 {
			text = "is not allowed"
		}
		found = append(found, problem{path, "not", text})
	}
	if cond := s.object("if"); cond != nil {
		then := "else"
		if c.passes(cond, v, around) {
			then = "then"
		}
		if b := s.object(then); b != nil {
			found = append(found, c.check(b, v, path, around)...)
		}
	}
	return found
}

// closest returns the problems of the branch that v probably was meant for,
// nothing if it passes one.
func (c *checker) closest(branches []any, v any, path string, around int) problems {
	var best problems
	var forms []string
	worst := math.MaxInt
	for _, b := range branches {
		found := c.check(b.(*object), v, path, around)
		if len(found) == 0 {
			return nil
		}
		cost := len(found)
		for _, p := range found {
			switch {
			case p.path == path && p.key == "type":
				cost += 1000 // meant for another kind of value
			case p.key == "const" || p.key == "enum":
				cost += 50 // the mark by which variants are told apart
			}
		}
		if form := c.brief(b.(*object)); !slices.Contains(forms, form) {
			forms = append(forms, form)
		}
		if cost < worst {
			worst, best = cost, found
		}
	}
	if worst >= 1000 {
		return problems{{path, "type", fmt.Sprintf("expected %s, got %s", strings.Join(forms, " or "), show(v))}}
	}
	return best
}

// brief says what s is, through a reference.
func (c *checker) brief(s *object) string {
	if t := c.resolve(s.text("$ref")); s.has("$ref") && t != nil {
		return brief(t)
	}
	return brief(s)
}

// members checks the members of an object.
func (c *checker) members(s, v *object, path string, around int) problems {
	var found problems
	properties, byPattern := s.object("properties"), s.object("patternProperties")
	extra, names := s.object("additionalProperties"), s.object("propertyNames")
	for _, name := range v.keys {
		at, known := join(path, name), false
		if properties != nil && properties.has(name) {
			known = true
			found = append(found, c.check(properties.object(name), v.values[name], at, 0)...)
		}
		for _, p := range keysOf(byPattern) {
			if re, ok := compile(p); ok && re.MatchString(name) {
				known = true
				found = append(found, c.check(byPattern.object(p), v.values[name], at, 0)...)
			}
		}
		switch {
		case known || extra == nil:
		case isFalse(extra):
			text := "unexpected property"
			if properties != nil && len(properties.keys) > 0 {
				text += ", there are " + clip(strings.Join(properties.keys, ", "), 200)
			}
			found = append(found, problem{at, "additionalProperties", text})
		default:
			found = append(found, c.check(extra, v.values[name], at, 0)...)
		}
		if names != nil && !c.passes(names, name, 0) {
			found = append(found, problem{at, "propertyNames", "this name is not allowed"})
		}
	}
	if on := s.object("dependentSchemas"); on != nil {
		for _, name := range on.keys {
			if v.has(name) {
				found = append(found, c.check(on.object(name), v, path, around)...)
			}
		}
	}
	return found
}

func keysOf(o *object) []string {
	if o == nil {
		return nil
	}
	return o.keys
}

// items checks the items of an array.
func (c *checker) items(s *object, v []any, path string) problems {
	var found problems
	prefix, items, contains := s.list("prefixItems"), s.object("items"), s.object("contains")
	hits := 0
	for i := range v {
		at := path + "[" + strconv.Itoa(i) + "]"
		switch {
		case i < len(prefix):
			found = append(found, c.check(prefix[i].(*object), v[i], at, 0)...)
		case items != nil:
			found = append(found, c.check(items, v[i], at, 0)...)
		}
		if contains != nil && c.passes(contains, v[i], 0) {
			hits++
		}
	}
	if contains == nil {
		return found
	}
	least, most := 1.0, math.Inf(1)
	if f, ok := float(s.values["minContains"]); ok {
		least = f
	}
	if f, ok := float(s.values["maxContains"]); ok {
		most = f
	}
	if f := float64(hits); f < least || f > most {
		found = append(found, problem{path, "contains", fmt.Sprintf("%d items fit %s, expected at least %g", hits, brief(contains), least)})
	}
	return found
}

// asserted are the keywords that look at one value alone.
var asserted = []string{
	"type", "enum", "const", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf",
	"minLength", "maxLength", "pattern", "minItems", "maxItems", "uniqueItems",
	"required", "dependentRequired", "minProperties", "maxProperties",
}

// rules are the asserted keywords of one schema, as jsonschema takes them.
type rules struct {
	all  *jsonschema.Resolved // every keyword at once; nil if there are none
	each []rule
}

type rule struct {
	key string
	*jsonschema.Resolved
}

// assert checks the keywords that look at v alone.
func (c *checker) assert(s *object, v any, path string) problems {
	r := c.rules[s]
	if r == nil {
		r = rulesOf(s)
		c.rules[s] = r
	}
	var found problems
	if r.all != nil {
		value := shallow(s, v)
		if r.all.Validate(value) != nil {
			for _, one := range r.each {
				if one.Validate(value) != nil {
					found = append(found, explain(s, one.key, v, path)...)
				}
			}
		}
	}
	if f, ok := float(s.values["multipleOf"]); ok && !multiple(v, f) {
		found = append(found, explain(s, "multipleOf", v, path)...)
	}
	return found
}

// shallow is v for jsonschema, without what only other schemas look at.
func shallow(s *object, v any) any {
	deep := s.has("enum") || s.has("const") || s.has("uniqueItems")
	switch v := v.(type) {
	case *object:
		if !deep {
			m := make(map[string]any, len(v.keys))
			for _, key := range v.keys {
				m[key] = nil
			}
			return m
		}
	case []any:
		if !deep {
			return make([]any, len(v))
		}
	}
	return plain(v)
}

func rulesOf(s *object) *rules {
	r := &rules{}
	all := newObject()
	for _, key := range asserted {
		if !s.has(key) || key == "multipleOf" { // jsonschema divides: 0.3 is no multiple of 0.1
			continue
		}
		one := newObject(key, s.values[key])
		if resolved := resolved(one); resolved != nil {
			r.each = append(r.each, rule{key, resolved})
			all.set(key, s.values[key])
		}
	}
	if len(all.keys) > 0 {
		r.all = resolved(all)
	}
	return r
}

// resolved is s for jsonschema, nil if that cannot read it, such as a pattern
// with look-ahead.
func resolved(s *object) *jsonschema.Resolved {
	if _, ok := compile(s.text("pattern")); !ok {
		return nil
	}
	var schema jsonschema.Schema
	if json.Unmarshal(encode(s), &schema) != nil {
		return nil
	}
	r, err := schema.Resolve(nil)
	if err != nil {
		return nil
	}
	return r
}

// multiple reports whether v is a multiple of f, exactly as they are written.
func multiple(v any, f float64) bool {
	n, ok := v.(json.Number)
	if !ok || len(n) > 400 {
		return true
	}
	if x, err := n.Float64(); err != nil || math.Abs(x) > 1e300 || x != 0 && math.Abs(x) < 1e-300 {
		return true
	}
	a, ok1 := new(big.Rat).SetString(n.String())
	b, ok2 := new(big.Rat).SetString(strconv.FormatFloat(f, 'g', -1, 64))
	return !ok1 || !ok2 || b.Sign() == 0 || a.Quo(a, b).IsInt()
}

// explain names what was expected where keyword key of s failed.
func explain(s *object, key string, v any, path string) problems {
	switch key {
	case "required":
		var found problems
		for _, name := range texts(s.list("required")) {
			if !v.(*object).has(name) {
				found = append(found, problem{join(path, name), key, "missing" + wanted(s, name)})
			}
		}
		return found
	case "type":
		return problems{{path, key, fmt.Sprintf("expected %s, got %s", strings.Join(typesOf(s), " or "), show(v))}}
	}
	return problems{{path, key, fmt.Sprintf("expected %s, got %s", say(key, s.values[key]), show(v))}}
}

// wanted says what a missing property should be.
func wanted(s *object, name string) string {
	properties := s.object("properties")
	if properties == nil || !properties.has(name) {
		return ""
	}
	if what := brief(properties.object(name)); what != "any value" {
		return ", expected " + what
	}
	return ""
}

// show is a value in an error: untrusted, and of any size.
func show(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case *object:
		return fmt.Sprintf("an object with %d properties", len(v.keys))
	case []any:
		return fmt.Sprintf("an array of %d items", len(v))
	case string:
		return "string " + strconv.Quote(clip(v, 60))
	}
	return kind(v) + " " + clip(string(encode(v)), 60)
}

// join is the path of a member.
func join(path, name string) string {
	if name == "" || strings.ContainsAny(name, ".[]\" \n\t") {
		return path + "[" + strconv.Quote(clip(name, 60)) + "]"
	}
	if path == "" {
		return clip(name, 60)
	}
	return path + "." + clip(name, 60)
}
