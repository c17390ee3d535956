package schema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	_ "parley/providers/llmtest/heap"
)

var targets = []Target{OpenAI, OpenAIStrict, Gemini, Anthropic, AnthropicAnswer, XAI, Kimi, Grammar}

// Every schema of the corpus, fitted to each target, follows its rules; fitting it again changes
// nothing, and the original is not modified.
func TestCorpus(t *testing.T) {
	if len(corpus) < 50 {
		t.Errorf("only %d schemas", len(corpus))
	}
	for _, s := range corpus {
		for _, target := range targets {
			raw := json.RawMessage(s.schema)
			got := For(raw, target)
			if string(raw) != s.schema {
				t.Fatalf("%s: the original became %s", s.name, raw)
			}
			for _, fault := range faults(target.Name, got) {
				t.Errorf("%s for %s: %s\n%s", s.name, target.Name, fault, got)
			}
			if again := For(got, target); string(again) != string(got) {
				t.Errorf("%s for %s: twice is\n%s\nonce is\n%s", s.name, target.Name, again, got)
			}
		}
	}
}

// faults lists the errors in a schema by the rules of a provider, according to its documentation
// and error messages.
func faults(target string, raw json.RawMessage) []string {
	v, err := decode(raw)
	root, ok := v.(*object)
	if err != nil || !ok {
		return []string{fmt.Sprint("no object: ", err)}
	}
	var found []string
	if target != "grammar" {
		if root.text("type") != "object" {
			found = append(found, "the root is no object")
		}
		for _, key := range []string{"anyOf", "oneOf", "enum", "not", "const"} {
			if root.has(key) {
				found = append(found, key+" at the root")
			}
		}
		if target != "gemini-openapi" && root.object("properties") == nil {
			found = append(found, "no properties at the root")
		}
	}
	walk(root, "#", func(path string, s *object) {
		for _, fault := range slices.Concat(generalFaults(s), ruleFaults(target, s, path == "#")) {
			found = append(found, path+": "+fault)
		}
	})
	return found
}

// walk visits s and every schema in it.
func walk(s *object, path string, visit func(path string, s *object)) {
	visit(path, s)
	for _, key := range s.keys {
		switch v := s.values[key].(type) {
		case *object:
			if key == "properties" {
				for _, name := range v.keys {
					if p, ok := v.values[name].(*object); ok {
						walk(p, path+"/"+key+"/"+name, visit)
					} else {
						visit(path+"/"+key+"/"+name, newObject("boolean", v.values[name]))
					}
				}
			} else if key == "items" || key == "additionalProperties" { // the others are conditions, described unchanged
				walk(v, path+"/"+key, visit)
			}
		case []any:
			for i, b := range v {
				if b, ok := b.(*object); ok && isSchemaKey(key) {
					walk(b, fmt.Sprint(path, "/", key, "/", i), visit)
				}
			}
		case bool:
			if isSchemaKey(key) && key != "additionalProperties" || key == "additionalProperties" && v {
				visit(path+"/"+key, newObject("boolean", v))
			}
		}
	}
}

var allowed = strings.Fields(`type description title format pattern enum const default examples nullable
	minimum maximum exclusiveMinimum exclusiveMaximum multipleOf minLength maxLength minItems maxItems uniqueItems
	minProperties maxProperties contains minContains maxContains items properties required additionalProperties
	patternProperties propertyNames dependentRequired dependentSchemas anyOf oneOf not if then else`)

func generalFaults(s *object) (found []string) {
	for _, key := range s.keys {
		if !slices.Contains(allowed, key) {
			found = append(found, "has "+key)
		}
	}
	properties := s.object("properties")
	for _, name := range textsOf(s.list("required")) {
		if properties == nil || !properties.has(name) {
			found = append(found, "requires "+name+", which is no property")
		}
	}
	if s.has("enum") && len(s.list("enum")) == 0 {
		found = append(found, "empty enum")
	}
	seen := map[string]bool{}
	for _, v := range s.list("enum") {
		if seen[string(encode(v))] {
			found = append(found, "enum has a value twice")
		}
		seen[string(encode(v))] = true
	}
	if slices.Contains(typesOf(s), "array") && s.object("items") == nil {
		found = append(found, "array without items")
	}
	for _, key := range []string{"anyOf", "oneOf"} {
		if s.has(key) && len(s.list(key)) == 0 {
			found = append(found, "empty "+key)
		}
	}
	return found
}

