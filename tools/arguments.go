package tools

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Schemas checks the arguments of calls; nil accepts all that are JSON objects.
var Schemas interface {
	Check(schema, arguments json.RawMessage) error // quotes values of any length
	Repair(text []byte) ([]byte, bool)             // returns the JSON that text was meant to be, such as without comments
}

// An argumentSchema is the JSON Schema of a tool's arguments. A nil schema
// accepts any object.
type argumentSchema struct {
	raw   json.RawMessage
	root  map[string]any // raw, decoded
	order []string       // property names in the order shown; nil: sorted
}

func newArgumentSchema(raw json.RawMessage, order []string) (*argumentSchema, error) {
	s := &argumentSchema{raw: raw, order: order}
	return s, json.Unmarshal(raw, &s.root)
}

// An argumentLimit bounds a numeric argument. A max of 0 sets no upper bound.
type argumentLimit struct {
	name     string
	min, max float64
}

// schemaOf returns the schema of a struct: its fields with their json tags, described
// by their jsonschema tags, and required unless they have omitempty.
func schemaOf(t reflect.Type, limits []argumentLimit) (*argumentSchema, error) {
	type property struct {
		Type        string   `json:"type"`
		Description string   `json:"description,omitempty"`
		Minimum     *float64 `json:"minimum,omitempty"`
		Maximum     *float64 `json:"maximum,omitempty"`
	}
	kinds := map[reflect.Kind]string{reflect.String: "string", reflect.Int: "integer", reflect.Bool: "boolean"}
	var order, required, properties []string
	for field := range t.Fields() {
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		p := property{Type: kinds[field.Type.Kind()], Description: field.Tag.Get("jsonschema")}
		for _, l := range limits {
			if l.name == name {
				p.Minimum = &l.min
				if l.max > 0 {
					p.Maximum = &l.max
				}
			}
		}
		text, err := compactJSON(p)
		if err != nil || p.Type == "" {
			return nil, fmt.Errorf("the argument %s has no schema: %w", name, err)
		}
		order, properties = append(order, name), append(properties, fmt.Sprintf("%q:%s", name, text))
		if options == "" {
			required = append(required, name)
		}
	}
	text := `{"type":"object","properties":{` + strings.Join(properties, ",") + "}"
	if required != nil {
		text += `,"required":["` + strings.Join(required, `","`) + `"]`
	}
	return newArgumentSchema(json.RawMessage(text+`,"additionalProperties":false}`), order)
}

// parseArguments returns a call's input as compact JSON that is valid by s and has no
// duplicate keys. It repairs common mistakes of models where only one meaning is
// possible: see coerce. An error names the failing path and the value expected there.
func parseArguments(s *argumentSchema, input string) (json.RawMessage, error) {
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
	if s != nil {
		value = s.coerce(s.root, value)
	}
	if _, ok := value.(map[string]any); !ok {
		return nil, errors.New("they must be one JSON object")
	}
	out, err := compactJSON(value)
	if err != nil || s == nil {
		return out, err
	}
	if err := checkNumbers(value); err != nil {
		return nil, err
	}
	if Schemas != nil {
		err = Schemas.Check(s.raw, out)
	}
	if err != nil {
		return nil, errors.New(truncate(err.Error(), 600))
	}
	return out, nil
}

// decodeJSON reads one JSON value and keeps numbers as they were written.
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

// checkNumbers returns an error if a number in value does not fit a float64.
func checkNumbers(value any) error {
	switch v := value.(type) {
	case map[string]any:
		for _, member := range v {
			if err := checkNumbers(member); err != nil {
				return err
			}
		}
	case []any:
		for _, item := range v {
			if err := checkNumbers(item); err != nil {
				return err
			}
		}
	case json.Number:
		if _, err := v.Float64(); err != nil {
			return fmt.Errorf("not valid JSON: the number %s is too large", truncate(string(v), 40))
		}
	}
	return nil
}

func syntaxError(err error) error {
	var s *json.SyntaxError
	if errors.As(err, &s) {
		return fmt.Errorf("not valid JSON at byte %d: %w", s.Offset, err)
	}
	return fmt.Errorf("not valid JSON: %w", err)
}

