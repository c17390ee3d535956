package catalog

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

var (
	later   = Revised().Add(24 * time.Hour)
	earlier = Revised().Add(-24 * time.Hour)
)

// Listed facts override the built-in ones if the list is newer; otherwise they only fill unknown
// ones. Facts missing in a list stay.
func TestFactsApply(t *testing.T) {
	built := Model{ID: "m", Context: 1000, MaxInput: 900, MaxOutput: 100, Tools: true, Price: Price{Input: 2, Output: 10, CacheRead: 0.2, Tiers: []Tier{{Above: 500, Input: 4}}}}
	no := false
	for _, tt := range []struct {
		name  string
		facts Facts
		newer bool
		want  func(m *Model)
	}{
		{"an id alone", Facts{ID: "m"}, true, func(*Model) {}},
		{"a window", Facts{Context: 2000}, true, func(m *Model) { m.Context = 2000 }},
		{"a window below the limit of the input", Facts{Context: 500}, true, func(m *Model) { m.Context, m.MaxInput = 500, 0 }},
		{"an older window", Facts{Context: 2000}, false, func(*Model) {}},
		{"a price without those of caches and long prompts", Facts{Price: Price{Input: 1, Output: 5}}, true, func(m *Model) { m.Price.Input, m.Price.Output = 1, 5 }},
		{"a price with one of the cache", Facts{Price: Price{Input: 1, Output: 5, CacheRead: 0.1}}, true, func(m *Model) { m.Price.Input, m.Price.Output, m.Price.CacheRead = 1, 5, 0.1 }},
		{"an older price", Facts{Price: Price{Input: 1, Output: 5}}, false, func(*Model) {}},
		{"no tools", Facts{Tools: &no}, true, func(*Model) {}},
	} {
		want := built
		tt.want(&want)
		if got := tt.facts.ApplyTo(built, tt.newer); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %+v, want %+v", tt.name, got, want)
		}
	}
	got := Facts{Context: 7, MaxOutput: 3, Price: Price{Input: 1}}.ApplyTo(Model{ID: "m"}, false)
	if got.Context != 7 || got.MaxOutput != 3 || got.Price.Input != 1 {
		t.Errorf("facts that are older than a row that has none: %+v", got)
	}
}

// For any lists in any order, no known fact of a model becomes unknown.
func TestNoFactGetsLost(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	figure := func() float64 {
		return []float64{0, 0, 0.1, 2, 300, -1, math.NaN(), math.Inf(1), 1e9}[random.IntN(9)]
	}
	tokens := func() int { return []int{0, 0, 8192, 1 << 20, -5, math.MaxInt}[random.IntN(6)] }
	for _, p := range Providers() {
		for _, row := range p.Models {
			m, kept := row, Facts{ID: row.ID}
			for range 20 {
				f := Facts{ID: row.ID, Context: tokens(), MaxOutput: tokens(), Price: Price{Input: figure(), Output: figure(), CacheRead: figure()}}
				list, _ := Fetched{List: List{Provider: p.ID, Fetched: later, Models: []Facts{f}}, Builtin: p.ID}.compare(List{Provider: p.ID, Fetched: later, Models: []Facts{kept}})
				kept = list.Models[0]
				now := kept.ApplyTo(row, true)
				if lost := lostFacts(m, now); lost != "" {
					t.Fatalf("%s/%s: %s got lost with %+v: %+v, then %+v", p.ID, row.ID, lost, f, m, now)
				}
				m = now
			}
		}
	}
}

