package providers

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"parley/providers/llm"
	"parley/tools/atomicfile"
)

// Refusals of a server are remembered over runs, for each address and model, and
// tried again after some time.
func TestRefusalsAreRememberedOverRuns(t *testing.T) {
	refusals := map[string]string{
		"openai":    `{"error":{"message":"seed: no","param":"seed"}}`,
		"anthropic": `{"type":"error","error":{"type":"invalid_request_error","message":"temperature: Extra inputs are not permitted"}}`,
		"gemini":    `{"error":{"code":400,"message":"seed is not supported by this model","status":"INVALID_ARGUMENT"}}`,
	}
	answers := map[string]string{
		"openai":    says("fine"),
		"anthropic": "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"type\":\"message\",\"role\":\"assistant\",\"content\":[],\"model\":\"m\",\"usage\":{\"input_tokens\":1,\"output_tokens\":1}}}\n\nevent: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"fine\"}}\n\nevent: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\nevent: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":2}}\n\nevent: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
		"gemini":    "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"fine\"}]},\"finishReason\":\"STOP\"}]}\n\n",
	}
	for kind, refusal := range refusals {
		t.Run(kind, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "cache", "parley", "learned.json")
			now := time.Unix(1_800_000_000, 0)
			server := scriptedRaw(t, func(body string) (int, string) {
				if strings.Contains(body, `"seed"`) || strings.Contains(body, `"temperature"`) {
					return 400, refusal
				}
				return 200, answers[kind]
			})
			c := Config{Providers: map[string]Provider{"box": {Kind: kind, BaseURL: server.URL, APIKey: Secret("k")}}}
			seed, warm := int64(7), 0.5
			req := llm.Request{Settings: llm.Settings{Seed: &seed}}
			if kind == "anthropic" {
				req.Settings = llm.Settings{Temperature: &warm}
			}
			for _, run := range []struct {
				name  string
				model string
				later time.Duration
				asked int
			}{
				{"first", "m", 0, 2},
				{"second", "m", time.Hour, 1},
				{"another model", "n", time.Hour, 2},
				{"a day later", "m", 24 * time.Hour, 2},
				{"the clock was set back", "m", -24 * time.Hour, 2},
			} {
				memory := OpenMemory(path, atomicfile.ReplaceUnsynced)
				memory.now = func() time.Time { return now.Add(run.later) }
				before := server.count()
				got := hold(t, opens(t, c, "box/"+run.model, OpenOptions{Memory: memory}), req)
				if n := server.count() - before; got.err != nil || got.Text() != "fine" || n != run.asked {
					t.Errorf("%s: asked %d times, want %d: %+v", run.name, n, run.asked, got)
				}
			}
			if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("%v, %v", info, err)
			}
			if text, _ := os.ReadFile(path); strings.Contains(string(text), "127.0.0.1") {
				t.Errorf("addresses stand in %s", text)
			}
		})
	}
}

// A refusal of tools is remembered too, unless the configuration sets the strategy.
func TestToolsByPromptOverRuns(t *testing.T) {
	path := filepath.Join(t.TempDir(), "learned.json")
	server := scripted(t, func(body map[string]any) (int, string) {
		if body["tools"] != nil {
			return 400, `{"error":{"message":"m does not support tools"}}`
		}
		return 200, calls
	})
	c := Config{Providers: map[string]Provider{"box": {BaseURL: server.URL}}}
	for run, want := range []struct {
		strategy string
		asked    int
	}{{"native", 2}, {"prompt", 1}} {
		before := server.count()
		e := opens(t, c, "box/m", OpenOptions{Memory: OpenMemory(path, atomicfile.ReplaceUnsynced)})
		got := hold(t, e, llm.Request{Tools: offered})
		if e.Strategy != want.strategy || got.err != nil || len(got.Calls()) != 1 || server.count()-before != want.asked {
			t.Errorf("run %d: %q, asked %d times, %+v", run, e.Strategy, server.count()-before, got)
		}
	}
	c.Providers["box"] = Provider{BaseURL: server.URL, Strategy: "native"}
	if e := opens(t, c, "box/m", OpenOptions{Memory: OpenMemory(path, atomicfile.ReplaceUnsynced)}); e.Strategy != "native" {
		t.Errorf("the configuration says native, and it is %q", e.Strategy)
	}
}

