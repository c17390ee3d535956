package tools

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

// A user gets the bytes of a file and the text of a page, or a reason.
func TestFetchFile(t *testing.T) {
	answers := map[string]struct {
		status      int
		kind, body  string
		name, want  string
		err, moveTo string
	}{
		"/a/fox.png": {kind: "image/png", body: "\x89PNG\r\n\x1a\n" + strings.Repeat("\x00", 2000), name: "fox.png", want: "\x89PNG\r\n\x1a\n" + strings.Repeat("\x00", 2000)},
		"/song":      {kind: "audio/wav", body: "RIFF\x01\x00\x00\x00WAVE" + strings.Repeat("\xff", 900), name: "song", want: "RIFF\x01\x00\x00\x00WAVE" + strings.Repeat("\xff", 900)},
		"/page":      {kind: "text/html", body: "<title>T\x1b[2J</title><script>x</script><h1>Hello</h1>", name: "page", want: "Title: T\n\n# Hello\n"},
		"/notes.txt": {kind: "text/plain", body: "one\ntwo", name: "notes.txt", want: "one\ntwo\n"},
		"/missing":   {status: 404, kind: "text/html", body: "<p>no", err: "404 Not Found"},
		"/large":     {kind: "application/zip", body: "PK\x03\x04" + strings.Repeat("\x00", maxWire), err: "larger than 5 MiB"},
		"/away":      {status: 302, moveTo: "http://127.0.0.1/secret", err: "this computer"},
	}
	server, f := site(t, func(w http.ResponseWriter, r *http.Request) {
		a := answers[r.URL.Path]
		w.Header().Set("Content-Type", a.kind)
		if a.moveTo != "" {
			w.Header().Set("Location", a.moveTo)
		}
		if a.status != 0 {
			w.WriteHeader(a.status)
		}
		_, _ = io.WriteString(w, a.body)
	})
	f.resolver = names(t, map[string][]string{"site.test": {"127.0.0.1"}})
	for path, a := range answers {
		name, data, err := f.file(t.Context(), "http://site.test:"+server.URL[strings.LastIndexByte(server.URL, ':')+1:]+path)
		if a.err != "" {
			if err == nil || !strings.Contains(err.Error(), a.err) {
				t.Errorf("%s: %v, want %q", path, err, a.err)
			}
			continue
		}
		if err != nil || name != a.name || string(data) != a.want {
			t.Errorf("%s: %q, %.60q, %v; want %q, %.60q", path, name, data, err, a.name, a.want)
		}
	}
	for _, address := range []string{"http://127.0.0.1/x", "http://[::1]/", "file:///etc/passwd", "https://user:pw@example.com/"} {
		if _, _, err := FetchFile(t.Context(), address); err == nil {
			t.Errorf("%s was fetched", address)
		}
	}
}
