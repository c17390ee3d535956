package archive

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"parley/providers/llm"
	"parley/session/store"
)

// written returns a conversation of one message as Markdown, without the front matter and the title.
func written(t *testing.T, n store.Node) string {
	t.Helper()
	n.Seq = 1
	s := store.Session{Head: 1}
	if n.Partial {
		s.LockedBy = "another process"
	}
	var b bytes.Buffer
	if err := Markdown(&b, Conversation{Session: s, Nodes: []store.Node{n}}); err != nil {
		t.Fatal(err)
	}
	_, body, _ := strings.Cut(b.String(), "\n# Conversation\n\n")
	return strings.TrimSpace(body)
}

// TestParts: each part of a message, in words.
func TestParts(t *testing.T) {
	call := func(input string) llm.Part { return llm.Part{Kind: llm.Call, ID: "1", Name: "x", Input: input} }
	nested := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	file := func(text string) llm.Part { return llm.Part{Kind: llm.Text, Name: "a b.go", Text: text} }
	media := func(name, mime string, size int) llm.Part {
		return llm.Part{Kind: llm.Media, Name: name, MIME: mime, Data: make([]byte, size)}
	}
	for _, tt := range []struct {
		name string
		part llm.Part
		want string
	}{
		{"text", llm.Part{Kind: llm.Text, Text: "\na\n"}, "a"},
		{"no text", llm.Part{Kind: llm.Text, Text: " \n"}, ""},
		{"thinking", llm.Part{Kind: llm.Thinking, Text: "a"}, "<details><summary>Thinking</summary>\n\n```text\na\n```\n\n</details>"},
		{"no thinking", llm.Part{Kind: llm.Thinking, Text: " \n"}, ""},
		{"a call", call(`{"a":1}`), "**Tool: x**\n\n```json\n{\n  \"a\": 1\n}\n```\n\nNo result."},
		{"a call that is no JSON", call(`{"a":`), "**Tool: x**\n\n```json\n{\"a\":\n```\n\nNo result."},
		{"the deepest call", call(nested(40)), "**Tool: x**\n\n```json\n" + indented(40) + "\n```\n\nNo result."},
		{"a deeper call", call(nested(41)), "**Tool: x**\n\n```json\n" + nested(41) + "\n```\n\nNo result."},
		{"many lists", call("[" + strings.Repeat("[],", 50) + "[]]"), "**Tool: x**\n\n```json\n[\n" + strings.Repeat("  [],\n", 50) + "  []\n]\n```\n\nNo result."},
		{"a file", file("<file path=\"d/c.py\">\nx\n</file>"), "**d/c.py**\n\n```py\nx\n```"},
		{"a file with a bad path", file("<file path=c.py>\nx\n</file>"), "**a b.go**\n\n```go\nx\n```"},
		{"a file without its end", file("<file path=\"c.py\">\nx"), "**a b.go**\n\n```go\n<file path=\"c.py\">\nx\n```"},
		{"a file without tags", file("x\n</file>"), "**a b.go**\n\n```go\nx\n</file>\n```"},
		{"a file of no language", llm.Part{Kind: llm.Text, Name: "Makefile", Text: "x"}, "**Makefile**\n\n```text\nx\n```"},
		{"a file of a strange language", llm.Part{Kind: llm.Text, Name: "a.é", Text: "x"}, "**a.é**\n\n```text\nx\n```"},
		{"a file of a language with a digit", llm.Part{Kind: llm.Text, Name: "a.mp3", Text: "x"}, "**a.mp3**\n\n```mp3\nx\n```"},
		{"a picture", media("a.png", "image/png", 999), "- image a.png (image/png, 999 bytes)"},
		{"a file that is not shown", media("", "application/pdf", 1234567), "- file (application/pdf, 1,234,567 bytes)"},
		{"nothing known of a file", media("", "", 0), "- file"},
		{"the size of a file", media("a", "", 1000), "- file a (1,000 bytes)"},
		{"an address", llm.Part{Kind: llm.Media, URL: "https://a.example/x"}, "- file: <https://a.example/x>"},
		{"a bad address", llm.Part{Kind: llm.Media, URL: "file:///x"}, "- file: file:///x"},
		{"an address with a sign", llm.Part{Kind: llm.Media, URL: "https://a.example/>x"}, `- file: https://a.example/\>x`},
		{"a source", llm.Part{Kind: llm.Source, URL: "https://a.example/x", Text: "A"}, "- Source 1: [A](<https://a.example/x>)"},
		{"nothing that can be shown", llm.Part{Kind: llm.Opaque}, ""},
	} {
		want := strings.TrimSpace("## 1. Assistant\n\n" + tt.want)
		if got := written(t, store.Node{Message: llm.Message{Role: llm.RoleAssistant, Parts: []llm.Part{tt.part}}}); got != want {
			t.Errorf("%s: got\n%s\nwant\n%s", tt.name, got, want)
		}
	}
}

