package store

import (
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"parley/providers/llm"
)

// mixed returns n messages of every kind.
func mixed(n int) []Node {
	nodes := make([]Node, n)
	for i := range nodes {
		seq := i + 1
		nodes[i] = says(seq, llm.RoleUser, fmt.Sprintf("line %d\n\"quoted\"\t\\ \u00e9 \x7f", seq))
		nodes[i].At = time.Unix(int64(seq), 5)
		switch seq % 5 {
		case 1:
			nodes[i].Message = llm.Message{Role: llm.RoleAssistant, Origin: "chat:x", Model: fmt.Sprint("a/", seq%3), Parts: []llm.Part{
				{Kind: llm.Thinking, Text: "hm", State: []byte(`{"sig": "x"}`)}, {Kind: llm.Call, ID: fmt.Sprint("c", seq), Name: "read", Input: `{"path":"a"}`},
			}}
			nodes[i].Usage, nodes[i].Reason, nodes[i].Duration = &llm.Usage{Input: seq, Cost: 0.25, Priced: true}, llm.Calls, time.Second
			nodes[i].ThinkingDurations = []time.Duration{3, 4}
		case 2:
			id := fmt.Sprint("c", seq-1)
			nodes[i].Message = llm.Message{Role: llm.RoleTool, Parts: []llm.Part{{Kind: llm.Result, ID: id, Name: "read", Text: "b", Failed: true}}}
			nodes[i].Results = map[string]Outcome{id: {Diff: "+b", Duration: 7, Started: true}}
		case 3:
			nodes[i].Parts = append(nodes[i].Parts, llm.Part{Kind: llm.Media, MIME: "image/png", Name: "p.png", Data: []byte("png"), Width: 2, Height: 3})
		case 4:
			nodes[i].Parts = nil
		}
	}
	return nodes
}

