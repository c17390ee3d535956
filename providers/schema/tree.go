package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// An object is a JSON object that keeps the order of its members. Its values
// are *object, []any, string, json.Number, bool and nil.
type object struct {
	keys   []string
	values map[string]any
}

// newObject returns an object made of alternating keys and values.
func newObject(pairs ...any) *object {
	o := &object{values: map[string]any{}}
	for i := 0; i < len(pairs); i += 2 {
		o.set(pairs[i].(string), pairs[i+1])
	}
	return o
}

func (o *object) has(key string) bool {
	_, ok := o.values[key]
	return ok
}

func (o *object) set(key string, value any) {
	if !o.has(key) {
		o.keys = append(o.keys, key)
	}
	o.values[key] = value
}

func (o *object) delete(keys ...string) {
	for _, key := range keys {
		if o.has(key) {
			delete(o.values, key)
			o.keys = slices.DeleteFunc(o.keys, func(k string) bool { return k == key })
		}
	}
}

// copy returns a shallow copy: the values are shared.
func (o *object) copy() *object {
	c := newObject()
	for _, key := range o.keys {
		c.set(key, o.values[key])
	}
	return c
}

// object returns the member key if it is an object; nil otherwise.
func (o *object) object(key string) *object {
	v, _ := o.values[key].(*object)
	return v
}

func (o *object) list(key string) []any {
	v, _ := o.values[key].([]any)
	return v
}

// required returns the required properties of a schema.
func (o *object) required() map[any]bool {
	names := map[any]bool{}
	for _, name := range o.list("required") {
		names[name] = true
	}
	return names
}

func (o *object) text(key string) string {
	v, _ := o.values[key].(string)
	return v
}

// decode decodes one JSON text, keeping the order of members. Errors include the byte offset.
func decode(text []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var probe json.RawMessage // Unmarshal bounds the depth, Token does not
	if err := json.Unmarshal(text, &probe); err != nil {
		var s *json.SyntaxError
		if errors.As(err, &s) {
			return nil, fmt.Errorf("not valid JSON at byte %d: %w", s.Offset, err)
		}
		return nil, fmt.Errorf("not valid JSON: %w", err)
	}
	return read(d)
}

// read decodes the next value of d, which is known to be valid JSON.
func read(d *json.Decoder) (any, error) {
	token, err := d.Token()
	if err != nil {
		return nil, fmt.Errorf("not valid JSON: %w", err)
	}
	switch token {
	case json.Delim('{'):
		o := newObject()
		for d.More() {
			key, err := d.Token()
			if err != nil {
				return nil, err
			}
			value, err := read(d)
			if err != nil {
				return nil, err
			}
			o.set(key.(string), value)
		}
		_, err = d.Token()
		return o, err
	case json.Delim('['):
		list := []any{}
		for d.More() {
			value, err := read(d)
			if err != nil {
				return nil, err
			}
			list = append(list, value)
		}
		_, err = d.Token()
		return list, err
	}
	return token, nil
}

// encode returns v as compact JSON, without escapes that only HTML needs.
func encode(v any) []byte {
	var b bytes.Buffer
	write(&b, v)
	return b.Bytes()
}

func write(b *bytes.Buffer, v any) {
	switch v := v.(type) {
	case *object:
		b.WriteByte('{')
		for i, key := range v.keys {
			if i > 0 {
				b.WriteByte(',')
			}
			write(b, key)
			b.WriteByte(':')
			write(b, v.values[key])
		}
		b.WriteByte('}')
	case []any:
		b.WriteByte('[')
		for i, item := range v {
			if i > 0 {
				b.WriteByte(',')
			}
			write(b, item)
		}
		b.WriteByte(']')
	case json.Number:
		b.WriteString(v.String())
	default:
		e := json.NewEncoder(b)
		e.SetEscapeHTML(false)
		if e.Encode(v) == nil {
			b.Truncate(b.Len() - 1) // the line break
		}
	}
}

// kindOf returns the name of v's type in JSON Schema; "number" for integers too.
func kindOf(v any) string {
	switch v.(type) {
	case *object:
		return "object"
	case []any:
		return "array"
	case string:
		return "string"
	case bool:
		return "boolean"
	case json.Number:
		return "number"
	}
	return "null"
}