// With any damage to the file, models open, and required fields stay in requests.
func TestLearnedFileThatIsDamaged(t *testing.T) {
	at := servedModel{"u", "m"}
	key := learnedKey("", at)
	now := time.Now()
	entry := func(name string) string {
		return fmt.Sprintf(`{"version":1,"models":{%q:{%q:{"at":%d}}}}`, key, name, now.Unix())
	}
	for name, tt := range map[string]struct {
		text string
		want int
	}{
		"whole":            {entry("seed"), 1},
		"empty":            {"", 0},
		"cut":              {entry("seed")[:40], 0},
		"no JSON":          {"\x00\xff", 0},
		"of another time":  {strings.Replace(entry("seed"), `"version":1`, `"version":2`, 1), 0},
		"null":             {`{"version":1,"models":null}`, 0},
		"essential fields": {entry("messages"), 0},
		"long names":       {entry(strings.Repeat("x", 1000)), 0},
		"too large":        {entry("seed") + strings.Repeat(" ", maxLearnedFile), 0},
	} {
		path := filepath.Join(t.TempDir(), "learned.json")
		if err := os.WriteFile(path, []byte(tt.text), 0o600); err != nil {
			t.Fatal(err)
		}
		m := OpenMemory(path, atomicfile.ReplaceUnsynced)
		if got := m.limits(at, "").All(); len(got) != tt.want {
			t.Errorf("%s: %v", name, got)
		}
		m.limits(at, "").Learn("top_p", "", true)
		if got := OpenMemory(path, atomicfile.ReplaceUnsynced).limits(at, "").All(); len(got) != tt.want+1 {
			t.Errorf("%s, written anew: %v", name, got)
		}
	}
	folder := t.TempDir()
	if m := OpenMemory(folder, atomicfile.ReplaceUnsynced); !m.limits(at, "").Learn("seed", "", true) || !m.limits(at, "").Has("seed") {
		t.Error("with a folder in the place of the file nothing is learned")
	}
}

func TestLearnedFileStaysSmall(t *testing.T) {
	path := filepath.Join(t.TempDir(), "learned.json")
	m := OpenMemory(path, atomicfile.ReplaceUnsynced)
	now := time.Now()
	m.now = func() time.Time { now = now.Add(time.Second); return now }
	const there = 10 // fewer than the limit, and older than the learned one
	before := learnedJSON{learnedVersion, map[string]map[string]limitJSON{}}
	for i := range maxLearnedModels - there {
		before.Models[learnedKey("", servedModel{"u", fmt.Sprint(i)})] = map[string]limitJSON{"seed": {At: now.Unix() - 60}}
	}
	many := map[string]limitJSON{}
	for i := range maxLearnedLimits - there {
		many[fmt.Sprint("field", i)] = limitJSON{At: now.Unix() - 30}
	}
	before.Models[learnedKey("", servedModel{"u", "many"})] = many
	text, err := json.Marshal(before)
	if err := cmp.Or(err, os.WriteFile(path, text, 0o600)); err != nil {
		t.Fatal(err)
	}
	for i := range 2 * there {
		m.limits(servedModel{"u", fmt.Sprint("new", i)}, "").Learn("seed", "", true)
	}
	l := m.limits(servedModel{"u", "many"}, "")
	for i := range 2 * there {
		l.Learn(fmt.Sprint("field", maxLearnedLimits-there+i), "", true)
	}
	text, _ = os.ReadFile(path)
	var stored learnedJSON
	if err := json.Unmarshal(text, &stored); err != nil || len(stored.Models) != maxLearnedModels {
		t.Errorf("%d models, %v", len(stored.Models), err)
	}
	limits := stored.Models[learnedKey("", servedModel{"u", "many"})]
	if _, ok := limits[fmt.Sprint("field", maxLearnedLimits+there-1)]; len(limits) != maxLearnedLimits || !ok {
		t.Errorf("%d limits: %v", len(limits), maps.Keys(limits))
	}
}

// A read-only memory, a refusal about one conversation and a memory without a path are not written.
func TestNothingIsWritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "learned.json")
	OpenMemory(path, nil).limits(servedModel{}, "").Learn("seed", "", true)
	OpenMemory(path, atomicfile.ReplaceUnsynced).limits(servedModel{}, "").Learn("these messages", "", false)
	OpenMemory("", atomicfile.ReplaceUnsynced).limits(servedModel{}, "").Learn("seed", "", true)
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("%v", err)
	}
	_ = filepath.WalkDir(filepath.Dir(path), func(name string, d fs.DirEntry, _ error) error {
		if !d.IsDir() {
			t.Errorf("there is %s", name)
		}
		return nil
	})
}

func TestLearnedPath(t *testing.T) {
	for _, tt := range []struct {
		env  func(string) string
		want string
	}{
		{env("XDG_CACHE_HOME", "/c", "HOME", "/h"), "/c/parley/learned.json"},
		{env("XDG_CACHE_HOME", "c", "HOME", "/h"), "/h/.cache/parley/learned.json"},
		{env("LOCALAPPDATA", "/l"), "/l/parley/learned.json"},
		{env(), ""},
	} {
		if got := LearnedPath(tt.env); got != tt.want {
			t.Errorf("%q, want %q", got, tt.want)
		}
	}
}
