package schema

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
)

// ErrUnchecked reports that a value was checked only in part, without finding a problem: checking
// all of it would cost too much.
var ErrUnchecked = errors.New("the schema is too complex to check")

// A checker validates a value against a document. It counts every problem, follows recursive
// references, and bounds its work.
type checker struct {
	*document
	stepsLeft int // negative if the work was cut short
	unchecked int // number of skipped schemas and keywords
}

// A step is about a microsecond of work.
const (
	maxSteps     = 100e3 // of one validation
	wordsPerStep = 1000  // instructions of a pattern, each applied to one byte
	bytesPerStep = 100   // of compared or parsed values
	itemsPerStep = 50    // visited items or members

	comparedPerStep = 200 // values that a value is compared to
)

func (d *document) checker() *checker { return &checker{document: d, stepsLeft: maxSteps} }

// spend uses steps and reports whether that many were left.
func (c *checker) spend(steps int) bool {
	c.stepsLeft -= steps
	return c.stepsLeft >= 0
}

// isSpent reports whether the steps are used up. If so, it counts the part that the caller skips as
// unchecked.
func (c *checker) isSpent() bool {
	if c.stepsLeft >= 0 {
		return false
	}
	c.unchecked++
	return true
}

// check returns the problems of v.
func (d *document) check(v any) problems { return d.checker().checkRoot(v) }

// validate returns the problems of v as an error; ErrUnchecked if there are none but parts were
// skipped.
func (c *checker) validate(v any) error {
	if err := c.checkRoot(v).toError(); err != nil || c.unchecked == 0 {
		return err
	}
	return ErrUnchecked
}

func (c *checker) checkRoot(v any) problems {
	var found problems
	c.check(&found, c.root, v, nil, 0)
	return found
}

// maxInPlace bounds the chain of schemas that apply to the same value. Beyond it, a reference is
// assumed to be recursive and is ignored.
const maxInPlace = 64

// check adds the problems of v to found. Around is the length of the chain of schemas that apply to
// v.
func (c *checker) check(found *problems, s *object, v any, at *location, around int) {
	c.spend(1)
	if c.isSpent() || around > maxInPlace || len(s.keys) == 0 {
		return
	}
	c.checkAssertions(found, s, v, at)
	if s.has("$ref") {
		if target := c.resolve(s.text("$ref")); target != nil {
			c.check(found, target, v, at, around+1)
		}
	}
	for _, b := range s.list("allOf") {
		c.check(found, b.(*object), v, at, around+1)
	}
	c.checkBranches(found, s, v, at, around+1)
	switch v := v.(type) {
	case *object:
		c.checkMembers(found, s, v, at, around+1)
	case []any:
		c.checkItems(found, s, v, at)
	}
}

// verdict is the result of checking a value against a schema.
type verdict int

const (
	unknown verdict = iota // not checked completely
	valid
	invalid
)

// judge returns whether v is valid by s.
func (c *checker) judge(s *object, v any, around int) verdict {
	var found problems
	before := c.unchecked
	c.check(&found, s, v, nil, around)
	switch {
	case found.count > 0:
		return invalid
	case c.unchecked > before:
		return unknown
	}
	return valid
}

// passes reports whether v is certainly valid by s.
func (c *checker) passes(s *object, v any, around int) bool { return c.judge(s, v, around) == valid }

// checkBranches checks v against anyOf, oneOf, not and if.
func (c *checker) checkBranches(found *problems, s *object, v any, at *location, around int) {
	if branches := s.list("anyOf"); branches != nil {
		found.merge(c.closest(branches, v, at, around))
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
			found.merge(c.closest(branches, v, at, around))
		case n > 1:
			found.add(at, "oneOf", fmt.Sprintf("fits %d of the allowed forms, must fit exactly one", n))
		}
	}
	if not := s.object("not"); not != nil && c.passes(not, v, around) {
		text := "must not be " + describeSchema(not)
		if len(not.keys) == 0 {
			text = "is not allowed"
		}
		found.add(at, "not", text)
	}
	if cond := s.object("if"); cond != nil {
		branch := map[verdict]string{valid: "then", invalid: "else"}[c.judge(cond, v, around)]
		if b := s.object(branch); b != nil {
			c.check(found, b, v, at, around)
		}
	}
}