func lostFacts(before, after Model) string {
	switch {
	case before.Context > 0 && (after.Context <= 0 || after.Context > maxFactTokens):
		return "the window"
	case before.MaxOutput > 0 && (after.MaxOutput <= 0 || after.MaxOutput > maxFactTokens):
		return "the output limit"
	case before.Price.Known() && !after.Price.Known(), before.Price.Input > 0 && after.Price.Input <= 0, before.Price.Output > 0 && after.Price.Output <= 0:
		return "the price"
	case before.Price.CacheRead > 0 && after.Price.CacheRead <= 0, len(before.Price.Tiers) != len(after.Price.Tiers) && !before.Price.Free:
		return "the price of caches or long prompts"
	case slices.ContainsFunc(after.Price.all(), func(p float64) bool { return !IsPrice(p) }):
		return "sense in the price"
	}
	before.Context, before.MaxInput, before.MaxOutput, before.Price = after.Context, after.MaxInput, after.MaxOutput, after.Price
	if !reflect.DeepEqual(before, after) {
		return "an ability"
	}
	return ""
}

// Implausible facts are rejected and reported; the other facts of the same model are accepted.
func TestFactsCheck(t *testing.T) {
	for _, tt := range []struct {
		name  string
		facts Facts
		want  Facts
		told  string
	}{
		{"fine", Facts{ID: "a/b:c", Name: "A B", Context: 1024, Price: Price{Input: 600}}, Facts{ID: "a/b:c", Name: "A B", Context: 1024, Price: Price{Input: 600}}, ""},
		{"no id", Facts{Context: 5}, Facts{}, "id"},
		{"an id with an escape sequence", Facts{ID: "a\x1b[31m"}, Facts{}, "id"},
		{"an id with a space", Facts{ID: "a b"}, Facts{}, "id"},
		{"an id that turns the line round", Facts{ID: "a\u202eb"}, Facts{}, "id"},
		{"a long id", Facts{ID: strings.Repeat("a", 201)}, Facts{}, "id"},
		{"a name with an escape sequence", Facts{ID: "a", Name: "x\x1b]0;y\x07\nz"}, Facts{ID: "a", Name: "x␛]0;y␇␊z"}, ""},
		{"a long name", Facts{ID: "a", Name: strings.Repeat("é", 500)}, Facts{ID: "a", Name: strings.Repeat("é", 120)}, ""},
		{"no number", Facts{ID: "a", Context: 5000, Price: Price{Input: math.NaN(), Output: 1}}, Facts{ID: "a", Context: 5000}, "price of NaN"},
		{"a negative price", Facts{ID: "a", Price: Price{Input: 1, Output: -1}}, Facts{ID: "a"}, "price of -1"},
		{"an endless price", Facts{ID: "a", Price: Price{Input: math.Inf(1)}}, Facts{ID: "a"}, "price of +Inf"},
		{"an absurd price", Facts{ID: "a", Price: Price{Input: 1, Tiers: []Tier{{Input: 1e6}}}}, Facts{ID: "a"}, "price of 1e+06"},
		{"an absurd window", Facts{ID: "a", Context: 1 << 40, MaxOutput: 700}, Facts{ID: "a", MaxOutput: 700}, "window of 1099511627776"},
		{"a window that holds no question", Facts{ID: "a", Context: 1023, MaxOutput: 1000}, Facts{ID: "a", MaxOutput: 1000}, "window of 1023 tokens"},
		{"an output limit that holds no answer", Facts{ID: "a", MaxOutput: 1}, Facts{ID: "a"}, "output limit of 1 tokens"},
		{"an end on no day", Facts{ID: "a", Retires: "2026-02-30"}, Facts{ID: "a"}, `end on "2026-02-30"`},
		{"an end on a day", Facts{ID: "a", Retires: "2026-02-28"}, Facts{ID: "a", Retires: "2026-02-28"}, ""},
		{"the window of an embedder", Facts{ID: "embedding-1", Context: 512}, Facts{ID: "embedding-1", Context: 512}, ""},
	} {
		got, told := tt.facts.Check()
		if tt.name == "a name with an escape sequence" {
			if strings.ContainsAny(got.Name, "\x1b\x07\n") {
				t.Errorf("%s: %q", tt.name, got.Name)
			}
			continue
		}
		if !reflect.DeepEqual(got, tt.want) || strings.Contains(strings.Join(told, ""), tt.told) != true || (tt.told == "") != (told == nil) {
			t.Errorf("%s: got %+v and %q, want %+v and %q", tt.name, got, told, tt.want, tt.told)
		}
	}
}

