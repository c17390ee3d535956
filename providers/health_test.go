package providers

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/providers/llm"
	"parley/providers/llmtest"
	"parley/providers/llmtest/closed"
)

// pages returns a server that has these pages, by path and query.
func pages(t *testing.T, answers map[string]string) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		page, ok := answers[r.URL.RequestURI()]
		if !ok {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		if strings.HasPrefix(page, "!") {
			w.WriteHeader(http.StatusUnauthorized)
		}
		w.Write([]byte(strings.ReplaceAll(strings.TrimPrefix(page, "!"), "$KEY", r.Header.Get("Authorization"))))
	}))
	t.Cleanup(server.Close)
	return server
}

func TestCheck(t *testing.T) {
	good := pages(t, map[string]string{"/v1/models": `{"data":[{"id":"m"},{"id":"n"}]}`})
	locked := pages(t, map[string]string{"/v1/models": `!{"error":{"message":"bad key $KEY"}}`})
	bare := pages(t, nil)
	gone := "http://" + closed.Address(t)
	dir := t.TempDir()
	for name, text := range map[string]string{"claude": "#!/bin/sh\necho 2.1.328 '(Claude Code)'\n", "gemini": "#!/bin/sh\nexit 3\n"} {
		llmtest.Executable(t, filepath.Join(dir, name), text)
	}
	c := Config{Providers: map[string]Provider{
		"good":    {BaseURL: good.URL + "/v1", APIKeyEnv: "GOOD_KEY", Models: []string{"m"}},
		"other":   {BaseURL: good.URL + "/v1", Models: []string{"gpt-4o"}, Strategy: "prompt"},
		"any":     {Kind: "vllm", BaseURL: good.URL + "/v1"},
		"locked":  {BaseURL: locked.URL + "/v1", APIKey: canary, Models: []string{"gpt-4o"}},
		"bare":    {BaseURL: bare.URL + "/v1", Models: []string{"gpt-4o"}},
		"gone":    {BaseURL: gone + "/v1"},
		"keyless": {BaseURL: good.URL + "/v1", APIKeyEnv: "NO_SUCH_KEY"},
		"broken":  {BaseURL: good.URL + "/v1", APIKeyCommand: "exit 1"},
	}}
	list := Check(t.Context(), c, OpenOptions{Getenv: env("GOOD_KEY", canary, "PATH", dir)})
	var names []string
	got := map[string]Health{}
	for _, h := range list {
		names = append(names, h.Provider)
		got[h.Provider] = h
	}
	if want := []string{"claude-cli", "gemini-cli", "any", "bare", "broken", "gone", "good", "keyless", "locked", "other"}; !slices.Equal(names, want) {
		t.Fatalf("checked %q, want %q", names, want)
	}
	for _, tt := range []struct {
		name      string
		key       string
		reachable bool
		models    int
		model     string
		found     bool
		tools     string
		fault     llm.Fault
		hint      string
	}{
		{"good", "GOOD_KEY", true, 2, "good/m", true, "", "", ""},
		{"any", "", true, 2, "any/m", true, "", "", ""},
		{"other", "", true, 2, "other/gpt-4o", false, "prompt", llm.ModelNotFound, "parley models"},
		{"locked", "providers.locked.api_key", true, 0, "locked/gpt-4o", false, "native", llm.Authentication, "Replace the key in providers.locked.api_key"},
		{"bare", "", true, 0, "bare/gpt-4o", false, "native", "", "no list of models"},
		{"gone", "", false, 0, "", false, "", llm.Network, "Check the connection"},
		{"keyless", "", false, 0, "", false, "", llm.Authentication, "Set NO_SUCH_KEY or run parley connect keyless"},
		{"broken", "providers.broken.api_key_command", false, 0, "", false, "", llm.Authentication, "Check providers.broken.api_key_command"},
		{"claude-cli", "", true, len(mustList(t, "claude-cli")), "claude-cli/claude-sonnet-5-5", true, "none", "", ""},
		{"gemini-cli", "", false, 0, "", false, "", llm.Unknown, "Try again"},
	} {
		h := got[tt.name]
		if h.Key != tt.key || h.Reachable != tt.reachable || h.Models != tt.models || h.Model != tt.model || h.ModelFound != tt.found ||
			h.Tools != tt.tools || h.Fault != tt.fault || !strings.Contains(h.Hint, tt.hint) || h.OK() != (tt.fault == "") || (h.Error == "") != (tt.fault == "") {
			t.Errorf("%s: %+v\nwant %+v", tt.name, h, tt)
		}
	}
	if h := got["claude-cli"]; h.Version != "2.1.328 (Claude Code)" || h.URL != filepath.Join(dir, "claude") {
		t.Errorf("the program: %+v", h)
	}
	text, err := json.Marshal(list)
	if err != nil || leaks(string(text)) != "" {
		t.Errorf("%v: a secret is in %s", err, text)
	}
}

