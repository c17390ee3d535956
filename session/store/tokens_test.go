package store

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"parley/providers/llm"
	"parley/providers/llmtest"
)

func TestSearch(t *testing.T) {
	db := fresh(t)
	l := db.Create(Session{Title: "Kubernetes upgrade", Dir: "/srv/infra", Model: "openai/gpt"})
	nodes := []Node{
		says(1, llm.RoleUser, "How do I drain a node? Fix read_file in pkg/store/log.go"),
		{Seq: 2, Parent: 1, Message: llm.Message{Role: llm.RoleAssistant, Model: "gemini/pro", Parts: []llm.Part{
			{Kind: llm.Thinking, Text: "the person wants a cordon"},
			{Kind: llm.Call, ID: "1", Name: "shell", Input: `{"command":"kubectl get\nevictions"}`},
		}}},
		{Seq: 3, Parent: 2, Message: llm.Message{Role: llm.RoleTool, Parts: []llm.Part{{Kind: llm.Result, ID: "1", Text: "NAME zürich-7"}}}},
		says(4, llm.RoleAssistant, "数据库迁移失败了。東京タワー and 서울특별시 ภาษาไทย"),
		{Seq: 5, Parent: 4, Message: llm.Message{Role: llm.RoleUser, Parts: []llm.Part{{Kind: llm.Media, Name: "diagram.png", Data: []byte{1}}}}},
	}
	for _, n := range nodes {
		if err := l.Put(n); err != nil {
			t.Fatal(err)
		}
	}
	for words, want := range map[string]string{
		"drain":                    "[1]",
		"DRAIN Node":               "[1]",
		"node drain":               "[1]",
		`"drain a node"`:           "[1]",
		`"node drain"`:             "[]",
		"dra":                      "[]",
		"dra*":                     "[1]",
		"d*":                       "[1 5]",
		"pkg/store/log.go":         "[1]",
		"read_file":                "[1]",
		"cordon":                   "[2]",
		"shell":                    "[2]",
		"evictions":                "[2]",
		"zurich":                   "[3]",
		"Zürich":                   "[3]",
		"迁移":                       "[4]",
		"数据库 失败":                   "[4]",
		"移迁":                       "[]",
		"東京":                       "[4]",
		"서울":                       "[4]",
		"ไทย":                      "[4]",
		"diagram.png":              "[5]",
		"kubernetes":               "[0]",
		"":                         "[]",
		`"`:                        "[]",
		`""`:                       "[]",
		"*":                        "[]",
		"c++ -- ? (":               "[]",
		"drain AND nothing":        "[]",
		"drain OR nothing":         "[]",
		"NOT drain":                "[]",
		"NEAR(drain node)":         "[]",
		"text:drain":               "[]",
		"drain\x00node":            "[1]",
		`drain"node`:               "[1]",
		"^drain":                   "[1]",
		"drain {node} + ^":         "[1]",
		"' OR 1=1 --":              "[]",
		"dr\xffain":                "[]",
		"drain 'node' \"how":       "[1]",
		strings.Repeat("a ", 9999): "[1 2]",
	} {
		hits, _, err := db.Search(Query{Words: words})
		seqs := []int{}
		for _, h := range hits {
			seqs = append(seqs, h.Seq)
		}
		if got := fmt.Sprint(seqs); err != nil || got != want && got != reversed(want) {
			t.Errorf("%.40q: got %s, %v, want %s", words, got, err, want)
		}
		for _, h := range hits {
			checkMarks(t, words, h.Snippet, h.Marks)
			if len(h.Marks) == 0 {
				t.Errorf("%.40q: nothing is marked in %q", words, h.Snippet)
			}
		}
	}
	for name, tt := range map[string]struct {
		query Query
		want  int
	}{
		"in a folder above":   {Query{Dir: "/srv"}, 1},
		"in the folder":       {Query{Dir: "/srv/infra/"}, 1},
		"in a folder beside":  {Query{Dir: "/srv/in"}, 0},
		"of the model":        {Query{Model: "OpenAI"}, 1},
		"of another model":    {Query{Model: "gemini"}, 0},
		"since then":          {Query{Since: time.Now().Add(-time.Hour)}, 1},
		"since tomorrow":      {Query{Since: time.Now().Add(time.Hour)}, 0},
		"until then":          {Query{Until: time.Now().Add(-time.Hour)}, 0},
		"deleted":             {Query{Deleted: true}, 0},
		"with words":          {Query{Words: "cordon"}, 1},
		"with title":          {Query{Words: "upgrade"}, 1},
		"with words missing":  {Query{Words: "cordons"}, 0},
		"with only a bracket": {Query{Words: "("}, 0},
	} {
		if list, err := db.List(tt.query); err != nil || len(list) != tt.want {
			t.Errorf("%s: got %+v, %v, want %d", name, list, err, tt.want)
		}
	}
	if hits, _, err := db.Search(Query{Words: "cordon", Model: "gemini"}); err != nil || len(hits) != 1 {
		t.Errorf("by the model that wrote: %+v, %v", hits, err)
	}
}

