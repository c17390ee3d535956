package adapter

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
)

// encode returns v as JSON; escapeHTML means that <, > and & in strings are escaped.
func encode(v any, escapeHTML bool) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(escapeHTML)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// A Body is a JSON request body in pieces: it contains the cached JSON of a conversation without
// copying it. It never changes.
type Body [][]byte

// EncodeBody encodes a request body, in which one field may be a [List].
func EncodeBody(fields map[string]any, escapeHTML bool) (Body, error) {
	fields = maps.Clone(fields)
	var encoded []byte
	mark := rand.Text() // stands for the encoded items until the rest is encoded
	for name, value := range fields {
		if l, ok := value.(List); ok {
			fields[name], encoded = slices.Concat(l.First, []any{mark}, l.Rest), l.Encoded
		}
	}
	data, err := encode(fields, escapeHTML)
	before, after, _ := bytes.Cut(data, []byte(`"`+mark+`"`))
	return Body{before, encoded, after}, err
}

// Bytes returns the whole body.
func (b Body) Bytes() []byte { return slices.Concat(b...) }

// PutInto makes b the body of r.
func (b Body) PutInto(r *http.Request) {
	r.ContentLength = 0
	for _, piece := range b {
		r.ContentLength += int64(len(piece))
	}
	r.GetBody = func() (io.ReadCloser, error) {
		unread := net.Buffers(slices.Clone(b))
		return io.NopCloser(&unread), nil
	}
	r.Body, _ = r.GetBody()
}