func keep(t *testing.T, lists ...Fetched) *FactsFile {
	t.Helper()
	path := filepath.Join(t.TempDir(), "data", "models.jsonl")
	if err := OpenFactsFile(path).Compare(lists).Save(); err != nil {
		t.Fatal(err)
	}
	return OpenFactsFile(path)
}

// summary returns changes in the notation of the tests.
func summary(changes []Change) (list []string) {
	for _, c := range changes {
		list = append(list, strings.TrimRight(fmt.Sprintf("%s %s %s", c.Kind, c.Model, c.Why), " "))
	}
	return list
}

func TestCompare(t *testing.T) {
	const groq, oss = "https://groq", "openai/gpt-oss-120b"
	fetched := func(models ...Facts) Fetched {
		return Fetched{List: List{Provider: "box", URL: groq, Fetched: later, Models: models}}
	}
	first := fetched(Facts{ID: "a", Context: 10_000, Price: Price{Input: 1, Output: 2}}, Facts{ID: "b"}, Facts{ID: "whisper-1"})
	for _, tt := range []struct {
		name string
		next Fetched
		want []string
	}{
		{"the same", first, nil},
		{"ids alone", fetched(Facts{ID: "a"}, Facts{ID: "b"}, Facts{ID: "whisper-1"}), nil},
		{"a new one", fetched(Facts{ID: "a"}, Facts{ID: "b"}, Facts{ID: "c"}), []string{"new c"}},
		{"a new one that does not answer", fetched(Facts{ID: "a"}, Facts{ID: "b"}, Facts{ID: "text-embedding-9"}), nil},
		{"one that is gone", fetched(Facts{ID: "a"}), []string{"gone b"}},
		{"nothing at all", fetched(), nil},
		{"price and window", fetched(Facts{ID: "a", Context: 20_000, Price: Price{Input: 0.5, Output: 1}}, Facts{ID: "b", Context: 5000}), []string{"price a", "window a", "window b"}},
		{"free all at once", fetched(Facts{ID: "a", Price: Price{Free: true}}, Facts{ID: "b"}), []string{"refused a free, and known to cost $1/$2 for a million tokens"}},
		{"a thousand times as dear", fetched(Facts{ID: "a", Price: Price{Input: 1000, Output: 2000}}, Facts{ID: "b"}), []string{"refused a price of $1000/$2000 for a million tokens, and known to cost $1/$2"}},
		{"one twice", fetched(Facts{ID: "a"}, Facts{ID: "a", Context: 9000}, Facts{ID: "b"}), nil},
		{"at another address", Fetched{List: List{Provider: "box", URL: "https://moved", Fetched: later, Models: []Facts{{ID: "a"}}}}, []string{"new a"}},
		{"some of them, from elsewhere", Fetched{List: List{Provider: "box", URL: groq, Fetched: later, Models: []Facts{{ID: "a", Context: 7000}}}, Partial: true}, []string{"window a"}},
	} {
		k := keep(t, first)
		update := k.Compare([]Fetched{tt.next})
		if got := summary(update.Changes); !slices.Equal(got, tt.want) {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
		if err := update.Save(); err != nil {
			t.Fatal(err)
		}
		a, newer, ok := OpenFactsFile(k.path).Find("box", tt.next.URL, "a")
		if len(tt.next.Models) > 0 && (!ok || !newer || a.Context == 0 && tt.next.URL == groq) {
			t.Errorf("%s: then there is %+v, %v, %v", tt.name, a, newer, ok)
		}
		if _, _, ok := OpenFactsFile(k.path).Find("box", groq, "b"); tt.next.Partial && !ok {
			t.Errorf("%s: the others got lost", tt.name)
		}
	}
	known := Fetched{List: List{Provider: "groq", URL: groq, Fetched: later, Models: []Facts{{ID: oss}, {ID: "llama-3.1-8b-instant", Price: Price{Input: 0.01, Output: 0.02}}}}, Builtin: "groq"}
	got := summary((*FactsFile)(nil).Compare([]Fetched{known}).Changes)
	if !slices.Contains(got, "price llama-3.1-8b-instant") || !slices.Contains(got, "gone qwen/qwen3.8-27b") || slices.Contains(got, "new "+oss) {
		t.Errorf("the first list of a provider that is built in: %q", got)
	}
}

// The built-in facts bound listed ones however often a figure changes: a price does not fall to a
// hundredth in four steps, no window shrinks to nothing, and an old file cannot cause either.
func TestFactsDoNotDrift(t *testing.T) {
	const id = "gpt-6-luna"
	row, ok := FindExact("openai", id)
	if !ok || row.Context == 0 || row.MaxOutput == 0 || row.Price.Input == 0 || row.Price.Free {
		t.Fatalf("the test wants another model: %+v", row)
	}
	list := func(f Facts) List { return List{Provider: "openai", Fetched: later, Models: []Facts{f}} }
	for _, tt := range []struct {
		name string
		next func(step int) Facts
		last bool // already in the file
		told string
	}{
		{"a price that falls by thirds", func(n int) Facts {
			return Facts{ID: id, Price: Price{Input: row.Price.Input / math.Pow(3, float64(n)), Output: row.Price.Output / math.Pow(3, float64(n))}}
		}, false, "price of"},
		{"a price that rises tenfold", func(n int) Facts {
			return Facts{ID: id, Price: Price{Input: row.Price.Input * math.Pow(10, float64(n)), Output: row.Price.Output * math.Pow(10, float64(n))}}
		}, false, "price of"},
		{"a small window", func(int) Facts { return Facts{ID: id, Context: row.Context/4 - 1} }, false, "window of"},
		{"a large window", func(int) Facts { return Facts{ID: id, Context: row.Context*4 + 1} }, false, "window of"},
		{"a small output limit", func(int) Facts { return Facts{ID: id, MaxOutput: row.MaxOutput/4 - 1} }, false, "output limit of"},
		{"a file of before", func(int) Facts { return Facts{ID: id, Context: 2000, Price: Price{Input: 1e-6, Output: 1e-6}} }, true, ""},
	} {
		var kept List
		var told []string
		if tt.last {
			kept = list(tt.next(0))
			kept, _ = Fetched{List: list(Facts{ID: id}), Builtin: "openai"}.compare(kept)
		} else {
			for step := range 6 {
				var changes []Change
				kept, changes = Fetched{List: list(tt.next(step + 1)), Builtin: "openai"}.compare(kept)
				for _, c := range changes {
					if c.Kind == ChangeRefused {
						told = append(told, c.Why)
					}
				}
			}
		}
		now := kept.Models[0].ApplyTo(row, true)
		if now.Context*4 < row.Context || now.Context > row.Context*4 || now.MaxOutput*4 < row.MaxOutput ||
			now.Price.Input*10 < row.Price.Input || now.Price.Output > row.Price.Output*100.1 {
			t.Errorf("%s: from %+v to %+v", tt.name, row, now)
		}
		if !strings.Contains(strings.Join(told, ";"), tt.told) {
			t.Errorf("%s: told %q", tt.name, told)
		}
	}
}

// The file survives a round trip, other lists in it stay, and looking up one model decodes one line.
func TestKept(t *testing.T) {
	yes := true
	rows := []Facts{{ID: "x/<a>&b", Name: `a "name"`, Context: 5000, Price: Price{Free: true}, Tools: &yes}, {ID: "b", Price: Price{Input: 1, Output: 2, Tiers: []Tier{{Above: 3, Input: 4}}}}}
	k := keep(t, Fetched{List: List{Provider: "one", URL: "u", Fetched: later, Models: rows}})
	if err := k.Compare([]Fetched{{List: List{Provider: "two", URL: "u", Fetched: earlier, Models: []Facts{{ID: "c"}}}}}).Save(); err != nil {
		t.Fatal(err)
	}
	k = OpenFactsFile(k.path)
	for _, want := range rows {
		if got, newer, ok := k.Find("one", "u", want.ID); !ok || !newer || !reflect.DeepEqual(got, want) {
			t.Errorf("got %+v, %v, %v; want %+v", got, newer, ok, want)
		}
	}
	if got := k.IDs("one", "u"); !slices.Equal(got, []string{"x/<a>&b", "b"}) {
		t.Errorf("ids %q", got)
	}
	if _, newer, ok := k.Find("two", "u", "c"); newer || !ok || !k.Fetched().Equal(later) {
		t.Errorf("an older list: %v, %v; fetched %v", newer, ok, k.Fetched())
	}
	for _, at := range [][3]string{{"one", "elsewhere", "b"}, {"none", "u", "b"}, {"one", "u", "none"}} {
		if _, _, ok := k.Find(at[0], at[1], at[2]); ok {
			t.Errorf("%q is found", at)
		}
	}
	if info, err := os.Stat(k.path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	left, _ := filepath.Glob(filepath.Join(filepath.Dir(k.path), "*"))
	if len(left) != 1 {
		t.Errorf("files left: %q", left)
	}
}

// A damaged or hostile file is harmless: an unusable file is reported, an implausible line ignored.
func TestKeptHostile(t *testing.T) {
	head := "{\"version\":1}\n{\"provider\":\"p\",\"url\":\"u\",\"fetched\":\"2026-12-01T00:00:00Z\"}\n"
	for name, tt := range map[string]struct{ text, err string }{
		"empty":        {"", "not a file of model facts"},
		"no JSON":      {"\x1b[31m\n", "not a file of model facts"},
		"of tomorrow":  {"{\"version\":2}\n", "its format is 2"},
		"too large":    {head + strings.Repeat("x", maxFactsFile), "more than 8 MiB"},
		"a bad head":   {"{\"version\":1}\n{\"provider\":7}\n", "damaged"},
		"bad lines":    {head + "{\"id\":\"ok\"}\n{\"id\":\"cut\n{\"id\":\"a\\u001b\"}\n{\"id\":\"b\",\"id\":\"c\"}\nnull\n{\"id\":\"n\",\"context\":-5,\"price\":{\"input\":-1}}\n", ""},
		"many models":  {head + manyLines(maxListModels+50), ""},
		"the same one": {head + "{\"id\":\"ok\",\"context\":5001}\n{\"id\":\"ok\",\"context\":5002}\n", ""},
	} {
		path := filepath.Join(t.TempDir(), "models.jsonl")
		if err := os.WriteFile(path, []byte(tt.text), 0o600); err != nil {
			t.Fatal(err)
		}
		k := OpenFactsFile(path)
		if err := k.Err(); (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%s: %v, want %q", name, err, tt.err)
		}
		ids := k.IDs("p", "u")
		if len(ids) > maxListModels {
			t.Errorf("%s: %d models", name, len(ids))
		}
		for _, id := range []string{"a\x1b", "b", "c", "cut"} {
			if f, _, ok := k.Find("p", "u", id); ok && id != f.ID {
				t.Errorf("%s: %q is %+v", name, id, f)
			}
		}
		if f, _, ok := k.Find("p", "u", "n"); ok && (f.Context != 0 || f.Price.Known()) {
			t.Errorf("%s: %+v", name, f)
		}
		if f, _, _ := k.Find("p", "u", "ok"); f.Context == 5002 {
			t.Errorf("%s: the later line counts", name)
		}
		if err := k.Compare([]Fetched{{List: List{Provider: "q", URL: "u", Fetched: later, Models: []Facts{{ID: "m"}}}}}).Save(); err != nil && name != "many models" {
			t.Errorf("%s: it is not written anew: %v", name, err)
		}
		if OpenFactsFile(path).Err() != nil {
			t.Errorf("%s: written anew it is still wrong", name)
		}
	}
	if k := OpenFactsFile(t.TempDir()); k.Err() == nil {
		t.Error("a folder is read")
	}
	if k := OpenFactsFile(filepath.Join(t.TempDir(), "none")); k.Err() != nil || k.IDs("p", "u") != nil {
		t.Error("a file that is not there is an error")
	}
}

func manyLines(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "{\"id\":\"m%d\"}\n", i)
	}
	return b.String()
}

