// testdata/gemini-cached.sse is an answer in the documented form, written by hand.

package providers_test

import (
	"errors"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"parley/providers"
	"parley/providers/llm"
	"parley/session/cachewatch"
)

// recorded holds the directory of recorded answers beside the repository.
const recorded = "../../shared/wire"

// TestRecordedFigures passes cache figures of providers, recorded or documented, through the
// ledger: an answer, the same answer again, and after another system prompt an answer that reads no
// cache.
func TestRecordedFigures(t *testing.T) {
	for _, tt := range []struct {
		file            string // that holds the answer
		kind, model     string
		cold            []string  // replaced if no cache is read
		usage           llm.Usage // of the answer, without its output
		again           int       // missed tokens of the repeated answer
		missed          int       // missed tokens of the answer that reads no cache
		lifetime, least int       // known minutes and tokens of the cache
	}{
		{
			file: recorded + "/anthropic/syn-anthropic-max-tokens-cache/01.response.sse", kind: "anthropic", model: "claude-sonnet-4-5",
			cold:   []string{`"cache_read_input_tokens":2048,"cache_creation_input_tokens":512`, `"cache_read_input_tokens":0,"cache_creation_input_tokens":2560`},
			usage:  llm.Usage{Input: 2567, CacheRead: 2048, CacheWrite: 512},
			missed: 2560, lifetime: 5, least: 4096,
		},
		{
			file: recorded + "/openai-responses/ai-openai-code-interpreter-tool.1/01.response.sse", kind: "openai-responses", model: "gpt-5.4-mini",
			cold:   []string{`"cached_tokens":2944`, `"cached_tokens":0`},
			usage:  llm.Usage{Input: 6047, CacheRead: 2944},
			again:  3103,
			missed: 6047, lifetime: 60, least: 1024,
		},
		{
			file: recorded + "/openai-chat/ai-deepseek-tool-call-json/01.response.json", kind: "deepseek", model: "deepseek-v4-pro",
			cold:  []string{`"cached_tokens": 320`, `"cached_tokens": 0`, `"prompt_cache_hit_tokens": 320`, `"prompt_cache_hit_tokens": 0`},
			usage: llm.Usage{Input: 339, CacheRead: 320}, // too few tokens for a miss
		},
		{
			// The format is documented at ai.google.dev/api/generate-content#UsageMetadata.
			file: "testdata/gemini-cached.sse", kind: "gemini", model: "gemini-3.1-pro-preview",
			cold:   []string{`"cachedContentTokenCount": 8173,`, "", `,"cacheTokensDetails": [{"modality": "TEXT","tokenCount": 8173}]`, ""},
			usage:  llm.Usage{Input: 9412, CacheRead: 8173},
			again:  1239,
			missed: 9412, lifetime: 5, least: 4096,
		},
	} {
		t.Run(tt.kind, func(t *testing.T) {
			data, err := os.ReadFile(filepath.FromSlash(tt.file))
			if errors.Is(err, fs.ErrNotExist) && strings.HasPrefix(tt.file, recorded) {
				t.Skip("no recordings beside the repository")
			} else if err != nil {
				t.Fatal(err)
			}
			p := newPlayer(t, tt.kind, tt.model, strings.HasSuffix(tt.file, ".json"))
			if want := (llm.Cache{Lifetime: time.Duration(tt.lifetime) * time.Minute, MinTokens: tt.least, KeepsToolChoice: tt.kind == "openai-responses"}); p.Cache != want {
				t.Errorf("known of the cache: %+v, want %+v", p.Cache, want)
			}
			if u, missed := p.play(string(data), "Be brief."); u != tt.usage || missed != (cachewatch.Miss{}) {
				t.Errorf("first: %+v, missed %+v", u, missed)
			}
			if u, missed := p.play(string(data), "Be brief."); u != tt.usage || missed.Tokens != tt.again || missed.Tokens > 0 && missed.Cause != cachewatch.Unexplained {
				t.Errorf("again: %+v, missed %+v", u, missed)
			}
			cold := strings.NewReplacer(tt.cold...).Replace(string(data))
			u, missed := p.play(cold, "Be long.")
			if u.Input != tt.usage.Input || u.CacheRead != 0 || missed.Tokens != tt.missed {
				t.Errorf("cold: %+v, missed %+v", u, missed)
			}
			if missed.Tokens > 0 && (missed.Cause != cachewatch.SystemChanged || missed.Cost <= 0) {
				t.Errorf("cold: missed %+v", missed)
			}
		})
	}
}

// A player sends requests to a model whose service returns given answers, and records them in a
// ledger.
type player struct {
	*testing.T
	llm.Endpoint
	ledger cachewatch.Tracker
	says   string
	clock  time.Time
}

// newPlayer returns a player for a model of a service of kind; whole disables streaming.
func newPlayer(t *testing.T, kind, model string, whole bool) *player {
	p := &player{T: t, clock: time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		if whole {
			w.Header().Set("Content-Type", "application/json")
		}
		_, _ = w.Write([]byte(p.says))
	}))
	t.Cleanup(server.Close)
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	id, _, _ := strings.Cut(kind, "-")
	config := providers.Config{Providers: map[string]providers.Provider{id: {Kind: kind, BaseURL: server.URL + "/v1", APIKey: "test-key"}}}
	e, err := providers.Open(config, id+"/"+model, providers.OpenOptions{Transport: transport})
	if err != nil {
		t.Fatal(err)
	}
	p.Endpoint = e
	return p
}

// play sends one request, and returns the usage without its output and price, and the
// ledger's report.
func (p *player) play(answer, system string) (u llm.Usage, missed cachewatch.Miss) {
	p.Helper()
	p.says = answer
	p.clock = p.clock.Add(time.Minute)
	req := llm.Request{System: system, Messages: []llm.Message{llm.UserText("Are they the same?")}}
	for event, err := range p.Stream(p.T.Context(), req) {
		if err != nil {
			p.Fatal(err)
		}
		if used, ok := event.(llm.Usage); ok {
			u = llm.Usage{Input: used.Input, CacheRead: used.CacheRead, CacheWrite: used.CacheWrite}
		}
	}
	prefix, first := cachewatch.PrefixOf(req)
	r := cachewatch.Request{Model: p.Name, At: p.clock, First: first, LastSeq: 1, Usage: u}
	_, missed = p.ledger.Observe(r, prefix, cachewatch.Facts{Cache: p.Cache, Cost: p.Cost}, func(cachewatch.Request) cachewatch.Cause { return "" })
	return u, missed
}