// coerce converts value to the type that schema requires if only one meaning is possible: "5"
// becomes 5, "true" becomes true, and text that holds an object or array becomes that object or
// array. It drops a null optional property and fills in the default of a missing required one.
func (s *argumentSchema) coerce(schema map[string]any, value any) any {
	schema = s.resolve(schema)
	kind, _ := schema["type"].(string)
	if text, ok := value.(string); ok {
		value = coerceText(kind, text)
	}
	switch v := value.(type) {
	case map[string]any:
		for name, member := range v {
			if member == nil && !isRequired(schema, name) {
				delete(v, name)
				continue
			}
			v[name] = s.coerce(propertyOf(schema, name), member)
		}
		required, _ := schema["required"].([]any)
		for _, name := range required {
			name, _ := name.(string)
			property := propertyOf(schema, name)
			value, known := property["default"] // takes precedence over the default in a referenced schema
			if !known {
				value, known = s.resolve(property)["default"]
			}
			if _, given := v[name]; known && !given {
				v[name] = value
			}
		}
	case []any:
		items, _ := schema["items"].(map[string]any)
		for i := range v {
			v[i] = s.coerce(items, v[i])
		}
	case json.Number:
		// JSON Schema counts 5.0 as an integer; Go does not.
		if f, err := v.Float64(); kind == "integer" && err == nil && f == math.Trunc(f) && math.Abs(f) < 1<<53 {
			return json.Number(strconv.FormatInt(int64(f), 10))
		}
	}
	return value
}

// resolve follows references within the root and returns the schema; nil if a reference leads nowhere.
func (s *argumentSchema) resolve(schema map[string]any) map[string]any {
	for range maxNesting {
		ref, ok := schema["$ref"].(string)
		if !ok {
			return schema
		}
		document, pointer, _ := strings.Cut(ref, "#")
		if schema = s.root; document != "" || pointer != "" && pointer[0] != '/' {
			return nil
		}
		for _, name := range strings.Split(pointer, "/")[1:] {
			schema, _ = schema[strings.NewReplacer("~1", "/", "~0", "~").Replace(name)].(map[string]any)
		}
	}
	return nil
}

func propertyOf(schema map[string]any, name string) map[string]any {
	properties, _ := schema["properties"].(map[string]any)
	property, _ := properties[name].(map[string]any)
	return property
}

// isRequired reports whether an object must have a property. A property without a
// schema, as in a free-form object, counts as required, so that its null stays.
func isRequired(schema map[string]any, name string) bool {
	required, _ := schema["required"].([]any)
	return schema == nil || slices.Contains(required, any(name))
}

// coerceText reads text as a value of type want; it returns text itself if it
// cannot.
func coerceText(want, text string) any {
	if want == "string" || want == "" {
		return text
	}
	literal := strings.TrimSpace(text)
	if !json.Valid([]byte(literal)) {
		literal = strings.ToLower(literal) // Python's True
	}
	if !json.Valid([]byte(literal)) {
		return text
	}
	value, err := decodeJSON(literal)
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

// describeArguments returns one line that lists the arguments of a tool.
func describeArguments(name string, s *argumentSchema) string {
	if s == nil {
		return ""
	}
	order := s.order
	if order == nil {
		properties, _ := s.root["properties"].(map[string]any)
		order = slices.Sorted(maps.Keys(properties))
	}
	var fields []string
	for _, field := range order {
		p := propertyOf(s.root, field)
		kind, _ := p["type"].(string)
		least, hasMin := p["minimum"].(float64)
		if most, hasMax := p["maximum"].(float64); hasMin && hasMax {
			kind += fmt.Sprintf(" %g to %g", least, most)
		}
		if isRequired(s.root, field) {
			kind += ", required"
		}
		fields = append(fields, fmt.Sprintf("%s (%s)", field, kind))
	}
	return "\n" + name + " takes " + strings.Join(fields, ", ")
}

// nearestName returns the name in names closest to name, or "" if none is close.
func nearestName(name string, names []string) string {
	best, near := "", 1+min(max(2, len(name)/3), len(name)/2)
	for _, n := range names {
		if d := editDistance(strings.ToLower(name), strings.ToLower(n)); d < near {
			best, near = n, d
		}
	}
	return best
}

// editDistance returns the number of single-byte edits that turn a into b.
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