// A reader sees the old file or the new one, never a part.
func TestKeptIsReplacedInOneStep(t *testing.T) {
	k := keep(t, Fetched{List: List{Provider: "p", URL: "u", Fetched: later, Models: []Facts{{ID: "m", Context: 5000}}}})
	done := make(chan error)
	go func() {
		var err error
		for i := range 50 {
			if err == nil {
				err = OpenFactsFile(k.path).Compare([]Fetched{{List: List{Provider: "p", URL: "u", Fetched: later, Models: []Facts{{ID: "m", Context: 5001 + i}}}}}).Save()
			}
		}
		done <- err
	}()
	for {
		select {
		case err := <-done:
			if err != nil {
				t.Error(err)
			}
			return
		default:
		}
		again := OpenFactsFile(k.path)
		if f, _, ok := again.Find("p", "u", "m"); !ok || f.Context == 0 || again.Err() != nil {
			t.Fatalf("read in between: %+v, %v", f, again.Err())
		}
	}
}

func TestStale(t *testing.T) {
	updated := keep(t, Fetched{List: List{Provider: "p", URL: "u", Fetched: later, Models: []Facts{{ID: "m"}}}})
	for _, tt := range []struct {
		name string
		kept *FactsFile
		now  time.Time
		of   time.Time
		want bool
	}{
		{"built in, new", nil, Revised().Add(StaleAfter), Revised(), false},
		{"built in, old", nil, Revised().Add(StaleAfter + 1), Revised(), true},
		{"fetched, new", updated, later.Add(StaleAfter), later, false},
		{"fetched, old", updated, later.Add(StaleAfter + 1), later, true},
		{"fetched before what is built in", keep(t, Fetched{List: List{Provider: "p", URL: "u", Fetched: earlier, Models: []Facts{{ID: "m"}}}}), later, Revised(), false},
	} {
		if of, stale := tt.kept.Stale(tt.now); !of.Equal(tt.of) || stale != tt.want {
			t.Errorf("%s: of %v, %v; want %v, %v", tt.name, of, stale, tt.of, tt.want)
		}
	}
}

