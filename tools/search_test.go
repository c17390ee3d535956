package tools

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"parley/tools/act"
	"parley/tools/process"
	"parley/tools/sanitize"
)

// TestSearch asks each kind of service as it documents it, shows the user where the query goes,
// and gives the model what was found without what a user does not see.
func TestSearch(t *testing.T) {
	const results = `[{"title":"Go\u001b[31m","url":"https://go.dev\u200b/blog","content":"Out \u0000now","description":""},{"title":"Notes","url":"https://go.dev/doc","content":"` + "x" + `"}]`
	var asked string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		asked = r.Method + " " + r.URL.String() + " " + r.Header.Get("Authorization") + r.Header.Get("X-Subscription-Token") + " " + string(body)
		switch {
		case strings.Contains(r.URL.RawQuery, "fail"):
			w.WriteHeader(403)
			io.WriteString(w, "bad key "+r.Header.Get("X-Subscription-Token"))
		case strings.HasPrefix(r.URL.Path, "/brave"):
			fmt.Fprintf(w, `{"web":{"results":%s}}`, results)
		default:
			fmt.Fprintf(w, `{"results":%s}`, results)
		}
	}))
	defer server.Close()
	getenv := func(name string) string {
		return map[string]string{"BRAVE_API_KEY": "sk-brave-1", "MINE": "sk-mine-2"}[name]
	}
	for _, test := range []struct {
		config       SearchConfig
		query, asked string
		failed       string // "": it answers
	}{
		{SearchConfig{Kind: "searxng", Address: server.URL}, "go & more", "GET /search?format=json&q=go+%26+more  ", ""},
		{SearchConfig{Kind: "brave", Address: server.URL + "/brave"}, "go", "GET /brave?q=go sk-brave-1 ", ""},
		{SearchConfig{Kind: "tavily", Address: server.URL, KeyEnv: "MINE"}, "go", `POST / Bearer sk-mine-2 {"max_results":10,"query":"go"}`, ""},
		{SearchConfig{Kind: "brave", Address: server.URL}, "fail", "GET /?q=fail sk-brave-1 ", "403 Forbidden: bad key [redacted]"},
	} {
		set, err := Open(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		defer set.Close()
		if err := set.AddSearch(test.config, getenv); err != nil {
			t.Fatal(err)
		}
		action, err := set.Plan(t.Context(), act.SearchName, fmt.Sprintf(`{"query":%q}`, test.query))
		if err != nil {
			t.Fatal(err)
		}
		if NewPolicy(act.ModeAuto).Decide(action) != act.Ask {
			t.Errorf("%s runs unasked", test.config.Kind)
		}
		if want := "http://" + action.Host; !strings.HasPrefix(action.URL, want) || action.Access != act.AccessFetch || strings.Contains(action.URL+action.Title, "sk-") {
			t.Errorf("the user sees %+v", action)
		}
		out := action.Do(context.Background(), func(string) {})
		if strings.TrimSpace(asked) != strings.TrimSpace(test.asked) {
			t.Errorf("asked %q, want %q", asked, test.asked)
		}
		switch {
		case test.failed != "":
			if !out.Failed || !strings.Contains(out.Text, test.failed) || strings.Contains(out.Text, "sk-") {
				t.Errorf("failed with %q", out.Text)
			}
		case out.Failed || !strings.Contains(out.Text, "[1] Go\nhttps://go.dev/blog\nOut now") || !strings.Contains(out.Text, "[2] Notes\nhttps://go.dev/doc\nx"):
			t.Errorf("%s found %q", test.config.Kind, out.Text)
		}
	}
}

// TestSearchConfig refuses what cannot be meant, when it is read or when the model asks.
func TestSearchConfig(t *testing.T) {
	for _, test := range []struct {
		config SearchConfig
		want   string
	}{
		{SearchConfig{}, ""},
		{SearchConfig{Kind: "brave"}, ""},
		{SearchConfig{Kind: "command", Command: process.CommandLine{Words: []string{"find"}}}, ""},
		{SearchConfig{Kind: "searxng"}, "search.address: searxng needs the address of your server"},
		{SearchConfig{Kind: "google"}, `search.kind = "google": use searxng, brave, tavily or command`},
		{SearchConfig{KeyEnv: "X"}, `search.kind = "": use`},
		{SearchConfig{Kind: "command"}, "search.command: command is missing"},
		{SearchConfig{Kind: "brave", Address: "ftp://x"}, "search.address"},
	} {
		if err := test.config.Validate(); (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%+v: %v, want %q", test.config, err, test.want)
		}
	}
	set, err := Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	if err := set.AddSearch(SearchConfig{Kind: "brave"}, func(string) string { return "" }); err != nil {
		t.Fatal(err)
	}
	for input, want := range map[string]string{`{"query":"go"}`: "set BRAVE_API_KEY", `{"query":" "}`: "the query is empty"} {
		if _, err := set.Plan(t.Context(), act.SearchName, input); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", input, err)
		}
	}
}

// A service that repeats its key gives no part of it away, wherever its words are cut.
func TestSearchMasksItsKey(t *testing.T) {
	t.Parallel()
	const key = "QXZKVWJYQUZXKVJWQZYX"
	mask := sanitize.NewMask([]string{key}, 1)
	for i := range 2 * maxExcerpt {
		said := strings.Repeat("a", i) + key + strings.Repeat("a", 2*maxExcerpt)
		if text := searchText([]searchResult{{Title: said, URL: said, Content: said}}, "host", "query", mask); strings.ContainsAny(text, "JKQVXYZ") {
			t.Fatalf("%d before it: %q", i, text)
		}
	}
}
