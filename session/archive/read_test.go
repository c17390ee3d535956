package archive

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/providers/llm"
)

// read returns the conversations in r, of a file of that name, and the notices about them.
func (l limits) read(r io.Reader, name string) ([]Conversation, []Notice, error) {
	n := newSkipped()
	found, err := l.conversations(r, name, n)
	if err != nil && name != "" {
		err = fmt.Errorf("%s: %w", name, err)
	}
	return found, n.list(), err
}

// outline returns a conversation in a few words per message:
//
//	Seq<Parent role [marks] (model, origin) parts
func outline(c Conversation) string {
	var b strings.Builder
	s := c.Session
	fmt.Fprintf(&b, "%s %q %s in %q, %s to %s, %s %s, head %d, %d messages\n", s.ID, s.Title, s.Origin, s.Dir,
		s.Created.Format(time.TimeOnly), s.Updated.Format(time.TimeOnly), s.Model, s.Effort, s.Head, s.Messages)
	for _, n := range c.Nodes {
		fmt.Fprintf(&b, "%d<%d %s %s", n.Seq, n.Parent, n.At.Format(time.TimeOnly), n.Role)
		for _, mark := range []struct {
			text string
			on   bool
		}{{" cut", n.Interrupted}, {" summary", n.Summary}, {" " + n.Model, n.Model != ""}, {" " + n.Origin, n.Origin != ""}, {" " + string(n.Reason), n.Reason != ""}} {
			if mark.on {
				b.WriteString(mark.text)
			}
		}
		if n.Usage != nil {
			fmt.Fprintf(&b, " %d+%d+%d/%d/%d", n.Usage.Input, n.Usage.CacheRead, n.Usage.CacheWrite, n.Usage.Output, n.Usage.Thinking)
		}
		for _, p := range n.Parts {
			fmt.Fprintf(&b, "\n  %s", p.Kind)
			if p.Remote {
				b.WriteString(" remote")
			}
			if p.Failed {
				b.WriteString(" failed")
			}
			for _, text := range []string{p.ID, p.Name, p.Input, p.MIME, p.URL} {
				if text != "" {
					b.WriteString(" " + text)
				}
			}
			if p.Text != "" {
				fmt.Fprintf(&b, " %q", p.Text)
			}
			if p.Data != nil {
				fmt.Fprintf(&b, " %d bytes", len(p.Data))
			}
			if p.State != nil {
				fmt.Fprintf(&b, " state %s", p.State)
			}
			if d := n.Results[p.ID].Diff; d != "" && p.Kind == llm.Result {
				fmt.Fprintf(&b, " diff %q", d)
			}
		}
		b.WriteString("\n")
	}
	return b.String()
}

// streams holds the files of testdata in the formats that are read as a stream.
var streams = []string{
	"claude.jsonl", "codex.jsonl", "codex-bare.jsonl", "codex-calls.jsonl", "chatgpt.json", "claude.ai.json", "pi.jsonl", "qwen.jsonl", "gemini.jsonl", "gemini.json", "open.webui.json", "librechat.json",
}

func TestRead(t *testing.T) {
	for _, name := range streams {
		t.Run(name, func(t *testing.T) {
			f, err := os.Open("testdata/" + name)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			list, notices, err := standard.read(f, name)
			if err != nil {
				t.Fatal(err)
			}
			var b strings.Builder
			for _, c := range list {
				if err := checkValid(c); err != nil {
					t.Error(err)
				}
				b.WriteString(outline(c))
			}
			for _, n := range notices {
				b.WriteString("- " + n.String() + "\n")
			}
			golden(t, name+".golden", b.String())
		})
	}
}

// TestFolder: an export of ChatGPT that was unpacked is read like its zip.
func TestFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "export [1]")
	list, err := os.ReadFile("testdata/chatgpt.json")
	if err == nil {
		err = errors.Join(os.Mkdir(dir, 0o700), os.WriteFile(filepath.Join(dir, "conversations-000.json"), list, 0o600))
	}
	if err != nil {
		t.Fatal(err)
	}
	all, _, err := readAll(t, dir, nil)
	if err != nil || len(all) == 0 || all[0].Session.Origin != "chatgpt" {
		t.Errorf("read %d conversations of the folder: %v", len(all), err)
	}
}

