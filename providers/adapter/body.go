package adapter

import (
	"bytes"
	"io"
	"net/http"
	"slices"
)

// A Body is a JSON request body in pieces: it contains the cached JSON of a conversation without
// copying it. It never changes.
type Body struct{ pieces [][]byte }

// EncodeBody encodes a body with AppendJSON.
func EncodeBody(fields map[string]any, escapeHTML bool) (Body, error) {
	var b Body
	out := []byte{'{'}
	for i, field := range sortedKeys(nil, fields) {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(appendString(out, field, escapeHTML), ':')
		value := fields[field]
		var err error
		if l, ok := value.(List); ok {
			if out, err = appendItems(append(out, '['), l.First, false, escapeHTML); err != nil {
				return Body{}, err
			}
			if len(l.First) > 0 {
				out = append(out, ',')
			}
			b.pieces = append(b.pieces, out, l.Encoded)
			if out, err = appendItems(nil, l.Rest, true, escapeHTML); err != nil {
				return Body{}, err
			}
			out = append(out, ']')
		} else if out, err = AppendJSON(out, value, escapeHTML); err != nil {
			return Body{}, err
		}
	}
	b.pieces = append(b.pieces, append(out, '}'))
	return b, nil
}

// Bytes returns the whole body.
func (b Body) Bytes() []byte { return slices.Concat(b.pieces...) }

// PutInto makes b the body of r.
func (b Body) PutInto(r *http.Request) {
	r.ContentLength = 0
	for _, piece := range b.pieces {
		r.ContentLength += int64(len(piece))
	}
	r.GetBody = func() (io.ReadCloser, error) {
		readers := make([]io.Reader, len(b.pieces))
		for i, piece := range b.pieces {
			readers[i] = bytes.NewReader(piece)
		}
		return io.NopCloser(io.MultiReader(readers...)), nil
	}
	r.Body, _ = r.GetBody()
}

// cloneItem returns a deep copy of maps and slices; other values are shared.
func cloneItem(v any) any {
	switch v := v.(type) {
	case map[string]any:
		c := make(map[string]any, len(v))
		for key, value := range v {
			c[key] = cloneItem(value)
		}
		return c
	case []any:
		return CloneItems(v)
	}
	return v
}

// CloneItems returns a copy of a list, with items copied by cloneItem; nil for nil.
func CloneItems(list []any) []any {
	c := slices.Clone(list)
	for i, v := range c {
		c[i] = cloneItem(v)
	}
	return c
}

// CutLast splits a list before its last item; last is a new list.
func CutLast[T any](list []T) (front, last []T) {
	n := max(len(list)-1, 0)
	return list[:n], slices.Clone(list[n:])
}

// A List is a list in a body, some of whose items are cached as JSON.
type List struct {
	First   []any
	Encoded []byte // after First, with commas between the items
	Rest    []any
}

// ListOf returns the value of a list in a body: a []any or, if some items are cached, a [List].
func ListOf(first []any, encoded []byte, rest []any) any {
	if len(encoded) > 0 {
		return List{first, encoded, rest}
	}
	return append(append([]any{}, first...), rest...) // not null
}

// holdsList reports whether body contains a [List].
func holdsList(body map[string]any) bool {
	for _, value := range body {
		if _, ok := value.(List); ok {
			return true
		}
	}
	return false
}
