package schema

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A problem is one constraint that a value does not meet.
type problem struct {
	path  string // of the value, such as "items[2].name"; "" is the root
	depth int    // of the value; 0 is the root
	key   string // the keyword
	text  string // what was expected, and what there is
}

// problems holds what is wrong with a value. However much that is, it takes little memory.
type problems struct {
	first        []problem // the first maxProblems
	count        int       // of all
	enumProblems int       // those of const and enum
}

// maxProblems bounds how many an error names.
const maxProblems = 8

// add adds what is wrong with the value at a location.
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

// toError returns the problems as one error, nil if there are none.
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

// distance returns how far the value at a location is from what was expected.
func (p problems) distance(at *location) int {
	n := p.count + 50*p.enumProblems // by const and enum variants are told apart
	for _, one := range p.first {
		if one.depth == at.level() && one.key == "type" {
			n += otherKindDistance
		}
	}
	return n
}

// otherKindDistance is the cost of a value that is of another kind altogether.
const otherKindDistance = 1000

// A location leads to a value from the root, which is nil. It is written as a path only
// where there is a problem.
type location struct {
	parent *location
	name   string // of a member
	index  int    // of an item
	isItem bool
	depth  int // below the root
}

// level returns the depth; 0 is the root.
func (l *location) level() int {
	if l == nil {
		return 0
	}
	return l.depth
}

// path returns the path, such as "items[2].name"; "" is the root.
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

// explain adds what was expected where keyword key of s failed.
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
