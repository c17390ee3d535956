package providers

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"parley/providers/adapter"
	"parley/providers/anthropic"
	"parley/providers/catalog"
	"parley/providers/discover"
	"parley/providers/gemini"
	"parley/providers/llm"
	"parley/providers/wire"
)

// This much of a listing and of each page of it is read:
// gateways list hundreds of models with long descriptions.
const (
	maxListPages = 20
	maxListed    = 10_000  // models
	maxListField = 1 << 16 // bytes of what stands in a page beside its models
)

// maxListPage bounds a page, in bytes. Tests lower it.
var maxListPage int64 = 16 << 20

// listTimeout bounds how long a list of models is waited for.
var listTimeout = 10 * time.Second

// withDefaults puts what is meant in place of what was left out.
func (o OpenOptions) withDefaults() OpenOptions {
	if o.Getenv == nil {
		o.Getenv = os.Getenv
	}
	if o.Memory == nil {
		o.Memory = &Memory{}
	}
	return o
}

func (c Config) listModels(ctx context.Context, name string, o OpenOptions) (service, []listedModel, error) {
	s, ok := c.service(name, o.Getenv)
	switch {
	case !ok:
		return service{}, nil, unknownNameError("provider", name, c.providerNames())
	case notReady(s) != nil:
		return service{}, nil, notReady(s)
	}
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	offers, err := s.listModels(ctx, o)
	return s, offers, err
}

// listModels asks the server for its models. Those of programs, and of the demo, are
// in the catalog, and those of services that list none are the user's own as well.
func (s service) listModels(ctx context.Context, o OpenOptions) (offers []listedModel, err error) {
	if listsNone(s) {
		for _, id := range s.modelIDs() {
			offers = append(offers, listedModel{id: id})
		}
		return offers, nil
	}
	if s.kind == kindDemo || s.isProgram() {
		for _, id := range catalog.IDs(s.closestBuiltin().ID) {
			offers = append(offers, listedModel{id: id})
		}
		return offers, nil
	}
	t, err := s.target(ctx)
	if err != nil {
		return nil, err
	}
	t.transport, t.log, t.tap = o.transport(s.name, ""), wire.Log{To: o.Debug, Kind: s.kind}, o.Tap
	l := lister{service: s, Options: t.withClient()}
	defer l.HTTP.CloseIdleConnections()
	if offers, err = l.listAll(ctx); err != nil {
		return nil, s.listError(err)
	}
	slices.SortFunc(offers, func(a, b listedModel) int { return strings.Compare(a.id, b.id) })
	return slices.CompactFunc(offers, func(a, b listedModel) bool { return a.id == b.id }), nil
}

// listsNone reports whether a service has no list of the models that can be asked.
func listsNone(s service) bool {
	return s.builtin.NoList && !slices.ContainsFunc(listingHosts, func(host string) bool { return strings.HasPrefix(hostOf(s.url), host) })
}

// listingHosts holds how the hosts begin that list their models beside others of the same
// service that do not.
var listingHosts = []string{"bedrock-mantle."}

// A listEndpoint is where a kind of server lists its models. A path that begins with a
// slash stands behind the server's address instead of the base URL.
type listEndpoint struct {
	paths []string // the first that is there
	limit string   // tells how long prompts may be as the server runs now; "" if the list does
}

// listEndpoints holds the kinds that have more to tell than OpenAI's list of ids, or say
// it elsewhere.
var listEndpoints = map[string]listEndpoint{
	anthropic.Kind: {paths: []string{"/v1/models?limit=1000"}},
	gemini.Kind:    {paths: []string{"models?pageSize=1000"}},
	"ollama":       {paths: []string{"/api/tags", "models"}, limit: "/api/ps"},
	"llamacpp":     {paths: []string{"models"}, limit: "/props"},
	"lmstudio":     {paths: []string{"/api/v0/models", "models"}},
}

// A lister asks one server.
type lister struct {
	service
	adapter.Options
}

func (l lister) listAll(ctx context.Context) (offers []listedModel, err error) {
	at, ok := listEndpoints[l.service.kind]
	if !ok {
		at = listEndpoint{paths: []string{"models"}}
	}
	for _, path := range at.paths {
		offers, err = l.fetchPages(ctx, path)
		var e *llm.Error
		if !errors.As(err, &e) || e.Status != http.StatusNotFound {
			break
		}
	}
	if err != nil || at.limit == "" {
		return offers, err
	}
	if page, err := l.fetchPage(ctx, at.limit, nil); err == nil {
		addLoadedWindows(offers, page)
	}
	if l.service.kind == "ollama" {
		l.showModels(ctx, offers)
	}
	return offers, nil
}

// showModels asks Ollama what its models can do, of those whose row in the list does not say it.
func (l lister) showModels(ctx context.Context, offers []listedModel) {
	const atOnce = 8
	var wait sync.WaitGroup
	for first := range min(atOnce, len(offers)) {
		wait.Go(func() {
			for i := first; i < len(offers); i += atOnce {
				if o := &offers[i]; o.vision == nil {
					if page, err := l.fetchPage(ctx, "/api/show", map[string]any{"model": o.id}); err == nil {
						o.tools, o.vision, o.thinks = hasCapability(page, toolFields), hasCapability(page, visionFields), hasCapability(page, []capabilityField{{"capabilities", "thinking"}})
						o.embeds = discover.Embeds(page, o.id)
					}
				}
			}
		})
	}
	wait.Wait()
}

