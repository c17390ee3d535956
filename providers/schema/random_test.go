package schema

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
)

// Random schemas that combine any keywords are fitted to each target; many more of them with
// PARLEY_LONG=1.
func TestRandom(t *testing.T) {
	r, rounds := rand.New(rand.NewPCG(3, 4)), 100
	if os.Getenv("PARLEY_LONG") == "1" {
		rounds = 2000
	}
	for range rounds {
		raw := json.RawMessage(encode(random(r, 0)))
		for _, target := range targets {
			got := For(raw, target)
			for _, fault := range faults(target.Name, got) {
				t.Errorf("%s\nfor %s: %s\n%s", raw, target.Name, fault, got)
			}
			if again := For(got, target); string(again) != string(got) {
				t.Errorf("%s\nfor %s, twice is\n%s\nonce is\n%s", raw, target.Name, again, got)
			}
			if t.Failed() {
				return
			}
		}
	}
}

// random returns a random schema.
func random(r *rand.Rand, depth int) any {
	if r.IntN(12) == 0 {
		return r.IntN(2) == 0
	}
	s := newObject()
	var scalars = []any{"a", json.Number("1"), true, nil, newObject("x", json.Number("1")), ""}
	pick := func() any { return scalars[r.IntN(len(scalars))] }
	kinds := []any{"string", "integer", "number", "boolean", "object", "array", "null"}
	name := func() string { return []string{"a", "b", "c d", "$e"}[r.IntN(4)] }
	several := func(f func() any) []any {
		list := []any{}
		for range r.IntN(4) {
			list = append(list, f())
		}
		return list
	}
	inner := func() any {
		if depth > 1 {
			return newObject("type", kinds[r.IntN(len(kinds))])
		}
		return random(r, depth+1)
	}
	named := func(f func() any) *object {
		o := newObject()
		for range r.IntN(4) {
			o.set(name(), f())
		}
		return o
	}
	makers := map[string]func() any{
		"type": func() any {
			if r.IntN(2) == 0 {
				return kinds[r.IntN(len(kinds))]
			}
			return several(func() any { return kinds[r.IntN(len(kinds))] })
		},
		"enum": func() any { return several(pick) }, "const": pick, "default": pick, "format": func() any { return []string{"date", "uri", "int32"}[r.IntN(3)] },
		"minimum": func() any { return json.Number("1") }, "exclusiveMaximum": func() any { return json.Number("9.5") }, "multipleOf": func() any { return json.Number("2") },
		"minLength": func() any { return json.Number("1") }, "maxItems": func() any { return json.Number("1000") }, "uniqueItems": func() any { return true },
		"pattern": func() any { return []string{"^a$", "b", "(?=c)"}[r.IntN(3)] }, "nullable": func() any { return true },
		"properties": func() any { return named(inner) }, "required": func() any { return several(func() any { return name() }) },
		"additionalProperties": inner, "patternProperties": func() any { return newObject("^x", inner()) }, "propertyNames": inner,
		"items": inner, "prefixItems": func() any { return several(inner) }, "contains": inner,
		"anyOf": func() any { return several(inner) }, "oneOf": func() any { return several(inner) }, "allOf": func() any { return several(inner) },
		"not": inner, "if": inner, "then": inner, "dependentSchemas": func() any { return named(inner) },
		"$ref": func() any { return []string{"#", "#/properties/a", "#/anyOf/0", "#/gone"}[r.IntN(4)] }, "description": func() any { return []string{"", "d", "d [x]"}[r.IntN(3)] },
	}
	var keys []string
	for _, key := range []string{"type", "enum", "const", "default", "format", "minimum", "exclusiveMaximum", "multipleOf", "minLength", "maxItems", "uniqueItems",
		"pattern", "nullable", "properties", "required", "additionalProperties", "patternProperties", "propertyNames", "items", "prefixItems", "contains",
		"anyOf", "oneOf", "allOf", "not", "if", "then", "dependentSchemas", "$ref", "description"} {
		if r.IntN(9) == 0 || key == "type" && r.IntN(2) == 0 {
			keys = append(keys, key)
		}
	}
	r.Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
	for _, key := range keys {
		s.set(key, makers[key]())
	}
	return s
}

