package cachewatch_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/providers/llm"
	"parley/session/cachewatch"
)

// base returns a request with all parts of a prefix.
func base() llm.Request {
	r := llm.Request{System: "s", Effort: llm.EffortLow, Tools: []llm.Tool{{Name: "a", Description: "d", Schema: []byte("{}")}, {Name: "b"}}, Messages: []llm.Message{llm.UserText("Hi")}}
	r.Web, r.ToolChoice, r.Verbosity, r.Detail, r.Options = true, "auto", "low", "high", map[string]any{"x": 1}
	r.AnswerSchema = &llm.Schema{Name: "n", JSON: []byte("{}")}
	return r
}

// TestCauses: the first part of a request that differs from the previous one explains a miss.
func TestCauses(t *testing.T) {
	unchanged := func(cachewatch.Request) cachewatch.Cause { return "" }
	for _, tt := range []struct {
		name     string
		change   func(*llm.Request, *cachewatch.Request)
		messages cachewatch.Cause
		want     cachewatch.Cause
	}{
		{"nothing", func(*llm.Request, *cachewatch.Request) {}, "", cachewatch.Unexplained},
		{"messages", func(*llm.Request, *cachewatch.Request) {}, cachewatch.Summarized, cachewatch.Summarized},
		{"thinking", func(_ *llm.Request, r *cachewatch.Request) { r.Unused = 1 }, "", cachewatch.ThinkingUnused},
		{"thinking, and messages", func(_ *llm.Request, r *cachewatch.Request) { r.Unused = 1 }, cachewatch.PromptChanged, cachewatch.PromptChanged},
		{"a tool less", func(q *llm.Request, _ *cachewatch.Request) { q.Tools = q.Tools[:1] }, "", cachewatch.ToolsChanged},
		{"another order of tools", func(q *llm.Request, _ *cachewatch.Request) { slices.Reverse(q.Tools) }, "", cachewatch.ToolsChanged},
		{"another description", func(q *llm.Request, _ *cachewatch.Request) { q.Tools[0].Description = "e" }, "", cachewatch.ToolsChanged},
		{"another schema", func(q *llm.Request, _ *cachewatch.Request) { q.Tools[0].Schema = []byte("{ }") }, "", cachewatch.ToolsChanged},
		{"another border between them", func(q *llm.Request, _ *cachewatch.Request) {
			q.Tools[0].Description, q.Tools[0].Schema = "d{", []byte("}")
		}, "", cachewatch.ToolsChanged},
		{"tools and all else", func(q *llm.Request, _ *cachewatch.Request) { *q = llm.Request{} }, cachewatch.Summarized, cachewatch.ToolsChanged},
		{"the system prompt", func(q *llm.Request, _ *cachewatch.Request) { q.System, q.Effort = "S", "" }, "", cachewatch.SystemChanged},
		{"no system prompt", func(q *llm.Request, _ *cachewatch.Request) { q.System = "" }, "", cachewatch.SystemChanged},
		{"the effort", func(q *llm.Request, _ *cachewatch.Request) { q.Effort, q.Web = llm.EffortHigh, false }, "", cachewatch.EffortChanged},
		{"a limit of thinking", func(q *llm.Request, _ *cachewatch.Request) { q.Budget = 1 }, "", cachewatch.EffortChanged},
		{"web search", func(q *llm.Request, _ *cachewatch.Request) { q.Web = false }, "", cachewatch.SettingsChanged},
		{"tool choice", func(q *llm.Request, _ *cachewatch.Request) { q.ToolChoice = "none" }, "", cachewatch.SettingsChanged},
		{"verbosity", func(q *llm.Request, _ *cachewatch.Request) { q.Verbosity = "" }, "", cachewatch.SettingsChanged},
		{"detail", func(q *llm.Request, _ *cachewatch.Request) { q.Detail = "low" }, "", cachewatch.SettingsChanged},
		{"fields", func(q *llm.Request, _ *cachewatch.Request) { q.Options = map[string]any{"x": 2} }, "", cachewatch.SettingsChanged},
		{"a schema of the answer", func(q *llm.Request, _ *cachewatch.Request) { q.AnswerSchema = nil }, "", cachewatch.SettingsChanged},
		{"temperature", func(q *llm.Request, _ *cachewatch.Request) { q.Temperature = new(float64) }, "", cachewatch.Unexplained},
		{"the last message", func(q *llm.Request, _ *cachewatch.Request) { q.Messages = append(q.Messages, llm.UserText("More")) }, "", cachewatch.Unexplained},
	} {
		var l cachewatch.Tracker
		first := cachewatch.Request{Model: "a/b", At: time.Unix(1_800_000_000, 0), LastSeq: 1, Usage: llm.Usage{Input: 10_000, CacheWrite: 10_000}}
		p, _ := cachewatch.PrefixOf(base())
		l.Observe(first, p, cachewatch.Facts{}, unchanged)
		request, second := base(), first
		second.LastSeq = 3
		tt.change(&request, &second)
		p, _ = cachewatch.PrefixOf(request)
		_, missed := l.Observe(second, p, cachewatch.Facts{}, func(cachewatch.Request) cachewatch.Cause { return tt.messages })
		if want := (cachewatch.Miss{Tokens: 10_000, Cause: tt.want}); missed != want {
			t.Errorf("%s: got %+v, want %+v", tt.name, missed, want)
		}
		if tt.want.String() == "" {
			t.Errorf("%s has no words", tt.want)
		}
		samePrefix := tt.want == cachewatch.Unexplained || tt.want == cachewatch.ThinkingUnused
		if again := l.CachedTokens(first, p, llm.Cache{}, unchanged); again != 10_000 {
			t.Errorf("%s: %d tokens of the same request are cached", tt.name, again)
		}
		if was, _ := cachewatch.PrefixOf(base()); !samePrefix && tt.messages == "" && l.CachedTokens(first, was, llm.Cache{}, unchanged) != 0 {
			t.Errorf("%s: the earlier prefix is still cached", tt.name)
		}
	}
}

