package schema

import (
	"encoding/json"
	"strconv"
	"strings"
)

// Bounds on the work for one schema, which can come from anywhere.
const (
	maxDepth  = 48   // of nested schemas
	maxNodes  = 4000 // after references are inlined
	maxSpread = 16   // branches of anyOf when two are merged
)

// A document is a schema with the targets of its references.
type document struct {
	raw   any                // as decoded
	root  *object            // cleaned
	refs  map[string]*object // cleaned targets by reference; nil if it leads nowhere
	nodes int                // schemas that canonical has made so far

	enums       map[*object]enumIndex  // by schema, made when a value is first checked
	expressions map[string]*expression // by pattern; nil if it cannot be compiled
}

// openDocument decodes a schema; false if raw is none.
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
	d := &document{raw: v, refs: map[string]*object{}, enums: map[*object]enumIndex{}, expressions: map[string]*expression{}}
	d.root = clean(v, 0)
	return d, true
}

// openDocumentOrObject decodes a schema, or {"type":"object"} if raw is none.
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

// lookUp returns the target of a $ref as decoded: a JSON pointer or an anchor.
func (d *document) lookUp(ref string) (any, bool) {
	path, local := strings.CutPrefix(ref, "#")
	if !local {
		return nil, false
	}
	if path != "" && path[0] != '/' {
		return findAnchor(d.raw, path, 0)
	}
	at := d.raw
	for _, token := range strings.Split(path, "/")[1:] {
		token = strings.NewReplacer("~1", "/", "~0", "~", "%25", "%", "%24", "$").Replace(token)
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

// findAnchor finds the schema with this $anchor, or the "#name" id of old drafts.
func findAnchor(v any, name string, depth int) (any, bool) {
	if depth > maxDepth {
		return nil, false
	}
	var inside []any
	switch v := v.(type) {
	case *object:
		if v.text("$anchor") == name || v.text("$id") == "#"+name {
			return v, true
		}
		for _, key := range v.keys {
			inside = append(inside, v.values[key])
		}
	case []any:
		inside = v
	}
	for _, v := range inside {
		if found, ok := findAnchor(v, name, depth+1); ok {
			return found, true
		}
	}
	return nil, false
}