// has reports which of the keywords are there.
func has(s *object, keywords string) (found []string) {
	for _, key := range strings.Fields(keywords) {
		if s.has(key) {
			found = append(found, "has "+key)
		}
	}
	return found
}

func ruleFaults(target string, s *object, root bool) (found []string) {
	typed := s.has("type") || s.has("anyOf") || s.has("oneOf")
	isObject := slices.Contains(typesOf(s), "object")
	switch target {
	case "openai-strict":
		found = has(s, "oneOf not if then else patternProperties propertyNames minLength maxLength default nullable contains")
		if isObject {
			found = append(found, strictFaults(s)...)
		}
		if f := s.text("format"); f == "uri" || f == "color" || f == "int64" {
			found = append(found, "format "+f)
		}
		if strings.Contains(s.text("pattern"), "(?!") {
			found = append(found, "look-ahead")
		}
	case "gemini":
		found = has(s, "const not if oneOf")
	case "gemini-openapi":
		found = has(s, "const oneOf additionalProperties exclusiveMinimum exclusiveMaximum not default examples patternProperties")
		if _, list := s.values["type"].([]any); list {
			found = append(found, "list of types")
		}
		if s.has("anyOf") && len(s.keys) > 1 && !(len(s.keys) == 2 && s.has("description")) {
			found = append(found, "something beside anyOf")
		}
		for _, v := range s.list("enum") {
			if _, ok := v.(string); !ok || s.text("format") != "enum" {
				found = append(found, "enum of other than strings")
			}
		}
		if isObject && !root && (s.object("properties") == nil || len(s.object("properties").keys) == 0) {
			found = append(found, "object without properties")
		}
	case "anthropic", "anthropic-answer":
		for _, name := range keysOf(s.object("properties")) {
			if !regexp.MustCompile(`^[a-zA-Z0-9_.-]{1,64}$`).MatchString(name) {
				found = append(found, "property "+name)
			}
		}
		if target == "anthropic-answer" {
			found = append(found, has(s, "minimum maximum multipleOf minLength maxLength maxItems oneOf not if")...)
			if isObject && s.values["additionalProperties"] != false {
				found = append(found, "open object")
			}
		}
	case "xai":
		found = has(s, "minLength maxLength minItems maxItems")
		if s.values["additionalProperties"] == false {
			found = append(found, "closed object")
		}
	case "kimi":
		if s.has("anyOf") && s.has("type") {
			found = append(found, "type beside anyOf")
		}
	case "grammar":
		if p := s.text("pattern"); p != "" && (p[0] != '^' || !strings.HasSuffix(p, "$") || strings.Contains(p, "(?!")) {
			found = append(found, "pattern "+p)
		}
		if f, _ := toFloat(s.values["maxLength"]); f > 500 {
			found = append(found, "large maxLength")
		}
	}
	if slices.Contains([]string{"kimi", "openai-strict", "anthropic-answer", "gemini-openapi"}, target) && !typed {
		found = append(found, "no type")
	}
	return found
}

func strictFaults(s *object) (found []string) {
	if s.values["additionalProperties"] != false {
		found = append(found, "open object")
	}
	for _, name := range keysOf(s.object("properties")) {
		if !slices.Contains(s.list("required"), any(name)) {
			found = append(found, name+" is not required")
		}
	}
	return found
}

func TestValidate(t *testing.T) {
	for _, s := range corpus {
		for _, v := range s.good {
			if err := Validate(json.RawMessage(s.schema), []byte(v)); err != nil {
				t.Errorf("%s: %s is refused: %v", s.name, v, err)
			}
		}
		for _, v := range s.bad {
			if Validate(json.RawMessage(s.schema), []byte(v)) == nil {
				t.Errorf("%s: %s passes", s.name, v)
			}
		}
	}
}

