package tools

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"parley/providers/schema"
)

// parseArguments returns a call's input as compact JSON that is valid by rules,
// without duplicate keys; nil takes any object. What models commonly get wrong
// and only means one thing is put right: see coerce. The error names the failing
// path and what was expected there.
func parseArguments(rules *jsonschema.Resolved, input string) (json.RawMessage, error) {
	if strings.TrimSpace(input) == "" {
		input = "{}"
	}
	value, err := decodeJSON(input)
	if err != nil {
		return nil, err
	}
	if value == nil {
		value = map[string]any{}
	}
	if rules != nil {
		value = coerce(rules.Schema(), value)
	}
	if _, ok := value.(map[string]any); !ok {
		return nil, errors.New("they must be one JSON object")
	}
	out, err := compactJSON(value)
	if err != nil || rules == nil {
		return out, err
	}
	var plain any // the validator takes json.Number for a string
	if err := json.Unmarshal(out, &plain); err != nil {
		return nil, syntaxError(err)
	}
	if err := rules.Validate(plain); err != nil {
		return nil, validationError(rules, out, err.Error())
	}
	return out, nil
}

// validationError says why args are not valid by rules, in the words of our own
// validator: those of the library show values as Go prints them. Where it finds
// nothing, the path and the keyword of what the library said are left.
func validationError(rules *jsonschema.Resolved, args json.RawMessage, said string) error {
	if raw, err := json.Marshal(rules.Schema()); err == nil {
		if err := schema.Validate(raw, args); err != nil {
			return errors.New(truncate(err.Error(), 600)) // it quotes values of any number
		}
	}
	return errors.New(pathAndKeyword(said))
}

// decodeJSON reads one JSON value, with numbers as they were written.
func decodeJSON(text string) (any, error) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var value any
	if err := d.Decode(&value); err != nil {
		return nil, syntaxError(err)
	}
	if rest := strings.TrimSpace(text[d.InputOffset():]); rest != "" {
		return nil, fmt.Errorf("not valid JSON: %s follows the end", quoteName(truncate(rest, 40)))
	}
	return value, nil
}

func syntaxError(err error) error {
	var s *json.SyntaxError
	if errors.As(err, &s) {
		return fmt.Errorf("not valid JSON at byte %d: %w", s.Offset, err)
	}
	return fmt.Errorf("not valid JSON: %w", err)
}

// coerce turns value into what schema asks for where only one thing can be
// meant: "5" is 5, "true" is true, text that holds an object or array is that
// object or array, and null for an optional property is no property.
func coerce(schema *jsonschema.Schema, value any) any {
	if schema == nil {
		return value
	}
	if text, ok := value.(string); ok {
		value = coerceText(schema.Type, text)
	}
	switch v := value.(type) {
	case map[string]any:
		for name, property := range v {
			if property == nil && !slices.Contains(schema.Required, name) {
				delete(v, name)
				continue
			}
			if s := schema.Properties[name]; s != nil {
				v[name] = coerce(s, property)
			}
		}
	case []any:
		for i := range v {
			v[i] = coerce(schema.Items, v[i])
		}
	case json.Number:
		// 5.0 is an integer to JSON Schema and not to Go.
		if f, err := v.Float64(); schema.Type == "integer" && err == nil && f == math.Trunc(f) && math.Abs(f) < 1<<53 {
			return json.Number(strconv.FormatInt(int64(f), 10))
		}
	}
	return value
}

// coerceText reads text as a value of the type want, or returns it as it is.
func coerceText(want, text string) any {
	if want == "string" || want == "" {
		return text
	}
	value, err := decodeJSON(strings.TrimSpace(text))
	if err != nil {
		value, err = decodeJSON(strings.ToLower(strings.TrimSpace(text))) // Python's True
	}
	if err != nil {
		return text
	}
	ok := false
	switch value.(type) {
	case json.Number:
		ok = want == "integer" || want == "number"
	case bool:
		ok = want == "boolean"
	case map[string]any:
		ok = want == "object"
	case []any:
		ok = want == "array"
	}
	if !ok {
		return text
	}
	return value
}

// pathAndKeyword turns the library's "validating root: validating
// /properties/limit: maximum: 5 is greater than 2.000000" into "limit: does not
// fit maximum".
func pathAndKeyword(text string) string {
	where := ""
	for {
		rest, ok := strings.CutPrefix(text, "validating ")
		if !ok {
			break
		}
		at, tail, ok := strings.Cut(rest, ": ")
		if !ok {
			break
		}
		where, text = at, tail
	}
	where = strings.TrimPrefix(where, "/properties/")
	where = strings.ReplaceAll(where, "/properties/", ".")
	where, _, _ = strings.Cut(where, "/") // the rest are keywords
	keyword, _, _ := strings.Cut(text, ":")
	text = "does not fit " + truncate(keyword, 60)
	if where == "" || where == "root" {
		return text
	}
	return where + ": " + text
}

// describeArguments is a line that says what a tool takes.
func describeArguments(name string, resolved *jsonschema.Resolved) string {
	if resolved == nil {
		return ""
	}
	schema := resolved.Schema()
	order := schema.PropertyOrder
	if order == nil {
		order = slices.Sorted(maps.Keys(schema.Properties))
	}
	var fields []string
	for _, field := range order {
		p := schema.Properties[field]
		kind := p.Type
		if p.Minimum != nil && p.Maximum != nil {
			kind += fmt.Sprintf(" %g to %g", *p.Minimum, *p.Maximum)
		}
		if slices.Contains(schema.Required, field) {
			kind += ", required"
		}
		fields = append(fields, fmt.Sprintf("%s (%s)", field, kind))
	}
	return "\n" + name + " takes " + strings.Join(fields, ", ")
}

// nearestName returns the one of names that name was probably meant to be, or "".
func nearestName(name string, names []string) string {
	best, near := "", 1+min(max(2, len(name)/3), len(name)/2)
	for _, n := range names {
		if d := editDistance(strings.ToLower(name), strings.ToLower(n)); d < near {
			best, near = n, d
		}
	}
	return best
}

// editDistance is how many single-byte changes lead from a to b.
func editDistance(a, b string) int {
	if len(a) > 255 || len(b) > 255 {
		return math.MaxInt
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost = 1 + min(diagonal, row[j], row[j+1])
			}
			diagonal, row[j+1] = row[j+1], cost
		}
	}
	return row[len(b)]
}
