package session_test

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"math"
	"strings"
	"testing"
	"time"

	"parley/providers/llm"
	"parley/providers/llmtest"
	. "parley/session"
	"parley/session/cachewatch"
	"parley/tools"
	"parley/tools/act"
)

// A cachingModel is a provider with a prompt cache: it keeps the beginnings of what it was
// sent, in the order tools, system prompt, settings, messages, for as long as it says,
// and reports truly what it read and wrote. A token is four bytes.
type cachingModel struct {
	now      func() time.Time
	lifetime time.Duration
	kept     map[string]time.Time // by the text of the beginning
	forgets  bool                 // it reads nothing now, although it could
	silent   bool                 // it reports no figures
	unstated bool                 // it reports no writes
	unused   int                  // parts of earlier thinking that it says it did not use
	least    int                  // tokens of the shortest prompt that it says to keep
	answer   string
}

func newCachingModel(now func() time.Time) *cachingModel {
	return &cachingModel{now: now, lifetime: 5 * time.Minute, kept: map[string]time.Time{}, answer: "Yes."}
}

// beginnings returns the texts that stand at the beginning of a request, shortest first.
func beginnings(req llm.Request) []string {
	var text strings.Builder
	add := func(v any) string {
		data, _ := json.Marshal(v)
		text.Write(data)
		return text.String()
	}
	tools, _ := json.Marshal(req.Tools)
	list := []string{add(crc32.ChecksumIEEE(tools)), add(req.System), add([]any{req.Effort, req.Budget, req.ToolChoice, req.AnswerSchema, req.Verbosity, req.Detail})}
	for _, m := range req.Messages {
		list = append(list, add([]any{m.Role, m.Parts}))
	}
	return list
}

func (c *cachingModel) Stream(ctx context.Context, req llm.Request) llm.Stream {
	return func(yield func(llm.Event, error) bool) {
		all, now, read := beginnings(req), c.now(), 0
		for _, text := range all {
			if at, ok := c.kept[text]; ok && now.Sub(at) <= c.lifetime && !c.forgets {
				read = len(text) / 4
			}
		}
		for _, text := range all {
			c.kept[text] = now
		}
		u := llm.Usage{Input: len(all[len(all)-1]) / 4, Output: 3, CacheRead: read, Priced: true}
		u.CacheWrite = u.Input - read
		if c.unstated {
			u.CacheWrite = 0
		}
		if c.silent {
			u.CacheRead, u.CacheWrite = 0, 0
		}
		ok := yield(llm.Delta{Block: "0", Part: llm.Part{Kind: llm.Text, Text: c.answer}}, nil)
		ok = ok && yield(u, nil)
		if ok {
			yield(llm.Finish{Reason: llm.Stop, Unused: c.unused}, nil)
		}
	}
}

// price asks three dollars for a million tokens, and a tenth of that for cached ones.
func price(u llm.Usage) (float64, bool) {
	return (3*float64(u.Input-u.CacheRead) + 0.3*float64(u.CacheRead)) / 1e6, true
}

func (c *cachingModel) endpoint(name string) llm.Endpoint {
	e := endpoint(name, c)
	e.Cache, e.Cost = llm.Cache{Lifetime: c.lifetime, MinTokens: c.least}, price
	return e
}

// missed returns what the responses of a turn missed in the cache.
func missed(events []Event) (list []CacheMiss) {
	for _, e := range events {
		if r, ok := e.(Response); ok && r.Missed.Tokens > 0 {
			list = append(list, r.Missed)
		}
	}
	return list
}

// A cacheTest is a conversation whose beginning, of about 25,000 tokens, is in the cache.
type cacheTest struct {
	*testing.T
	*Session
	clock time.Time
	model *cachingModel
	tools *tools.Set
	lib   *Store
	o     Options
	next  string // the prompt that may miss
}

// offer offers a tool as servers do.
func (c *cacheTest) offer(description string) {
	web := tools.External{Name: "web_lookup", Description: description, Schema: json.RawMessage(`{"type":"object"}`)}
	if err := c.tools.AddExternal(web); err != nil {
		c.Fatal(err)
	}
}

// edit goes back to the message seq, to send another in its place.
func (c *cacheTest) edit(seq int) {
	if err := c.Session.Branch.Edit(seq); err != nil {
		c.Fatal(err)
	}
}

func newCacheTest(t *testing.T, set func(*cachingModel)) *cacheTest {
	c := &cacheTest{T: t, clock: time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)}
	now := func() time.Time { return c.clock }
	c.model = newCachingModel(now)
	set(c.model)
	c.tools, _ = workspace(t)
	c.lib, _ = newTestStore(t)
	c.o = Options{
		Model: c.model.endpoint("main/m"), System: "Be brief.", Tools: c.tools, Policy: tools.NewPolicy(act.ModeAsk),
		Now: now, Log: c.lib.Create(Info{}),
	}
	c.Session = New(c.o)
	c.prompt(strings.Repeat("four", 25_000))
	c.prompt("and then?")
	return c
}