// closest returns the problems of the branch that v was probably meant for; none if v passes a
// branch, or may pass one that was not checked completely.
func (c *checker) closest(branches []any, v any, at *location, around int) problems {
	var best problems
	var forms []string
	worst := math.MaxInt
	for _, b := range branches {
		var found problems
		c.check(&found, b.(*object), v, at, around)
		if found.count == 0 {
			return problems{}
		}
		cost := found.distance(at)
		if form := c.describe(b.(*object)); !slices.Contains(forms, form) {
			forms = append(forms, form)
		}
		if cost < worst {
			worst, best = cost, found
		}
	}
	if worst >= otherKindDistance {
		best = problems{}
		best.add(at, "type", fmt.Sprintf("expected %s, got %s", strings.Join(forms, " or "), showValue(v)))
	}
	return best
}

// describe returns describeSchema of s, or of its reference's target.
func (c *checker) describe(s *object) string {
	if t := c.resolve(s.text("$ref")); s.has("$ref") && t != nil {
		return describeSchema(t)
	}
	return describeSchema(s)
}

// checkMembers checks the members of an object.
func (c *checker) checkMembers(found *problems, s, v *object, at *location, around int) {
	c.spend(len(v.keys) / itemsPerStep)
	names := s.object("propertyNames")
	for _, name := range v.keys {
		if c.isSpent() {
			return
		}
		member := &location{parent: at, name: name, depth: at.level() + 1}
		c.checkMember(found, s, name, v.values[name], member)
		if names != nil && c.judge(names, name, 0) == invalid {
			found.add(member, "propertyNames", "this name is not allowed")
		}
	}
	if on := s.object("dependentSchemas"); on != nil {
		for _, name := range on.keys {
			if v.has(name) {
				c.check(found, on.object(name), v, at, around)
			}
		}
	}
}

// checkMember checks the value of a member against the schemas that apply to its name.
func (c *checker) checkMember(found *problems, s *object, name string, v any, at *location) {
	properties, byPattern := s.object("properties"), s.object("patternProperties")
	known := false
	if properties != nil && properties.has(name) {
		known = true
		c.check(found, properties.object(name), v, at, 0)
	}
	for _, p := range keysOf(byPattern) {
		switch c.matches(p, name) {
		case valid:
			known = true
			c.check(found, byPattern.object(p), v, at, 0)
		case unknown:
			known = true // assumed, since a name is rejected only if it certainly matches nothing
		}
	}
	extra := s.object("additionalProperties")
	switch {
	case known || extra == nil:
	case isFalse(extra):
		text := "unexpected property"
		if properties != nil && len(properties.keys) > 0 {
			text += ", there are " + truncate(strings.Join(properties.keys, ", "), 200)
		}
		found.add(at, "additionalProperties", text)
	default:
		c.check(found, extra, v, at, 0)
	}
}

func keysOf(o *object) []string {
	if o == nil {
		return nil
	}
	return o.keys
}

// checkItems checks the items of an array.
func (c *checker) checkItems(found *problems, s *object, v []any, at *location) {
	prefix, items, contains := s.list("prefixItems"), s.object("items"), s.object("contains")
	if items == nil && contains == nil {
		v = v[:min(len(v), len(prefix))]
	}
	c.spend(len(v) / itemsPerStep)
	hits, possible := 0, 0
	for i := range v {
		if c.isSpent() {
			return
		}
		item := &location{parent: at, index: i, isItem: true, depth: at.level() + 1}
		switch {
		case i < len(prefix):
			c.check(found, prefix[i].(*object), v[i], item, 0)
		case items != nil:
			c.check(found, items, v[i], item, 0)
		}
		if contains == nil {
			continue
		}
		switch c.judge(contains, v[i], 0) {
		case valid:
			hits, possible = hits+1, possible+1
		case unknown:
			possible++
		}
	}
	if contains == nil {
		return
	}
	least, most := 1.0, math.Inf(1)
	if f, ok := toFloat(s.values["minContains"]); ok {
		least = f
	}
	if f, ok := toFloat(s.values["maxContains"]); ok {
		most = f
	}
	wants := ""
	switch {
	case float64(possible) < least:
		wants = fmt.Sprintf("at least %g", least)
	case float64(hits) > most:
		wants = fmt.Sprintf("at most %g", most)
	default:
		return
	}
	found.add(at, "contains", fmt.Sprintf("%d items fit %s, expected %s", hits, describeSchema(contains), wants))
}

// checkAssertions checks the keywords in assertions.
func (c *checker) checkAssertions(found *problems, s *object, v any, at *location) {
	for _, key := range s.keys {
		if holds, ok := assertions[key]; ok && !holds(c, s, key, v) {
			explain(found, s, key, v, at)
		}
	}
}