// TestPrefixOf: a prefix has digests of what is set, never texts.
func TestPrefixOf(t *testing.T) {
	const secret = "canary"
	show := func(r llm.Request) string {
		p, first := cachewatch.PrefixOf(r)
		data, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range append([]string{first, p.System}, toolDigests(p)...) {
			if len(d) != 16 && d != "" {
				t.Errorf("%q is no digest", d)
			}
		}
		return string(data) + first
	}
	if got := show(llm.Request{}); got != "{}" {
		t.Errorf("of nothing: %s", got)
	}
	r := base()
	r.System, r.Tools[0].Description, r.Messages[0] = secret, secret, llm.UserText(secret)
	r.Options, r.AnswerSchema.JSON = map[string]any{"x": secret}, []byte(secret)
	if got := show(r); strings.Contains(got, secret) {
		t.Errorf("it has texts: %s", got)
	}
	for want, set := range map[string]func(*llm.Request){
		`{"reasoning effort":"7 tokens"}`:                          func(r *llm.Request) { r.Budget = 7 },
		`{"reasoning effort":"low 7 tokens"}`:                      func(r *llm.Request) { r.Budget, r.Effort = 7, llm.EffortLow },
		`{"image detail":"low","tool choice":"a","verbosity":"b"}`: func(r *llm.Request) { r.Detail, r.ToolChoice, r.Verbosity = "low", "a", "b" },
		`{"web search":"on"}`:                                      func(r *llm.Request) { r.Web = true },
	} {
		var r llm.Request
		set(&r)
		if got := show(r); got != `{"settings":`+want+"}" {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func toolDigests(p cachewatch.Prefix) (digests []string) {
	for _, tool := range p.Tools {
		digests = append(digests, tool.Digest)
	}
	return digests
}

// TestFirst: the digest of the first message has all its parts; only the middle of a long text
// is represented by its length.
func TestFirst(t *testing.T) {
	const most = 16 << 10
	x := func(n int) string { return strings.Repeat("x", n) }
	of := func(m llm.Message) string {
		_, first := cachewatch.PrefixOf(llm.Request{Messages: []llm.Message{m, llm.UserText("another")}})
		return first
	}
	text := func(s string) llm.Message { return llm.UserText(s) }
	part := func(p llm.Part) llm.Message { return llm.Message{Role: llm.RoleUser, Parts: []llm.Part{p}} }
	known := map[string]int{}
	for i, m := range []llm.Message{
		{Role: llm.RoleUser}, {Role: llm.RoleAssistant}, text(""), text("a"), text("b"), part(llm.Part{Kind: llm.Thinking, Text: "a"}),
		part(llm.Part{ID: "a"}), part(llm.Part{Name: "a"}), part(llm.Part{Input: "a"}), part(llm.Part{MIME: "a"}), part(llm.Part{URL: "a"}),
		part(llm.Part{Data: []byte("a")}), part(llm.Part{Data: []byte("b")}), part(llm.Part{Data: []byte(x(most))}), part(llm.Part{Data: []byte(x(most + 1))}),
		text(x(2 * most)), text(x(most-1) + "y" + x(most)), text(x(most) + "y" + x(most-1)), text(x(2*most + 1)), text(x(2*most) + "y"), text("y" + x(2*most)),
	} {
		digest := of(m)
		if j, twice := known[digest]; twice {
			t.Errorf("messages %d and %d have the same digest", i, j)
		}
		known[digest] = i
	}
	if of(text(x(2*most+1))) != of(text(x(most)+"y"+x(most))) {
		t.Error("the middle of a long text counts")
	}
}

// TestCachedTokens: what the last request of a model left in the cache, while the provider keeps it.
func TestCachedTokens(t *testing.T) {
	p, _ := cachewatch.PrefixOf(llm.Request{System: "s"})
	unchanged := func(cachewatch.Request) cachewatch.Cause { return "" }
	sent := time.Unix(1_800_000_000, 0)
	for _, tt := range []struct {
		name  string
		usage llm.Usage
		after time.Duration
		cache llm.Cache
		cause cachewatch.Cause
		want  int
	}{
		{"written", llm.Usage{Input: 5000, CacheWrite: 3000}, 0, llm.Cache{}, "", 3000},
		{"read and written", llm.Usage{Input: 5000, CacheRead: 1000, CacheWrite: 3000}, 0, llm.Cache{}, "", 4000},
		{"reads, and reports no writes", llm.Usage{Input: 5000, CacheRead: 1000}, 0, llm.Cache{}, "", 5000},
		{"no reports", llm.Usage{Input: 5000}, 0, llm.Cache{}, "", 0},
		{"no input", llm.Usage{CacheRead: 5000}, 0, llm.Cache{}, "", 0},
		{"long enough", llm.Usage{Input: 1024, CacheRead: 1}, 0, llm.Cache{}, "", 1024},
		{"too short", llm.Usage{Input: 1023, CacheRead: 1}, 0, llm.Cache{}, "", 0},
		{"long enough for the model", llm.Usage{Input: 100, CacheRead: 1}, 0, llm.Cache{MinTokens: 100}, "", 100},
		{"just kept", llm.Usage{Input: 5000, CacheWrite: 3000}, 5 * time.Minute, llm.Cache{}, "", 3000},
		{"no longer kept", llm.Usage{Input: 5000, CacheWrite: 3000}, 5*time.Minute + 1, llm.Cache{}, "", 0},
		{"just kept by a provider", llm.Usage{Input: 5000, CacheWrite: 3000}, time.Hour, llm.Cache{Lifetime: time.Hour}, "", 3000},
		{"no longer kept by it", llm.Usage{Input: 5000, CacheWrite: 3000}, time.Hour + 1, llm.Cache{Lifetime: time.Hour}, "", 0},
		{"other messages", llm.Usage{Input: 5000, CacheWrite: 3000}, 0, llm.Cache{}, cachewatch.PromptChanged, 0},
	} {
		var l cachewatch.Tracker
		l.Observe(cachewatch.Request{Model: "a/b", At: sent, Usage: tt.usage}, p, cachewatch.Facts{}, unchanged)
		next := cachewatch.Request{Model: "a/b", At: sent.Add(tt.after)}
		if got := l.CachedTokens(next, p, tt.cache, func(cachewatch.Request) cachewatch.Cause { return tt.cause }); got != tt.want {
			t.Errorf("%s: got %d, want %d", tt.name, got, tt.want)
		}
		if next.Model = "a/c"; l.CachedTokens(next, p, tt.cache, unchanged) != 0 {
			t.Errorf("%s: another model has it cached", tt.name)
		}
	}
}

// TestModels: each request is compared with the last one of its model, and with the last of all.
func TestModels(t *testing.T) {
	type step struct {
		model              string
		input, read, write int
		compared           bool
		want               string // the miss
	}
	facts := cachewatch.Facts{Cost: func(u llm.Usage) (float64, bool) { return float64(u.Input), true }}
	p, _ := cachewatch.PrefixOf(llm.Request{System: "s"})
	for name, steps := range map[string][]step{
		"switch":                         {{"a", 9000, 0, 9000, false, "0 "}, {"b", 9000, 0, 9000, false, "9000 switch"}, {"b", 9000, 9000, 0, false, "0 "}},
		"switch and back, all read":      {{"a", 9000, 0, 9000, false, "0 "}, {"b", 9000, 0, 9000, false, "9000 switch"}, {"a", 9000, 9000, 0, false, "0 "}},
		"switch and back, to less":       {{"a", 2000, 0, 2000, false, "0 "}, {"b", 9000, 0, 9000, false, "2000 switch"}, {"a", 9000, 2000, 0, false, "7000 switch"}},
		"compared":                       {{"a", 9000, 0, 9000, false, "0 "}, {"b", 9000, 0, 9000, true, "0 "}},
		"a model without a cache":        {{"a", 9000, 0, 9000, false, "0 "}, {"b", 9000, 0, 0, false, "0 "}},
		"a switch that costs little":     {{"a", 1024, 0, 1024, false, "0 "}, {"b", 9000, 0, 9000, false, "0 "}},
		"a switch that costs more":       {{"a", 1025, 0, 1025, false, "0 "}, {"b", 9000, 0, 9000, false, "1025 switch"}},
		"a shorter prompt":               {{"a", 9000, 0, 9000, false, "0 "}, {"a", 5000, 0, 5000, false, "5000 provider"}},
		"a small share":                  {{"a", 9000, 0, 9000, false, "0 "}, {"a", 9000, 7900, 0, false, "1100 provider"}},
		"a small share, before a switch": {{"a", 10000, 0, 10000, false, "0 "}, {"b", 20000, 0, 20000, true, "0 "}, {"a", 20000, 8000, 0, false, "12000 switch"}},
		"a short one, before a switch":   {{"a", 4000, 0, 4000, false, "0 "}, {"b", 20000, 0, 20000, true, "0 "}, {"a", 20000, 2976, 0, false, "17024 switch"}},
		"a larger one, before a switch":  {{"a", 10000, 0, 10000, false, "0 "}, {"b", 20000, 0, 20000, true, "0 "}, {"a", 20000, 7999, 0, false, "2001 provider"}},
		"no input":                       {{"a", 9000, 0, 9000, false, "0 "}, {"b", 0, 0, 0, false, "0 "}, {"a", 9000, 0, 0, false, "9000 provider"}},
	} {
		free := facts
		if name == "a model without a cache" {
			free.Cost = func(llm.Usage) (float64, bool) { return 0, true }
		}
		var l cachewatch.Tracker
		for i, s := range steps {
			r := cachewatch.Request{Model: s.model, At: time.Unix(1_800_000_000, 0), Compared: s.compared, Usage: llm.Usage{Input: s.input, CacheRead: s.read, CacheWrite: s.write}}
			_, missed := l.Observe(r, p, free, func(cachewatch.Request) cachewatch.Cause { return "" })
			if got := fmt.Sprint(missed.Tokens, " ", string(missed.Cause)); got != s.want {
				t.Errorf("%s, request %d: got %s, want %s", name, i+1, got, s.want)
			}
		}
	}
}

// TestCost: a miss costs what the tokens cost beyond those of the cache, if that is known.
func TestCost(t *testing.T) {
	for _, tt := range []struct {
		name string
		cost func(llm.Usage) (float64, bool)
		want float64
	}{
		{"unknown model", nil, 0},
		{"unknown cost", func(u llm.Usage) (float64, bool) { return 1, false }, 0},
		{"cheaper from the cache", func(u llm.Usage) (float64, bool) { return float64(2*u.Input - u.CacheRead), true }, 9000},
		{"dearer from the cache", func(u llm.Usage) (float64, bool) { return float64(u.CacheRead), true }, 0},
	} {
		var l cachewatch.Tracker
		p, _ := cachewatch.PrefixOf(llm.Request{System: "s"})
		var missed cachewatch.Miss
		for range 2 {
			_, missed = l.Observe(cachewatch.Request{Model: "a", Usage: llm.Usage{Input: 9000, CacheWrite: 9000}}, p, cachewatch.Facts{Cost: tt.cost}, func(cachewatch.Request) cachewatch.Cause { return "" })
		}
		if want := (cachewatch.Miss{Tokens: 9000, Cause: cachewatch.Unexplained, Cost: tt.want}); missed != want {
			t.Errorf("%s: got %+v, want %+v", tt.name, missed, want)
		}
	}
}

// TestRestore: a prefix is stored once in a conversation, and known again after a restart.
func TestRestore(t *testing.T) {
	unchanged := func(cachewatch.Request) cachewatch.Cause { return "" }
	p, first := cachewatch.PrefixOf(base())
	r := cachewatch.Request{Model: "a", First: first, Usage: llm.Usage{Input: 9000, CacheWrite: 9000}}
	var l cachewatch.Tracker
	one, _ := l.Observe(r, p, cachewatch.Facts{Cache: llm.Cache{Lifetime: time.Hour}}, unchanged)
	two, _ := l.Observe(r, p, cachewatch.Facts{}, unchanged)
	if one.Prefix == nil || two.Prefix != nil || one.Key != two.Key || one.Key == "" || one.First != first || one.Lifetime != time.Hour {
		t.Errorf("stored are %+v and %+v", one, two)
	}
	changed := base()
	changed.System = "other"
	q, _ := cachewatch.PrefixOf(changed)
	for name, tt := range map[string]struct {
		entry cachewatch.Entry
		want  cachewatch.Cause
	}{"with its prefix": {one, cachewatch.SystemChanged}, "its prefix is lost": {two, cachewatch.SystemChanged}, "an older program's": {cachewatch.Entry{}, cachewatch.Unexplained}} {
		var again cachewatch.Tracker
		again.Restore(cachewatch.Request{Model: "a", Usage: r.Usage}, tt.entry)
		known := cachewatch.Request{}
		e, missed := again.Observe(r, q, cachewatch.Facts{}, func(before cachewatch.Request) cachewatch.Cause {
			known = before
			return ""
		})
		if missed.Cause != tt.want || e.Prefix == nil || tt.want == cachewatch.Unexplained && known.First != "" {
			t.Errorf("%s: %+v, %+v", name, missed, e)
		}
	}
}