// Every value that the original allows is allowed by the fitted schema.
func TestNothingForbidden(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	tried := 0
	for _, s := range corpus {
		raw := json.RawMessage(s.schema)
		values := slices.Clone(s.good)
		canonical := openDocumentOrObject(raw).canonical()
		for range 10 {
			if v := string(encode(invent(r, canonical, 0))); Validate(raw, []byte(v)) == nil {
				values = append(values, v)
			}
		}
		for _, target := range []Target{OpenAI, Gemini, Anthropic, XAI, Kimi, Grammar} {
			fitted := For(raw, target)
			for _, v := range values {
				tried++
				v = spelledFor(target, s.schema, v)
				if err := Validate(fitted, []byte(v)); err != nil && !narrowed(s.name, target.Name) {
					t.Errorf("%s for %s forbids %s: %v\n%s", s.name, target.Name, v, err, fitted)
				}
			}
		}
	}
	if tried < 1000 {
		t.Errorf("only %d values were tried", tried)
	}
}

// narrowed reports samples that a target cannot express completely, such as lists of anything
// where every schema needs a type.
func narrowed(sample, target string) bool {
	switch sample {
	case "reference to itself", "circle of references": // replaced with {"type":"object"}
		return true
	case "array without items", "reference into nowhere", "boolean schemas", "sloppy", "contains":
		return target == "kimi"
	}
	return false
}

// spelledFor returns v in the form that a model writes for the target.
func spelledFor(target Target, raw, v string) string {
	if !target.ObjectRoot {
		return v
	}
	value, _ := decode([]byte(v))
	if o, ok := value.(*object); ok {
		if !target.PortableKeys {
			return v
		}
		out := newObject()
		for _, name := range o.keys {
			out.set(portableKey(name), o.values[name])
		}
		if properties := openDocumentOrObject(json.RawMessage(raw)).root.object("properties"); properties != nil {
			return string(encode(out))
		}
		return v
	}
	return `{"value":` + v + `}`
}

// invent returns a random value that s may allow.
func invent(r *rand.Rand, s *object, depth int) any {
	if v := values(s); v != nil {
		return v[r.IntN(len(v))]
	}
	if branches := slices.Concat(s.list("anyOf"), s.list("oneOf")); len(branches) > 0 && r.IntN(4) > 0 {
		return invent(r, merge(branches[r.IntN(len(branches))].(*object), withoutKeys(s, "anyOf", "oneOf")), depth)
	}
	kinds := typesOf(s)
	if kinds == nil {
		kinds = []string{"object", "string", "integer"}
		if s.has("properties") {
			kinds = kinds[:1]
		}
	}
	switch kinds[r.IntN(len(kinds))] {
	case "object":
		o := newObject()
		for _, name := range keysOf(s.object("properties")) {
			if r.IntN(3) > 0 && depth < 6 || slices.Contains(s.list("required"), any(name)) {
				o.set(name, invent(r, s.object("properties").object(name), depth+1))
			}
		}
		if extra := s.object("additionalProperties"); extra != nil && !isFalse(extra) && depth < 6 {
			o.set("extra", invent(r, extra, depth+1))
		}
		return o
	case "array":
		list := []any{}
		for _, p := range s.list("prefixItems") {
			list = append(list, invent(r, p.(*object), depth+1))
		}
		for range r.IntN(3) {
			if items := s.object("items"); items != nil && depth < 6 {
				list = append(list, invent(r, items, depth+1))
			}
		}
		return list
	case "string":
		return []string{"", "a", "ab", "x-1", "ünï\n", "2026-01-01", "\"<&>"}[r.IntN(7)]
	case "integer":
		return json.Number(fmt.Sprint(r.IntN(20)))
	case "number":
		return json.Number(fmt.Sprint(float64(r.IntN(40)) / 4))
	case "boolean":
		return r.IntN(2) == 0
	}
	return nil
}

// A value written for strict mode, with null for each omitted property, becomes valid again.
func TestStrict(t *testing.T) {
	n := 0
	for _, s := range corpus {
		raw := json.RawMessage(s.schema)
		strict := For(raw, OpenAIStrict)
		if strings.Contains(string(strict), "written as text") || s.name == "required without property" {
			continue // no strict schema requires these
		}
		for _, v := range s.good {
			value, _ := decode([]byte(v))
			root, _ := decode(strict)
			filled := encode(fill(root.(*object), value))
			if Validate(strict, filled) != nil {
				continue // strict mode cannot express everything, see TestCorpus
			}
			n++
			if err := Validate(raw, Coerce(raw, filled)); err != nil {
				t.Errorf("%s: %s became %s: %v", s.name, filled, Coerce(raw, filled), err)
			}
		}
	}
	if n < 30 {
		t.Errorf("only %d values could be written in strict mode", n)
	}
}

