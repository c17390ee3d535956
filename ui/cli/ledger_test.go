package cli

import (
	"bytes"
	"encoding/json"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"parley/providers"
	"parley/providers/llm"
	"parley/session"
)

// A costRecording is a recorded conversation whose provider reports the cost of each answer.
type costRecording struct {
	Kind      string `json:"parley_kind"`
	Model     string
	Synthetic bool
	Exchanges []struct {
		Response string
		Status   int
		Type     string `json:"content_type"`
		body     []byte
		cost     float64 // US dollars, as reported by the provider
	}
}

// reportedCost parses the cost from a response, independently of the product.
func reportedCost(body []byte) (cost float64, ok bool) {
	type usage struct {
		Cost    *float64 `json:"cost"`
		Ticks   *float64 `json:"cost_in_usd_ticks"` // 1e-10 US dollars
		BYOK    bool     `json:"is_byok"`
		Details struct {
			Upstream float64 `json:"upstream_inference_cost"`
		} `json:"cost_details"`
	}
	for line := range bytes.Lines(body) {
		var event struct {
			Usage    *usage
			Response struct{ Usage *usage }
		}
		if json.Unmarshal(bytes.TrimPrefix(bytes.TrimSpace(line), []byte("data:")), &event) != nil {
			continue
		}
		for _, u := range []*usage{event.Usage, event.Response.Usage} {
			switch {
			case u == nil:
			case u.Cost != nil:
				if cost, ok = *u.Cost, true; u.BYOK {
					cost += u.Details.Upstream
				}
			case u.Ticks != nil:
				cost, ok = *u.Ticks/1e10, true
			}
		}
	}
	return cost, ok
}

// costRecordings returns the recordings stored next to the repository.
func costRecordings(t *testing.T) (all []costRecording) {
	t.Helper()
	files, _ := filepath.Glob("../../../shared/wire/openai-*/*/meta.json")
	if len(files) == 0 {
		t.Skip("no recordings in ../shared/wire beside the repository")
	}
	for _, file := range files {
		var r costRecording
		meta, err := os.ReadFile(file)
		if err != nil || json.Unmarshal(meta, &r) != nil {
			t.Fatal(file, err)
		}
		known := len(r.Exchanges) > 0 && !r.Synthetic
		for i := range r.Exchanges {
			e := &r.Exchanges[i]
			var ok bool
			if e.body, err = os.ReadFile(filepath.Join(filepath.Dir(file), e.Response)); err == nil {
				e.cost, ok = reportedCost(e.body)
			}
			known = known && ok && e.Status == http.StatusOK
		}
		if known {
			all = append(all, r)
		}
	}
	return all
}

// TestLedgerOfRecordings runs conversations with recorded answers and checks that the ledger has the costs that the
// providers reported.
func TestLedgerOfRecordings(t *testing.T) {
	dir := t.TempDir()
	lib, err := session.OpenStore(func(string) string { return dir })
	if err != nil {
		t.Fatal(err)
	}
	defer lib.Close()
	want, requests := map[string]float64{}, map[string]int{}
	for _, r := range costRecordings(t) {
		var mu sync.Mutex
		served := 0
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			mu.Lock()
			defer mu.Unlock()
			if served == len(r.Exchanges) {
				w.WriteHeader(http.StatusBadRequest) // the recording ends here
				return
			}
			e := r.Exchanges[served]
			w.Header().Set("Content-Type", e.Type)
			_, _ = w.Write(e.body)
			served++
			want[r.Kind] += e.cost
			requests[r.Kind]++
		}))
		config := providers.Config{Providers: map[string]providers.Provider{r.Kind: {Kind: "openai", BaseURL: server.URL + "/v1", APIKey: "sk-recorded"}}}
		model, err := providers.Open(config, r.Kind+"/"+r.Model, providers.OpenOptions{Getenv: func(string) string { return "" }})
		if err != nil {
			t.Fatal(r.Kind, err)
		}
		s := session.New(session.Options{Model: model, Log: lib.Create(session.Info{Dir: "/work"})})
		for range s.Turn(t.Context(), llm.Part{Kind: llm.Text, Text: "go"}) {
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		server.Close()
	}
	total := 0
	for provider, cost := range want {
		sum, err := lib.Ledger().Spent(time.Now().Add(-time.Hour), time.Time{}, provider)
		if err != nil || math.Abs(sum.Usage.Cost-cost) > 1e-9 || sum.Requests-sum.Unpriced != requests[provider] {
			t.Errorf("%s: %d requests, %d without a price, cost $%g, %v; they say $%g in %d", provider, sum.Requests, sum.Unpriced, sum.Usage.Cost, err, cost, requests[provider])
		}
		t.Logf("%s: $%.6f in %d requests", provider, cost, requests[provider])
		total += requests[provider]
	}
	if total < 20 {
		t.Errorf("%d requests only say what they cost", total)
	}
}