// A provider with built-in models gets a request too, with its key or token, as does one whose list
// is public: a provider that was not reached, or that refused the key, is not OK.
func TestCheckReachesWhatHasNoList(t *testing.T) {
	refused := "http://" + closed.Address(t)
	serve := func(status int, body string) string { return httptestServer(t, answer(status, body)).URL }
	open := httptestServer(t, func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/models") {
			answer(200, `{"data":[{"id":"m"}]}`)(w, r)
			return
		}
		answer(401, `{"error":{"message":"User not found."}}`)(w, r)
	}).URL
	for _, tt := range []struct {
		name, provider, url string
		conf                Provider
		fault               llm.Fault
		reachable           bool
		hint                string
	}{
		{"a port that is closed", "vertex-express", refused, Provider{}, llm.Network, false, "Check the connection"},
		{"a key that is refused", "vertex-express", serve(401, `{"error":{"message":"API keys are not supported"}}`), Provider{}, llm.Authentication, true, "rejected"},
		{"no list", "vertex-express", serve(404, `{}`), Provider{}, "", true, "parley -m vertex-express/gemini-3.5-flash -p hi"},
		{"no list for this key", "foundry-claude", serve(403, `{"error":{"message":"Public access is disabled"}}`), Provider{}, "", true, "Public access is disabled"},
		{"a list after all", "azure", serve(200, `{"data":[]}`), Provider{}, "", true, ""},
		{"a server fault", "azure", serve(500, `{}`), Provider{}, llm.Server, true, "try again"},
		{"a token that is refused", "vertex-claude", serve(401, `{}`), Provider{TokenCommand: "echo ya29.refused"}, llm.Authentication, true, "rejected"},
		{"no token", "vertex-claude", serve(200, `{}`), Provider{TokenCommand: "exit 1"}, llm.Authentication, false, "token_command"},
		{"a list that is open to all", "openrouter", open, Provider{}, llm.Authentication, true, "rejected"},
		{"a balance that is refused", "deepseek", open, Provider{}, llm.Authentication, true, "rejected"},
		{"no balance to ask for", "deepseek", serve(200, `{"data":[]}`), Provider{}, "", true, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := tt.conf
			if p.BaseURL = tt.url; p.TokenCommand == "" {
				p.APIKey = canary
			}
			list := Check(t.Context(), Config{Providers: map[string]Provider{tt.provider: p}}, OpenOptions{Getenv: env()})
			if len(list) != 1 {
				t.Fatalf("checked %+v", list)
			}
			h := list[0]
			if h.Fault != tt.fault || h.Reachable != tt.reachable || !strings.Contains(h.Hint, tt.hint) || (h.Hint == "") != (tt.hint == "") {
				t.Errorf("got %+v\nwant %+v", h, tt)
			}
			if leaks(h.Error+h.Hint) != "" {
				t.Errorf("a key is in %q, %q", h.Error, h.Hint)
			}
		})
	}
}

// httptestServer serves until the test ends.
func httptestServer(t *testing.T, serve http.HandlerFunc) *httptest.Server {
	s := httptest.NewServer(serve)
	t.Cleanup(s.Close)
	return s
}

func mustList(t *testing.T, name string) []string {
	t.Helper()
	ids, err := List(t.Context(), Default(), name)
	if err != nil {
		t.Fatal(err)
	}
	return ids
}

// Servers are asked at the same time, and one that does not answer delays the result no longer than
// the caller allows.
func TestCheckIsParallelAndEnds(t *testing.T) {
	stop := make(chan struct{})
	arrived := make(chan struct{}, 3)
	silent := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		arrived <- struct{}{}
		<-stop
	}))
	defer silent.Close()
	defer close(stop)
	c := Config{Providers: map[string]Provider{}}
	for _, name := range []string{"a", "b", "c"} {
		c.Providers[name] = Provider{BaseURL: silent.URL}
	}
	ctx, cancel := contextUntil(t, func() {
		for range 3 { // waits until all requests have arrived
			<-arrived
		}
	})
	defer cancel()
	for _, h := range Check(ctx, c, OpenOptions{Getenv: env()}) {
		if h.OK() || h.Reachable || h.Latency > time.Minute {
			t.Errorf("%+v", h)
		}
	}
}

// An address from the environment may contain a password or a key, which must not be shown.
func TestAddressesHoldNoSecrets(t *testing.T) {
	gone := "http://" + closed.Address(t)
	getenv := env("OPENAI_API_KEY", canary, "OPENAI_BASE_URL", strings.Replace(gone, "://", "://me:"+canary+"@", 1)+"/v1?key="+canary)
	list := Check(t.Context(), Default(), OpenOptions{Getenv: getenv})
	text, err := json.Marshal(list)
	if err != nil || len(list) != 1 || list[0].URL != gone+"/v1" || list[0].Fault != llm.Network || leaks(string(text)+list[0].Err.Error()) != "" {
		t.Errorf("%v: %s", err, text)
	}
	_, err = Open(Default(), "anthropic", OpenOptions{Getenv: env("ANTHROPIC_BASE_URL", "http://me:"+canary+"@box/?key="+canary)})
	if err == nil || leaks(err.Error()+llm.InShell.Hint(err)) != "" || !strings.Contains(err.Error(), "Anthropic") {
		t.Errorf("without a key: %v", err)
	}
}