// fill writes null for each required property that v leaves out.
func fill(s *object, v any) any {
	o, ok := v.(*object)
	if list, isList := v.([]any); isList && s.object("items") != nil {
		out := slices.Clone(list)
		for i := range out {
			out[i] = fill(s.object("items"), out[i])
		}
		return out
	}
	if !ok || s.object("properties") == nil {
		return v
	}
	out := newObject()
	for _, name := range s.object("properties").keys {
		out.set(name, fill(s.object("properties").object(name), o.values[name]))
	}
	return out
}

func TestFor(t *testing.T) {
	tests := []struct {
		name, in string
		target   Target
		want     string
	}{
		{"nonsense", `nonsense`, OpenAI, `{"type":"object","properties":{}}`},
		{"nonsense for a grammar", `[1]`, Grammar, `{"type":"object"}`},
		{"strict", `{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"integer","default":5}},"required":["a"]}`, OpenAIStrict,
			`{"type":"object","properties":{"a":{"type":"string"},"b":{"type":["integer","null"],"description":"[default 5]"}},"required":["a","b"],"additionalProperties":false}`},
		{"free object", `{"type":"object","properties":{"m":{"type":"object"}},"required":["m"]}`, OpenAIStrict,
			`{"type":"object","properties":{"m":{"type":"string","description":"[a JSON object, written as text]"}},"required":["m"],"additionalProperties":false}`},
		{"root array", `{"type":"array","items":{"type":"string"}}`, OpenAI,
			`{"type":"object","properties":{"value":{"type":"array","items":{"type":"string"}}},"required":["value"]}`},
		{"lost constraints", `{"type":"object","properties":{"s":{"type":"string","description":"A name.","minLength":2,"maxLength":9}}}`, XAI,
			`{"type":"object","properties":{"s":{"type":"string","description":"A name. [at least 2 characters; at most 9 characters]"}}}`},
		{"type beside anyOf", `{"type":"object","properties":{"v":{"type":"string","anyOf":[{"minLength":2},{"pattern":"^x"}]}}}`, Kimi,
			`{"type":"object","properties":{"v":{"anyOf":[{"type":"string","minLength":2},{"type":"string","pattern":"^x"}]}}}`},
		{"order of properties", `{"type":"object","properties":{"z":{"type":"string"},"a":{"type":"string"}}}`, Anthropic,
			`{"type":"object","properties":{"z":{"type":"string"},"a":{"type":"string"}}}`},
		{"large counts", `{"type":"string","maxLength":9000}`, Grammar, `{"type":"string","description":"[at most 9000 characters]"}`},
		{"sets of required properties", `{"type":"object","properties":{"o":{"properties":{"a":{},"b":{}},"anyOf":[{"required":["a"]},{"required":["b","a"]}]}}}`, Anthropic,
			`{"type":"object","properties":{"o":{"properties":{"a":{},"b":{}},"description":"[give one of these sets of properties: a; or b, a]"}}}`},
		{"an object as text, constant", `{"type":"object","properties":{"o":{"type":"object","const":{"a":1}}},"required":["o"]}`, OpenAIStrict,
			`{"type":"object","properties":{"o":{"type":"string","const":"{\"a\":1}","description":"[a JSON object, written as text]"}},"required":["o"],"additionalProperties":false}`},
		{"an object as text, listed", `{"type":"object","properties":{"o":{"enum":[{"a":1},5]}},"required":["o"]}`, OpenAIStrict,
			`{"type":"object","properties":{"o":{"enum":["{\"a\":1}",5],"type":["string","number"],"description":"[a JSON object, written as text]"}},"required":["o"],"additionalProperties":false}`},
		{"keywords of other types", `{"type":"object","properties":{"s":{"type":"string","const":5},"t":{"type":"string","minimum":5},"i":{"type":"integer","minimum":5}}}`, OpenAI,
			`{"type":"object","properties":{"s":{"type":"string"},"t":{"type":"string"},"i":{"type":"integer","minimum":5}}}`},
		{"all of some bounds", `{"allOf":[{"minimum":1,"maximum":8},{"minimum":2,"maximum":9},{"minimum":0}]}`, Target{}, `{"minimum":2,"maximum":8}`},
		{"all of some values", `{"allOf":[{"enum":[1,2,3]},{"enum":[4,3,2]}]}`, Target{}, `{"enum":[2,3]}`},
		{"all of values that exclude each other", `{"allOf":[{"enum":[1,2]},{"enum":[3,4]}]}`, Target{}, `{"enum":[1,2]}`},
		{"all of some branches", `{"allOf":[{"anyOf":[{"type":"string"},{"type":"integer"}]},{"anyOf":[{"minLength":1},{"minimum":1}]}]}`, Target{},
			`{"anyOf":[{"type":"string","minLength":1},{"type":"string"},{"type":"integer"},{"type":"integer","minimum":1}]}`},
		{"no type", `{"type":"object","properties":{"v":{}}}`, Kimi,
			`{"type":"object","properties":{"v":{"anyOf":[{"type":"array","items":{"type":"string"}},{"type":"string"},{"type":"number"},{"type":"boolean"},{"type":"object"},{"type":"null"}]}}}`},
		{"one branch, a tuple", `{"oneOf":[{"prefixItems":[{"type":"string"},{"type":"integer"}]}]}`, Target{}, `{"description":"[items in this order: string, integer]","items":{}}`},
		{"a branch that allows everything", `{"anyOf":[{"type":"string"},{}]}`, Target{}, `{}`},
		{"closed objects at the root", `{"anyOf":[{"properties":{"a":{"enum":[1],"type":"integer"}},"required":["a"],"additionalProperties":false},{"properties":{"a":{"const":"x","type":"string"}},"required":["a"],"additionalProperties":false}]}`, OpenAI,
			`{"properties":{"a":{"enum":[1,"x"],"type":["integer","string"]}},"required":["a"],"additionalProperties":false,"type":"object"}`},
		{"sets of properties at the root", `{"anyOf":[{"properties":{"a":{}},"required":["a"],"additionalProperties":false},{"properties":{"b":{}},"required":["b"]}]}`, OpenAI,
			`{"properties":{"a":{},"b":{}},"description":"[give one of these sets of properties: a; or b]","type":"object"}`},
	}
	for _, tt := range tests {
		if got := string(For(json.RawMessage(tt.in), tt.target)); got != tt.want {
			t.Errorf("%s:\ngot  %s\nwant %s", tt.name, got, tt.want)
		}
	}
}

