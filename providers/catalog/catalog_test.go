package catalog

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/BurntSushi/toml"

	"parley/providers/llm"
)

// The data is decoded without checks at run time, so each key must exist in the structs.
func TestDataDecodesStrictly(t *testing.T) {
	files, err := data.ReadDir("data")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := data.ReadFile("data/" + file.Name())
		if err != nil {
			t.Fatal(err)
		}
		var p Provider
		meta, err := toml.Decode(string(text), &p)
		if err != nil {
			t.Errorf("%s: %v", file.Name(), err)
			continue
		}
		if unknown := meta.Undecoded(); len(unknown) > 0 {
			t.Errorf("%s: unknown keys %v", file.Name(), unknown)
		}
		id := strings.TrimSuffix(file.Name(), ".toml")
		if !slices.Contains(order, id) {
			t.Errorf("%s has no place in the order of providers", file.Name())
		}
		if got := len(IDs(id)); p.ModelsFrom == "" && got != len(p.Models) {
			t.Errorf("%s: %d rows found one by one, %d in the file: is id the first line of each?", file.Name(), got, len(p.Models))
		}
	}
}

func TestProviders(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range Providers() {
		if p.Name == "" || p.Kind == "" {
			t.Errorf("%s has no name or no kind", p.ID)
		}
		if !p.Local && len(p.KeyEnv) == 0 && p.ModelsFrom == "" {
			t.Errorf("%s needs a key, but names no variable for it", p.ID)
		}
		for _, id := range []string{p.Default, p.Small} {
			if id != "" && !slices.ContainsFunc(p.Models, func(m Model) bool { return m.ID == id }) {
				t.Errorf("%s: its model %q has no row", p.ID, id)
			}
		}
		for alias := range p.Aliases {
			if m, ok := Find(p.ID, alias); !ok || m.Provider != p.ID {
				t.Errorf("%s: the alias %q leads to %q, which has no row", p.ID, alias, p.Aliases[alias])
			}
		}
		for _, m := range p.Models {
			name := p.ID + "/" + m.ID
			if seen[name] {
				t.Errorf("%s has two rows", name)
			}
			seen[name] = true
			checkModel(t, name, m)
		}
	}
	if first := Heads()[0].ID; first != "openai" {
		t.Errorf("first provider = %q, want openai", first)
	}
}

func checkModel(t *testing.T, name string, m Model) {
	t.Helper()
	if m.Context <= 0 || m.MaxOutput > m.Context || m.MaxInput > m.Context {
		t.Errorf("%s: context %d, input %d, output %d", name, m.Context, m.MaxInput, m.MaxOutput)
	}
	if p := m.Price; p.Input < 0 || p.Output < 0 || p.CacheRead > p.Input || p.Free && p.Input+p.Output > 0 {
		t.Errorf("%s: price %+v", name, p)
	}
	for i, tier := range m.Price.Tiers {
		if tier.Input < m.Price.Input || i > 0 && tier.Above <= m.Price.Tiers[i-1].Above {
			t.Errorf("%s: tier %+v", name, tier)
		}
	}
	if !slices.Contains([]string{"", "level", "budget", "adaptive"}, m.Thinking) {
		t.Errorf("%s: thinking %q", name, m.Thinking)
	}
	if !m.Thinks && (len(m.Levels) > 0 || m.CanDisable || m.OffValue != "") {
		t.Errorf("%s does not think, but says how", name)
	}
	if m.ReplacedBy != "" {
		if _, ok := FindExact(m.Provider, m.ReplacedBy); !ok {
			t.Errorf("%s: its successor %q has no row", name, m.ReplacedBy)
		}
	}
}

// TestRetirements: a default, a small model, an alias or a successor is never a model that is retired,
// or retires within a month of the catalog's date. The machine's clock does not matter.
func TestRetirements(t *testing.T) {
	dates := 0
	for _, p := range Providers() {
		used := map[string]string{p.Default: "default", p.Small: "small"}
		for alias, id := range p.Aliases {
			used[id] = "alias " + alias
		}
		for _, m := range p.Models {
			if _, err := time.Parse(time.DateOnly, m.Retires); m.Retires != "" && err != nil {
				t.Errorf("%s/%s: %v", p.ID, m.ID, err)
			}
			if m.Retires != "" {
				dates++
			}
			if m.ReplacedBy != "" {
				used[m.ReplacedBy] = "successor of " + m.ID
			}
		}
		for id, as := range used {
			m, ok := FindExact(p.ID, id)
			if !ok {
				continue // TestCatalog
			}
			if soon := Revised().Add(retirementNotice); m.Retired(soon) {
				t.Errorf("%s: %s is %s, and retired on %s (deprecated: %v)", p.ID, as, id, m.Retires, m.Deprecated)
			}
		}
	}
	if dates < 20 {
		t.Errorf("only %d models have a date of retirement", dates)
	}
}

