package schema

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// costlySamples holds schemas and values that are designed to be expensive to check, with the steps
// that they may take.
var costlySamples = func() []struct {
	name, schema, value string
	steps               int
} {
	words := strings.Repeat("x", 20e3)
	python, _ := json.Marshal("{" + strings.Repeat(`'a': "x",`, 2e3) + "}")
	var names, numbers []string
	for i := range 300 {
		names, numbers = append(names, fmt.Sprintf(`"name %d"`, i)), append(numbers, fmt.Sprintf(`"m%d":%d`, i, i))
	}
	enum := `{"enum":[` + strings.Join(names, ",") + `]}`
	object := `{` + strings.Join(numbers, ",") + `}`
	return []struct {
		name, schema, value string
		steps               int
	}{
		{"a list of itself", `{"type":"array","items":{"$ref":"#"}}`, `5`, 500},
		{"a list of itself that is never empty", `{"type":"array","items":{"$ref":"#"},"minItems":2}`, `5`, 500},
		{"two lists of themselves", `{"type":"array","items":{"anyOf":[{"$ref":"#"},{"type":"array","items":{"$ref":"#"}}]},"minItems":1}`, `"` + words + `"`, 3e3},
		{"many values that are no list of itself", `{"type":"array","items":{"$ref":"#"}}`, `[` + strings.Repeat("5,", 500) + `5]`, 40e3},
		{"a list of itself that goes deep", `{"type":"array","items":{"$ref":"#"}}`, strings.Repeat("[", 500) + "5" + strings.Repeat("]", 500), 4e3},
		{"text that each branch reads", `{"anyOf":[` + strings.Repeat(`{"type":"object","required":["z"]},`, 299) + `{"type":"object","required":["z"]}]}`, string(python), 3e3},
		{"long text and an enum", enum, `"` + words + `"`, 50},
		{"an object and an enum", enum, object, 50},
		{"many values and an enum", `{"type":"array","items":` + enum + `}`, `[` + strings.Repeat(`"x",`, 300) + `"x"]`, 5e3},
		{"an enum at each depth", `{"properties":{"a":{"$ref":"#"}},"enum":[1]}`, strings.Repeat(`{"a":`, 500) + "5" + strings.Repeat("}", 500), 4e3},
		{"names by pattern", `{"patternProperties":{"^(a|b){1,200}$":{"type":"integer"},"^[^m]{1,200}$":{"type":"integer"}},"required":["z"]}`, object, 1e3},
		{"a pattern that repeats", `{"pattern":"^(a{1,40}){1,40}b"}`, `"` + strings.Repeat("a", 20e3) + `"`, 40e3},
		{"a pattern that repeats too often", `{"pattern":"^((a{1,100}){1,100}){1,2}b"}`, `"` + words + `"`, 50},
		{"choices at each depth", `{"$defs":{"n":{"required":["x"],"properties":{"c":{"anyOf":[{"$ref":"#/$defs/n"},{"$ref":"#/$defs/n"}]}}}},"$ref":"#/$defs/n"}`, strings.Repeat(`{"c":`, 50) + `1` + strings.Repeat(`}`, 50), 2*maxSteps + 200},
	}
}()

// Checking and coercing are bounded by the size of schema and value, and coercing by the steps of
// the check before it.
func TestCost(t *testing.T) {
	for _, d := range costlySamples {
		doc := openDocumentOrObject(json.RawMessage(d.schema))
		v, err := decode([]byte(d.value))
		if err != nil {
			t.Fatal(d.name, err)
		}
		check := doc.checker()
		check.checkRoot(v)
		_, c := doc.coercer(v)
		before := c.stepsLeft
		c.coerce(doc.root, v, 0)
		if taken := maxSteps - check.stepsLeft + before - c.stepsLeft; taken > d.steps {
			t.Errorf("%s: %d steps, want at most %d", d.name, taken, d.steps)
		}
	}
}

// Joining twice as many branches allocates at most about twice as often.
func TestJoinCost(t *testing.T) {
	for _, property := range []string{`{"const":"v%d"}`, `{"pattern":"v%d"}`, `{"anyOf":[{"type":"null"},{"pattern":"v%d"}]}`, `{"const":1}`} {
		allocs := func(n int) float64 {
			var branches []string
			for i := range n {
				p := property
				if strings.Contains(p, "%") {
					p = fmt.Sprintf(p, i)
				}
				branches = append(branches, `{"type":"object","properties":{"t":`+p+`}}`)
			}
			raw := json.RawMessage(`{"anyOf":[` + strings.Join(branches, ",") + `]}`)
			return testing.AllocsPerRun(1, func() { For(raw, OpenAIStrict) })
		}
		if few, many := allocs(200), allocs(400); many > 2.5*few {
			t.Errorf("%s: %v allocations for 400 branches, %v for 200", property, many, few)
		}
	}
}

func BenchmarkCoerce(b *testing.B) {
	for _, d := range costlySamples {
		b.Run(strings.ReplaceAll(d.name, " ", "-"), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Coerce(json.RawMessage(d.schema), []byte(d.value))
			}
		})
	}
}