// Each assertion agrees with the jsonschema library: with values at its edges, for every kind of
// value.
func TestAssertions(t *testing.T) {
	keywords := map[string][]string{
		"type":              {`"string"`, `"integer"`, `"number"`, `"null"`, `["object","boolean"]`, `"array"`},
		"enum":              {`[1,"a",null]`, `[{"a":[1,{"b":2}],"c":-0.0}]`, `[[1,2],[]]`, `["1",true]`, `[{}]`},
		"const":             {`1`, `"a"`, `null`, `{"c":0,"a":[1.0,{"b":2}]}`, `[]`, `false`},
		"minimum":           {`1`, `-0.5`},
		"maximum":           {`1`, `1e300`},
		"exclusiveMinimum":  {`1`, `0`},
		"exclusiveMaximum":  {`1`, `2`},
		"minLength":         {`1`, `2`},
		"maxLength":         {`1`, `2`},
		"pattern":           {`"^a$"`, `"é|b"`},
		"minItems":          {`1`, `2`},
		"maxItems":          {`1`, `0`},
		"uniqueItems":       {`true`},
		"minProperties":     {`1`, `2`},
		"maxProperties":     {`1`, `0`},
		"required":          {`["a"]`, `["a","c"]`},
		"dependentRequired": {`{"a":["c"]}`, `{"c":["z","a"]}`},
	}
	values := []string{`null`, `true`, `false`, `0`, `-0.0`, `1`, `1.0`, `1.5`, `-3`, `1e308`, `1e400`, `12345678901234567890`, `""`, `"a"`, `"1"`, `"é"`, `"ab\n"`, `"null"`,
		`[]`, `[1]`, `[1,2]`, `[2,1]`, `[1,1.0]`, `[{"a":1,"b":2},{"b":2,"a":1}]`, `["1",1]`, `["a","b","a"]`, `[[],{}]`,
		`{}`, `{"a":1}`, `{"c":0,"a":[1,{"b":2}]}`, `{"a":[1,{"b":3}],"c":0}`, `{"c":1,"z":2}`, `{"a":1,"c":"[1]","z":null}`}
	for key := range assertions {
		if keywords[key] == nil && key != "multipleOf" {
			t.Errorf("%s is not held to anything", key)
		}
	}
	for key, wants := range keywords {
		for _, want := range wants {
			raw := json.RawMessage(`{"` + key + `":` + want + `}`)
			var theirs jsonschema.Schema
			if err := json.Unmarshal(raw, &theirs); err != nil {
				t.Fatal(string(raw), err)
			}
			resolved, err := theirs.Resolve(nil)
			if err != nil {
				t.Fatal(string(raw), err)
			}
			for _, text := range values {
				v, err := decode([]byte(text))
				if err != nil {
					t.Fatal(text, err)
				}
				if ours, theirs := Validate(raw, []byte(text)), resolved.Validate(plain(v)); (ours == nil) != (theirs == nil) {
					t.Errorf("%s: %s: %v, want %v", raw, text, ours, theirs)
				}
			}
		}
	}
}

// plain returns v in the types of encoding/json, which jsonschema accepts.
func plain(v any) any {
	switch v := v.(type) {
	case *object:
		m := make(map[string]any, len(v.keys))
		for key, value := range v.values {
			m[key] = plain(value)
		}
		return m
	case []any:
		list := make([]any, len(v))
		for i := range v {
			list[i] = plain(v[i])
		}
		return list
	case json.Number:
		f, _ := numberOf(v)
		return f
	}
	return v
}

// The jsonschema library agrees on every schema of the corpus that it supports.
func TestAgainstLibrary(t *testing.T) {
	n := 0
	for _, s := range corpus {
		var theirs jsonschema.Schema
		if json.Unmarshal([]byte(s.schema), &theirs) != nil {
			continue
		}
		switch s.name {
		case "reference to itself", "circle of references": // it overflows the stack
			continue
		case "numbers": // the library divides floats: 0.3 is not a multiple of 0.1
			continue
		case "OpenAPI", "enum at odds with its type", "tuple of draft 7", "dependencies": // interpreted by their meaning here, not by $schema
			continue
		}
		resolved, err := theirs.Resolve(nil)
		if err != nil {
			continue
		}
		for i, v := range append(s.good[:len(s.good):len(s.good)], s.bad...) {
			n++
			var value any
			if err := json.Unmarshal([]byte(v), &value); err != nil {
				t.Fatal(err)
			}
			if err := resolved.Validate(value); (err == nil) != (i < len(s.good)) {
				t.Errorf("%s: %s: %v", s.name, v, err)
			}
		}
	}
	if n < 100 {
		t.Errorf("only %d values were compared", n)
	}
}