func TestRetirement(t *testing.T) {
	day := func(s string) time.Time {
		d, err := time.Parse(time.DateOnly, s)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	l := Lifecycle{Retires: "2026-12-11", ReplacedBy: "new"}
	for _, test := range []struct {
		now     string
		of      Lifecycle
		retired bool
		want    string
	}{
		{"2026-11-10", l, false, ""},
		{"2026-11-11", l, false, "old retires on 2026-12-11; use new instead"},
		{"2026-12-10", l, false, "old retires on 2026-12-11; use new instead"},
		{"2026-12-11", l, true, "old was retired on 2026-12-11; use new instead"},
		{"2027-12-11", Lifecycle{Retires: "2026-12-11"}, true, "old was retired on 2026-12-11"},
		{"2026-12-11", Lifecycle{}, false, ""},
		{"2026-12-11", Lifecycle{Deprecated: true}, true, ""},
	} {
		now := day(test.now)
		if got := test.of.Retirement("old", now); got != test.want || test.of.Retired(now) != test.retired {
			t.Errorf("%+v on %s: %q, retired %v; want %q, %v", test.of, test.now, got, test.of.Retired(now), test.want, test.retired)
		}
	}
}

// Users have these names in scripts and old conversations, so their rows stay, with the prices that
// were charged, in dollars per million tokens.
func TestRowsThatStay(t *testing.T) {
	for name, want := range map[string][2]float64{
		"openai/gpt-4-turbo":                   {10, 30},
		"openai/gpt-4o":                        {2.5, 10},
		"openai/gpt-4o-mini":                   {0.15, 0.6},
		"openai/o1":                            {15, 60},
		"openai/o1-mini":                       {3, 12},
		"anthropic/claude-sonnet-4-20250514":   {3, 15},
		"anthropic/claude-opus-4-20250514":     {15, 75},
		"anthropic/claude-3-5-sonnet-20241022": {3, 15},
		"anthropic/claude-3-5-haiku-20241022":  {0.8, 4},
		"gemini/gemini-2.5-flash":              {0.3, 2.5},
		"gemini/gemini-2.5-pro":                {1.25, 10},
		"gemini/gemini-2.0-flash":              {0.1, 0.4},
		"gemini/gemini-1.5-pro":                {1.25, 5},
		"xai/grok-3":                           {3, 15},
		"xai/grok-3-fast":                      {5, 25},
		"xai/grok-2":                           {2, 10},
		"xai/grok-2-vision":                    {2, 10},
		"zai/glm-4-plus":                       {7, 7},
		"zai/glm-4-air":                        {0.14, 0.14},
		"zai/glm-4-airx":                       {1.4, 1.4},
		"zai/glm-4-flash":                      {0.014, 0.014},
		"zai/glm-4v-plus":                      {1.4, 1.4},
		"qwen/qwen-plus":                       {0.4, 1.2},
		"qwen/qwen-max":                        {1.6, 6.4},
		"qwen/qwen-turbo":                      {0.05, 0.2},
		"qwen/qwen-vl-max":                     {0.8, 3.2},
		"qwen/qwen-coder-plus":                 {0.49, 1.96},
	} {
		provider, id, _ := strings.Cut(name, "/")
		m, ok := FindExact(provider, id)
		if !ok {
			t.Errorf("%s has no row", name)
			continue
		}
		if got := [2]float64{m.Price.Input, m.Price.Output}; got != want {
			t.Errorf("%s costs %v, want %v", name, got, want)
		}
	}
}

func TestFind(t *testing.T) {
	for _, tt := range []struct {
		provider, model, want string
		ok                    bool
	}{
		{"openai", "gpt-6.1-sol", "gpt-6.1-sol", true},
		{"openai", "chatgpt-4o-latest", "gpt-4o", true},
		{"openai", "o1-mini", "gpt-6-luna", true}, // it has a row, but is retired
		{"claude-cli", "opus", "claude-opus-5-5", true},
		{"claude-cli", "claude-haiku-5-5", "claude-haiku-5-5", true},
		{"groq", "openai/gpt-oss-120b", "openai/gpt-oss-120b", true},
		{"openai", "gpt-6.1", "", false},
		{"openal", "gpt-4o", "", false},
		{"ollama", "qwen3:8b", "", false},
	} {
		got, ok := Find(tt.provider, tt.model)
		if got.ID != tt.want || ok != tt.ok || ok && got.Provider != tt.provider {
			t.Errorf("Find(%q, %q) = %s/%s, %v; want %q, %v", tt.provider, tt.model, got.Provider, got.ID, ok, tt.want, tt.ok)
		}
	}
}

func TestGuess(t *testing.T) {
	const family = true // abilities only
	for _, tt := range []struct {
		id, want string
		family   bool
	}{
		{"gpt-4o", "openai/gpt-4o", false},
		{"deepseek/deepseek-v4-pro", "deepseek/deepseek-v4-pro", false},
		{"gpt-6-sol-2026-01", "openai/gpt-6-sol", false},
		{"gpt-4o-2026-01-01", "openai/gpt-4o", false},
		{"GPT-6-Sol", "openai/gpt-6-sol", false},
		{"openai/gpt-6-sol:free", "openai/gpt-6-sol", false},
		{"anthropic/claude-opus-5.5", "anthropic/claude-opus-5-5", false},
		{"claude-opus-5.5", "anthropic/claude-opus-5-5", false},
		{"bedrock/us.anthropic.claude-opus-5-5-20260801", "anthropic/claude-opus-5-5", false},
		{"accounts/fireworks/models/glm-5.3", "zai/glm-5.3", false},
		{"minimaxai/minimax-m3", "minimax/MiniMax-M3", false},
		{"gpt-oss:20b", "groq/openai/gpt-oss-20b", false},
		{"llama3.3:70b-instruct-q4_K_M", "groq/llama-3.3-70b-versatile", false},
		{"Qwen/Qwen3-32B-AWQ", "qwen/qwen3-32b", false},
		{"qwen3:8b", "qwen/qwen3-32b", family},
		{"gpt-5.4-turbo", "openai/gpt-5.4", family},
		{"gpt-oss:999b", "groq/openai/gpt-oss-120b", family},
		{"mixtral:8x7b", "", false},
		{"my-model", "", false},
		{"", "", false},
		{"///:::", "", false},
	} {
		got, ok := Guess(tt.id)
		name := ""
		if ok {
			name = got.Provider + "/" + got.ID
		}
		if name != tt.want {
			t.Errorf("Guess(%q) = %q, want %q", tt.id, name, tt.want)
			continue
		}
		if ok && (got.Context == 0) != tt.family || tt.family && got.Price.Known() {
			t.Errorf("Guess(%q): context %d, price %+v; of a family only: %v", tt.id, got.Context, got.Price, tt.family)
		}
	}
}

// An unknown newer version gets the facts of the last known one, without its price; a version older
// than the first does not.
func TestGuessNewerVersions(t *testing.T) {
	for _, tt := range []struct{ id, want string }{
		{"gpt-7", "openai/gpt-5.5"},
		{"gpt-6.3-sol", "openai/gpt-6.2-sol"},
		{"openai/gpt-10-sol-2027-01", "openai/gpt-6.2-sol"},
		{"claude-sonnet-9", "anthropic/claude-sonnet-5-5"},
		{"claude-opus-5-6-20270101", "anthropic/claude-opus-5-5"},
		{"claude-opus-5.10", "anthropic/claude-opus-5-5"},
		{"gemini-4.5-flash-preview", "gemini/gemini-3.8-flash"},
		{"grok-5", "xai/grok-4.7"},
		{"glm-6", "zai/glm-5.3"},
		{"qwen4-max", "qwen/qwen3.8-max"},
		{"deepseek-v5-pro", "deepseek/deepseek-v4-pro"},
		{"kimi-k4", "moonshot/kimi-k3"},
		{"o5-mini", "openai/o4-mini"},
		{"gpt-2-sol", ""},
		{"model-9", ""},
	} {
		got, ok := Guess(tt.id)
		name := ""
		if ok && got.Inferred && got.Context > 0 {
			name = got.Provider + "/" + got.ID
		}
		if name != tt.want || got.Price.Known() {
			t.Errorf("Guess(%q) = %s/%s, inferred %v, context %d, price %+v; want %q", tt.id, got.Provider, got.ID, got.Inferred, got.Context, got.Price, tt.want)
		}
	}
	if m, _ := Guess("gpt-6-sol-2026-01"); m.Inferred {
		t.Error("a date makes another model of it")
	}
}

// Every row is found by its own id, or by its vendor's id.
func TestGuessKnowsItsOwn(t *testing.T) {
	for _, p := range Providers() {
		if p.ModelsFrom != "" {
			continue
		}
		for _, m := range p.Models {
			if got, ok := Guess(m.ID); !ok || got.Context == 0 {
				t.Errorf("Guess(%q) = %q, %v: of the family only", m.ID, got.ID, ok)
			}
		}
	}
}

// Every id, in any spelling, is among the names that begin with its first word.
func TestNamesWith(t *testing.T) {
	for _, e := range entries() {
		for _, r := range e.rows() {
			first := words(r.id)[0]
			if !slices.ContainsFunc(namesWith(first), func(n name) bool { return n.row.record == r.record }) {
				t.Errorf("%s/%s is not among the names with %q", r.provider, r.id, first)
			}
		}
	}
}

func TestCost(t *testing.T) {
	plain := Price{Input: 2, Output: 10}
	cached := Price{Input: 2, Output: 10, CacheRead: 0.5, CacheWrite: 2.5}
	tiered := Price{Input: 1, Output: 10, CacheRead: 0.1, Tiers: []Tier{
		{Above: 200_000, Input: 2, Output: 15, CacheRead: 0.2},
		{Above: 500_000, Input: 4, Output: 20},
	}}
	for _, tt := range []struct {
		name  string
		price Price
		usage llm.Usage
		want  float64
		known bool
	}{
		{"unknown", Price{}, llm.Usage{Input: 1000, Output: 1000}, 0, false},
		{"free", Price{Free: true}, llm.Usage{Input: 1000, Output: 1000}, 0, true},
		{"nothing used", plain, llm.Usage{}, 0, true},
		{"plain", plain, llm.Usage{Input: 1_000_000, Output: 100_000, Thinking: 90_000}, 3, true},
		{"cached without a price of its own", plain, llm.Usage{Input: 1_000_000, CacheRead: 500_000}, 2, true},
		{"cached", cached, llm.Usage{Input: 1_000_000, CacheRead: 400_000, CacheWrite: 200_000}, 0.8 + 0.2 + 0.5, true},
		{"cached for an hour", cached, llm.Usage{Input: 1_000_000, CacheWrite: 300_000, HourWrite: 100_000}, 1.4 + 0.5 + 0.4, true},
		{"more cached than read", cached, llm.Usage{Input: 10, CacheRead: 1_000_000}, 0.5, true},
		{"at the bound", tiered, llm.Usage{Input: 200_000, Output: 100_000}, 0.2 + 1, true},
		{"above the bound", tiered, llm.Usage{Input: 200_001, CacheRead: 200_001, Output: 100_000}, 0.0400002 + 1.5, true},
		{"two requests below it", tiered, llm.Usage{Input: 150_000}.Then(llm.Usage{Input: 160_000, Output: 100_000}), 0.31 + 1, true},
		{"two requests, the last above it with what the first said", tiered, llm.Usage{Input: 190_000, Output: 15_000}.Then(llm.Usage{Input: 210_000, Output: 1_000}), 0.8 + 0.24, true},
		{"two requests, the last above it", tiered, llm.Usage{Input: 100_000}.Then(llm.Usage{Input: 300_001, Output: 100_000}), 0.800002 + 1.5, true},
		{"second tier", tiered, llm.Usage{Input: 600_000, CacheRead: 100_000}, 2.4, true},
	} {
		got, known := tt.price.Cost(tt.usage)
		if math.Abs(got-tt.want) > 1e-9 || known != tt.known {
			t.Errorf("%s: %v, %v; want %v, %v", tt.name, got, known, tt.want, tt.known)
		}
	}
}

// For any id, Guess terminates and returns only rows.
func FuzzGuess(f *testing.F) {
	for _, id := range []string{"gpt-4o", "a/b/c", "qwen3:8b", "1-2-3-4-5", "\xff-9b", "q4_k_m"} {
		f.Add(id)
	}
	f.Fuzz(func(t *testing.T, id string) {
		m, ok := Guess(id)
		if !ok {
			return
		}
		if _, real := FindExact(m.Provider, m.ID); !real {
			t.Errorf("Guess(%q) = %s/%s, which has no row", id, m.Provider, m.ID)
		}
	})
}