func TestErrors(t *testing.T) {
	const s = `{"type":"object","properties":{"path":{"type":"string"},"limit":{"type":"integer","minimum":1},"mode":{"enum":["a","b"]},
		"items":{"type":"array","items":{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}},
		"to":{"anyOf":[{"type":"string"},{"type":"object","properties":{"x":{"type":"number"}},"required":["x"]}]}},"required":["path"],"additionalProperties":false}`
	tests := []struct{ value, want string }{
		{`{"path":"a"}`, ``},
		{`{}`, `path: missing, expected string`},
		{`[]`, `expected object, got an array of 0 items`},
		{`{"path":"a","limit":"x","mode":"c"}`, `limit: expected integer, got string "x"; mode: expected one of "a", "b", got string "c"`},
		{`{"path":"a","limit":0}`, `limit: expected at least 1, got number 0`},
		{`{"path":"a","items":[{"name":"x"},{}]}`, `items[1].name: missing, expected string`},
		{`{"path":"a","to":5}`, `to: expected string or object, got number 5`},
		{`{"path":"a","to":{"x":"y"}}`, `to.x: expected number, got string "y"`},
		{`{"path":"a","patth":1}`, `patth: unexpected property, there are path, limit, mode, items, to`},
		{`{"path":"a","x y":1}`, `["x y"]: unexpected property, there are path, limit, mode, items, to`},
		{`{"path":`, `not valid JSON at byte 8: unexpected end of JSON input`},
	}
	for _, tt := range tests {
		got := ""
		if err := Validate(json.RawMessage(s), []byte(tt.value)); err != nil {
			got = err.Error()
		}
		if got != tt.want {
			t.Errorf("%s:\ngot  %s\nwant %s", tt.value, got, tt.want)
		}
	}
	for _, tt := range []struct{ schema, value, want string }{
		{`{"contains":{"type":"integer"}}`, `["a"]`, `0 items fit integer, expected at least 1`},
		{`{"contains":{"type":"integer"},"minContains":2}`, `[1]`, `1 items fit integer, expected at least 2`},
		{`{"contains":{"type":"integer"},"maxContains":1}`, `[1,2]`, `2 items fit integer, expected at most 1`},
		{`{"contains":{"type":"integer"},"minContains":0}`, `[]`, ``},
		{`{"prefixItems":[{"type":"string"},{"$ref":"#/prefixItems/0"},{"$ref":"#/prefixItems/4"},{"$ref":"#/prefixItems/-1"}]}`, `["a",1,2,3]`, `[1]: expected string, got number 1`},
		{`{"anyOf":[{"type":"object","required":["a"]},{"type":"object","required":["b"]}]}`, `{}`, `a: missing`},
		{`{"anyOf":[{"$ref":"#/$defs/s"},{"type":"object"}],"$defs":{"s":{"type":"string"}}}`, `1`, `expected string or object, got number 1`},
	} {
		got := ""
		if err := Validate(json.RawMessage(tt.schema), []byte(tt.value)); err != nil {
			got = err.Error()
		}
		if got != tt.want {
			t.Errorf("%s, %s:\ngot  %s\nwant %s", tt.schema, tt.value, got, tt.want)
		}
	}
	many := `{"path":1,` + strings.Repeat(`"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx":1,`, 1) + `"items":[` + strings.Repeat(`{},`, 99) + `{}]}`
	if err := Validate(json.RawMessage(s), []byte(many)); err == nil || len(err.Error()) > 1000 {
		t.Errorf("the error of a value with many problems is %v", err)
	}
}

