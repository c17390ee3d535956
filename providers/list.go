package providers

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"slices"
	"time"

	"parley/providers/catalog"
	"parley/providers/llm"
)

// A listing gets this much time, and this much of it is read: gateways list
// hundreds of models with long descriptions.
const (
	listTime  = 10 * time.Second
	listBytes = 16 << 20
)

// List asks a provider for the ids of its models, in alphabetical order. It
// ends with an *llm.Error after ten seconds at the latest.
func List(ctx context.Context, c Config, name string) ([]string, error) {
	s, ok := c.service(name, os.Getenv)
	if !ok {
		return nil, notThere("provider", name, c.names())
	}
	if s.kind == kindDemo || s.program() {
		return catalog.IDs(s.like().ID), nil
	}
	if s.key.missing != "" {
		return nil, s.noKey()
	}
	ctx, cancel := context.WithTimeout(ctx, listTime)
	defer cancel()
	return s.list(ctx)
}

func (s service) list(ctx context.Context) ([]string, error) {
	t, err := s.target(ctx)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+"/models", nil)
	if err != nil {
		return nil, &llm.Error{Fault: llm.InvalidRequest, Provider: s.name, Message: "the base URL is no address"}
	}
	for name, value := range t.headers {
		req.Header.Set(name, value)
	}
	if t.key != "" {
		req.Header.Set("Authorization", "Bearer "+t.key)
	}
	client := t.client(nil)
	defer client.CloseIdleConnections()
	res, err := client.Do(req)
	if err != nil {
		return nil, s.fault(err)
	}
	defer res.Body.Close()
	var body struct {
		Data []struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	if err := json.NewDecoder(io.LimitReader(res.Body, listBytes)).Decode(&body); err != nil {
		return nil, s.fault(err)
	}
	var ids []string
	for _, m := range body.Data {
		if m.ID != "" {
			ids = append(ids, m.ID)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids), nil
}

// fault is why a listing did not come. What the client did not explain is the
// connection's or the server's.
func (s service) fault(err error) error {
	if found := (*llm.Error)(nil); errors.As(err, &found) {
		return found
	}
	if errors.Is(err, context.Canceled) {
		return err
	}
	fault := &llm.Error{Fault: llm.Network, Provider: s.name, URL: s.url, Key: s.key.name, Message: "the list of models did not arrive"}
	if errors.Is(err, context.DeadlineExceeded) {
		fault.Message = "the list of models took too long"
	}
	return fault
}
