package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// keyServer answers those who have the canary, and repeats the key of all others in its
// refusal.
func keyServer(e *echo) *httptest.Server {
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		key, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		lines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
		e.Lock()
		defer e.Unlock()
		e.seen = append(e.seen, string(body))
		for _, path := range lines {
			line, _ := os.ReadFile(path)
			e.seen = append(e.seen, string(line))
		}
		if key != canary {
			fail(w, 401, `{"error":{"message":"Incorrect API key provided: `+key+`","code":"invalid_api_key"}}`)
			return
		}
		if e.keyed++; r.Method == http.MethodGet {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, `{"data":[{"id":"grok-4.7"}]}`)
			return
		}
		stream(w, delta(`{"content":"hello, connected"}`), finish("stop"))
	}))
}

// serveKeys runs "keyserver": it starts a keyServer in the place of xAI, for which there is
// no key, and writes the canary into the file key.
func serveKeys(ts *testscript.TestScript, _ bool, _ []string) {
	srv := keyServer(ts.Value("echo").(*echo))
	ts.Defer(srv.Close)
	ts.Check(os.WriteFile(ts.MkAbs("config.toml"), fmt.Appendf(nil, "[providers.xai]\nbase_url = %q\n", srv.URL+"/v1"), 0o600))
	ts.Check(os.WriteFile(ts.MkAbs("key"), []byte(" \""+canary+"\"\n"), 0o600))
	ts.Setenv("KEY", canary)
}
