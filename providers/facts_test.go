package providers

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"parley/providers/catalog"
	"parley/providers/llm"
)

// factsDay is a day after the revision of the built-in facts.
var factsDay = catalog.Revised().Add(24 * time.Hour)

// publicList is OpenRouter's list, with a model for every kind of price.
const publicList = `{"data":[
{"id":"openai/gpt-6-luna","context_length":1050000,"pricing":{"prompt":"0.00000008","completion":"0.0000004"},"supported_parameters":["tools"]},
{"id":"openai/gpt-6-luna:free","context_length":8000,"pricing":{"prompt":"0","completion":"0"}},
{"id":"openai/gpt-7-sol","context_length":3000000,"pricing":{"prompt":"0.000003","completion":"0.000009"}},
{"id":"anthropic/claude-haiku-5.5","context_length":1000000,"pricing":{"prompt":"0.0000002","completion":"0.000001"}},
{"id":"qwen/qwen3.8-max","context_length":5000,"pricing":{"prompt":"0.000009","completion":"0.000009"}},
{"id":"acme/m","name":"Acme: M","context_length":64000,"pricing":{"prompt":"0.0000015","completion":"0.000006"},"supported_parameters":["tools","reasoning"]},
{"id":"acme/free","pricing":{"prompt":"0","completion":"0"}},
{"id":"acme/nan","pricing":{"prompt":"NaN","completion":"1"}},
{"id":"acme/negative","pricing":{"prompt":"-0.1","completion":"1"}},
{"id":"acme/dear","pricing":{"prompt":"9","completion":"9"}},
{"id":"acme/\u001b[31mred","pricing":{"prompt":"0.001"}},
{"id":"openrouter/auto","pricing":{"prompt":"-1","completion":"-1"}}]}`

// lists answers like the services with these hosts, and fails for all others.
func lists(t *testing.T, pages map[string]string) http.RoundTripper {
	return roundTrip(func(r *http.Request) (*http.Response, error) {
		text, ok := pages[r.URL.Host]
		if !ok {
			return nil, fmt.Errorf("%s is offline", r.URL.Host)
		}
		w := httptest.NewRecorder()
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.WriteString(text)
		return w.Result(), nil
	})
}