func TestChats(t *testing.T) {
	ids := map[string]bool{
		"gpt-7": true, "openai/whisper-9": false, "text-embedding-3-small": false, "tts-1-hd": false, "omni-moderation-latest": false,
		"gpt-image-2": false, "gpt-4o-realtime-preview": false, "imagen-4.0": false, "imaginary-1": true, "qwen/qwen3.8-max": true,
	}
	for _, id := range slices.Sorted(maps.Keys(ids)) {
		if got := IsChatModel(id); got != ids[id] {
			t.Errorf("%s: %v", id, got)
		}
	}
	for _, p := range Providers() {
		for _, m := range p.Models {
			if !IsChatModel(m.ID) && m.Tools {
				t.Logf("%s/%s is taken for something else, and built in", p.ID, m.ID)
			}
		}
	}
	for id, want := range map[string]bool{"gpt-4o-2024-08-06": true, "gpt-4o": false, "gpt-99-2024-08-06": false} {
		if got := IsSnapshot("openai", id); got != want {
			t.Errorf("%s: %v", id, got)
		}
	}
}

// BenchmarkKeptFindOne measures the first lookup in a large file.
func BenchmarkKeptFindOne(b *testing.B) {
	path := filepath.Join(b.TempDir(), "models.jsonl")
	models := make([]Facts, 0, 500)
	for i := range 500 {
		models = append(models, Facts{ID: fmt.Sprintf("vendor/model-%d", i), Name: "A model with a name", Context: 1000 + i, Price: Price{Input: 1, Output: 2}})
	}
	if err := OpenFactsFile(path).Compare([]Fetched{{List: List{Provider: "p", URL: "u", Fetched: later, Models: models}}}).Save(); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		OpenFactsFile(path).Find("p", "u", "vendor/model-250")
	}
}