// fetchPages reads a list up to its end: the page that names no other, or that has nothing new, as
// servers send the first one again that do not know how to go on.
func (l lister) fetchPages(ctx context.Context, path string) (offers []listedModel, err error) {
	next := path
	seen := map[string]bool{}
	for range maxListPages {
		page, err := l.fetchPage(ctx, next, nil)
		if err != nil {
			return nil, err
		}
		listed := parseListing(page, l.closestBuiltin().Local)
		if offers = append(offers, listed...); len(offers) > maxListed {
			return nil, l.tooMany()
		}
		old := len(seen)
		for _, o := range listed {
			seen[o.id] = true
		}
		query := nextPage(page, l.service.kind).Encode()
		if query == "" || len(listed) > 0 && len(seen) == old {
			break
		}
		sign := "?"
		if strings.Contains(path, "?") {
			sign = "&"
		}
		next = path + sign + query
	}
	return offers, nil
}

// nextPage returns what to ask a server of this kind for the next page with, nil if there is none.
func nextPage(page map[string]any, kind string) url.Values {
	if token := firstText(page, "nextPageToken"); token != "" {
		return url.Values{"pageToken": {token}}
	}
	if last := firstText(page, "last_id"); last != "" && page["has_more"] == true {
		if kind == anthropic.Kind {
			return url.Values{"after_id": {last}}
		}
		return url.Values{"after": {last}} // as all lists of OpenAI's
	}
	return nil
}

// fetchPage reads one page: by GET, or, with a body, by POST. A bare list, which Together has, counts
// as data.
func (l lister) fetchPage(ctx context.Context, path string, body map[string]any) (map[string]any, error) {
	base := l.BaseURL + "/"
	if rest, ok := strings.CutPrefix(path, "/"); ok {
		base, path = strings.TrimSuffix(l.BaseURL, "/v1")+"/", rest
	} else if l.service.kind == gemini.Kind && !versioned(l.BaseURL) {
		base += "v1beta/"
	}
	method, text := http.MethodGet, []byte(nil)
	if body != nil {
		method = http.MethodPost
		text, _ = json.Marshal(body)
	}
	req, err := http.NewRequestWithContext(ctx, method, base+path, bytes.NewReader(text))
	if err != nil {
		return nil, &llm.Error{Fault: llm.InvalidRequest, Provider: l.name, Message: "the base URL is no address"}
	}
	l.authorize(req)
	res, err := l.HTTP.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	return l.decodePage(res.Body)
}

// decodePage decodes a page and no more than maxListed of its models: servers are many, and
// each row takes many times its length.
func (l lister) decodePage(r io.Reader) (map[string]any, error) {
	var body json.RawMessage
	in := &io.LimitedReader{R: r, N: maxListPage + 1}
	if err := json.NewDecoder(in).Decode(&body); err != nil {
		if in.N <= 0 {
			err = l.badList("the list of models is larger than %d MiB", maxListPage>>20)
		}
		return nil, err
	}
	fields := map[string]json.RawMessage{}
	if bytes.HasPrefix(body, []byte("[")) {
		fields["data"] = body
	} else if err := json.Unmarshal(body, &fields); err != nil {
		return nil, nil // it is JSON, but no list
	}
	page := map[string]any{}
	for name, text := range fields {
		var value any
		switch {
		case (name == "data" || name == "models") && bytes.HasPrefix(text, []byte("[")):
			rows, err := l.decodeRows(text)
			if err != nil {
				return nil, err
			}
			value = rows
		case len(text) > maxListField:
			continue
		default:
			if err := json.Unmarshal(text, &value); err != nil {
				return nil, err
			}
		}
		page[name] = value
	}
	return page, nil
}

// decodeRows decodes the models of a page.
func (l lister) decodeRows(text []byte) ([]any, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	if _, err := d.Token(); err != nil {
		return nil, err
	}
	rows := []any{}
	for d.More() {
		if len(rows) == maxListed {
			return nil, l.tooMany()
		}
		var row any
		if err := d.Decode(&row); err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
	return rows, nil
}

func (l lister) tooMany() error { return l.badList("the list has more than %d models", maxListed) }

// badList returns the error of a list that is not read.
func (l lister) badList(format string, args ...any) error {
	return &llm.Error{Fault: llm.Server, Provider: l.name, URL: wire.Public(l.service.url), Message: fmt.Sprintf(format, args...)}
}

// versioned reports whether an address names a version of the API at its end.
func versioned(address string) bool {
	last := address[strings.LastIndexByte(address, '/')+1:]
	return len(last) > 1 && last[0] == 'v' && last[1] >= '0' && last[1] <= '9'
}

// authorize puts the key where the kind of server looks for it.
func (l lister) authorize(req *http.Request) {
	headers := map[string]string{"Authorization": "Bearer " + l.Key}
	switch l.service.kind {
	case anthropic.Kind:
		headers = anthropic.Headers(l.Options)
	case gemini.Kind:
		headers = l.KeyHeaders(map[string]string{"X-Goog-Api-Key": l.Key})
	default:
		headers = l.KeyHeaders(headers)
	}
	for name, value := range headers {
		req.Header.Set(name, value)
	}
	for name, value := range l.Headers {
		req.Header.Set(name, value)
	}
}

// listError returns why a listing did not come. What the client did not explain is the
// connection's or the server's.
func (s service) listError(err error) error {
	if found := (*llm.Error)(nil); errors.As(err, &found) {
		if advised, ok := adviseCloud(s, found, ""); ok {
			return advised
		}
		return s.suggestRegions(found)
	}
	if errors.Is(err, context.Canceled) {
		return err
	}
	fault := &llm.Error{Fault: llm.Network, Provider: s.name, URL: wire.Public(s.url), Key: s.key.name, Message: "the list of models did not arrive"}
	if errors.Is(err, context.DeadlineExceeded) {
		fault.Message = "the list of models took too long"
	}
	return fault
}
