package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// A value too expensive to check is not invalid for that reason, whichever keyword was skipped;
// problems found before stay. This applies to any number of steps: most cases run with few.
func TestUncheckedIsNotInvalid(t *testing.T) {
	many := []byte("[" + strings.Repeat("1,", maxSteps+1000) + "1]")
	if err := Validate(json.RawMessage(`{"items":{"type":"integer"}}`), many); !errors.Is(err, ErrUnchecked) {
		t.Errorf("%d items: %v", int(maxSteps), err)
	}
	const steps int = maxSteps / 20
	const n = steps + 1000
	numbers := "[" + strings.Repeat("1,", n) + "1]"
	var all []string
	for i := range n {
		all = append(all, fmt.Sprintf(`"m%d":%d`, i, i))
	}
	members := "{" + strings.Join(all, ",") + "}"
	const costly = `"[a-z]{1,400}!"` // as often as 400 words for each byte
	long := `"` + strings.Repeat("a", 20e3) + `"`
	for _, tt := range []struct {
		name, schema, value string
		want                string // part of the error; "" for ErrUnchecked
	}{
		{"items", `{"items":{"type":"integer"}}`, numbers, ""},
		{"items in a branch", `{"anyOf":[{"type":"string"},{"items":{"type":"integer"}}]}`, numbers, ""},
		{"one of two forms", `{"oneOf":[{"type":"string"},{"items":{"type":"integer"}}]}`, numbers, ""},
		{"a form that is not allowed", `{"not":{"items":{"type":"integer"}}}`, numbers, ""},
		{"a condition", `{"if":{"items":{"type":"integer"}},"then":{"maxItems":1},"else":{"maxItems":2}}`, numbers, ""},
		{"items that are counted", `{"contains":{"type":"integer"},"minContains":6000}`, numbers, ""},
		{"items that differ", `{"uniqueItems":true}`, strings.NewReplacer("{", "[", "}", "]", `"`, "", ":", "").Replace(strings.ReplaceAll(members, `"m`, `1`)), ""},
		{"members", `{"additionalProperties":{"type":"integer"}}`, members, ""},
		{"names", `{"propertyNames":{"pattern":"^m"}}`, members, ""},
		{"names by pattern", `{"patternProperties":{"^m":{"type":"integer"}},"additionalProperties":false}`, members, ""},
		{"a costly pattern", `{"pattern":` + costly + `}`, long, ""},
		{"a costly pattern that must not match", `{"not":{"pattern":` + costly + `}}`, long, ""},
		{"a costly pattern of names", `{"patternProperties":{` + costly + `:{}},"additionalProperties":false}`, "{" + long + ":1}", ""},
		{"a costly pattern of all names", `{"propertyNames":{"pattern":` + costly + `}}`, "{" + long + ":1}", ""},

		{"a problem before", `{"items":{"type":"integer"}}`, `["x",` + numbers[1:], `[0]: expected integer, got string "x"`},
		{"a problem beside a costly pattern", `{"properties":{"a":{"pattern":` + costly + `},"b":{"type":"integer"}}}`, `{"a":` + long + `,"b":"x"}`, `b: expected integer, got string "x"`},
		{"too many items that are counted", `{"contains":{"type":"integer"},"maxContains":5,"maxItems":3}`, numbers, "expected at most 3"},
	} {
		v, err := decode([]byte(tt.value))
		if err != nil {
			t.Fatal(err)
		}
		c := openDocumentOrObject(json.RawMessage(tt.schema)).checker()
		c.stepsLeft = steps
		err = c.validate(v)
		if tt.want == "" && !errors.Is(err, ErrUnchecked) || tt.want != "" && (err == nil || errors.Is(err, ErrUnchecked) || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s: %.200v, want %q", tt.name, err, tt.want)
		}
	}
}