// A root that is not an object is sent wrapped in one, and unwrapped in the result.
func TestCoerceRoot(t *testing.T) {
	tests := []struct{ schema, in, want string }{
		{`{"type":"integer"}`, `{"value":7}`, `7`},
		{`{"type":"integer"}`, `{"value":"7"}`, `{"value":"7"}`},
		{`{"type":"integer"}`, `{"value":7.5}`, `{"value":7.5}`},
		{`{"type":"number"}`, `{"value":7.5}`, `7.5`},
		{`{"enum":["yes","no"]}`, `{"value":"yes"}`, `"yes"`},
		{`{"enum":["yes","no"]}`, `{"value":"maybe"}`, `{"value":"maybe"}`},
		{`{"const":{"value":"x"}}`, `{"value":"x"}`, `{"value":"x"}`},
		// The bare value gets its other errors; the wrapped one, that it is an object.
		{`{"type":"array","items":{"type":"string"},"minItems":2}`, `{"value":["a"]}`, `["a"]`},
		{`{"type":"array","items":{"type":"integer"},"minItems":3}`, `{"value":["1","b"]}`, `[1,"b"]`},
		{`{"type":"array","items":{"type":"object","required":["a","b"]}}`, `{"value":[{},{}]}`, `[{},{}]`},
		{`{"type":"object","properties":{"a":{"type":"integer"},"b":{}},"required":["a","b"]}`, `"{\"a\":\"x\"}"`, `{"a":"x"}`},
	}
	for _, tt := range tests {
		if got := string(Coerce(json.RawMessage(tt.schema), []byte(tt.in))); got != tt.want {
			t.Errorf("%s: %s: got %s, want %s", tt.schema, tt.in, got, tt.want)
		}
	}
}

