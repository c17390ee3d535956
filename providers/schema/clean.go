package schema

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Bounds on what a schema may cost, for it can come from anywhere.
const (
	maxDepth  = 48   // of nested schemas
	maxNodes  = 4000 // after references are inlined
	maxSpread = 16   // branches of anyOf when two are merged
)

// A doc is a schema with what its references lead to.
type doc struct {
	raw   any                // as it came
	root  *object            // cleaned
	refs  map[string]*object // cleaned targets by reference; nil: leads nowhere
	nodes int                // made so far by canonical

	listings    map[*object]listing    // of enums that a value was held against
	expressions map[string]*expression // by pattern; nil: none that can be held
}

// open reads a schema; false if raw is none.
func open(raw json.RawMessage) (*doc, bool) {
	v, err := decode(raw)
	if err != nil {
		return nil, false
	}
	switch v.(type) {
	case *object, bool:
	default:
		return nil, false
	}
	d := &doc{raw: v, refs: map[string]*object{}, listings: map[*object]listing{}, expressions: map[string]*expression{}}
	d.root = clean(v, 0)
	return d, true
}

// openOrObject reads a schema, or {"type":"object"} in place of what is none.
func openOrObject(raw json.RawMessage) *doc {
	d, ok := open(raw)
	if !ok {
		d, _ = open(json.RawMessage(`{"type":"object"}`))
	}
	return d
}