// Facts come from the lists of ready providers, each in its own form, and from OpenRouter's, which
// needs no key and has facts missing in OpenAI's and Anthropic's lists. Models missing in a
// service's list keep their facts.
func TestFetchFacts(t *testing.T) {
	getenv := env("OPENAI_API_KEY", "k-openai-1", "GEMINI_API_KEY", "k-gemini-1", "GROQ_API_KEY", "k-groq-123", "MISTRAL_API_KEY", "k-mistral-1")
	pages := map[string]string{
		"api.openai.com":                    `{"data":[{"id":"gpt-6-luna","shutdown_date":"2027-02-01"},{"id":"gpt-0","lifecycle":"retired"},{"id":"gpt-5.5","retires_at":"2027-03-01T00:00:00Z"},{"id":"gpt-5.4","expiration_date":"soon"},{"id":"gpt-7-sol"},{"id":"gpt-6-luna-2026-01-01"},{"id":"text-embedding-3-small"}]}`,
		"generativelanguage.googleapis.com": `{"models":[{"name":"models/gemini-9-neon","displayName":"Gemini 9 Neon","inputTokenLimit":2000000,"outputTokenLimit":65536,"supportedGenerationMethods":["generateContent"]},{"name":"models/gemini-4-argon","inputTokenLimit":2097152,"supportedGenerationMethods":["generateContent"]}]}`,
		"api.groq.com":                      `{"data":[{"id":"openai/gpt-oss-120b","context_window":262144}]}`,
		"openrouter.ai":                     publicList,
	}
	kept := catalog.OpenFactsFile(filepath.Join(t.TempDir(), "models.jsonl"))
	o := OpenOptions{Getenv: getenv, Transport: lists(t, pages)}
	fetched, errs := FetchFacts(t.Context(), Config{}, o, factsDay)
	if len(errs) != 1 || llm.FaultOf(errs[0]) != llm.Network || !strings.Contains(errs[0].Error(), "mistral") {
		t.Errorf("errors: %v", errs)
	}
	var from []string
	for _, f := range fetched {
		from = append(from, f.Provider)
	}
	if want := []string{"openai", "gemini", "groq", "openrouter", "anthropic"}; !slices.Equal(from, want) {
		t.Errorf("lists of %q, want %q", from, want)
	}
	update := kept.Compare(fetched)
	var told []string
	for _, c := range update.Changes {
		if c.Kind != catalog.ChangeGone {
			told = append(told, strings.TrimSpace(fmt.Sprintf("%s/%s %s %s", c.Provider, c.Model, c.Kind, c.Why)))
		}
	}
	want := []string{
		"openai/gpt-7-sol new", "openai/gpt-6-luna price", "openai/gpt-5.5 retires", "openai/gpt-6-luna retires",
		"gemini/gemini-9-neon new", "gemini/gemini-4-argon window",
		"groq/openai/gpt-oss-120b window",
		"openrouter/acme/dear new", "openrouter/acme/free new", "openrouter/acme/m new", "openrouter/acme/nan new", "openrouter/acme/negative new",
		"openrouter/openai/gpt-6-luna:free new", "openrouter/openai/gpt-7-sol new", "openrouter/qwen/qwen3.8-max new",
		"openrouter/anthropic/claude-haiku-5.5 price", "openrouter/openai/gpt-6-luna price",
		`openrouter/acme/dear refused price "9" for a token`, `openrouter/acme/nan refused price "NaN" for a token`, `openrouter/acme/negative refused price "-0.1" for a token`,
		"openrouter/acme/␛[31mred refused its id is not plain text of up to 200 characters",
		"anthropic/claude-haiku-5-5 price",
	}
	if !slices.Equal(told, want) {
		t.Errorf("changes:\n%s\nwant:\n%s", strings.Join(told, "\n"), strings.Join(want, "\n"))
	}
	if err := update.Save(); err != nil {
		t.Fatal(err)
	}

	c := Config{Facts: catalog.OpenFactsFile(kept.Path())}
	for _, want := range []Choice{
		{Name: "openai/gpt-6-luna", Context: 1_050_000, Price: catalog.Price{Input: 0.08, Output: 0.4}, Lifecycle: catalog.Lifecycle{Retires: "2027-02-01"}},
		{Name: "openai/gpt-5.5", Context: 1_050_000, Lifecycle: catalog.Lifecycle{Retires: "2027-03-01"}},
		{Name: "openai/gpt-5.4", Context: 1_050_000},
		{Name: "openai/gpt-7-sol", Context: 3_000_000, Price: catalog.Price{Input: 3, Output: 9}},
		{Name: "openai/gpt-6.1-sol", Context: 1_050_000, Price: catalog.Price{Input: 2, Output: 10}}, // which no list names
		{Name: "gemini/gemini-9-neon", Title: "Gemini 9 Neon", Context: 2_000_000},
		{Name: "gemini/gemini-4-argon", Context: 2_097_152},
		{Name: "anthropic/claude-haiku-5-5", Context: 1_000_000, Price: catalog.Price{Input: 0.2, Output: 1}},
		{Name: "openrouter/acme/m", Title: "Acme: M", Context: 64_000, Price: catalog.Price{Input: 1.5, Output: 6}, Tools: true, Thinks: true},
		{Name: "openrouter/acme/free", Price: catalog.Price{Free: true}},
		{Name: "mistral/mistral-large-4", Context: 1_048_576}, // of a list that could not be fetched
	} {
		all := Choices(c, getenv)
		at := slices.IndexFunc(all, func(c Choice) bool { return c.Name == want.Name })
		if at < 0 {
			t.Errorf("%s is not in the picker", want.Name)
			continue
		}
		got := all[at]
		if want := want.Lifecycle.Retires; got.Lifecycle.Retires != want {
			t.Errorf("%s retires on %q, want %q", got.Name, got.Lifecycle.Retires, want)
		}
		if got.Context != want.Context || want.Title != "" && got.Title != want.Title ||
			want.Price.Known() && (got.Price.Input != want.Price.Input || got.Price.Output != want.Price.Output || got.Price.Free != want.Price.Free) ||
			want.Tools && !got.Tools || want.Thinks && !got.Thinks {
			t.Errorf("%s: got %+v, want %+v", want.Name, got, want)
		}
	}
	for _, name := range []string{"openai/gpt-6-luna-2026-01-01", "openai/text-embedding-3-small"} {
		if slices.ContainsFunc(Choices(c, getenv), func(c Choice) bool { return c.Name == name }) {
			t.Errorf("%s is in the picker", name)
		}
	}
	e, err := Open(c, "openai/gpt-7-sol", OpenOptions{Getenv: getenv})
	if err != nil || e.Context != 3_000_000 {
		t.Errorf("opened: %+v, %v", e, err)
	}
}