func TestCoerce(t *testing.T) {
	const s = `{"type":"object","properties":{"n":{"type":"integer"},"f":{"type":"number"},"b":{"type":"boolean"},"s":{"type":"string"},
		"o":{"type":"object","properties":{"x":{"type":"integer"}},"required":["x"]},"l":{"type":"array","items":{"type":"integer"}},
		"e":{"enum":["red","green"]},"maybe":{"type":["string","null"]},"u":{"anyOf":[{"type":"integer"},{"type":"array","items":{"type":"string"}}]},
		"größe":{"type":"number"},"r":{"$ref":"#/properties/n"},"nowhere":{"$ref":"#/x"}},"required":["s"],"additionalProperties":false}`
	tests := []struct{ name, in, want string }{
		{"valid is left alone", `{ "s" : "5" }`, `{ "s" : "5" }`},
		{"number", `{"s":"a","n":"5","f":" 1.50 "}`, `{"s":"a","n":5,"f":1.50}`},
		{"whole number", `{"s":"a","n":"5.0"}`, `{"s":"a","n":5}`},
		{"large number", `{"s":"a","n":"12345678901234567890"}`, `{"s":"a","n":12345678901234567890}`},
		{"no number", `{"s":"a","n":"five"}`, `{"s":"a","n":"five"}`},
		{"no whole number", `{"s":"a","n":"5.5"}`, `{"s":"a","n":"5.5"}`},
		{"boolean", `{"s":"a","b":"True"}`, `{"s":"a","b":true}`},
		{"text", `{"s":5}`, `{"s":"5"}`},
		{"object in a string", `{"s":"a","o":"{\"x\":\"1\"}"}`, `{"s":"a","o":{"x":1}}`},
		{"Python in a string", `{"s":"a","o":"{'x': 1,}"}`, `{"s":"a","o":{"x":1}}`},
		{"array in a string", `{"s":"a","l":"[1,\"2\"]"}`, `{"s":"a","l":[1,2]}`},
		{"one for many", `{"s":"a","l":"7"}`, `{"s":"a","l":[7]}`},
		{"null for an optional property", `{"s":"a","n":null,"maybe":null}`, `{"s":"a","maybe":null}`},
		{"null for a required one", `{"s":null}`, `{"s":null}`},
		{"case of an enum", `{"s":"a","e":"Red"}`, `{"s":"a","e":"red"}`},
		{"one branch by reference", `{"s":"a","r":"5"}`, `{"s":"a","r":5}`},
		{"a reference to nothing", `{"s":"a","nowhere":"5"}`, `{"s":"a","nowhere":"5"}`},
		{"first branch that fits", `{"s":"a","u":"x"}`, `{"s":"a","u":["x"]}`},
		{"respelled name", `{"s":"a","gr__e_` + portableKey("größe")[6:] + `":5}`, `{"s":"a","größe":5}`},
		{"only part helps", `{"s":"a","n":"5","zzz":1}`, `{"s":"a","n":5,"zzz":1}`},
		{"no JSON", `{"s":`, `{"s":`},
		{"another kind of value in a string", `{"s":"a","o":"[1] is {\"x\":1,\"y\":2}"}`, `{"s":"a","o":"[1] is {\"x\":1,\"y\":2}"}`},
		{"all in a string", `"{\"s\":\"a\"}"`, `{"s":"a"}`},
	}
	for _, tt := range tests {
		if got := string(Coerce(json.RawMessage(s), []byte(tt.in))); got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.name, got, tt.want)
		}
	}
	if got := Coerce(json.RawMessage(`{"type":"array","items":{"type":"string"}}`), []byte(`{"value":["a"]}`)); string(got) != `["a"]` {
		t.Errorf("wrapped root: got %s", got)
	}
}

// Hostile schemas and values neither crash nor hang.
func TestHostile(t *testing.T) {
	double := `{"type":"object","$defs":{`
	for i := range 40 {
		double += fmt.Sprintf(`"n%d":{"type":"object","properties":{"a":{"$ref":"#/$defs/n%d"},"b":{"$ref":"#/$defs/n%d"}}},`, i, i+1, i+1)
	}
	double += `"n40":{"type":"string"}},"properties":{"v":{"$ref":"#/$defs/n0"}}}`
	choices := `{"$defs":{"n":{"properties":{"c":{"anyOf":[{"$ref":"#/$defs/n"},{"$ref":"#/$defs/n"}]}}}},"$ref":"#/$defs/n"}`
	deep := strings.Repeat(`{"type":"object","properties":{"a":`, 3000) + `{}` + strings.Repeat(`}}`, 3000)
	value := []byte(strings.Repeat(`{"c":`, 5000) + `1` + strings.Repeat(`}`, 5000))
	for _, raw := range []string{double, choices, deep, `{"$ref":"#"}`, `{"allOf":[{"$ref":"#"},{"$ref":"#"}]}`, `{"properties":{"a":{"pattern":"` + strings.Repeat("(a*)*", 300) + `"}}}`} {
		for _, target := range []Target{OpenAIStrict, Grammar} {
			if got := For(json.RawMessage(raw), target); len(got) > 8<<20 || !json.Valid(got) {
				t.Errorf("%.60s for %s became %d bytes", raw, target.Name, len(got))
			}
		}
		_ = Validate(json.RawMessage(raw), value)
		if got := Coerce(json.RawMessage(raw), value); !json.Valid(got) {
			t.Errorf("%.60s: coerced to %.80s", raw, got)
		}
	}
}

