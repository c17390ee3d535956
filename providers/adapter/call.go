package adapter

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"parley/providers/llm"
	"parley/providers/wire"
)

// A Form is a body that is no JSON.
type Form struct {
	Type string // with its parameters
	Data []byte
}

// Call sends body, as JSON unless it is a Form, to url, and decodes the answer into answer, which may be nil. A nil
// body sends none. An answer of more than limit bytes, or one that is no JSON, is an
// *llm.Error; what follows the first value is not read. An answer without a byte, as of
// status 202, leaves answer as it is.
func (c Client) Call(ctx context.Context, method, url string, body, answer any, limit int64) error {
	var data io.Reader
	form, ok := body.(Form)
	if body != nil && !ok {
		text, err := Marshal(body)
		if err != nil {
			return Unsendable(err)
		}
		form = Form{"application/json", text}
	}
	if body != nil {
		data = bytes.NewReader(form.Data)
	}
	req, err := http.NewRequestWithContext(ctx, method, url, data)
	if err != nil {
		return Unsendable(err)
	}
	req.Header.Set("Accept", "application/json")
	if body != nil {
		req.Header.Set("Content-Type", form.Type)
	}
	for name, value := range c.Headers {
		req.Header.Set(name, value)
	}
	res, err := c.HTTP.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(res.Body, limit+1))
	switch {
	case err != nil:
		return err
	case int64(len(text)) > limit:
		return &llm.Error{Fault: llm.Server, Status: res.StatusCode, Message: fmt.Sprintf("answered with more than %d MB", limit>>20)}
	case answer == nil || len(bytes.TrimSpace(text)) == 0:
		return nil
	}
	if err := DecodeLenient(text, answer); err != nil {
		var raw json.RawMessage
		if first := json.NewDecoder(bytes.NewReader(text)); first.Decode(&raw) == nil && DecodeLenient(raw, answer) == nil {
			return nil
		}
		return wire.NotJSON(text)
	}
	return nil
}
