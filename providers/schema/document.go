package schema

import (
	"encoding/json"
	"strconv"
	"strings"
)

// Bounds on what a schema may cost, for it can come from anywhere.
const (
	maxDepth  = 48   // of nested schemas
	maxNodes  = 4000 // after references are inlined
	maxSpread = 16   // branches of anyOf when two are merged
)

// A document is a schema with what its references lead to.
type document struct {
	raw   any                // as it came
	root  *object            // cleaned
	refs  map[string]*object // cleaned targets by reference; nil: leads nowhere
	nodes int                // made so far by canonical

	enums       map[*object]enumIndex  // of enums that a value was held against
	expressions map[string]*expression // by pattern; nil: none that can be held
}

// openDocument reads a schema; false if raw is none.
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

// openDocumentOrObject reads a schema, or {"type":"object"} in place of what is none.
func openDocumentOrObject(raw json.RawMessage) *document {
	d, ok := openDocument(raw)
	if !ok {
		d, _ = openDocument(json.RawMessage(`{"type":"object"}`))
	}
	return d
}

// resolve returns what a $ref leads to, nil if that is not in this document.
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