func TestTypeScript(t *testing.T) {
	const s = `{"type":"object","description":"ignored","properties":{"path":{"type":"string","description":"Path of\nthe file."},"limit":{"type":"integer","minimum":1},
		"mode":{"enum":["a","b"]},"edits":{"type":"array","items":{"type":"object","properties":{"old":{"type":"string"}},"required":["old"]}},
		"env":{"type":"object","additionalProperties":{"type":"string"}},"v":{"anyOf":[{"type":"string"},{"type":"null"}]},"x y":{"type":["number","boolean"]},
		"l":{"type":"array","items":{"enum":[1,2]}},"any":{}},"required":["path"]}`
	const want = `{
  // Path of
  // the file.
  path: string;
  // [integer; at least 1]
  limit?: number;
  mode?: "a" | "b";
  edits?: {
    old: string;
  }[];
  env?: Record<string, string>;
  v?: string | null;
  "x y"?: number | boolean;
  l?: Array<1 | 2>;
  any?: unknown;
}`
	if got := TypeScript(json.RawMessage(s)); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestTypeScriptTypes(t *testing.T) {
	for in, want := range map[string]string{
		`{}`:                          "unknown",
		`{"type":"array"}`:            "unknown[]",
		`{"items":{"type":"string"}}`: "string[]",
		`{"type":"object"}`:           "Record<string, unknown>",
		`{"type":["object","array"]}`: "Record<string, unknown> | unknown[]",
		`{"type":"object","additionalProperties":false}`:                "{}",
		`{"prefixItems":[{"type":"string"},{"type":"integer"}]}`:        "[string, number]",
		`{"properties":{"1a":{},"é":{},"a_1":{},"z9":{},"":{}}}`:        "{\n  \"1a\"?: unknown;\n  \"é\"?: unknown;\n  a_1?: unknown;\n  z9?: unknown;\n  \"\"?: unknown;\n}",
		`{"properties":{"9":{"properties":{"Z":{}},"required":["Z"]}}}`: "{\n  \"9\"?: {\n    Z: unknown;\n  };\n}",
	} {
		if got := TypeScript(json.RawMessage(in)); got != want {
			t.Errorf("%s: got %q, want %q", in, got, want)
		}
	}
}

func FuzzFor(f *testing.F) {
	for _, s := range corpus {
		f.Add([]byte(s.schema))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		before := bytes.Clone(raw)
		for _, target := range targets {
			got := For(raw, target)
			if !bytes.Equal(raw, before) {
				t.Fatal("the original was changed")
			}
			for _, fault := range faults(target.Name, got) {
				t.Errorf("for %s: %s\n%s", target.Name, fault, got)
			}
			if again := For(got, target); string(again) != string(got) {
				t.Errorf("for %s: twice is\n%s\nonce is\n%s", target.Name, again, got)
			}
		}
	})
}

func FuzzCoerce(f *testing.F) {
	for _, s := range corpus {
		for _, v := range slices.Concat(s.good, s.bad) {
			f.Add([]byte(s.schema), []byte(v))
		}
	}
	f.Fuzz(func(t *testing.T, raw, value []byte) {
		err := Validate(raw, value)
		got := Coerce(raw, value)
		if err == nil && !bytes.Equal(got, value) {
			t.Errorf("a valid value became %s", got)
		}
		if json.Valid(value) && !json.Valid(got) {
			t.Errorf("became %s", got)
		}
		if again := Coerce(raw, got); json.Valid(got) && openDocumentOrObject(raw).check(must(t, again)).count > openDocumentOrObject(raw).check(must(t, got)).count {
			t.Errorf("twice is worse: %s", again)
		}
	})
}

func must(t *testing.T, text []byte) any {
	v, err := decode(text)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func BenchmarkFor(b *testing.B) {
	raw := json.RawMessage(corpus[9].schema)
	b.ReportAllocs()
	for b.Loop() {
		For(raw, OpenAIStrict)
	}
}

func BenchmarkValidate(b *testing.B) {
	raw := json.RawMessage(corpus[9].schema)
	value := []byte(corpus[9].good[1])
	b.ReportAllocs()
	for b.Loop() {
		if err := Validate(raw, value); err != nil {
			b.Fatal(err)
		}
	}
}