// TestThinkingWithoutText: a signed block of thinking stays thinking, as providers/anthropic has it, and
// thinking without an item of the Responses API keeps its text.
func TestThinkingWithoutText(t *testing.T) {
	list, _, err := standard.read(strings.NewReader(`{"type":"assistant","uuid":"a1","parentUuid":null,"sessionId":"s","timestamp":"2026-03-04T10:00:00Z","message":{"id":"m","model":"claude-opus-4-5",`+
		`"content":[{"type":"thinking","thinking":"","signature":"c2ln"},{"type":"redacted_thinking","data":"x"},{"type":"text","text":"hi"}]}}
`), "")
	if err != nil || len(list) != 1 {
		t.Fatal(list, err)
	}
	parts := list[0].Nodes[0].Parts
	if len(parts) != 3 || parts[0].Kind != llm.Thinking || parts[0].State == nil || parts[1].Kind != llm.Opaque {
		t.Errorf("got %+v, want thinking, an opaque part and text", parts)
	}
	path := makeDatabase(t, "crush.sql", `UPDATE messages SET parts = '[{"type":"reasoning","data":{"thinking":"Why not."}},{"type":"text","data":{"text":"hi"}}]' WHERE id = 'm7'`)
	all, _, err := readAll(t, path, nil)
	if err != nil || len(all) == 0 || !strings.Contains(outline(all[0]), `thinking "Why not."`) {
		t.Errorf("the thinking of crush is lost: %v", err)
	}
}

// noticeTexts returns notices as text.
func noticeTexts(notices []Notice) string {
	var all []string
	for _, n := range notices {
		all = append(all, n.String())
	}
	return strings.Join(all, "\n")
}

// checkValid fails the test unless c is a valid tree.
func checkValid(c Conversation) error {
	ids := map[string]bool{}
	for i, n := range c.Nodes {
		switch {
		case n.Seq != i+1:
			return fmt.Errorf("message %d has Seq %d", i+1, n.Seq)
		case n.Parent < 0 || n.Parent >= n.Seq:
			return fmt.Errorf("message %d follows %d", n.Seq, n.Parent)
		case !n.At.IsZero() && (n.At.Year() < 2000 || n.At.Year() > 2199):
			return fmt.Errorf("message %d is of %v", n.Seq, n.At)
		}
		for _, p := range n.Parts {
			if p.Kind == llm.Call && (p.ID == "" || ids[p.ID]) {
				return fmt.Errorf("message %d: the id %q of a call is not its own", n.Seq, p.ID)
			}
			if p.Kind == llm.Call {
				ids[p.ID] = true
			}
			if p.State != nil && n.Origin == "" {
				return fmt.Errorf("message %d has state of nobody", n.Seq)
			}
		}
		if len(n.Calls()) > 0 {
			next := c.Nodes[i+1]
			if next.Parent != n.Seq || next.Role != llm.RoleTool {
				return fmt.Errorf("message %d: nothing answers its calls", n.Seq)
			}
		}
	}
	if c.Session.ID == "" || c.Session.Head < 0 || c.Session.Head > len(c.Nodes) {
		return fmt.Errorf("session %q has head %d of %d", c.Session.ID, c.Session.Head, len(c.Nodes))
	}
	// Every branch can be sent as it is, but for turns of the user's in a row.
	for _, n := range c.Nodes {
		var history []llm.Message
		for seq := n.Seq; seq > 0; seq = c.Nodes[seq-1].Parent {
			history = append([]llm.Message{c.Nodes[seq-1].Message}, history...)
		}
		if len(history) > 50 { // enough, and not the square of what a fuzzer finds
			continue
		}
		if len(n.Calls()) > 0 {
			continue
		}
		if _, changes := llm.Portable(history, "elsewhere"); strings.Contains(fmt.Sprint(changes), "unanswered") {
			return fmt.Errorf("up to message %d: %v", n.Seq, changes)
		}
	}
	return nil
}

// TestOriginOfOthers: what is not known to be a model of Claude has no Origin. Those that have one
// are held against the provider's adapter by TestOriginOfClaude of ui/cli.
func TestOriginOfOthers(t *testing.T) {
	for _, id := range []string{"", "<synthetic>", "gpt-5", "claude", "claude-opus", "claude-opus-latest", "claude-4-5", "claude--1", "glm-5"} {
		if got := claudeOrigin(id); got != "" {
			t.Errorf("%q: %q, want none", id, got)
		}
	}
}

