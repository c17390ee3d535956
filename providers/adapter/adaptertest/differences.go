package adaptertest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// Watch calls seen with the body of each request that client sends.
func Watch(client *http.Client, seen func(body []byte)) {
	client.Transport = watcher{client.Transport, seen}
}

type watcher struct {
	http.RoundTripper
	seen func(body []byte)
}

func (w watcher) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	w.seen(body)
	req.Body = io.NopCloser(bytes.NewReader(body))
	return w.RoundTripper.RoundTrip(req)
}

// CloseIdleConnections closes the idle connections of the wrapped transport.
func (w watcher) CloseIdleConnections() {
	(&http.Client{Transport: w.RoundTripper}).CloseIdleConnections()
}

// An Exception is a known difference between parley's JSON and that of a vendor's types.
type Exception struct {
	Path   string // Path of the Difference
	Reason string
	Fits   func(want, got any) bool // reports whether the difference is allowed; nil allows any
	used   bool
}

// Exceptions are known differences.
type Exceptions []*Exception

// Allow reports whether a difference is known.
func (e Exceptions) Allow(d Difference) bool {
	allowed := false
	for _, x := range e {
		if d.Path == x.Path && (x.Fits == nil || x.Fits(d.Want, d.Got)) {
			x.used, allowed = true, true
		}
	}
	return allowed
}

// CheckUsed fails t for each exception that allowed no difference.
func (e Exceptions) CheckUsed(t *testing.T) {
	t.Helper()
	for _, x := range e {
		if !x.used {
			t.Errorf("no difference at %s any more: drop the exception", x.Path)
		}
	}
}

// A Difference is a value that differs between two JSON texts.
type Difference struct {
	Path      string // names joined by dots, "[]" for any index of a list
	Want, Got any    // decoded; nil if missing or null
}

// Differences returns the values that differ between two JSON texts: the order of fields and the
// spelling of numbers and strings do not matter. It panics if a text is not JSON.
func Differences(want, got []byte) []Difference {
	var w, g any
	for data, v := range map[*[]byte]*any{&want: &w, &got: &g} {
		if err := json.Unmarshal(*data, v); err != nil {
			panic(fmt.Sprintf("%v in %s", err, *data))
		}
	}
	return differ("", w, g, nil)
}

func differ(path string, want, got any, list []Difference) []Difference {
	switch w := want.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok {
			break
		}
		names := maps.Clone(w)
		maps.Copy(names, g)
		for _, name := range slices.Sorted(maps.Keys(names)) {
			list = differ(strings.TrimPrefix(path+"."+name, "."), w[name], g[name], list)
		}
		return list
	case []any:
		g, ok := got.([]any)
		if !ok || len(g) != len(w) {
			break
		}
		for i := range w {
			list = differ(path+"[]", w[i], g[i], list)
		}
		return list
	default:
		if _, object := got.(map[string]any); object {
			break
		}
		if _, array := got.([]any); array {
			break
		}
		if want == got {
			return list
		}
	}
	return append(list, Difference{path, want, got})
}