// resolve returns what a $ref leads to, nil if that is not in this document.
func (d *doc) resolve(ref string) *object {
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

func (d *doc) lookUp(ref string) (any, bool) {
	path, local := strings.CutPrefix(ref, "#")
	if !local {
		return nil, false
	}
	if path != "" && path[0] != '/' {
		return anchored(d.raw, path, 0)
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

// anchored finds the schema with this $anchor, or the "#name" id of old drafts.
func anchored(v any, name string, depth int) (any, bool) {
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
		if found, ok := anchored(v, name, depth+1); ok {
			return found, true
		}
	}
	return nil, false
}

// A shape is what the value of a keyword must be. It returns the value cleaned,
// or false if it is malformed and the keyword says nothing.
type shape func(v any, depth int) (any, bool)

// shapeOf returns the shape of a keyword of the canonical form; nil for all
// others, which are notes to tools and go: $schema, $id, $comment, x-….
func shapeOf(key string) shape {
	switch key {
	case "$ref", "description", "title", "format":
		return text
	case "type":
		return types
	case "const", "default":
		return anything
	case "enum", "examples":
		return list
	case "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum":
		return number
	case "multipleOf":
		return positive
	case "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties", "minContains", "maxContains":
		return count
	case "pattern":
		return pattern
	case "uniqueItems":
		return set
	case "required":
		return names
	case "dependentRequired":
		return namesOf
	case "items", "contains", "additionalProperties", "propertyNames", "not", "if", "then", "else":
		return sub
	case "anyOf", "oneOf", "allOf", "prefixItems":
		return subs
	case "properties", "dependentSchemas":
		return subsOf
	case "patternProperties":
		return patterns
	}
	return nil
}

// clean returns a copy of the schema v with its keywords in the shape that
// 2020-12 gives them: those of older drafts and of OpenAPI respelled, malformed
// ones left out. References are left as they are.
func clean(v any, depth int) *object {
	in, ok := v.(*object)
	switch {
	case v == false:
		return newObject("not", newObject())
	case !ok || depth > maxDepth:
		return newObject()
	}
	in = respell(in)
	out := newObject()
	for _, key := range in.keys {
		shape := shapeOf(key)
		if shape == nil {
			continue
		}
		if value, ok := shape(in.values[key], depth+1); ok {
			out.set(key, value)
		}
	}
	if !out.has("if") {
		out.delete("then", "else")
	}
	settle(out)
	return out
}

// respell turns what older drafts and OpenAPI write into 2020-12.
func respell(in *object) *object {
	s := in.copy()
	if tuple, ok := s.values["items"].([]any); ok {
		s.delete("items")
		s.set("prefixItems", tuple)
		if s.has("additionalItems") {
			s.set("items", s.values["additionalItems"])
		}
	}
	for _, bound := range []string{"inimum", "aximum"} { // draft 4: {"minimum":0,"exclusiveMinimum":true}
		exclusive := "exclusiveM" + bound
		if s.values[exclusive] == true && s.has("m"+bound) {
			s.set(exclusive, s.values["m"+bound])
			s.delete("m" + bound)
		}
	}
	if o := s.object("dependencies"); o != nil {
		for _, key := range o.keys {
			under := "dependentSchemas"
			if _, ok := o.values[key].([]any); ok {
				under = "dependentRequired"
			}
			if s.object(under) == nil {
				s.set(under, newObject())
			}
			into := s.object(under).copy()
			into.set(key, o.values[key])
			s.set(under, into)
		}
	}
	if s.has("example") && !s.has("examples") {
		s.set("examples", []any{s.values["example"]})
	}
	if s.values["nullable"] == true {
		nullable(s)
	}
	return s
}

// nullable lets null pass in s, whose keywords need not be clean.
func nullable(s *object) {
	if enum := s.list("enum"); enum != nil && !slices.Contains(enum, nil) {
		s.set("enum", append(slices.Clip(enum), nil))
	}
	if s.has("const") && s.values["const"] != nil {
		s.set("enum", []any{s.values["const"], nil})
		s.delete("const")
	}
	switch t := s.values["type"].(type) {
	case string:
		if t != "null" {
			s.set("type", []any{t, "null"})
		}
	case []any:
		if !slices.Contains(t, any("null")) {
			s.set("type", append(slices.Clip(t), "null"))
		}
	}
	for _, key := range []string{"anyOf", "oneOf"} {
		branches := s.list(key)
		if branches != nil && !slices.ContainsFunc(branches, func(v any) bool {
			b, ok := v.(*object)
			return ok && (len(b.keys) == 0 || takes(b, "null"))
		}) {
			s.set(key, append(slices.Clip(branches), newObject("type", "null")))
		}
	}
}

// settle drops what the type of s rules out anyhow: keywords for other types and
// values of enum, and those that are repeated.
func settle(s *object) {
	for _, key := range slices.Clone(s.keys) {
		only := keywordType(key)
		if only != "" && !takes(s, only) && !(only == "number" && takes(s, "integer")) ||
			key == "const" && !fitsType(s, s.values[key]) {
			s.delete(key)
		}
	}
	enum := s.list("enum")
	if enum == nil {
		return
	}
	var kept []any
	seen := map[string]bool{}
	for _, v := range enum {
		if key := string(encode(v)); !seen[key] && fitsType(s, v) {
			seen[key] = true
			kept = append(kept, v)
		}
	}
	if len(kept) == 0 {
		s.delete("enum")
		return
	}
	s.set("enum", kept)
}

// typesOf lists the types that s names; none means any.
func typesOf(s *object) []string {
	switch t := s.values["type"].(type) {
	case string:
		return []string{t}
	case []any:
		var all []string
		for _, v := range t {
			if name, ok := v.(string); ok {
				all = append(all, name)
			}
		}
		return all
	}
	return nil
}

// takes reports whether the type of s lets values of this kind pass.
func takes(s *object, kind string) bool {
	all := typesOf(s)
	return all == nil || slices.Contains(all, kind)
}

func fitsType(s *object, v any) bool {
	all := typesOf(s)
	k := kind(v)
	return all == nil || slices.Contains(all, k) ||
		k == "number" && slices.Contains(all, "integer") && integral(v.(json.Number))
}

func integral(n json.Number) bool {
	f, _ := n.Float64() // beyond what a float holds, all are whole
	return f == math.Trunc(f)
}

// misnamed are types as people who think in another language write them.
var misnamed = map[string]string{
	"str": "string", "text": "string", "int": "integer", "long": "integer", "float": "number", "double": "number",
	"bool": "boolean", "list": "array", "dict": "object", "map": "object", "none": "null", "nil": "null",
}

func types(v any, _ int) (any, bool) {
	var all []any
	for _, name := range typesOf(newObject("type", v)) {
		name = strings.ToLower(name)
		if right, ok := misnamed[name]; ok {
			name = right
		}
		switch name {
		case "string", "integer", "number", "boolean", "object", "array", "null":
			if !slices.Contains(all, any(name)) {
				all = append(all, name)
			}
		default:
			return nil, false // "any", "file", …: no constraint that can be held
		}
	}
	if len(all) == 1 {
		return all[0], true
	}
	return all, len(all) > 0
}

func text(v any, _ int) (any, bool) {
	_, ok := v.(string)
	return v, ok
}

func anything(v any, _ int) (any, bool) { return v, true }

func list(v any, _ int) (any, bool) {
	l, _ := v.([]any)
	return l, len(l) > 0
}

func set(v any, _ int) (any, bool) { return v, v == true }

// float is v as a number, if it is a finite one.
func float(v any) (float64, bool) {
	n, ok := v.(json.Number)
	if !ok {
		return 0, false
	}
	f, err := n.Float64()
	return f, err == nil
}

func number(v any, _ int) (any, bool) {
	_, ok := float(v)
	return v, ok
}

func positive(v any, _ int) (any, bool) {
	f, ok := float(v)
	return v, ok && f > 0
}

func count(v any, _ int) (any, bool) {
	f, ok := float(v)
	if !ok || f < 0 || f != math.Trunc(f) || f > 1<<40 {
		return nil, false
	}
	return json.Number(strconv.FormatInt(int64(f), 10)), true
}

func names(v any, _ int) (any, bool) {
	l, _ := v.([]any)
	var all []any
	for _, v := range l {
		if _, ok := v.(string); ok && !slices.Contains(all, v) {
			all = append(all, v)
		}
	}
	return all, len(all) > 0
}

func namesOf(v any, depth int) (any, bool) {
	return each(v, func(_ string, v any) (any, bool) { return names(v, depth) })
}

func sub(v any, depth int) (any, bool) {
	switch v.(type) {
	case *object, bool:
		return clean(v, depth), true
	}
	return nil, false
}

func subs(v any, depth int) (any, bool) {
	l, _ := v.([]any)
	var all []any
	for _, v := range l {
		if s, ok := sub(v, depth); ok {
			all = append(all, s)
		}
	}
	return all, len(all) > 0
}

func subsOf(v any, depth int) (any, bool) {
	return each(v, func(_ string, v any) (any, bool) { return sub(v, depth) })
}

func patterns(v any, depth int) (any, bool) {
	return each(v, func(key string, v any) (any, bool) {
		if _, ok := compile(key); !ok {
			return nil, false
		}
		return sub(v, depth)
	})
}

func each(v any, f func(key string, v any) (any, bool)) (any, bool) {
	o, ok := v.(*object)
	if !ok {
		return nil, false
	}
	out := newObject()
	for _, key := range o.keys {
		if value, ok := f(key, o.values[key]); ok {
			out.set(key, value)
		}
	}
	return out, true
}

// pattern keeps patterns that Go cannot read as well: providers may.
func pattern(v any, _ int) (any, bool) {
	s, ok := v.(string)
	return v, ok && s != ""
}