// makeZip returns a zip with these files, of name and content in turn.
func makeZip(t testing.TB, files ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for i := 0; i < len(files); i += 2 {
		w, err := z.Create(files[i])
		if err != nil {
			t.Fatal(err)
		}
		w.Write([]byte(files[i+1]))
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

const png = "\x89PNG\r\n\x1a\nrest"

func TestZip(t *testing.T) {
	list, err := os.ReadFile("testdata/chatgpt.json")
	if err != nil {
		t.Fatal(err)
	}
	data := makeZip(t, "export/conversations-001.json", `[{"id":"second","mapping":{"a":{"message":{"author":{"role":"user"},"content":{"content_type":"text","parts":["2"]}}}}}]`,
		"export/conversations-000.json", string(list), "export/file_00a1-cup.png", png, "export/file_00a12.png", "other", "user.json", "{}")
	found, _, err := standard.read(bytes.NewReader(data), "x.zip")
	if err != nil || len(found) != 3 {
		t.Fatalf("%d conversations, %v", len(found), err)
	}
	got := found[0].Nodes[0].Parts[0]
	if got.Kind != llm.Media || string(got.Data) != png || got.Name != "cup.png" || got.MIME != "image/png" {
		t.Errorf("picture %+v", got)
	}
}

// TestReadSkipsMalformed: what is malformed is skipped and counted, or an error; the rest is read.
func TestReadSkipsMalformed(t *testing.T) {
	user := func(id, parent, text string) string {
		return `{"type":"user","uuid":"` + id + `","parentUuid":"` + parent + `","sessionId":"s","message":{"content":"` + text + `"}}`
	}
	small := limits{line: 400, lead: 10, unzip: 4000, image: 100}
	deep := strings.Repeat("[", 150) + strings.Repeat("]", 150)
	tests := []struct {
		name, in string
		messages int
		notice   string // one of them
		err      string
	}{
		{"nothing", "", 0, "", "expected parley's JSONL, a session of Claude Code"},
		{"white space", " \n\x00\n", 0, "", "contains no conversation"},
		{"text", "hello\nworld\n", 0, "", "contains no conversation"},
		{"other JSON", `{"a":1}`, 0, "", "contains no conversation"},
		{"an empty list", `[]`, 0, "", "contains no conversation"},
		{"many lines of nothing", strings.Repeat("{}\n", 100) + user("a", "", "hi"), 0, "", "contains no conversation"},
		{"a byte order mark", "\ufeff" + user("a", "", "hi"), 1, "", ""},
		{"a line without a message first", `{"type":"file-history-snapshot","messageId":"a","snapshot":{}}` + "\n" + user("a", "", "hi"), 1, "", ""},
		{"a bad line first", "{\"type\":\n" + user("a", "", "hi"), 1, "malformed lines skipped (1)", ""},
		{"a long line", user("a", "", "hi") + "\n" + user("b", "a", strings.Repeat("x", 500)) + "\n" + user("c", "a", "there"), 2, "too long (1)", ""},
		{"a long line last", user("a", "", "hi") + "\n" + user("b", "a", strings.Repeat("x", 500)), 1, "too long (1)", ""},
		{"NULs and bytes that are no UTF-8", user("a", "", "hi") + "\n\x00\x00\x00\n" + user("b", "a", "\xff\xfe") + "\x00\n", 2, "", ""},
		{"NUL in a text", user("a", "", "hi") + "\n" + user("b", "a", "h\x00i"), 1, "malformed lines skipped (1)", ""},
		{"a message that follows itself", user("a", "a", "hi") + "\n" + user("b", "c", "x") + "\n" + user("c", "b", "y"), 3, "missing (2)", ""},
		{"the same message twice", user("a", "", "hi") + "\n" + user("a", "", "hi"), 1, "", ""},
		{"deep JSON", user("a", "", "hi") + "\n" + `{"type":"user","uuid":"b","message":{"content":` + deep + `}}`, 1, "", ""},
		{"fields of other types", user("a", "", "hi") + "\n" + `{"type":"user","uuid":"b","cwd":7,"timestamp":{},"message":{"content":[{"type":"text","text":"x"},7]}}`, 2, "", ""},
		{"a list that breaks off", `[{"id":"a","mapping":{"r":{"message":{"author":{"role":"user"},"content":{"content_type":"text","parts":["x"]}}}}},{"id":"b","map`, 1, "(1)", ""},
		{"a long conversation in a list", `[{"x":"` + strings.Repeat("y", 500) + `"},{"id":"a","mapping":{"r":{"message":{"author":{"role":"user"},"content":{"content_type":"text","parts":["x"]}}}}}]`, 1, "too long (1)", ""},
		{"a conversation over many lines", "{\n\"id\":\"a\",\n\"mapping\":{\"r\":{\"message\":{\"author\":{\"role\":\"user\"},\"content\":{\"content_type\":\"text\",\"parts\":[\"x\"]}}}}\n}\n", 1, "", ""},
		{"a conversation over too many lines", "{\n\"mapping\":{\n" + strings.Repeat("\n", 500) + "}}", 0, "too long (1)", "too long"},
		{"a conversation on one line that is too long", `{"mapping":{"x":"` + strings.Repeat("y", 500) + `"}}`, 0, "too long (1)", "too long"},
		{"a list of a conversation that is too long", `[{"mapping":{"x":"` + strings.Repeat("y", 500) + `"}}]`, 0, "too long (1)", "too long"},
		{"half a zip", string(makeZip(t, "conversations.json", "[]"))[:30], 0, "", "not a whole zip"},
		{"a zip of other things", string(makeZip(t, "readme.txt", "hi")), 0, "", "contains no conversation"},
		{"a zip whose list is none", string(makeZip(t, "conversations.json", "{}")), 0, "", "conversations.json: not a list"},
		{"a zip bomb", string(makeZip(t, "conversations.json", "["+strings.Repeat(" ", 1<<20)+"]")), 0, "", "too large"},
		{"a newer parley", `{"type":"session","format":"parley","version":2,"id":"x"}`, 0, "", "written by a newer parley"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			list, notices, err := small.read(strings.NewReader(tt.in), "")
			messages := 0
			for _, c := range list {
				messages += len(c.Nodes)
				if err := checkValid(c); err != nil {
					t.Error(err)
				}
			}
			if messages != tt.messages || !strings.Contains(noticeTexts(notices), tt.notice) {
				t.Errorf("%d messages and notices %q, want %d and %q", messages, notices, tt.messages, tt.notice)
			}
			if tt.err == "" && err != nil || tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)) {
				t.Errorf("error %v, want %q", err, tt.err)
			}
		})
	}
}