// A pattern that reads only the beginning of a text costs no more than that.
func TestPatternCost(t *testing.T) {
	for _, tt := range []struct {
		pattern string
		reads   float64 // bytes of 400 kB
	}{
		{`^[\s\S]{1,200}`, 804},
		{`^(?:ab|c)?[0-9]{4}$`, 28},
		{`^(ab){0}$`, 4},
		{`^a*$`, 400e3},
		{`^a{2,}`, 400e3},
		{`[\s\S]{1,200}`, 400e3},
		{`^a|b`, 400e3},
	} {
		e, ok := compile(tt.pattern)
		if !ok {
			t.Fatalf("%s is no pattern", tt.pattern)
		}
		if want := tt.reads * float64(e.size) / wordsPerStep; e.cost(strings.Repeat("x", 400e3)) != want {
			t.Errorf("%s costs %g steps, want %g", tt.pattern, e.cost(strings.Repeat("x", 400e3)), want)
		}
	}
	value := []byte(`"` + strings.Repeat("x", 400e3) + `"`)
	if err := Validate(json.RawMessage(`{"pattern":"^[\\s\\S]{1,200}"}`), value); err != nil {
		t.Error(err)
	}
	if err := Validate(json.RawMessage(`{"pattern":"^[\\s\\S]{1,200}$"}`), value); err == nil || errors.Is(err, ErrUnchecked) {
		t.Errorf("a text that is too long by its pattern: %v", err)
	}
}

// allocated returns the bytes that f allocates.
func allocated(f func()) float64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return float64(after.TotalAlloc - before.TotalAlloc)
}

// Checking a value that is too large to be checked allocates no more than decoding it, whether all
// of it is valid or invalid. Sizes and steps are a quarter of the real bounds.
func TestCheckAllocates(t *testing.T) {
	const n = 50e3
	numbers := strings.Repeat("1,", n) + "1"
	const depth = 1000
	for _, tt := range []struct{ name, schema, value string }{
		{"integers", `{"items":{"type":"integer"}}`, "[" + numbers + "]"},
		{"integers that should be texts", `{"items":{"type":"string"}}`, "[" + numbers + "]"},
		{"integers that should be text, or else an object", `{"items":{"anyOf":[{"type":"string"},{"type":"object"}]}}`, "[" + numbers + "]"},
		{"integers that should differ", `{"uniqueItems":true,"contains":{"type":"string"}}`, "[" + numbers + "]"},
		{"integers deep down", `{"items":{"$ref":"#"},"type":"array"}`, strings.Repeat("[", depth) + numbers + strings.Repeat("]", depth)},
		{"objects without what they need", `{"items":{"required":["a","b"]}}`, "[" + strings.Repeat(`{"c":1},`, n/5) + "{}]"},
		{"names that are refused", `{"items":{"properties":{"a":{}},"additionalProperties":false}}`, "[" + strings.Repeat(`{"c":1},`, n/5) + "{}]"},
	} {
		c := openDocumentOrObject(json.RawMessage(tt.schema)).checker()
		c.stepsLeft /= 4
		var v any
		decoding := allocated(func() { v, _ = decode([]byte(tt.value)) })
		checking := allocated(func() { c.checkRoot(v) })
		t.Logf("%s: decoding %.1f MB, checking %.1f MB", tt.name, decoding/1e6, checking/1e6)
		if v == nil || checking > decoding {
			t.Errorf("%s: checking allocates %.1f MB, decoding %.1f MB", tt.name, checking/1e6, decoding/1e6)
		}
	}
}

// An error names the first problems and counts the others.
func TestProblemsAreCounted(t *testing.T) {
	err := Validate(json.RawMessage(`{"items":{"type":"string"}}`), []byte("["+strings.Repeat("1,", 999)+"1]"))
	if err == nil || strings.Count(err.Error(), "expected string") != maxProblems || !strings.HasSuffix(err.Error(), "; and 992 more") {
		t.Errorf("error %v", err)
	}
}