// indented returns n lists in one another as indented JSON has them.
func indented(n int) string {
	var b strings.Builder
	for i := range n - 1 {
		b.WriteString(strings.Repeat("  ", i) + "[\n")
	}
	b.WriteString(strings.Repeat("  ", n-1) + "[]")
	for i := range n - 1 {
		b.WriteString("\n" + strings.Repeat("  ", n-2-i) + "]")
	}
	return b.String()
}

// TestFooter: how a response ended, and what it took.
func TestFooter(t *testing.T) {
	for _, tt := range []struct {
		name string
		node store.Node
		want string
	}{
		{"nothing known", store.Node{}, ""},
		{"no usage", store.Node{Usage: &llm.Usage{}}, ""},
		{"tokens", store.Node{Usage: &llm.Usage{Input: 1000, Output: 999}}, "1,000 in, 999 out"},
		{"all tokens", store.Node{Usage: &llm.Usage{Input: 1234567, CacheRead: 1, Output: 20, Thinking: 2}}, "1,234,567 in (1 cached), 20 out (2 thinking)"},
		{"a small price", store.Node{Usage: &llm.Usage{Input: 1, Cost: 0.99999, Priced: true}}, "1 in, 0 out · $1.0000"},
		{"a price", store.Node{Usage: &llm.Usage{Input: 1, Cost: 1, Priced: true}}, "1 in, 0 out · $1.00"},
		{"a price known in part", store.Node{Usage: &llm.Usage{Input: 1, Cost: 0.5}}, "1 in, 0 out · at least $0.5000"},
		{"no price", store.Node{Usage: &llm.Usage{Input: 1, Priced: true}}, "1 in, 0 out · $0.0000"},
		{"milliseconds", store.Node{Duration: 999*time.Millisecond + 400*time.Microsecond}, "999ms"},
		{"a second", store.Node{Duration: time.Second}, "1.0 s"},
		{"seconds", store.Node{Duration: 9940 * time.Millisecond}, "9.9 s"},
		{"ten seconds", store.Node{Duration: 10 * time.Second}, "10s"},
		{"minutes", store.Node{Duration: 61*time.Second + 600*time.Millisecond}, "1m2s"},
		{"stopped", store.Node{Message: llm.Message{Interrupted: true}, Duration: time.Second}, "stopped · 1.0 s"},
		{"not yet ended", store.Node{Partial: true}, "was still arriving"},
		{"its limit", store.Node{Reason: llm.Length}, "reached its limit of tokens"},
		{"refused", store.Node{Reason: llm.Refused}, "refused"},
		{"early", store.Node{Reason: llm.Other}, "ended early"},
		{"as it should", store.Node{Reason: llm.Stop}, ""},
	} {
		tt.node.Role, tt.node.Parts = llm.RoleAssistant, []llm.Part{{Kind: llm.Text, Text: "a"}}
		_, got, _ := strings.Cut(written(t, tt.node), "\n\na")
		want := ""
		if tt.want != "" {
			want = "\n\n<sub>" + literal(tt.want) + "</sub>"
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", tt.name, got, want)
		}
	}
}