// reversed returns a list of two the other way round: rank is not asked for here.
func reversed(list string) string {
	f := strings.Fields(strings.Trim(list, "[]"))
	if len(f) == 2 {
		f[0], f[1] = f[1], f[0]
	}
	return "[" + strings.Join(f, " ") + "]"
}

// checkMarks reports ranges that are no words of the snippet.
func checkMarks(t *testing.T, words, line string, marks [][2]int) {
	t.Helper()
	last := 0
	for _, m := range marks {
		if m[0] < last || m[1] <= m[0] || m[1] > len(line) || !utf8.ValidString(line[m[0]:m[1]]) {
			t.Fatalf("%.40q: marks %v in %q", words, marks, line)
		}
		last = m[1]
	}
	if strings.ContainsAny(line, "\n\r") {
		t.Errorf("%.40q: %q is more than a line", words, line)
	}
}

func TestSnippet(t *testing.T) {
	far := strings.Repeat("filler ", 100)
	for _, tt := range []struct{ name, text, words, want string }{
		{"short", "one two three", "two", "one [two] three"},
		{"all words", "one two three two", "two one", "[one] [two] three [two]"},
		{"far in", far + "needle " + far, "needle", "…ler filler filler filler filler filler filler filler filler [needle] " +
			strings.Repeat("filler ", 24) + "fille…"},
		{"lines", "a\n\n  b\tneedle", "needle", "a b [needle]"},
		{"phrase", "log of store log", `"store log"`, "log of [store log]"},
		{"beginning", "unbelievable", "unbe*", "[unbelievable]"},
		{"accents", "Crème brûlée", "creme", "[Crème] brûlée"},
		{"combined accents", "cafe\u0301 noir", "café", "[cafe\u0301] noir"},
		{"no spaces", "数据库迁移失败", "迁移", "数据库[迁移]失败"},
		{"no UTF-8", "a\x8db", `"a b"`, "[a\uFFFDb]"},
		{"nothing", "one", "two", "one"},
	} {
		line, marks := snippet([]string{tt.text}, parseQuery(tt.words))
		for i := len(marks) - 1; i >= 0; i-- {
			m := marks[i]
			line = line[:m[0]] + "[" + line[m[0]:m[1]] + "]" + line[m[1]:]
		}
		if line != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, line, tt.want)
		}
	}
}

// Newer hits come before older ones, short texts before long ones.
func TestRank(t *testing.T) {
	db := fresh(t)
	l := db.Create(Session{Title: "x"})
	filler := strings.Repeat(" filler", 300)
	talk(t, l, "apples", "apples"+filler, "pears", "apples")
	hits, _, err := db.Search(Query{Words: "apples"})
	var got []int
	for _, h := range hits {
		got = append(got, h.Seq)
	}
	if err != nil || fmt.Sprint(got) != "[4 1 2]" {
		t.Errorf("got %v, %v", got, err)
	}
	if hits, _, err := db.Search(Query{Words: "apples", Limit: 1}); err != nil || len(hits) != 1 {
		t.Errorf("got %d, %v", len(hits), err)
	}
}

