package openai

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"parley/providers/llm"
)

// An Override is a dialect table of the configuration. Its keys are the toml tags of
// Dialect, Effort and Switch; its values replace those fields.
type Override map[string]any

// words lists the words allowed for a key. The first one stands for the zero value.
var words = map[string]string{
	"reasoning_echo": "never calls always tags parts", "call_ids": "short nine", "tool_choices": "all words mild none", "system_role": "system developer",
}

// types describes the allowed values by the type of the field.
var types = map[reflect.Kind]string{
	reflect.Bool: "true or false", reflect.String: "text", reflect.Slice: "a list of texts", reflect.Map: "a table of texts", reflect.Array: "a list of texts",
}

// fields returns the fields of d that a configuration can set, by key.
func (d *Dialect) fields() map[string]reflect.Value {
	fields := map[string]reflect.Value{}
	for _, part := range []any{d, &d.Effort, &d.Effort.Switch} {
		v := reflect.ValueOf(part).Elem()
		for _, f := range reflect.VisibleFields(v.Type()) {
			if key := f.Tag.Get("toml"); key != "" {
				fields[key] = v.FieldByIndex(f.Index)
			}
		}
	}
	return fields
}

// OverrideKeys returns the keys that an Override can have, sorted.
func OverrideKeys() []string { return slices.Sorted(maps.Keys(new(Dialect).fields())) }

// checkDialect implements adapter.Family.
func checkDialect(table map[string]any) (keys []string, err error) {
	_, err = Override(table).Apply(Dialect{})
	return OverrideKeys(), err
}

// Apply returns d with the fields named by o replaced. The error lists invalid values, each after
// its key; unknown keys are ignored.
func (o Override) Apply(d Dialect) (Dialect, error) {
	if len(o) == 0 {
		return d, nil
	}
	var errs []error
	fail := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	fields := d.fields()
	for _, key := range slices.Sorted(maps.Keys(o)) {
		field, ok := fields[key]
		if !ok {
			continue
		}
		value := reflect.New(field.Type())
		text, err := json.Marshal(o[key])
		if err == nil {
			err = json.Unmarshal(text, value.Interface())
		}
		word, known := value.Elem().String(), strings.Fields(words[key])
		switch list := reflect.ValueOf(o[key]); {
		case err != nil:
			fail("%s: has to be %s", key, types[field.Kind()])
		case field.Kind() == reflect.Array && list.Len() != field.Len():
			fail("%s: %d words for the %d efforts %v", key, list.Len(), len(llm.Efforts), llm.Efforts)
		case len(known) > 0 && !slices.Contains(known, word):
			fail("%s: unknown %q; there are %s", key, word, strings.Join(known, ", "))
		case len(known) == 0 || word != known[0]:
			field.Set(value.Elem())
		default:
			field.SetZero()
		}
	}
	for _, f := range d.Formats {
		if f != FormatNone && !slices.Contains(formatNames(), f) {
			fail("answer_formats: unknown %q; there are %q and %q", f, formatNames(), FormatNone)
		}
	}
	switch on, off, field := o["thinking_on"], o["thinking_off"], o["thinking_field"]; {
	case field == nil && (on != nil || off != nil):
		fail("thinking_field: missing, though there are values for it")
	case field != nil && (on == nil || off == nil):
		fail("thinking_on, thinking_off: both are needed beside thinking_field")
	}
	return d, errors.Join(errs...)
}

// jsonText is a value as raw JSON.
type jsonText string

// UnmarshalJSON stores b unchanged.
func (j *jsonText) UnmarshalJSON(b []byte) error {
	*j = jsonText(b)
	return nil
}

// Not is the negation of a configured bool.
type Not bool

// UnmarshalJSON reads true or false.
func (n *Not) UnmarshalJSON(b []byte) error {
	var value bool
	err := json.Unmarshal(b, &value)
	*n = Not(!value)
	return err
}
