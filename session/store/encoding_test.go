package store

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"
	"unsafe"

	"parley/providers/llm"
	"parley/session/cachewatch"
)

// The state that a provider wants back is stored byte for byte, JSON or not.
func TestStateByteForByte(t *testing.T) {
	t.Parallel()
	db := fresh(t)
	l := db.Create(Session{})
	states := []string{
		`{"b": 1,  "a":2.0e0}`, "{\n\t\"z\":\"\\u00e9\\/\"}", `"<&>"`, "{\"a\":", "", "null", " ", "\x00\x01", "\xff\xfe{}", `{"a":1,"a":2}`,
		"\u2028", strings.Repeat("[", 20000), `12345678901234567890.00`,
	}
	r := rand.New(rand.NewPCG(7, 8))
	for range 50 {
		b := make([]byte, r.IntN(200))
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		states = append(states, string(b))
	}
	for i, state := range states {
		n := says(i+1, llm.RoleAssistant, "text \xff of "+state)
		n.Parts[0].State = json.RawMessage(state)
		if err := l.Put(n); err != nil {
			t.Fatalf("%q: %v", state, err)
		}
	}
	_, nodes, err := db.Read(l.Session().ID)
	if err != nil || len(nodes) != len(states) {
		t.Fatal(len(nodes), err)
	}
	for i, n := range nodes {
		if got := n.Parts[0].State; got == nil || !bytes.Equal(got, []byte(states[i])) {
			t.Errorf("got %q, want %q", got, states[i])
		}
		if got := n.Parts[0].Text; got != "text \xff of "+states[i] {
			t.Errorf("got %q, want it with %q", got, states[i])
		}
	}
}

// Everything a node holds comes back.
func TestWholeNode(t *testing.T) {
	db := fresh(t)
	l := db.Create(Session{})
	want := Node{
		Seq: 1, At: time.Unix(1_800_000_000, 123), Partial: true, Summary: true, Steers: true,
		Message: llm.Message{Role: llm.RoleAssistant, Origin: "gemini", Model: "gemini/x", Interrupted: true, Parts: []llm.Part{{
			Kind: llm.Result, Text: "a\r\n<b>", ID: "i", Name: "n", Input: `{"x": 1}`, Failed: true, Remote: true, Repeated: true, Begins: true, MIME: "m/m",
			Data: []byte{0, 1, 255}, URL: "https://x", Width: 6, Height: 7, Made: "edited", State: json.RawMessage(`{ }`),
		}, {Kind: llm.Opaque}}},
		Usage:  &llm.Usage{Input: 1, CacheRead: 2, CacheWrite: 3, Output: 4, Thinking: 5, Cost: 0.125, Priced: true, Shared: true, Discarded: 6, Estimated: true, Searches: 7},
		Reason: llm.Calls, Purpose: PurposeCompare, Missed: CacheMiss{Tokens: 9, Cause: cachewatch.PromptChanged, Cost: 0.5}, TTFT: 1, Duration: 2, ThinkingDurations: []time.Duration{4, 5}, InterruptedBy: "no route",
		Cache: &cachewatch.Entry{Key: "k", First: "f", Prefix: &cachewatch.Prefix{
			System: "s", Tools: []cachewatch.Tool{{Name: "n", Digest: "d"}}, Settings: map[string]string{"a": "b"},
		}},
		Results: map[string]Outcome{"i": {Input: "{}", Diff: "-a\n+b", Duration: 3, Denied: true, Stopped: true, By: "m/other"}},
	}
	if err := l.Put(want); err != nil {
		t.Fatal(err)
	}
	_, nodes, err := db.Read(l.Session().ID)
	if err != nil || len(nodes) != 1 || !reflect.DeepEqual(nodes[0], want) {
		t.Errorf("got %+v, %v\nwant %+v", nodes, err, want)
	}
	sum := *want.Usage
	sum.Shared = false // of one answer, not of a session
	if s := l.Session(); s.Usage != sum || !s.Updated.Equal(want.At) {
		t.Errorf("got %+v", s)
	}
}

// A field that llm grows must be kept as well, but for Usage.Last and HourWrite, which decide a price that is kept.
func TestKeepsEveryField(t *testing.T) {
	for _, tt := range []struct {
		of    any
		known int
	}{{llm.Part{}, 16}, {llm.Message{}, 5}, {Node{}, 18}, {Outcome{}, 7}, {llm.Usage{}, 13}, {Session{}, 17}, {Draft{}, 6}, {SentPrompt{}, 3}} {
		if n := reflect.TypeOf(tt.of).NumField(); n != tt.known {
			t.Errorf("%T has %d fields: see that the store keeps them, then count %d here", tt.of, n, n)
		}
	}
}

