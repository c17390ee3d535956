package schema

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// A problem is one constraint that a value does not meet.
type problem struct {
	path string // of the value, such as "items[2].name"; "" is the root
	key  string // the keyword
	text string // what was expected, and what there is
}

type problems []problem

// maxProblems bounds how many an error names.
const maxProblems = 8

// toError returns the problems as one error, nil if there are none.
func (p problems) toError() error {
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

// A checker holds a value against a document. It names every problem, follows
// references that lead into themselves, and bounds its work.
type checker struct {
	*document
	stepsLeft int // steps that it may still take
}

// A step is about a microsecond of work.
const (
	maxSteps     = 100e3 // of one validation
	wordsPerStep = 1000  // words of a pattern's program, each against one byte
	bytesPerStep = 100   // of values that are compared or read
	itemsPerStep = 50    // items or members that are looked at
)

func (d *document) checker() *checker { return &checker{document: d, stepsLeft: maxSteps} }

// spend takes steps, and reports whether there were as many left.
func (c *checker) spend(steps int) bool {
	c.stepsLeft -= steps
	return c.stepsLeft >= 0
}

// check returns what is wrong with v.
func (d *document) check(v any) problems { return d.checker().checkRoot(v) }

func (c *checker) checkRoot(v any) problems {
	found := c.check(nil, c.root, v, "", 0)
	if found == nil && c.stepsLeft < 0 {
		return problems{tooComplex("")}
	}
	return found
}

func tooComplex(path string) problem {
	return problem{path, "", "the schema is too complex to check"}
}

// maxInPlace bounds how many schemas may apply to one value through each other;
// beyond, a reference leads into itself and says nothing.
const maxInPlace = 64

// check adds to found what is wrong with v. Around counts the schemas that led
// here without leaving v.
func (c *checker) check(found problems, s *object, v any, path string, around int) problems {
	if !c.spend(1) {
		return append(found, tooComplex(path))
	}
	if around > maxInPlace || len(s.keys) == 0 {
		return found
	}
	found = c.checkAssertions(found, s, v, path)
	if s.has("$ref") {
		if target := c.resolve(s.text("$ref")); target != nil {
			found = c.check(found, target, v, path, around+1)
		}
	}
	for _, b := range s.list("allOf") {
		found = c.check(found, b.(*object), v, path, around+1)
	}
	found = c.checkBranches(found, s, v, path, around+1)
	switch v := v.(type) {
	case *object:
		found = c.checkMembers(found, s, v, path, around+1)
	case []any:
		found = c.checkItems(found, s, v, path)
	}
	return found
}

// passes reports whether v is valid by s.
func (c *checker) passes(s *object, v any, around int) bool {
	return c.check(nil, s, v, "", around) == nil && c.stepsLeft >= 0
}

// checkBranches checks the keywords that look at v as a whole through other schemas.
func (c *checker) checkBranches(found problems, s *object, v any, path string, around int) problems {
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
		text := "must not be " + describeSchema(not)
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
			found = c.check(found, b, v, path, around)
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
		found := c.check(nil, b.(*object), v, path, around)
		if len(found) == 0 {
			return nil
		}
		cost := found.distance(path)
		if form := c.describe(b.(*object)); !slices.Contains(forms, form) {
			forms = append(forms, form)
		}
		if cost < worst {
			worst, best = cost, found
		}
	}
	if worst >= otherKindDistance {
		return problems{{path, "type", fmt.Sprintf("expected %s, got %s", strings.Join(forms, " or "), showValue(v))}}
	}
	return best
}

// distance returns how far the value at path is from what was expected.
func (p problems) distance(path string) int {
	n := len(p)
	for _, one := range p {
		switch {
		case one.path == path && one.key == "type":
			n += otherKindDistance
		case one.key == "const" || one.key == "enum":
			n += 50 // the mark by which variants are told apart
		}
	}
	return n
}

// otherKindDistance is the cost of a value that is of another kind altogether.
const otherKindDistance = 1000

// describe returns what s is, through a reference.
func (c *checker) describe(s *object) string {
	if t := c.resolve(s.text("$ref")); s.has("$ref") && t != nil {
		return describeSchema(t)
	}
	return describeSchema(s)
}

