package schema

import (
	"encoding/json"
	"net/url"
	"strconv"
	"strings"
)

// Bounds on the work for one schema, which may come from an untrusted source.
const (
	maxDepth  = 48   // of nested schemas
	maxNodes  = 4000 // after references are inlined
	maxSpread = 16   // branches of anyOf after merging two schemas
)

// A document is a schema with the targets of its references.
type document struct {
	raw   any                // decoded, not cleaned
	root  *object            // cleaned
	refs  map[string]*object // cleaned targets by reference; nil for a broken reference
	nodes int                // number of schemas created by canonical

	expressions map[string]*expression // by pattern; nil if it cannot be compiled
}

// openDocument decodes a schema; false if raw is not one.
func openDocument(raw json.RawMessage) (*document, bool) {
	v, err := decode(raw)
	if err != nil {
		return nil, false
	}
	switch v.(type) {
	case *object, bool:
	default:
		return nil, false
	}
	d := &document{raw: v, refs: map[string]*object{}, expressions: map[string]*expression{}}
	d.root = clean(v, 0)
	return d, true
}

// openDocumentOrObject decodes a schema; {"type":"object"} if raw is not one.
func openDocumentOrObject(raw json.RawMessage) *document {
	d, ok := openDocument(raw)
	if !ok {
		d, _ = openDocument(json.RawMessage(`{"type":"object"}`))
	}
	return d
}

// resolve returns the cleaned target of a $ref; nil if it is not in this document.
func (d *document) resolve(ref string) *object {
	if s, ok := d.refs[ref]; ok {
		return s
	}
	var s *object
	if v, ok := d.lookUp(ref); ok {
		s = clean(v, 0)
	}
	d.refs[ref] = s
	return s
}

// lookUp returns the decoded target of a $ref, which consists of the $id of this document or of a
// schema in it, and a JSON pointer or an anchor.
func (d *document) lookUp(ref string) (any, bool) {
	id, path, _ := strings.Cut(ref, "#")
	at, ok := d.raw, true
	if id != "" {
		at, ok = findSchema(d.raw, 0, func(s *object) bool { return s.text("$id") == id })
	}
	switch {
	case !ok:
		return nil, false
	case path != "" && path[0] != '/':
		return findSchema(at, 0, func(s *object) bool { return s.text("$anchor") == path || s.text("$id") == "#"+path })
	}
	if found, ok := follow(at, path); ok {
		return found, true
	}
	plain, err := url.PathUnescape(path) // RFC 6901, section 6
	if err != nil || plain == path {
		return nil, false
	}
	return follow(at, plain)
}

// follow returns the value at a JSON pointer, starting from at.
func follow(at any, path string) (any, bool) {
	for _, token := range strings.Split(path, "/")[1:] {
		token = strings.NewReplacer("~1", "/", "~0", "~").Replace(token)
		switch v := at.(type) {
		case *object:
			if !v.has(token) {
				return nil, false
			}
			at = v.values[token]
		case []any:
			i, err := strconv.Atoi(token)
			if err != nil || i < 0 || i >= len(v) {
				return nil, false
			}
			at = v[i]
		default:
			return nil, false
		}
	}
	return at, true
}

// findSchema returns the first schema that fits accepts.
func findSchema(v any, depth int, fits func(*object) bool) (any, bool) {
	if depth > maxDepth {
		return nil, false
	}
	var inside []any
	switch v := v.(type) {
	case *object:
		if fits(v) {
			return v, true
		}
		for _, key := range v.keys {
			inside = append(inside, v.values[key])
		}
	case []any:
		inside = v
	}
	for _, v := range inside {
		if found, ok := findSchema(v, depth+1, fits); ok {
			return found, true
		}
	}
	return nil, false
}