// TestLimits: files may be far longer than their lines.
func TestLimits(t *testing.T) {
	var b bytes.Buffer
	const lines = 20_000
	for i := range lines {
		fmt.Fprintf(&b, `{"type":"user","uuid":"u%d","parentUuid":"u%d","message":{"content":"x"}}`+"\n", i, i-1)
	}
	list, _, err := standard.read(&b, "long.jsonl")
	if err != nil || len(list) != 1 || len(list[0].Nodes) != lines || len(slices.Collect(branchOf(list[0]))) != lines {
		t.Fatalf("%d conversations, %v", len(list), err)
	}
}

// TestManyParts: three bytes of a line are a part of some hundred, so that a message has no more of
// them than there is memory for.
func TestManyParts(t *testing.T) {
	line := func(parts int) string {
		return `{"type":"message","seq":1,"role":"user","parts":[{"kind":"text","text":"x"}` + strings.Repeat(",{}", parts-1) + "]}\n"
	}
	for parts, kept := range map[int]int{maxParts: 1, maxParts + 1: 0} {
		list, notices, err := standard.read(strings.NewReader(`{"type":"session","format":"parley","version":1,"id":"a","title":"T"}`+"\n"+line(parts)), "x.jsonl")
		if err != nil || len(list) != 1 || len(list[0].Nodes) != kept {
			t.Fatalf("%d parts: %d conversations, %v", parts, len(list), err)
		}
		if told := strings.Contains(noticeTexts(notices), manyParts+" (1): line 2"); told != (kept == 0) {
			t.Errorf("%d parts: notices %q", parts, notices)
		}
	}
}

