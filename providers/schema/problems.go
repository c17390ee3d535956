package schema

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A problem is one constraint that a value violates.
type problem struct {
	path  string // of the value, such as "items[2].name"; "" for the root
	depth int    // of the value; 0 for the root
	key   string // the keyword
	text  string // what was expected and found
}

// problems collects the problems of a value, in bounded memory.
type problems struct {
	first        []problem // the first maxProblems
	count        int       // number of all problems
	enumProblems int       // number of problems of const and enum
}

// maxProblems bounds how many problems an error lists.
const maxProblems = 8

// add adds a problem of the value at a location.
func (p *problems) add(at *location, key, text string) {
	if len(p.first) < maxProblems {
		p.first = append(p.first, problem{at.path(), at.level(), key, text})
	}
	p.count++
	if key == "const" || key == "enum" {
		p.enumProblems++
	}
}

func (p *problems) merge(more problems) {
	p.first = append(p.first, more.first[:min(len(more.first), maxProblems-len(p.first))]...)
	p.count, p.enumProblems = p.count+more.count, p.enumProblems+more.enumProblems
}

// toError returns the problems as one error; nil if there are none.
func (p problems) toError() error {
	if p.count == 0 {
		return nil
	}
	var lines []string
	for _, one := range p.first {
		if one.path != "" {
			one.text = one.path + ": " + one.text
		}
		if !slices.Contains(lines, one.text) {
			lines = append(lines, one.text)
		}
	}
	if more := p.count - len(p.first); more > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", more))
	}
	return errors.New(strings.Join(lines, "; "))
}

// distance returns how far the value at a location is from a schema with these problems; the branch
// of anyOf with the smallest distance is probably the intended one.
func (p problems) distance(at *location) int {
	n := p.count + 50*p.enumProblems // const and enum distinguish variants
	for _, one := range p.first {
		if one.depth == at.level() && one.key == "type" {
			n += otherKindDistance
		}
	}
	return n
}

// otherKindDistance is the distance of a value of the wrong type.
const otherKindDistance = 1000

// A location is the position of a value below the root; nil is the root. Its path is built only for
// problems.
type location struct {
	parent *location
	name   string // of a member
	index  int    // of an item
	isItem bool
	depth  int // below the root
}

// level returns the depth; 0 for the root.
func (l *location) level() int {
	if l == nil {
		return 0
	}
	return l.depth
}

// path returns the path, such as "items[2].name"; "" for the root.
func (l *location) path() string {
	var all []*location
	for ; l != nil; l = l.parent {
		all = append(all, l)
	}
	var path []byte
	for _, l := range slices.Backward(all) {
		switch name := truncate(l.name, 60); {
		case l.isItem:
			path = append(strconv.AppendInt(append(path, '['), int64(l.index), 10), ']')
		case l.name == "" || strings.ContainsAny(l.name, ".[]\" \n\t"):
			path = append(strconv.AppendQuote(append(path, '['), name), ']')
		case len(path) == 0:
			path = append(path, name...)
		default:
			path = append(append(path, '.'), name...)
		}
	}
	return string(path)
}

// explain adds the problem of v, which failed the assertion key of s.
func explain(found *problems, s *object, key string, v any, at *location) {
	switch key {
	case "required":
		for _, name := range textsOf(s.list("required")) {
			if !v.(*object).has(name) {
				found.add(&location{parent: at, name: name, depth: at.level() + 1}, key, "missing"+describeMissing(s, name))
			}
		}
	case "type":
		found.add(at, key, fmt.Sprintf("expected %s, got %s", strings.Join(typesOf(s), " or "), showValue(v)))
	default:
		found.add(at, key, fmt.Sprintf("expected %s, got %s", describeConstraint(key, s.values[key]), showValue(v)))
	}
}

// describeMissing describes a missing property, as the end of a sentence; "" if the schema does not
// describe it.
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

// showValue returns v for an error message: quoted and truncated, since it is untrusted and may be
// large.
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