// prompt sends a prompt half a minute later, and returns what it missed in the cache.
func (c *cacheTest) prompt(text string) []CacheMiss {
	c.Helper()
	c.clock = c.clock.Add(30 * time.Second)
	events := play(c.Context(), c.Session, allow, say(text))
	if d := doneOf(c.T, events); d.Err != nil {
		c.Fatal(d.Err)
	}
	return missed(events)
}

// Each cause of a miss is found once, with its price.
func TestCacheMisses(t *testing.T) {
	for _, tt := range []struct {
		name string
		do   func(c *cacheTest) // before the prompt that may miss
		want cachewatch.Cause   // "" for no miss
	}{
		{"nothing changed", func(*cacheTest) {}, ""},
		{"model", func(c *cacheTest) { c.SetModel(newCachingModel(c.o.Now).endpoint("other/n")) },
			cachewatch.ModelSwitched},
		{"effort", func(c *cacheTest) { c.Next.SetEffort(llm.EffortHigh) },
			cachewatch.EffortChanged},
		{"system prompt", func(c *cacheTest) { c.Next.SetSystem("Be long.") },
			cachewatch.SystemChanged},
		{"tool added", func(c *cacheTest) { c.offer("Looks up.") },
			cachewatch.ToolsChanged},
		{"tool changed", func(c *cacheTest) {
			c.offer("Looks up.")
			c.prompt("so?")
			c.prompt("and?")
			c.offer("Looks up all.")
		}, cachewatch.ToolsChanged},
		{"tool removed", func(c *cacheTest) {
			c.offer("Looks up.")
			c.prompt("so?")
			c.prompt("and?")
			c.clock = c.clock.Add(4 * time.Minute) // by now the list without it has expired
			c.prompt("still?")
			c.clock = c.clock.Add(4 * time.Minute)
			_ = c.tools.ReplaceExternal("web_", nil)
		}, cachewatch.ToolsChanged},
		{"setting, while closed", func(c *cacheTest) {
			c.o.Settings.Verbosity = "low"
			c.Session = reopen(c.T, c.lib, c.Session, c.o)
		}, cachewatch.SettingsChanged},
		{"answer schema, while closed", func(c *cacheTest) {
			c.o.AnswerSchema = &llm.Schema{Name: "answer", JSON: json.RawMessage(`{"type":"string"}`)}
			c.model.answer = `"Yes."`
			c.Session = reopen(c.T, c.lib, c.Session, c.o)
		}, cachewatch.SettingsChanged},
		{"approval mode", func(c *cacheTest) { c.o.Policy.SetMode(act.ModeReadOnly) }, ""},
		{"edited prompt", func(c *cacheTest) {
			c.edit(1)
			c.next = strings.Repeat("edit", 25_000)
		}, cachewatch.PromptChanged},
		{"edited last prompt", func(c *cacheTest) { c.edit(3) }, ""}, // all before it is read
		{"summary", func(c *cacheTest) {
			c.model.answer = strings.Repeat("summary ", 10_000)
			for range c.Compact(c.Context()) {
			}
		}, cachewatch.Summarized},
		{"history", func(c *cacheTest) {
			c.Next.SetHistoryMode(HistoryStateless)
			c.next = strings.Repeat("next", 25_000)
		}, cachewatch.HistoryLeftOut},
		{"expired", func(c *cacheTest) { c.clock = c.clock.Add(64*time.Minute + 30*time.Second) },
			cachewatch.Expired},
		{"expired, and changed since", func(c *cacheTest) {
			c.clock = c.clock.Add(time.Hour)
			c.Next.SetEffort(llm.EffortLow)
		}, cachewatch.Expired},
		{"expired while closed", func(c *cacheTest) {
			c.clock = c.clock.Add(3 * time.Hour)
			c.Session = reopen(c.T, c.lib, c.Session, c.o)
		}, cachewatch.Expired},
		{"tool added while closed", func(c *cacheTest) {
			c.offer("Looks up.")
			c.Session = reopen(c.T, c.lib, c.Session, c.o)
		}, cachewatch.ToolsChanged},
		{"nothing changed while closed", func(c *cacheTest) { c.Session = reopen(c.T, c.lib, c.Session, c.o) }, ""},
		{"provider", func(c *cacheTest) { c.model.forgets = true },
			cachewatch.Unexplained},
		{"thinking", func(c *cacheTest) { c.model.forgets, c.model.unused = true, 2 },
			cachewatch.ThinkingUnused},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := newCacheTest(t, func(*cachingModel) {})
			c.next = "go on"
			tt.do(c)
			got := c.prompt(c.next)
			if tt.want == "" && got == nil {
				return
			}
			if len(got) != 1 || got[0].Cause != tt.want || got[0].Tokens < 20_000 || math.Abs(got[0].Cost-2.7e-6*float64(got[0].Tokens)) > 1e-6 {
				t.Errorf("missed %+v, want %q", got, tt.want)
			}
			c.model.forgets = false
			if again := c.prompt("and on"); again != nil {
				t.Errorf("missed once more: %+v", again)
			}
		})
	}
}