// checkMembers checks the members of an object.
func (c *checker) checkMembers(found problems, s, v *object, path string, around int) problems {
	c.spend(len(v.keys) / itemsPerStep)
	properties, byPattern := s.object("properties"), s.object("patternProperties")
	extra, names := s.object("additionalProperties"), s.object("propertyNames")
	for _, name := range v.keys {
		at, known := joinPath(path, name), false
		if properties != nil && properties.has(name) {
			known = true
			found = c.check(found, properties.object(name), v.values[name], at, 0)
		}
		for _, p := range keysOf(byPattern) {
			if c.matches(p, name, false) {
				known = true
				found = c.check(found, byPattern.object(p), v.values[name], at, 0)
			}
		}
		switch {
		case known || extra == nil:
		case isFalse(extra):
			text := "unexpected property"
			if properties != nil && len(properties.keys) > 0 {
				text += ", there are " + truncate(strings.Join(properties.keys, ", "), 200)
			}
			found = append(found, problem{at, "additionalProperties", text})
		default:
			found = c.check(found, extra, v.values[name], at, 0)
		}
		if names != nil && !c.passes(names, name, 0) {
			found = append(found, problem{at, "propertyNames", "this name is not allowed"})
		}
	}
	if on := s.object("dependentSchemas"); on != nil {
		for _, name := range on.keys {
			if v.has(name) {
				found = c.check(found, on.object(name), v, path, around)
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

// checkItems checks the items of an array.
func (c *checker) checkItems(found problems, s *object, v []any, path string) problems {
	c.spend(len(v) / itemsPerStep)
	prefix, items, contains := s.list("prefixItems"), s.object("items"), s.object("contains")
	hits := 0
	for i := range v {
		at := path + "[" + strconv.Itoa(i) + "]"
		switch {
		case i < len(prefix):
			found = c.check(found, prefix[i].(*object), v[i], at, 0)
		case items != nil:
			found = c.check(found, items, v[i], at, 0)
		}
		if contains != nil && c.passes(contains, v[i], 0) {
			hits++
		}
	}
	if contains == nil {
		return found
	}
	least, most := 1.0, math.Inf(1)
	if f, ok := toFloat(s.values["minContains"]); ok {
		least = f
	}
	if f, ok := toFloat(s.values["maxContains"]); ok {
		most = f
	}
	if f := float64(hits); f < least || f > most {
		found = append(found, problem{path, "contains", fmt.Sprintf("%d items fit %s, expected at least %g", hits, describeSchema(contains), least)})
	}
	return found
}

// checkAssertions checks the keywords that look at v alone.
func (c *checker) checkAssertions(found problems, s *object, v any, path string) problems {
	for _, key := range s.keys {
		if holds, ok := assertions[key]; ok && !holds(c, s, key, v) {
			found = append(found, explain(s, key, v, path)...)
		}
	}
	return found
}

// explain names what was expected where keyword key of s failed.
func explain(s *object, key string, v any, path string) problems {
	switch key {
	case "required":
		var found problems
		for _, name := range textsOf(s.list("required")) {
			if !v.(*object).has(name) {
				found = append(found, problem{joinPath(path, name), key, "missing" + describeMissing(s, name)})
			}
		}
		return found
	case "type":
		return problems{{path, key, fmt.Sprintf("expected %s, got %s", strings.Join(typesOf(s), " or "), showValue(v))}}
	}
	return problems{{path, key, fmt.Sprintf("expected %s, got %s", describeConstraint(key, s.values[key]), showValue(v))}}
}

// describeMissing returns what a missing property should be.
func describeMissing(s *object, name string) string {
	properties := s.object("properties")
	if properties == nil || !properties.has(name) {
		return ""
	}
	if what := describeSchema(properties.object(name)); what != "any value" {
		return ", expected " + what
	}
	return ""
}

// showValue returns a value in an error: untrusted, and of any size.
func showValue(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case *object:
		return fmt.Sprintf("an object with %d properties", len(v.keys))
	case []any:
		return fmt.Sprintf("an array of %d items", len(v))
	case string:
		return "string " + strconv.Quote(truncate(v, 60))
	}
	return kindOf(v) + " " + truncate(string(encode(v)), 60)
}

// joinPath returns the path of a member.
func joinPath(path, name string) string {
	if name == "" || strings.ContainsAny(name, ".[]\" \n\t") {
		return path + "[" + strconv.Quote(truncate(name, 60)) + "]"
	}
	if path == "" {
		return truncate(name, 60)
	}
	return path + "." + truncate(name, 60)
}
