package providers

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"slices"
	"sort"
	"strings"
	"sync"
	"time"

	"parley/providers/adapter"
	"parley/providers/catalog"
	"parley/providers/llm"
	"parley/providers/wire"
)

// Bounds of a model list and of each of its pages: gateways list hundreds of models with long
// descriptions.
const (
	maxListPages = 20
	maxListed    = 10_000  // models
	maxListField = 1 << 16 // bytes of the fields beside the models in a page
)

// maxListPage bounds a page, in bytes; lowered by tests.
var maxListPage int64 = 16 << 20

// listTimeout bounds the wait for a model list.
var listTimeout = 10 * time.Second

// withDefaults replaces unset options with their defaults.
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
		return service{}, nil, UnknownName("provider", name, c.providerNames())
	case notReady(s) != nil:
		return service{}, nil, notReady(s)
	}
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	offers, err := s.listModels(ctx, o)
	return s, offers, err
}

// listModels asks the server for its models. For programs and the demo it returns those of the
// catalog; for services without a list, those of the configuration too.
func (s service) listModels(ctx context.Context, o OpenOptions) (offers []listedModel, err error) {
	if listsNone(s) {
		for _, id := range s.modelIDs() {
			offers = append(offers, listedModel{Facts: catalog.Facts{ID: id}})
		}
		return offers, nil
	}
	if s.row.isDemo || s.isProgram() {
		for _, id := range catalog.IDs(s.closestBuiltin().ID) {
			offers = append(offers, listedModel{Facts: catalog.Facts{ID: id}})
		}
		return offers, nil
	}
	l, err := s.lister(ctx, o)
	if err != nil {
		return nil, err
	}
	defer l.HTTP.CloseIdleConnections()
	if offers, err = l.listAll(ctx); err != nil {
		return nil, s.listError(err)
	}
	sort.Slice(offers, func(i, j int) bool { return offers[i].ID < offers[j].ID })
	return slices.CompactFunc(offers, func(a, b listedModel) bool { return a.ID == b.ID }), nil
}

// listsNone reports whether a service has no model list.
func listsNone(s service) bool {
	return s.builtin.NoList && !hostAt(s.url).lists
}

// A lister requests the model list of one server.
type lister struct {
	service
	adapter.Options
}

// lister returns a lister of the server of s. It looks up the key, which may run a command.
func (s service) lister(ctx context.Context, o OpenOptions) (lister, error) {
	t, err := s.target(ctx)
	if err != nil {
		return lister{}, err
	}
	t.transport, t.log, t.tap = o.transport(s.name, ""), wire.Log{To: o.Debug, Kind: s.kind}, o.Tap
	return lister{service: s, Options: t.withClient()}, nil
}

// firstPath calls fetch for the first of paths that exists.
func firstPath(paths []string, fetch func(path string) error) (err error) {
	for _, path := range paths {
		err = fetch(path)
		if e := (*llm.Error)(nil); !errors.As(err, &e) || e.Status != http.StatusNotFound {
			break
		}
	}
	return err
}

func (l lister) listAll(ctx context.Context) (offers []listedModel, err error) {
	at := l.row.list
	if at.paths == nil {
		at.paths = listing.paths
	}
	err = firstPath(at.paths, func(path string) (err error) {
		offers, err = l.fetchPages(ctx, path)
		return err
	})
	if err != nil || at.limit == "" {
		return offers, err
	}
	if page, err := l.fetchPage(ctx, at.limit, nil); err == nil {
		addLoadedWindows(offers, page)
	}
	if at.show != "" {
		l.showModels(ctx, at.show, offers)
	}
	return offers, nil
}

// showModels requests the capabilities of models whose list entries lack them.
func (l lister) showModels(ctx context.Context, path string, offers []listedModel) {
	const atOnce = 8
	var wait sync.WaitGroup
	for first := range min(atOnce, len(offers)) {
		wait.Go(func() {
			for i := first; i < len(offers); i += atOnce {
				if o := &offers[i]; o.Vision == nil {
					if page, err := l.fetchPage(ctx, path, map[string]any{"model": o.ID}); err == nil {
						o.Tools, o.Vision, o.Thinks = hasCapability(page, toolFields), hasCapability(page, visionFields), hasCapability(page, []capabilityField{{"capabilities", "thinking"}})
						o.embeds = catalog.Embeds(page, o.ID)
					}
				}
			}
		})
	}
	wait.Wait()
}

// fetchPages reads all pages of a list. It stops at a page without a successor, or with no new
// model: servers without paging return the first page again.
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
			seen[o.ID] = true
		}
		query := nextPage(page, l.row.list).Encode()
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

// nextPage returns the query parameters of the next page; nil if there is none.
func nextPage(page map[string]any, at listEndpoint) url.Values {
	if token := catalog.FirstText(page, "nextPageToken"); token != "" {
		return url.Values{"pageToken": {token}}
	}
	if last := catalog.FirstText(page, "last_id"); last != "" && page["has_more"] == true {
		return url.Values{cmp.Or(at.after, "after"): {last}}
	}
	return nil
}

// fetchPage reads one page by GET, or by POST if body is not nil. A bare JSON array, as Together
// sends, counts as data.
func (l lister) fetchPage(ctx context.Context, path string, body map[string]any) (map[string]any, error) {
	base := l.BaseURL
	if rest, ok := strings.CutPrefix(path, "/"); ok {
		base, path = strings.TrimSuffix(base, "/v1"), rest
	} else if version := l.family.BaseURL; version != nil {
		base = version(base)
	}
	method, text := http.MethodGet, []byte(nil)
	if body != nil {
		method = http.MethodPost
		text, _ = json.Marshal(body)
	}
	req, err := http.NewRequestWithContext(ctx, method, base+"/"+path, bytes.NewReader(text))
	if err != nil {
		return nil, &llm.Error{Fault: llm.InvalidRequest, Provider: l.name, Message: "the base URL is no address"}
	}
	headers := l.family.Headers
	if headers == nil {
		headers = func(o adapter.Options) map[string]string { return o.RequestHeaders("") }
	}
	for name, value := range headers(l.Options) {
		req.Header.Set(name, value)
	}
	res, err := l.HTTP.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	return l.decodePage(res.Body)
}

// decodePage decodes a page and at most maxListed of its models: decoded rows take many times their
// length.
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
		return nil, nil // valid JSON, but not a list
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

// badList returns the error for an invalid list.
func (l lister) badList(format string, args ...any) error {
	return &llm.Error{Fault: llm.Server, Provider: l.name, URL: wire.Public(l.service.url), Message: fmt.Sprintf(format, args...)}
}

// listError explains why a list could not be fetched. Errors that the client did not explain come
// from the connection or the server.
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