// Approvals are no part of a request: whatever the approval mode is switched to,
// also in the middle of a turn, each request begins with the bytes of the one before.
func TestApprovalModesKeepThePrefix(t *testing.T) {
	set, _ := workspace(t)
	policy := tools.NewPolicy(act.ModeAsk)
	modes := []act.Mode{act.ModeAuto, act.ModeReadOnly, act.ModeYolo, act.ModeAsk}
	var turns []llmtest.Turn
	for i := range modes {
		turns = append(turns, llmtest.Call(call(fmt.Sprint("c", i), "read", `{"path":"a.txt"}`)), llmtest.Call(call(fmt.Sprint("w", i), "write", `{"path":"b.txt","content":"x"}`)), llmtest.Say("ok"))
	}
	fake := llmtest.New(turns...)
	s := New(Options{Model: endpoint("main/m", fake), System: "Be brief.", Tools: set, Policy: policy})
	for i, mode := range modes {
		for e := range s.Turn(t.Context(), say(fmt.Sprint("prompt ", i))) {
			switch e := e.(type) {
			case ApprovalRequest:
				e.Reply(allow(e))
			case Step:
				if e.N == 2 {
					policy.SetMode(mode)
				}
			}
		}
	}
	requests := fake.Requests()
	if len(requests) != len(turns) {
		t.Fatalf("%d requests, want %d", len(requests), len(turns))
	}
	var before []string
	for i, req := range requests {
		now := beginnings(req)
		if i > 0 && (len(now) <= len(before) || now[len(before)-1] != before[len(before)-1]) {
			t.Errorf("request %d does not begin with the one before", i+1)
		}
		before = now
	}
}

// A provider that reports nothing, and a prompt that is too short to be cached, miss nothing.
func TestNoCacheMiss(t *testing.T) {
	for _, tt := range []struct {
		name string
		set  func(m *cachingModel)
		do   func(c *cacheTest)
	}{
		{"no figures", func(m *cachingModel) { m.silent = true }, func(c *cacheTest) { c.Next.SetSystem("Be long.") }},
		{"below the least prompt", func(m *cachingModel) { m.least, m.unstated = 200_000, true }, func(c *cacheTest) { c.Next.SetSystem("Be long.") }},
		{"switch to a provider without figures", func(*cachingModel) {}, func(c *cacheTest) {
			other := newCachingModel(c.o.Now)
			other.silent = true
			e := other.endpoint("other/n")
			e.Cost = nil
			c.SetModel(e)
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := newCacheTest(t, tt.set)
			tt.do(c)
			if got := c.prompt("go on"); got != nil {
				t.Errorf("missed %+v", got)
			}
		})
	}
}

// A cache miss is stored with the response to the request, without a text.
func TestCacheMissIsStored(t *testing.T) {
	c := newCacheTest(t, func(*cachingModel) {})
	c.Next.SetSystem("The secret system prompt.")
	c.prompt("go on")
	c.Session = reopen(t, c.lib, c.Session, c.o)
	path := c.Path()
	n := path[len(path)-1]
	if m := n.Missed; m.Tokens < 25_000 || m.Cause != cachewatch.SystemChanged || m.Cost < 0.06 || n.Cache == nil {
		t.Errorf("stored %+v and %+v", m, n.Cache)
	}
	if data, _ := json.Marshal(n.Cache); strings.Contains(string(data), "secret") {
		t.Errorf("stored %s", data)
	}
}

// Models that are compared are asked the same for the first time: nothing is lost.
func TestComparedModelsLoseNoCache(t *testing.T) {
	c := newCacheTest(t, func(*cachingModel) {})
	var lost []CacheMiss
	others := []llm.Endpoint{newCachingModel(c.o.Now).endpoint("other/a"), newCachingModel(c.o.Now).endpoint("other/b")}
	for e := range c.Compare(t.Context(), others, nil, say("which?")) {
		if e, ok := e.(CandidateEvent); ok {
			lost = append(lost, missed([]Event{e.Event})...)
		}
		lost = append(lost, missed([]Event{e})...)
	}
	if lost != nil {
		t.Errorf("missed %+v", lost)
	}
}