// The same attachment is kept once, and only as long as somebody holds it.
func TestBlobs(t *testing.T) {
	db := fresh(t)
	data := bytes.Repeat([]byte{1, 2, 3}, 100_000)
	var ids []string
	for range 3 {
		l := db.Create(Session{})
		n := says(1, llm.RoleUser, "see")
		n.Parts = append(n.Parts, llm.Part{Kind: llm.Media, MIME: "image/png", Data: data}, llm.Part{Kind: llm.Media, Data: data})
		if err := l.Put(n); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, l.Session().ID)
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for left := 3; left > 0; left-- {
		var blobs, size int
		if err := db.View(func(q Tx) error {
			return q.QueryRow(`SELECT count(*), sum(length(data)) FROM blobs`).Scan(&blobs, &size)
		}); err != nil || blobs != 1 || size != len(data) {
			t.Fatalf("%d blobs of %d bytes, %v", blobs, size, err)
		}
		_, nodes, err := db.Read(ids[left-1])
		if err != nil || !bytes.Equal(nodes[0].Parts[1].Data, data) || !bytes.Equal(nodes[0].Parts[2].Data, data) {
			t.Errorf("got other data, %v", err)
		}
		if err := db.Remove(ids[left-1]); err != nil {
			t.Fatal(err)
		}
	}
	for _, table := range []string{"blobs", "refs", "nodes", "sessions", "leases", "words_docsize"} {
		var n int
		if err := db.View(func(q Tx) error { return q.QueryRow(`SELECT count(*) FROM ` + table).Scan(&n) }); err != nil || n != 0 {
			t.Errorf("%d rows of %s are left, %v", n, table, err)
		}
	}
}

func TestMint(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	seen := map[string]bool{}
	last := ""
	for i := range 100 {
		id := newSessionID(now.Add(time.Duration(i) * time.Hour))
		if len(id) != 13 || id != strings.ToLower(id) || id <= last || seen[id] {
			t.Errorf("got %q after %q", id, last)
		}
		seen[id], last = true, id
	}
	if a, b := newSessionID(now), newSessionID(now); a == b || a[:7] != b[:7] {
		t.Errorf("got %q and %q in the same second", a, b)
	}
	for _, odd := range []time.Time{{}, time.Unix(-1, 0), time.Unix(1<<40, 0)} {
		if id := newSessionID(odd); len(id) != 13 {
			t.Errorf("got %q", id)
		}
	}
}