// TestFailingReader: what was read before a fault is not lost.
func TestFailingReader(t *testing.T) {
	broken := errors.New("the disk is gone")
	data, err := os.ReadFile("testdata/codex.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	list, _, err := standard.read(&failing{bytes.NewReader(data), broken}, "codex.jsonl")
	if !errors.Is(err, broken) || len(list) != 1 || !strings.HasPrefix(err.Error(), "codex.jsonl: ") {
		t.Errorf("%d conversations, %v", len(list), err)
	}
}

type failing struct {
	r   *bytes.Reader
	err error
}

func (f *failing) Read(p []byte) (int, error) {
	n, err := f.r.Read(p)
	if err != nil {
		err = f.err
	}
	return n, err
}

// TestRepair: a file in parley's format with wrong numbers or parents becomes a tree.
func TestRepair(t *testing.T) {
	list, notices, err := standard.read(strings.NewReader(`{"type":"session","format":"parley","version":1,"id":"x","head":99}
{"type":"message","seq":2,"parent":1,"role":"assistant","parts":[]}
{"type":"message","seq":1,"parent":2,"role":"user","parts":[{"kind":"text","text":"hi"}]}
{"type":"message","seq":1,"parent":0,"role":"user","parts":[]}
{"type":"message","seq":-1,"parent":0,"role":"user","parts":[]}
{"type":"message","seq":4,"parent":3,"role":"god","parts":[]}
{"type":"message","seq":5,"parent":5,"role":"user","parts":null}
{"type":"later"}
{"type":"session","format":"parley","version":1,"id":"x","title":"other","head":0}
`), "")
	if err != nil || len(list) != 2 {
		t.Fatal(len(list), err)
	}
	var got []string
	for _, n := range list[0].Nodes {
		got = append(got, fmt.Sprintf("%d<%d", n.Seq, n.Parent))
	}
	if want := "[1<0 2<1 5<2]"; fmt.Sprint(got) != want || list[0].Session.Head != 5 {
		t.Errorf("%v, head %d; want %v, head 5", got, list[0].Session.Head, want)
	}
	if list[1].Session.ID != "x-2" {
		t.Errorf("the second session is %q", list[1].Session.ID)
	}
	if len(notices) != 4 {
		t.Errorf("notices %q", notices)
	}
}

// A very high number of a message is replaced, as memory grows with the highest one.
func TestRepairRenumbers(t *testing.T) {
	list, _, err := standard.read(strings.NewReader(`{"type":"session","format":"parley","version":1,"id":"x","head":9000000000000000000}
{"type":"message","seq":7,"parent":0,"role":"user","parts":[{"kind":"text","text":"hi"}]}
{"type":"message","seq":9000000000000000000,"parent":7,"role":"assistant","parts":[{"kind":"text","text":"hello"}]}
`), "")
	if err != nil || len(list) != 1 || len(list[0].Nodes) != 2 {
		t.Fatal(list, err)
	}
	if n := list[0].Nodes; n[0].Seq != 1 || n[1].Seq != 2 || n[1].Parent != 1 || list[0].Session.Head != 2 {
		t.Errorf("got %+v", list[0])
	}
}

// FuzzRead: what is read of any file is valid, can be written in every format, and is
// the same when it is read from JSONL again.
func FuzzRead(f *testing.F) {
	for _, name := range streams {
		data, err := os.ReadFile("testdata/" + name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add(makeZip(f, "conversations.json", `[{"id":"a","mapping":{"r":{"message":{"author":{"role":"user"},"content":{"content_type":"text","parts":["x"]}}}}}]`))
	var own bytes.Buffer
	if err := JSONL(&own, sampleConversation()); err != nil {
		f.Fatal(err)
	}
	f.Add(own.Bytes())
	f.Fuzz(fuzzStream)
}

// FuzzPi, FuzzGemini and FuzzClaudeExport begin with files of one format each.
func FuzzPi(f *testing.F)           { fuzzFormat(f, "pi.jsonl") }
func FuzzGemini(f *testing.F)       { fuzzFormat(f, "gemini.jsonl", "gemini.json") }
func FuzzClaudeExport(f *testing.F) { fuzzFormat(f, "claude.ai.json") }

func fuzzFormat(f *testing.F, names ...string) {
	for _, name := range names {
		data, err := os.ReadFile("testdata/" + name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(fuzzStream)
}

func fuzzStream(t *testing.T, data []byte) {
	small := limits{line: 1 << 20, lead: 100, unzip: 1 << 20, image: 1 << 10}
	list, _, err := small.read(bytes.NewReader(data), "fuzz")
	if err == nil && len(list) == 0 {
		t.Fatal("nothing, and no error")
	}
	for _, c := range list {
		if c.Session.Origin != "" && !bytes.Contains(data, []byte(`"parley"`)) {
			if err := checkValid(c); err != nil {
				t.Fatal(err)
			}
		}
		checkWritable(t, c)
	}
}

// checkWritable fails the test unless c can be written in each format, and is the same when
// it is read from JSONL again.
func checkWritable(t *testing.T, c Conversation) {
	c.Stamp = "" // is of the place it came from
	for _, format := range formats {
		var b bytes.Buffer
		if err := format.Write(&b, c); err != nil {
			t.Fatalf("%s: %v", format.Name, err)
		}
		if format.Name == "html" {
			checkPage(t, b.Bytes())
		}
		if format.Name != "jsonl" {
			continue
		}
		back, _, err := standard.read(&b, "")
		if len(c.Nodes) > 0 && (err != nil || len(back) != 1) {
			t.Fatalf("%d conversations came back, %v", len(back), err)
		}
		if len(back) == 1 {
			checkSame(t, back[0], c)
		}
	}
}