// Rows read joined equal those read one by one, and rows that cannot be joined are read one by one.
func TestJoinedReadsAsRowByRow(t *testing.T) {
	const n = batchSize + 100
	for name, test := range map[string]struct {
		change string // one statement of SQL; "": none
		joined bool
	}{
		"as written":             {"", true},
		"no time":                {`UPDATE nodes SET at = NULL WHERE seq = 3`, true},
		"parts as bytes":         {`UPDATE nodes SET parts = CAST(parts AS BLOB) WHERE seq = 3`, true},
		"written in any order":   {`UPDATE nodes SET num = (num * 7919) % 10007 + 100000`, true},
		"long parts":             {fmt.Sprintf(`UPDATE nodes SET parts = '[{"kind":"text","text":"%s"}]' WHERE seq IN (3, %d)`, strings.Repeat("long ", maxJoined/5), n), true},
		"long damaged parts":     {fmt.Sprintf(`UPDATE nodes SET parts = '[{"kind":"text","text":"%s' WHERE seq = 3`, strings.Repeat("long ", maxJoined/5)), false},
		"separator in a name":    {`UPDATE nodes SET model = 'a' || char(31) || 'b' WHERE seq = 3`, false},
		"end of row in a name":   {`UPDATE nodes SET origin = 'a' || char(30) || 'b' WHERE seq = 3`, false},
		"a column for a column":  {`UPDATE nodes SET origin = 'a' || char(31) || 'b', rest = '' WHERE seq = 3`, false},
		"unknown role":           {`UPDATE nodes SET role = 'boss' WHERE seq = 3`, false},
		"role that does not fit": {`UPDATE nodes SET role = 'user' WHERE seq = 1`, false},
		"damaged parts":          {`UPDATE nodes SET parts = '[{"kind":' WHERE seq = 3`, false},
		"damaged rest":           {`UPDATE nodes SET rest = '{' WHERE seq = 3`, false},
		"no parts":               {`UPDATE nodes SET parts = '' WHERE seq = 3`, false},
		"time as text":           {`UPDATE nodes SET at = 'noon' WHERE seq = 3`, false},
		"parent behind":          {`UPDATE nodes SET parent = 9 WHERE seq = 3`, false},
		"a number as text":       {`UPDATE nodes SET seq = 'three' WHERE seq = 3`, false},
		"missing":                {`DELETE FROM nodes WHERE seq = 3`, false},
	} {
		t.Run(name, func(t *testing.T) {
			db := fresh(t)
			if _, err := db.Import(Session{}, mixed(n)); err != nil {
				t.Fatal(err)
			}
			err := db.write(func(w *writer) error {
				if test.change != "" {
					if err := w.script(test.change); err != nil {
						return err
					}
				}
				nodes := make([]Node, n)
				refs, err := readJoined(w, 1, nodes, 1)
				if (err == nil) != test.joined {
					t.Errorf("joined: %v", err)
				}
				if err != nil {
					return nil
				}
				var damage damageReport
				want, err := readRows(w, &damage, n, `nodes WHERE session = ? AND seq BETWEEN ? AND ?`, 1, 1, n)
				if damage.rows > 0 || want.count() != n {
					t.Errorf("%d messages, damage %v", want.count(), damage.errs)
				}
				for r := range want.all {
					if got := nodes[r.Seq-1]; !reflect.DeepEqual(got, r.Node) {
						t.Errorf("message %d is\n%+v, row by row\n%+v", r.Seq, got, r.Node)
						break
					}
				}
				if !reflect.DeepEqual(refs, want.refs()) {
					t.Errorf("refers to %d blobs, row by row to %d", len(refs), len(want.refs()))
				}
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		})
	}
}

// The strings of messages that are read together lie in memory of their own: the text that SQLite
// joined is free.
func TestJoinedTextIsFreed(t *testing.T) {
	b := joinedBatch{nodes: make([]Node, 2), first: 1}
	text := strings.Join([]string{"1\x1f0\x1f\x1fuser\x1f\x1f\x1f" + `{"cut":true,"broke":"the server ended it"}` + "\x1f" + `[{"kind":"text","text":"first"}]`, "2\x1f1\x1f\x1fassistant\x1fchat\x1fa/b\x1f{}\x1f" + `[{"kind":"text","text":"second"}]`}, rowEnd)
	if !b.decode(text) {
		t.Fatal("left to be read row by row")
	}
	for _, r := range b.nodes {
		for _, s := range []string{string(r.Role), r.Origin, r.Model, r.InterruptedBy, r.Parts[0].Text, string(r.Parts[0].Kind)} {
			if liesWithin(s, text) {
				t.Errorf("%q lies in the joined text", s)
			}
		}
	}
}

// Reading messages costs some allocations for each batch and, for each message, its list of parts and its
// usage: their strings share memory.
func TestPagesShareMemory(t *testing.T) {
	const n = 8 * batchSize
	_, l := paged(t, n) // every second message has usage
	cost := func(n int) float64 {
		return testing.AllocsPerRun(3, func() {
			if nodes, err := l.Read(1, n); err != nil || len(nodes) != n {
				t.Fatal(len(nodes), err)
			}
		})
	}
	few, many := cost(n/4), cost(n)
	if each := (many - few) / (n - n/4); each > 3 {
		t.Errorf("%.2f allocations for each message more", each)
	}
}

// Messages that are read hold little more memory than what they say, of whatever kind that is.
func TestPagesHoldWhatTheySay(t *testing.T) {
	const n, size = 2 * minPaged, 8 << 10
	lines := func(end string) string { return strings.Repeat("some line of code "+end, size/20) }
	result := func(text string) llm.Message {
		return llm.Message{Role: llm.RoleTool, Parts: []llm.Part{{Kind: llm.Result, ID: "c", Name: "edit", Text: text}}}
	}
	for name, node := range map[string]Node{
		"lines":         {Message: result(lines("\n"))},
		"short lines":   {Message: result(lines("\n")[:maxInArena])},
		"CRLF":          {Message: result(lines("\r\n"))},
		"escapes":       {Message: result(lines("\x1b[0m\u2028"))},
		"short escapes": {Message: result(lines("\x1b\v\U0001F600")[:maxInArena/2])},
		"diff":          {Message: result("edited"), Results: map[string]Outcome{"c": {Diff: lines("\n")}}},
		"state":         {Message: llm.Message{Role: llm.RoleAssistant, Origin: "o", Parts: []llm.Part{{Kind: llm.Thinking, State: []byte(`"` + lines("") + `"`)}}}},
	} {
		t.Run(name, func(t *testing.T) {
			nodes, content := make([]Node, n), 0
			for i := range nodes {
				nodes[i] = node
				nodes[i].Seq, nodes[i].Parent = i+1, i
				content += len(node.Parts[0].Text) + len(node.Parts[0].State) + len(node.Results["c"].Diff)
			}
			_, l := resumed(t, nodes)
			held := func() int {
				var m runtime.MemStats
				runtime.GC()
				runtime.GC()
				runtime.ReadMemStats(&m)
				return int(m.HeapAlloc)
			}
			before := held()
			read, err := l.Read(1, n)
			if err != nil {
				t.Fatal(err)
			}
			const each = 1500 // bytes of a message beside its text
			if got := held() - before; got > content*3/2+n*each {
				t.Errorf("%.1f MB hold %.1f MB", float64(got)/1e6, float64(content)/1e6)
			}
			runtime.KeepAlive(read)
		})
	}
}

// BenchmarkRead reads messages of several sizes.
func BenchmarkRead(b *testing.B) {
	for _, size := range []int{1 << 10, 4 << 10, 16 << 10, 60 << 10} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			nodes := make([]Node, 4*minPaged)
			for i := range nodes {
				nodes[i] = says(i+1, llm.RoleUser, strings.Repeat("some line of code\n", size/18))
			}
			_, l := resumed(b, nodes)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := l.Read(1, len(nodes)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
