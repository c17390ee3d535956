package adapter

import (
	"bytes"
	"io"
	"net/http"
	"slices"
)

// A Body is the body of a request, as JSON in pieces: what is kept of a conversation is in it and
// not copied. It never changes.
type Body struct{ pieces [][]byte }

// EncodeBody writes a body, as AppendJSON does.
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

// Bytes returns all of b.
func (b Body) Bytes() []byte { return slices.Concat(b.pieces...) }

// PutInto makes b the body of r.
func (b Body) PutInto(r *http.Request) {
	r.ContentLength = 0
	for _, piece := range b.pieces {
		r.ContentLength += int64(len(piece))
	}
	r.GetBody = func() (io.ReadCloser, error) { return &bodyReader{b.pieces, bytes.Reader{}}, nil }
	r.Body, _ = r.GetBody()
}

// A bodyReader reads the pieces of a body.
type bodyReader struct {
	behind [][]byte // the piece that is read
	piece  bytes.Reader
}

func (r *bodyReader) Read(p []byte) (int, error) {
	for r.piece.Len() == 0 {
		if len(r.behind) == 0 {
			return 0, io.EOF
		}
		r.piece.Reset(r.behind[0])
		r.behind = r.behind[1:]
	}
	return r.piece.Read(p)
}

// WriteTo implements io.WriterTo.
func (r *bodyReader) WriteTo(w io.Writer) (n int64, err error) {
	for {
		written, err := r.piece.WriteTo(w)
		if n += written; err != nil || len(r.behind) == 0 {
			return n, err
		}
		r.piece.Reset(r.behind[0])
		r.behind = r.behind[1:]
	}
}

func (r *bodyReader) Close() error { return nil }

// cloneItem returns a copy of what is made of objects and lists, which shares only what they hold.
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

// CloneItems returns a copy of a list, as cloneItem does; nil for nil.
func CloneItems(list []any) []any {
	c := slices.Clone(list)
	for i, v := range c {
		c[i] = cloneItem(v)
	}
	return c
}

// A Spare holds objects of items that were encoded, to be filled again: in a long history every
// message takes some. The zero value holds none.
type Spare []map[string]any

// Object returns an empty object.
func (s *Spare) Object() map[string]any {
	n := len(*s)
	if n == 0 {
		return map[string]any{}
	}
	o := (*s)[n-1]
	*s = (*s)[:n-1]
	return o
}

// Add empties o, which nothing else may hold, for a later Object; nil is left out. Objects in it
// have to be added by themselves, before.
func (s *Spare) Add(o map[string]any) {
	if o != nil {
		clear(o)
		*s = append(*s, o)
	}
}

// CutLast returns a list without its last item, and a new list of that.
func CutLast[T any](list []T) (front, last []T) {
	n := max(len(list)-1, 0)
	return list[:n], slices.Clone(list[n:])
}

// A List is a list in a body, some of whose items are kept as JSON.
type List struct {
	First   []any
	Encoded []byte // after First, with commas between the items
	Rest    []any
}

// ListOf returns the value of a list in a body: a []any, or where anything is kept a [List].
func ListOf(first []any, encoded []byte, rest []any) any {
	if len(encoded) > 0 {
		return List{first, encoded, rest}
	}
	return append(append([]any{}, first...), rest...) // not null
}

// holdsList reports whether body holds a [List].
func holdsList(body map[string]any) bool {
	for _, value := range body {
		if _, ok := value.(List); ok {
			return true
		}
	}
	return false
}
