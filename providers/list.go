package providers

import (
	"context"
	"encoding/json"
	"fmt"
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
	if s.kind == kindDemo {
		return catalog.IDs(s.name), nil
	}
	if s.key.missing != "" {
		return nil, s.noKey()
	}
	ctx, cancel := context.WithTimeout(ctx, listTime)
	defer cancel()
	return s.list(ctx)
}

func (s service) list(ctx context.Context) ([]string, error) {
	key, err := s.lookUp(ctx)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+"/models", nil)
	if err != nil {
		return nil, fmt.Errorf("list the models of %s: bad base URL", s.name)
	}
	for name, value := range s.conf.Headers {
		req.Header.Set(name, value)
	}
	if key != "" {
		req.Header.Set("Authorization", "Bearer "+key)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, &llm.Error{Fault: llm.Network, Provider: s.name, URL: s.url, Err: err}
	}
	defer res.Body.Close()
	var body struct {
		Data []struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	if err := json.NewDecoder(io.LimitReader(res.Body, listBytes)).Decode(&body); err != nil {
		return nil, &llm.Error{Fault: llm.Server, Provider: s.name, URL: s.url, Message: "the list of models is not JSON"}
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