// TestSearchCountsAll holds pages of a search to being parts of all that is found, in its order, and
// searches as one types to the messages and titles that were stored last.
func TestSearchCountsAll(t *testing.T) {
	db := fresh(t)
	const text = "apples and quite a lot of other fruit"
	nodes := make([]Node, maxRecent+50)
	for i := range nodes {
		nodes[i] = says(i+1, llm.RoleUser, text)
	}
	nodes[0] = says(1, llm.RoleUser, "apples apples apples")
	if _, err := db.Import(Session{ID: "messages", Title: "fruit"}, nodes); err != nil {
		t.Fatal(err)
	}
	for i := range maxRecent + 50 {
		if _, err := db.Import(Session{ID: fmt.Sprint("title", i), Title: text}, []Node{says(1, llm.RoleUser, "pears")}); err != nil {
			t.Fatal(err)
		}
	}
	name := func(h Hit) string { return fmt.Sprint(h.Session.ID, " ", h.Seq) }
	find := func(q Query) (names []string, total int) {
		q.Words = cmp.Or(q.Words, "apples")
		hits, total, err := db.Search(q)
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range hits {
			names = append(names, name(h))
		}
		return names, total
	}
	all, total := find(Query{Limit: -1})
	want := []string{"messages 1"}    // the best one, although it is the oldest
	for i := len(nodes); i > 1; i-- { // the later the better
		want = append(want, fmt.Sprint("messages ", i))
	}
	for i := maxRecent + 49; i >= 0; i-- {
		want = append(want, fmt.Sprint("title", i, " 0"))
	}
	if !slices.Equal(all, want) || total != len(want) {
		t.Fatalf("found %d in another order: %.200q", total, all)
	}
	recent, total := find(Query{Limit: -1, Recent: true})
	want = slices.Concat(want[1:1+maxRecent], want[len(nodes):len(nodes)+maxRecent])
	if !slices.Equal(recent, want) || total != len(want) {
		t.Fatalf("found %d as one types: %.200q", total, recent)
	}
	for _, test := range []struct {
		q     Query
		want  []string
		total int
	}{
		{Query{Limit: 3}, all[:3], len(all)},
		{Query{Limit: 3, Skip: 10}, all[10:13], len(all)},
		{Query{Limit: 80, Skip: 2010}, all[2010:2090], len(all)},
		{Query{Limit: 20, Skip: 4090}, all[4090:], len(all)},
		{Query{Limit: -1, Skip: 2001}, all[2001:], len(all)},
		{Query{Limit: 3, Skip: len(all)}, nil, len(all)},
		{Query{Limit: 3, Skip: math.MaxInt}, nil, len(all)},
		{Query{}, all[:maxHits], len(all)},
		{Query{Limit: 3, Recent: true}, recent[:3], len(recent)},
		{Query{Limit: 30, Skip: 3990, Recent: true}, recent[3990:], len(recent)},
		{Query{Model: "none", Limit: 3}, nil, 0},
		{Query{Words: "oranges", Limit: 3}, nil, 0},
		{Query{Words: "!", Limit: 3}, nil, 0},
	} {
		if names, total := find(test.q); total != test.total || !slices.Equal(names, test.want) {
			t.Errorf("%+v: got %d of %d, want %d of %d", test.q, len(names), total, len(test.want), test.total)
		}
	}
}

// A search with a model finds what that wrote, and titles of conversations that are to go on with it.
func TestSearchByModel(t *testing.T) {
	db := fresh(t)
	for _, model := range []string{"one/a", "two/b"} {
		answer := says(2, llm.RoleAssistant, "pears and apples")
		answer.Model = "three/c"
		if _, err := db.Import(Session{ID: model, Title: "apples", Model: model}, []Node{says(1, llm.RoleUser, "apples"), answer}); err != nil {
			t.Fatal(err)
		}
	}
	for model, want := range map[string]string{"one": "one/a 0, one/a 1", "TWO/B": "two/b 0, two/b 1", "three": "one/a 2, two/b 2", "": "one/a 0, one/a 1, one/a 2, two/b 0, two/b 1, two/b 2", "none": ""} {
		hits, total, err := db.Search(Query{Words: "apples", Model: model})
		var names []string
		for _, h := range hits {
			names = append(names, fmt.Sprint(h.Session.ID, " ", h.Seq))
		}
		slices.Sort(names)
		if got := strings.Join(names, ", "); got != want || total != len(names) || err != nil {
			t.Errorf("with model %q: got %s (%d), %v, want %s", model, got, total, err, want)
		}
	}
}

// Nothing a user types is an error of SQLite's, and what is found is marked
// where it stands.
func FuzzQuery(f *testing.F) {
	for _, s := range []string{`a`, `"a b"*`, `a* OR b`, "迁移", "e\u0301", `NEAR(a,b)`, "\x00", `""""`, "ก็", "\u00ad", "a\u200db", "ⅷ ² ½"} {
		f.Add(s, "text with a and b, "+s)
	}
	db, err := OpenMemory()
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = db.Close() })
	l := db.Create(Session{Title: "fuzz"})
	f.Fuzz(func(t *testing.T, words, text string) {
		n := says(1, llm.RoleUser, text)
		if err := l.Put(n); err != nil {
			t.Fatal(err)
		}
		if _, _, err := db.Search(Query{Words: words, Limit: 1}); err != nil {
			t.Errorf("%q: %v", words, err)
		}
		line, marks := snippet([]string{text}, parseQuery(words))
		checkMarks(t, words, line, marks)
	})
}