func TestOneLine(t *testing.T) {
	for in, want := range map[string]string{
		"":                       "",
		"  a\n\tb  ":             "a b",
		"a\xffb":                 "ab",
		strings.Repeat("ü", 200): strings.Repeat("ü", 100) + "…",
		strings.Repeat("a", 200): strings.Repeat("a", 200),
	} {
		if got := oneLine(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

func TestTimes(t *testing.T) {
	db := fresh(t)
	l := db.Create(Session{})
	for i, at := range []time.Time{time.Unix(0, 0), time.Unix(0, 1), time.Unix(-1, 0), time.Date(2200, 1, 1, 0, 0, 0, 7, time.UTC)} {
		n := says(i+1, llm.RoleUser, "x")
		n.At = at
		if err := l.Put(n); err != nil {
			t.Fatal(err)
		}
		_, nodes, err := db.Read(l.Session().ID)
		if err != nil || !nodes[i].At.Equal(at) {
			t.Errorf("got %v, %v, want %v", nodes[i].At, err, at)
		}
	}
	if got := fmt.Sprint(nanos(time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)), nanos(time.Time{})); got != "9223372036854775807 <nil>" {
		t.Errorf("got %s", got)
	}
}

// Text that is read as encode's own means the same to encoding/json.
func FuzzReadJSON(f *testing.F) {
	state := `{"signature":"x"}`
	for _, text := range []string{"", "hi", "two\nlines\tand \"quotes\" \\ <b>&", "é 🦊 \u2028", "\x00\x1b", "\xff", `"},{"kind":"text","text":"`, `","blob":"x`} {
		rows := []part{{Part: llm.Part{Kind: llm.Thinking, Text: text}, State: &state}, {Part: llm.Part{Kind: llm.Call, ID: text, Name: "n", Input: text, Remote: true}}}
		extra := nodeExtra{Node: &Node{
			Usage: &llm.Usage{Input: 1, Output: -2, Cost: 1.5e-7, Priced: true, Discarded: 3}, Reason: llm.Calls, TTFT: 1, Duration: 2, InterruptedBy: text,
			Results: map[string]Outcome{text: {Diff: text, Duration: 1}, "b": {Denied: true}, "c": {}}, ThinkingDurations: []time.Duration{1, 2},
			Cache: &cachewatch.Entry{Key: text, Lifetime: 3}, Steers: true,
		}}
		for _, v := range []any{rows, rows[:1], []part{}, extra, extra.Usage, nodeExtra{Node: &Node{}}, nodeExtra{Node: &Node{Cache: &cachewatch.Entry{}}}} {
			row, err := encode(v)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(string(row))
		}
	}
	for _, row := range []string{
		`[{"kind":"text","text":"a\"}]`, `[{"kind":"text"}{"kind":"text"}]`, `[{"kind":"text"},]`, `[,]`, `[{,"kind":"text"}]`, `[{"kind":"text",}]`,
		`{"usage":{"input":01}}`, `{"usage":{"input":1.5}}`, `{"usage":{"cost":1.}}`, `{"usage":{"cost":+1}}`, `{"usage":{"cost":-}}`, `{"open":1}`, `{"open":null}`,
		`{"took":1,"first":2}`, `{"usage":{"input":1},"usage":{"output":2}}`, `{"results":{"a":{}},"results":{"b":{}}}`, `[{"blob":"a","blob":"b","kind":"text"}]`, `{"reason":"a","reason":"b"}`, `{"results":{"a":{},"a":{"took":1}}}`, `{"results":{,"a":{}}}`, `{"reason":"\ud800"}`, `{"first":9223372036854775808}`,
	} {
		f.Add(row)
	}
	f.Fuzz(func(t *testing.T, row string) {
		if got, refs, ok := readParts(row); ok {
			want, wantRefs, err := unmarshalParts(row)
			if err != nil || !reflect.DeepEqual(got, want) || !reflect.DeepEqual(refs, wantRefs) {
				t.Errorf("%s: got %+v, %+v, encoding/json reads %+v, %+v, %v", row, got, refs, want, wantRefs, err)
			}
		}
		var node Node
		if readExtra(&node, row) {
			got, want := nodeExtra{Node: &node}, nodeExtra{Node: &Node{}}
			if err := json.Unmarshal([]byte(row), &want); err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("%s: got %+v, encoding/json reads %+v, %v", row, got, want, err)
			}
		}
		var got, want llm.Usage
		errGot, err := decodeUsage(row, &got), json.Unmarshal([]byte(row), &want)
		if (errGot == nil) != (err == nil) || err == nil && got != want {
			t.Errorf("%s: got %+v, %v, encoding/json reads %+v, %v", row, got, errGot, want, err)
		}
	})
}

// Usual rows are read without encoding/json, whatever fields they have.
func TestUsualRowsAreReadAtOnce(t *testing.T) {
	state := "{\"signature\": \"x\"}\n"
	row, err := encode([]part{{Part: llm.Part{
		Kind: llm.Result, Text: "a\tb\n\"c\" \\", ID: "i", Name: "n", Input: `{"x": 1}`, Failed: true, Remote: true, Repeated: true, Begins: true, MIME: "m/m",
		URL: "https://x", Width: 6, Height: 7, Made: "edited",
	}, Blob: "00", State: &state}, {Part: llm.Part{Kind: llm.Opaque}}})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, ok := readParts(string(row)); !ok {
		t.Errorf("%s: left to encoding/json", row)
	}
	row, err = encode(nodeExtra{Node: &Node{
		Partial: true, Summary: true, Steers: true, Trimmed: true, Message: llm.Message{Interrupted: true},
		Usage:  &llm.Usage{Input: 1, CacheRead: 2, CacheWrite: 3, Output: 4, Thinking: 5, Cost: 0.125, Priced: true, Shared: true, Discarded: 6, Estimated: true, Searches: 7},
		Reason: llm.Calls, TTFT: 1, Duration: 2, Results: map[string]Outcome{"i": {Input: "{}", Diff: "-a\n+b", Duration: 3, Started: true, Denied: true, Stopped: true}, "j": {}},
		ThinkingDurations: []time.Duration{4, 5}, InterruptedBy: "no route", Purpose: PurposeCompare,
		Cache: &cachewatch.Entry{Key: "k", First: "f", Lifetime: 9},
	}})
	if err != nil {
		t.Fatal(err)
	}
	if !readExtra(&Node{}, string(row)) {
		t.Errorf("%s: left to encoding/json", row)
	}
}

// A short text of a row does not keep the memory of a long one.
func TestShortTextHoldsNoLongOne(t *testing.T) {
	row := `[{"kind":"text","text":"` + strings.Repeat("a", 100) + `\n","id":"short"}]`
	parts, _, err := decodeParts(row)
	if err != nil || len(parts) != 1 || parts[0].ID != "short" {
		t.Fatal(parts, err)
	}
	if liesWithin(parts[0].ID, row) {
		t.Error("the ID lies within the row")
	}
}

// liesWithin reports whether s is in the memory of text.
func liesWithin(s, text string) bool {
	begin, at := uintptr(unsafe.Pointer(unsafe.StringData(text))), uintptr(unsafe.Pointer(unsafe.StringData(s)))
	return s != "" && at >= begin && at < begin+uintptr(len(text))
}

func BenchmarkDecodeRow(b *testing.B) {
	row := nodeRow{
		Node:  Node{Message: llm.Message{Role: llm.RoleAssistant}},
		extra: `{"usage":{"input":1040,"cache_read":0,"cache_write":0,"output":60,"thinking":0,"cost":0.0001,"priced":true},"reason":"stop","first":300000000,"took":2000000000,"cache":{"key":"006251ace67e00d7","first":"490f67b1a2860050"}}`,
		parts: `[{"kind":"thinking","text":"` + strings.Repeat("a line of text with \\\"quotes\\\"\\n", 8) + `"},{"kind":"text","text":"` + strings.Repeat("words", 20) + `"},{"kind":"call","id":"call_1_1","name":"read","input":"{\"path\":\"dir/file438.go\"}"}]`,
	}
	b.ReportAllocs()
	for b.Loop() {
		r := row
		if r.decode(); r.err != nil {
			b.Fatal(r.err)
		}
	}
}
