package formats

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"parley/providers/adapter"
	"parley/providers/llm"
	"parley/providers/wire"
)

// send sends body, as JSON unless it is a form, to url; a nil body sends none. The caller closes the response body.
func send(ctx context.Context, c adapter.Client, method, url string, body any, accept string) (*http.Response, error) {
	var data io.Reader
	sent, ok := body.(form)
	if body != nil && !ok {
		text, err := adapter.Marshal(body)
		if err != nil {
			return nil, adapter.Unsendable(err)
		}
		sent = form{"application/json", text}
	}
	if body != nil {
		data = bytes.NewReader(sent.Data)
	}
	req, err := http.NewRequestWithContext(ctx, method, url, data)
	if err != nil {
		return nil, adapter.Unsendable(err)
	}
	req.Header.Set("Accept", accept)
	if body != nil {
		req.Header.Set("Content-Type", sent.Type)
	}
	for name, value := range c.Headers {
		req.Header.Set(name, value)
	}
	return c.HTTP.Do(req)
}

// call sends body and decodes the answer into answer, which may be nil. An answer longer than limit bytes, or one that
// is not JSON, is an *llm.Error; anything after the first JSON value is ignored. An empty answer, as with status 202,
// leaves answer unchanged.
func call(ctx context.Context, c adapter.Client, method, url string, body, answer any, limit int64) error {
	res, err := send(ctx, c, method, url, body, "application/json")
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
	if err := adapter.DecodeLenient(text, answer); err != nil {
		var raw json.RawMessage
		if first := json.NewDecoder(bytes.NewReader(text)); first.Decode(&raw) == nil && adapter.DecodeLenient(raw, answer) == nil {
			return nil
		}
		return wire.NotJSON(text)
	}
	return nil
}