// Whatever stands in a row is read or refused.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"open":true,"usage":{"input":1}}`), []byte(`[{"kind":"text","text":"a","state":"x"}]`))
	f.Add([]byte(`{}`), []byte(`[{"kind":"dGV4dA==","text":"/w==","base64":true}]`))
	f.Add([]byte(`{}`), []byte(`[{"kind":"text","text":"a","text_rest":{"pieces":["00","00"],"end":"b"},"input_rest":{}}]`))
	f.Add([]byte(`null`), []byte(`[{"kind":"media","blob":"00"},null,{}]`))
	db, err := OpenMemory()
	if err != nil {
		f.Fatal(err)
	}
	defer db.Close()
	f.Fuzz(func(t *testing.T, rest, parts []byte) {
		n := nodeRow{extra: string(rest), parts: string(parts)}
		if n.decode(); n.err != nil {
			return
		}
		blobs := blobReader{q: db.writer, data: map[string][]byte{}, damage: &damageReport{}}
		for _, ref := range n.refs {
			blobs.fill(&n.Parts[ref.part], ref)
		}
		for range searchableTexts(n.Parts) {
		}
		if _, err := json.Marshal(n); len(n.refs) == 0 && err == nil {
			again, err := encodeParts(n.Parts, nil)
			if err != nil {
				t.Fatal(err)
			}
			if back, _, err := decodeParts(string(again)); err != nil || len(back) != len(n.Parts) {
				t.Fatalf("%d parts became %d, %v", len(n.Parts), len(back), err)
			}
		}
	})
}

// A prompt does not wait for the index. Its words are owed on disk: to the answer, to the next start, and to a search.
func TestIndexOwed(t *testing.T) {
	t.Parallel()
	prompt, answer, call, partial := says(1, llm.RoleUser, "zebras"), says(2, llm.RoleAssistant, "zebras"), says(2, llm.RoleAssistant, "zebras"), says(2, llm.RoleAssistant, "zebras")
	call.Parts = append(call.Parts, llm.Part{Kind: llm.Call, ID: "c", Name: "run"})
	partial.Partial = true
	imported := make([]Node, indexedAtOnce+1)
	for i := range imported {
		imported[i] = says(i+1, llm.RoleUser, "zebras")
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for name, tt := range map[string]struct {
		do      func(db *DB, l *Log) error
		owed    int // messages
		indexed int // messages and titles
		found   int // by a search after a crash
	}{
		"a prompt":           {func(*DB, *Log) error { return nil }, 1, 0, 2},
		"an answer":          {func(_ *DB, l *Log) error { return l.Put(answer) }, 0, 3, 3},
		"a call":             {func(_ *DB, l *Log) error { return l.Put(call) }, 2, 0, 3},
		"a partial answer":   {func(_ *DB, l *Log) error { return l.Put(partial) }, 2, 0, 3},
		"an import":          {func(db *DB, _ *Log) error { _, err := db.Import(Session{Title: "zebras"}, imported); return err }, len(imported) + 1, 0, len(imported) + 3},
		"a start":            {func(db *DB, _ *Log) error { db.IndexOwed(t.Context()); return nil }, 0, 2, 2},
		"a start that ended": {func(db *DB, _ *Log) error { db.IndexOwed(ended); return nil }, 1, 0, 2},
	} {
		t.Run(name, func(t *testing.T) {
			db := fresh(t)
			l := db.Create(Session{})
			if err := errors.Join(l.Put(prompt), tt.do(db, l)); err != nil {
				t.Fatal(err)
			}
			var owed, indexed int
			if err := errors.Join(db.value(&owed, `SELECT count(*) FROM nodes WHERE indexed = 0`), db.value(&indexed, `SELECT count(*) FROM words`)); err != nil {
				t.Fatal(err)
			}
			if owed != tt.owed || indexed != tt.indexed {
				t.Errorf("%d messages are owed, %d rows are indexed; want %d, %d", owed, indexed, tt.owed, tt.indexed)
			}
			crashed := filepath.Join(llmtest.Folder(t), "parley.db")
			for _, end := range []string{"", "-wal"} {
				content, err := os.ReadFile(db.path + end)
				if err := errors.Join(err, os.WriteFile(crashed+end, content, 0o600)); err != nil {
					t.Fatal(err)
				}
			}
			if hits, _, err := reopen(t, crashed).Search(Query{Words: "zebras", Limit: -1}); err != nil || len(hits) != tt.found {
				t.Errorf("a search after a crash finds %d, %v, want %d", len(hits), err, tt.found)
			}
		})
	}
}