// TestMarkupLimits: text beyond them is not parsed as markup.
func TestMarkupLimits(t *testing.T) {
	r := strings.Repeat
	for _, tt := range []struct {
		name     string
		fits, is string // text within the limit, and just beyond it
	}{
		{"quotes", r("> ", 60) + "x", r("> ", 61) + "x"},
		{"quotes without spaces", r(">", 60) + "x", r(">", 61) + "x"},
		{"quotes that are empty", "a\n" + r(">", 60), "a\n" + r(">", 61)},
		{"lists", r("- ", 60) + "x", r("- ", 61) + "x"},
		{"numbers", r("1. ", 60) + "x", r("1) ", 61) + "x"},
		{"dashes with spaces", r("- ", 60), r("- ", 61)},
		{"an indent", r(" ", 120) + "- x", r(" ", 121) + "- x"},
		{"an indent of tabs", r("\t", 30) + "- x", r("\t", 31) + "- x"},
		{"a line", r("x", 32<<10), r("x", 32<<10+1)},
		{"lines", r("a\n", 1000), r("a\n", 1001)},
		{"brackets", r("[", 500), r("[", 501)},
		{"a code block", "```\n" + r("x", 2<<20-4), "```\n" + r("x", 2<<20-3)},
		{"brackets in code", "```\n" + r("[\n", 2000) + "```", r("[\n", 501)},
		{"a rule", r("-", 1000) + "\n" + r("*", 1000), r("> ", 61)},
		{"words", r("a - b\n\n", 1000), r("> ", 61)},
	} {
		if !withinLimits(tt.fits) {
			t.Errorf("%s: %.20q… is beyond the limits", tt.name, tt.fits)
		}
		if withinLimits(tt.is) {
			t.Errorf("%s: %.20q… is within the limits", tt.name, tt.is)
		}
	}
}

// TestImages: an image of an export is found by the beginning of its name, and only if it is small.
func TestImages(t *testing.T) {
	files := fstest.MapFS{}
	for name, size := range map[string]int{"file-b.png": 1, "d/file-a-1.png": 2, "file-ab.png": 3, "e/file-a_2": 4, "file-large": 11, "file-exact": 10, "file": 5} {
		files[name] = &fstest.MapFile{Data: make([]byte, size)}
	}
	for id, want := range map[string]int{
		"file-b": 1, "file-a": 2, "file-ab": 3, "file-ab.png": 3, "file-a_2": 4, "file-exact": 10, "file-large": -1, "file": 5, "": -1, "file-": -1, "file-z": -1, "a": -1, "file-b.pn": -1,
	} {
		left := int64(100)
		images := exportImages{limits: limits{image: 10}, left: &left, files: files, names: []string{"file", "d/file-a-1.png", "e/file-a_2", "file-ab.png", "file-b.png", "file-exact", "file-large"}}
		if got := images.find(id); got == nil && want >= 0 || got != nil && len(got) != want {
			t.Errorf("%q: %d bytes, want %d", id, len(got), want)
		}
		if left = int64(want); want > 0 && images.find(id) == nil {
			t.Errorf("%q: it is not read although it fits", id)
		}
		if left = int64(want) - 1; want > 0 && images.find(id) != nil {
			t.Errorf("%q: it is read although the export is too large", id)
		}
	}
}

// TestLists: a list is read to its end, and its elements up to a length.
func TestLists(t *testing.T) {
	chat := func(title string) string {
		return fmt.Sprintf(`{"title":%q,"mapping":{"1":{"message":{"author":{"role":"user"},"content":{"content_type":"text","parts":["x"]}}}}}`, title)
	}
	most := len(chat("12345"))
	for _, tt := range []struct{ text, want string }{
		{"[]", ""}, {"[", ""},
		{"[" + chat("a") + "," + chat("b") + "]", "a b"},
		{"[" + chat("a") + "," + chat("b"), "a b"},
		{"[" + chat("a") + "] [" + chat("b") + "]", "a"},
		{" [" + chat("12345") + "," + chat("123456") + "," + chat("c") + "]", "12345 c"},
		{"[" + chat(`]"`) + "," + chat(`\`) + "]", `]" \`},
		{"[1,," + chat("a") + "]", "a"},
	} {
		found, err := limits{line: most, lead: 9}.conversations(strings.NewReader(tt.text), "", newSkipped())
		var titles []string
		for _, c := range found {
			titles = append(titles, c.Session.Title)
		}
		if got := strings.Join(titles, " "); got != tt.want || (err == nil) != (tt.want != "") {
			t.Errorf("%s: got %s, %v", tt.text, got, err)
		}
	}
}