// The user's configuration takes precedence over fetched facts.
func TestConfigurationBeforeFacts(t *testing.T) {
	path := filepath.Join(t.TempDir(), "models.jsonl")
	list := catalog.Fetched{List: catalog.List{Provider: "box", URL: "http://box/v1", Fetched: factsDay, Models: []catalog.Facts{{ID: "m", Context: 1000, Price: catalog.Price{Input: 5, Output: 6}}, {ID: "n", Context: 2000}}}}
	if err := catalog.OpenFactsFile(path).Compare([]catalog.Fetched{list}).Save(); err != nil {
		t.Fatal(err)
	}
	c := Config{Facts: catalog.OpenFactsFile(path), Providers: map[string]Provider{"box": {BaseURL: "http://box/v1", Model: map[string]Model{"m": {Context: 77, Price: &catalog.Price{Input: 1, Output: 2}}}}}}
	all := Choices(c, env())
	for name, want := range map[string][2]float64{"box/m": {77, 1}, "box/n": {2000, 0}} {
		at := slices.IndexFunc(all, func(c Choice) bool { return c.Name == name })
		if at < 0 || all[at].Context != int(want[0]) || all[at].Price.Input != want[1] {
			t.Errorf("%s: got %+v, want %v", name, all[max(at, 0)], want)
		}
	}
	moved := c.Providers["box"]
	moved.BaseURL = "http://moved/v1"
	c.Providers["box"] = moved
	if slices.ContainsFunc(Choices(c, env()), func(c Choice) bool { return c.Name == "box/n" }) {
		t.Error("a service that has moved has the list of before")
	}
}

// Lists are bounded in size, models and other fields, however much a server sends, and the error
// says so.
func TestEndlessLists(t *testing.T) {
	defer func(most int64) { maxListPage = most }(maxListPage)
	for _, tt := range []struct {
		name, head, row string
		most            int64
		want            string
	}{
		{"500 MB of one name", `{"data":[{"id":"`, strings.Repeat("a", 1<<16), maxListPage, "larger than 16 MiB"},
		{"500 MB of models", `{"data":[`, `{"id":"a","description":"` + strings.Repeat("a", 1<<16) + `"},`, 2 << 20, "larger than 2 MiB"},
		{"a million models", `[`, strings.Repeat(`{},`, 1<<12), 2 << 20, "larger than 2 MiB"},
		{"100,000 models", `{"data":[`, "", maxListPage, "more than 10000 models"},
	} {
		var sent atomic.Int64
		maxListPage = tt.most
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, err := fmt.Fprint(w, tt.head)
			for i := 0; tt.row == "" && i < 100_000; i++ {
				fmt.Fprintf(w, `{"id":"m%d"},`, i)
			}
			if tt.row == "" {
				fmt.Fprint(w, `{"id":"last"}]}`)
			}
			for tt.row != "" && err == nil && sent.Load() < 500<<20 {
				_, err = fmt.Fprint(w, tt.row)
				sent.Add(int64(len(tt.row)))
			}
		}))
		c := Config{Providers: map[string]Provider{"box": {BaseURL: server.URL, APIKey: "k"}}}
		_, err := List(t.Context(), c, "box")
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %s", tt.name, err, tt.want)
		}
		server.Close()
		if sent.Load() >= 50<<20 {
			t.Errorf("%s: %d bytes were taken", tt.name, sent.Load())
		}
	}
}
