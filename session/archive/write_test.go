// Conversations in testdata are as other programs write them. What parley makes of them, and of its
// own, is held by *.golden: go test ./session/archive -update writes those anew. Read the diff.

package archive

import (
	"bytes"
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/yuin/goldmark/ast"
	gm "github.com/yuin/goldmark/text"
	"golang.org/x/net/html"

	"parley/providers/llm"
	"parley/session/store"
)

var update = flag.Bool("update", false, "write the golden files anew")

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := "testdata/" + name
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs; run with -update and look at the change. Got\n%s", path, got)
	}
}

// hostile holds text that tries to end the block it is in, to run, or to load something.
const hostile = "</details></pre><script>alert(1)</script><img src=http://evil.example/x onerror=alert(1)>\n\n" +
	"[click](javascript:alert(1)) [data](data:text/html,x) ![pixel](http://evil.example/p.png) <https://good.example/?a=\"b> <mailto:a@b.example>\n\n" +
	"[![in](http://evil.example/i)](https://good.example)\n\n" +
	"\x1b[31mred\x1b[0m \u202egnirts\u202c zero\u200bwidth \u2066x\u2069 👩\u200d🚀 می\u200cخواهم\n\n" +
	"<!-- never closed\n\n<div>\n\n````\nnever closed either\n</details>"

func at(second int) time.Time { return time.Date(2026, 5, 6, 7, 8, second, 0, time.UTC) }

// sampleConversation returns a conversation with one of each.
func sampleConversation() Conversation {
	say := func(text string) llm.Part { return llm.Part{Kind: llm.Text, Text: text} }
	node := func(seq, parent int, role llm.Role, parts ...llm.Part) store.Node {
		return store.Node{Seq: seq, Parent: parent, At: at(seq), Message: llm.Message{Role: role, Parts: parts}}
	}
	nodes := []store.Node{
		node(1, 0, llm.RoleUser, say("Fix `a.go`, please.\n\n- [x] read it\n- [ ] mend it"),
			llm.Part{Kind: llm.Text, Name: "a.go", Text: "<file path=\"cmd/a.go\">\npackage a // </file> <b> ```\n</file>"},
			llm.Part{Kind: llm.Media, Name: "shot \"1\".png", MIME: "image/svg+xml", Data: []byte(png)},
			llm.Part{Kind: llm.Media, Name: "evil.svg", MIME: "image/svg+xml", Data: []byte("<svg onload=alert(1)>")}),
		node(2, 1, llm.RoleAssistant,
			llm.Part{Kind: llm.Thinking, Text: "First ``` look\n\n</details>\n\n# at it", State: json.RawMessage(`{"type":"thinking", "signature":"<&>"}`)},
			say("Looking at both."),
			llm.Part{Kind: llm.Call, ID: "1", Name: "edit", Input: `{"path":"a.go","old":"a","new":"</pre>"}`},
			llm.Part{Kind: llm.Call, ID: "2", Name: "shell", Input: `{"command":"false"}`},
			llm.Part{Kind: llm.Opaque, State: json.RawMessage(`"opaque"`)}),
		node(3, 2, llm.RoleTool,
			llm.Part{Kind: llm.Result, ID: "1", Name: "edit", Text: "edited a.go"},
			llm.Part{Kind: llm.Result, ID: "2", Name: "shell", Text: "exit status 1\n```\n</code></pre>", Failed: true},
			llm.Part{Kind: llm.Media, MIME: "image/png", Data: []byte(png)}),
		node(4, 3, llm.RoleAssistant, say("An answer on another branch.")),
		node(5, 3, llm.RoleAssistant,
			llm.Part{Kind: llm.Call, ID: "ws", Name: "web_search", Input: `{"q":"x"}`, Remote: true},
			llm.Part{Kind: llm.Result, ID: "ws", Name: "web_search", Text: "found", Remote: true},
			say("| a | b |\n|---|:-:|\n| 1 | 2 |\n\n```diff\n-old\n+new\n```\n\n1. one\n2. ~~two~~ **three**"),
			llm.Part{Kind: llm.Source, URL: "https://good.example/page", Text: "A [good] page"},
			llm.Part{Kind: llm.Source, URL: "javascript:alert(1)", Text: "A bad page"}),
		node(6, 5, llm.RoleUser, say(hostile)),
		node(7, 6, llm.RoleUser, say("What came before, in short.")),
		node(8, 7, llm.RoleAssistant, say("Half of an ans")),
		node(9, 8, llm.RoleTool, llm.Part{Kind: llm.Result, ID: "nobody's", Text: "stray"}),
		node(10, 9, llm.RoleAssistant, llm.Part{Kind: llm.Call, ID: "3", Name: "read\n<b>", Input: "not json"}),
	}
	nodes[1].Model, nodes[1].Origin, nodes[1].Reason = "anthropic/claude-opus-4-5", "anthropic/opus-4.5", llm.Calls
	nodes[1].Usage = &llm.Usage{Input: 12345, CacheRead: 12000, Output: 678, Thinking: 90, Cost: 0.0123, Priced: true}
	nodes[1].TTFT, nodes[1].Duration = 400*time.Millisecond, 4200*time.Millisecond
	nodes[2].Results = map[string]store.Outcome{
		"1": {Diff: "--- a.go\n+++ a.go\n@@ -1,2 +1,2 @@\n keep\n-a\n+</pre>\n", Duration: 20 * time.Millisecond},
	}
	nodes[3].Model = "openai/gpt-5"
	nodes[4].Model, nodes[4].Reason = "openai/gpt-5", llm.Length
	nodes[6].Summary = true
	nodes[7].Model, nodes[7].Interrupted = "openai/gpt-5", true
	return Conversation{
		Session: store.Session{
			ID: "0EVERYTHING", Title: "Mend a.go <script> & \"more\"", Dir: "/home/ana/x", Model: "openai/gpt-5",
			Created: at(0), Updated: at(10), Head: 10, Messages: len(nodes), Usage: *nodes[1].Usage,
		},
		Nodes: nodes,
	}
}

func TestMarkdown(t *testing.T) {
	var b bytes.Buffer
	if err := Markdown(&b, sampleConversation()); err != nil {
		t.Fatal(err)
	}
	golden(t, "everything.md.golden", b.String())

	// Each message is under a heading at the top level, and the only HTML there are
	// the folds, which are closed.
	src := b.Bytes()
	doc := markup().Parser().Parse(gm.NewReader(src))
	headings, open := 0, false
	for n := doc.FirstChild(); n != nil; n = n.NextSibling() {
		switch n := n.(type) {
		case *ast.Heading:
			if n.Level == 2 && open {
				t.Errorf("a message begins inside a fold")
			}
			if steps := slices.Collect(messagesOf(sampleConversation())); n.Level == 2 && headings < len(steps) &&
				strings.HasPrefix(string(n.Lines().Value(src)), fmt.Sprintf("%d. %s", headings+1, literal(steps[headings].speaker()))) {
				headings++
			}
		case *ast.HTMLBlock:
			text := strings.TrimSpace(string(n.Lines().Value(src)))
			if begins := strings.HasPrefix(text, "<details><summary>"); begins == open || !begins && text != "</details>" {
				t.Errorf("HTML where none should be: %q", text)
			}
			open = !open
		}
	}
	if want := len(slices.Collect(messagesOf(sampleConversation()))); headings != want || open {
		t.Errorf("%d messages under headings, want %d; open: %t", headings, want, open)
	}
}

// TestContained: no text affects what follows it, whatever block it leaves open.
func TestContained(t *testing.T) {
	for _, text := range []string{
		"plain", "```\nopen", "~~~\nopen", "````go\nopen\n```", "- item\n  ```\n  open", "> ```\n> open", "<!-- open", "<script>", "<div>\nopen",
		"<![CDATA[", "<?php", "<!X", "    code", "a\n===", "| a |\n|---|", "[x]: <", "text <b", "<a href='", "`open", "\\", "1. a\n   ~~~",
		"<pre>\n```\n</pre>\n<img>\n```", "<div>\n```\n\n<img>\n```\n<b>", hostile, strings.Repeat("> ", 500) + "x", strings.Repeat("<a>", 20_000),
	} {
		out := contained(sanitize(text))
		if !isClosed(out) {
			t.Errorf("%.60q comes out open: %.200q", text, out)
		}
		if escapeHTML(out) != out {
			t.Errorf("%.60q comes out with HTML: %.200q", text, out)
		}
	}
}

func TestHTML(t *testing.T) {
	var b bytes.Buffer
	if err := HTML(&b, sampleConversation()); err != nil {
		t.Fatal(err)
	}
	golden(t, "everything.html.golden", b.String())
	checkPage(t, b.Bytes())
	for _, want := range []string{"data:image/png;base64,", `class="ins"`, "&lt;script&gt;alert(1)&lt;/script&gt;", "<details", "&lt;U+202E&gt;", "👩\u200d🚀"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the page has no %s", want)
		}
	}
	if strings.Contains(b.String(), "image/svg+xml;base64") {
		t.Error("an SVG is on the page")
	}
}

// Removed lines are told from the name of a file by the diff's own counts; a diff that
// a model wrote has none to be trusted.
func TestDiffsInHTML(t *testing.T) {
	c := sampleConversation()
	c.Nodes[2].Results = map[string]store.Outcome{"1": {Diff: "--- a/x\n+++ b/x\n@@ -1,2 +1 @@\n--- was\n-@@\n+++ is\n"}}
	c.Nodes[4].Parts[2].Text = "```diff\n@@ f @@\n-was\n--- a/x\n```"
	var b bytes.Buffer
	if err := HTML(&b, c); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"<span class=\"at\">--- a/x</span>\n<span class=\"at\">+++ b/x</span>\n<span class=\"at\">@@ -1,2 +1 @@</span>\n" +
			"<span class=\"del\">--- was</span>\n<span class=\"del\">-@@</span>\n<span class=\"ins\">+++ is</span>\n",
		"<span class=\"at\">@@ f @@</span>\n<span class=\"del\">-was</span>\n<span class=\"at\">--- a/x</span>\n",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the page has no\n%s", want)
		}
	}
}

// attributes holds those a page may have.
var attributes = map[string]string{
	"html": "lang", "meta": "charset http-equiv content name", "article": "class id", "div": "class", "p": "class", "pre": "class",
	"span": "class", "details": "class", "time": "datetime", "img": "alt src", "a": "href rel", "ol": "start", "th": "align", "td": "align",
	"input": "checked disabled type",
}

// checkPage fails the test unless a page has no script, loads nothing, and has links to
// the web and to mail only, without a referrer.
func checkPage(t *testing.T, page []byte) {
	t.Helper()
	doc, err := html.Parse(bytes.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	known := " html head body header main article footer title style h1 h2 h3 h4 h5 h6 dl dt dd p div span pre code details summary " +
		"figure img a ul ol li blockquote table thead tbody tr th td em strong del br hr time meta input "
	policies := 0
	for n := range doc.Descendants() {
		if n.Type == html.CommentNode {
			t.Errorf("a comment: %.100q", n.Data)
		}
		if n.Type != html.ElementNode {
			continue
		}
		if !strings.Contains(known, " "+n.Data+" ") {
			t.Errorf("an element %q", n.Data)
		}
		rel, href := "", ""
		for _, a := range n.Attr {
			if !strings.Contains(" "+attributes[n.Data]+" ", " "+a.Key+" ") {
				t.Errorf("%s has an attribute %q", n.Data, a.Key)
			}
			switch a.Key {
			case "src":
				if !strings.HasPrefix(a.Val, "data:image/") || strings.Contains(a.Val, "svg") {
					t.Errorf("loads %.80q", a.Val)
				}
			case "href":
				href = a.Val
				if !safeURL(a.Val) {
					t.Errorf("leads to %.80q", a.Val)
				}
			case "rel":
				rel = a.Val
			case "content":
				if strings.Contains(a.Val, "default-src 'none'") {
					policies++
				}
			}
		}
		if href != "" && rel != "noreferrer" {
			t.Errorf("the link to %.80q tells where it comes from", href)
		}
	}
	if policies != 1 {
		t.Errorf("%d policies", policies)
	}
	for _, r := range string(page) {
		if r < ' ' && r != '\n' && r != '\t' || r >= '\u202a' && r <= '\u202e' || r >= '\u2066' && r <= '\u2069' || r == '\u200b' {
			t.Errorf("the page holds %U", r)
		}
	}
}

func TestSanitize(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"plain", "a\tb\nc", "a\tb\nc"},
		{"line ends", "a\r\nb\rc", "a\nb␍c"},
		{"control", "\x1b[2J\x00\x7f\u009b", "␛[2J␀␡<U+009B>"},
		{"direction", "a\u202eb\u2066c\u200f", "a<U+202E>b<U+2066>c<U+200F>"},
		{"invisible", "a\u200bb\ufeffc\u00ad", "a<U+200B>b<U+FEFF>c<U+00AD>"},
		{"tags", "a\U000e0041", "a<U+E0041>"},
		{"joiner between letters", "a\u200db", "a<U+200D>b"},
		{"emoji", "👩🏽\u200d🚀 ❤\ufe0f 1\ufe0f\u20e3", "👩🏽\u200d🚀 ❤\ufe0f 1\ufe0f\u20e3"},
		{"Persian", "می\u200cخواهم", "می\u200cخواهم"},
		{"lines of others", "a\u2028b", "a<U+2028>b"},
		{"not UTF-8", "a\xffb", "a\ufffdb"},
		{"accents", "e\u0301 é ﷺ", "e\u0301 é ﷺ"},
	}
	for _, tt := range tests {
		if got := sanitize(tt.in); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
		if got := sanitize(tt.want); got != tt.want {
			t.Errorf("%s: twice it is %q", tt.name, got)
		}
	}
}

func TestFence(t *testing.T) {
	for in, want := range map[string]string{"": "```", "a": "```", "`": "```", "```": "````", "a```` b ``": "`````"} {
		if got := fence(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestSafeURL(t *testing.T) {
	for url, want := range map[string]bool{
		"http://a": true, "HTTPS://a": true, "mailto:a@b": true, "": false, "/x": false, "x": false, "#x": false, "//a": false,
		"javascript:alert(1)": false, "java\nscript:x": false, " http://a": false, "data:text/html,x": false, "file:///etc": false,
		"http:": false, "http:a": false, "vbscript:x": false, "ftp://a": false, "mailto:": false, "https://": false,
	} {
		if got := safeURL(url); got != want {
			t.Errorf("%q: %t, want %t", url, got, want)
		}
	}
}

// checkSame fails the test unless two conversations are equal; nil equals empty.
func checkSame(t *testing.T, got, want Conversation) {
	t.Helper()
	want.Session.Origin = cmp.Or(want.Session.Origin, "parley file")
	if want.FromParley = true; !got.FromParley { // as all that comes back
		t.Error("it does not count as written by parley")
	}
	if a, b := tidied(got), tidied(want); !reflect.DeepEqual(a, b) {
		t.Errorf("got\n%+v\nwant\n%+v", a, b)
	}
}

func tidied(c Conversation) Conversation {
	utc := func(t time.Time) time.Time { return t.UTC().Round(0) }
	c.Session.Created, c.Session.Updated, c.Session.Deleted = utc(c.Session.Created), utc(c.Session.Updated), utc(c.Session.Deleted)
	nodes := make([]store.Node, len(c.Nodes))
	for i, n := range c.Nodes {
		n.At = utc(n.At)
		if len(n.Results) == 0 {
			n.Results = nil
		}
		parts := make([]llm.Part, len(n.Parts))
		for k, p := range n.Parts {
			if len(p.Data) == 0 {
				p.Data = nil
			}
			if len(p.State) == 0 {
				p.State = nil
			}
			parts[k] = p
		}
		if n.Parts = parts; len(parts) == 0 {
			n.Parts = nil
		}
		nodes[i] = n
	}
	c.Nodes = nodes
	return c
}

// randomConversation returns a random conversation.
func randomConversation(r *rand.Rand) Conversation {
	word := func() string {
		words := []string{"", "a", "<&>", "\u2028\u2029", "\x00\x01", "日本", "\"\\\n", strings.Repeat("long ", 100), "\ufffd", "null", "</script>"}
		return words[r.IntN(len(words))]
	}
	state := func() json.RawMessage {
		states := []string{"", `{"a":1}`, `{ "a" : 1 }`, "{\"a\":\"<&>\u2028\"}", `"text"`, `null`, `1`, "not json", "\xff\xfe", `{"a":"` + "\xff" + `"}`, ` 1`, "\n", `{"a":1,"a":2}`, `"\u003c"`, `1.0e5`}
		return json.RawMessage(states[r.IntN(len(states))])
	}
	moment := func() time.Time {
		times := []time.Time{{}, time.Unix(0, 0), time.Unix(-1, 1), at(1), time.Date(2026, 1, 2, 3, 4, 5, 123456789, time.FixedZone("odd", 3601)), time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC), time.Now()}
		return times[r.IntN(len(times))]
	}
	kinds := []llm.Kind{llm.Text, llm.Thinking, llm.Call, llm.Result, llm.Media, llm.Source, llm.Opaque, "later"}
	c := Conversation{Session: store.Session{
		ID: "x", Title: word(), Named: r.IntN(2) == 0, Dir: word(), Model: word(), Effort: llm.EffortHigh, History: store.HistoryDynamic,
		Pinned: r.IntN(2) == 0, Origin: word(), Created: moment(), Updated: moment(), Preview: word(), Deleted: moment(),
		Usage: llm.Usage{Input: r.IntN(1e6), Cost: r.Float64(), Priced: r.IntN(2) == 0},
	}}
	seq := 0
	for range 1 + r.IntN(6) {
		parent := 0
		if n := len(c.Nodes); n > 0 && r.IntN(3) > 0 {
			parent = c.Nodes[r.IntN(n)].Seq
		}
		seq += 1 + r.IntN(2)
		n := store.Node{Seq: seq, Parent: parent, At: moment(), Partial: r.IntN(2) == 0, Summary: r.IntN(9) == 0,
			TTFT: time.Duration(r.Int64()), Duration: time.Duration(r.IntN(9)), Reason: llm.Stop,
			Message: llm.Message{Role: roles[r.IntN(3)], Origin: word(), Model: word(), Interrupted: r.IntN(2) == 0}}
		for range r.IntN(4) {
			n.Parts = append(n.Parts, llm.Part{Kind: kinds[r.IntN(len(kinds))], Text: word(), ID: word(), Name: word(), Input: word(),
				Failed: r.IntN(2) == 0, Remote: r.IntN(2) == 0, MIME: word(), Data: []byte(state()), URL: word(), State: state()})
		}
		if r.IntN(2) == 0 {
			n.Usage = &llm.Usage{Output: r.IntN(9), Cost: r.ExpFloat64()}
		}
		if r.IntN(3) == 0 {
			n.Results = map[string]store.Outcome{word(): {Diff: word(), Duration: time.Duration(r.IntN(5))}}
		}
		c.Nodes = append(c.Nodes, n)
	}
	c.Session.Head, c.Session.Messages = c.Nodes[r.IntN(len(c.Nodes))].Seq, len(c.Nodes)
	return c
}

// TestJSONL: what is written is the same when it is read again, State byte for byte, also
// with several sessions in one file.
func TestJSONL(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 0))
		want := []Conversation{randomConversation(r), randomConversation(r)}
		want[1].Session.ID = "y"
		var b bytes.Buffer
		for _, c := range want {
			if err := JSONL(&b, c); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
		}
		got, notices, err := standard.read(&b, "")
		if err != nil || len(notices) > 0 || len(got) != len(want) {
			t.Fatalf("seed %d: %d sessions, notices %q, %v", seed, len(got), notices, err)
		}
		for i := range want {
			if checkSame(t, got[i], want[i]); t.Failed() {
				t.Fatalf("seed %d", seed)
			}
		}
	}
}

// TestWriters: any conversation can be written, and an error of the writer is returned.
func TestWriters(t *testing.T) {
	for seed := range uint64(100) {
		c := randomConversation(rand.New(rand.NewPCG(seed, 1)))
		for _, f := range formats {
			var b bytes.Buffer
			if err := f.Write(&b, c); err != nil {
				t.Errorf("seed %d, %s: %v", seed, f.Name, err)
			}
			if f.Name == "html" {
				checkPage(t, b.Bytes())
			}
		}
	}
	for _, f := range formats {
		if err := f.Write(full{}, sampleConversation()); err == nil {
			t.Errorf("%s: a full disk is no error", f.Name)
		}
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, os.ErrClosed }

// craftedTexts returns texts that are slow to parse as Markdown: endless rows of marks,
// and the same in paragraphs just below the limits.
func craftedTexts() map[string]string {
	const size = 1 << 20
	rows := map[string]string{
		"brackets": "[", "links": "[a](", "images": "![", "emphasis": "*a **b ", "underscores": "_a __", "ticks": "`` ` ", "entities": "&",
		"tags": "<a ", "comments": "<!--", "autolinks": "<a:", "backslashes": "\\", "closing": "]", "mixed": "[*a](<b ", "cells": "|a",
		"strikes": "~~a ~b ", "attributes": "<a b=\"",
	}
	out := map[string]string{
		"quotes": strings.Repeat(">", size), "lists": strings.Repeat("- ", size/2), "definitions": strings.Repeat("[a]: b\n", size/7),
		"tables":    strings.Repeat("|a", size/2) + "\n" + strings.Repeat("|-", size/2),
		"code":      "    ```\n" + strings.Repeat("[", size),
		"staircase": nestedList(1000), "stairs": strings.Repeat(nestedList(50), size/(50*50)),
	}
	for name, row := range rows {
		out[name] = strings.Repeat(row, size/len(row))
		paragraph := strings.Repeat(row, longestBlock/len(row)-1) + "\n\n"
		out[name+" in paragraphs"] = strings.Repeat(paragraph, size/len(paragraph))
	}
	return out
}

// nestedList returns a list in a list in a list.
func nestedList(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.Repeat(" ", 2*i) + "- a\n")
	}
	return b.String()
}

func BenchmarkCrafted(b *testing.B) {
	for name, text := range craftedTexts() {
		c := Conversation{Session: store.Session{Head: 1}, Nodes: []store.Node{{Seq: 1, Message: llm.UserText(text)}}}
		for _, f := range formats[:2] {
			b.Run(name+"/"+f.Name, func(b *testing.B) {
				for b.Loop() {
					var out bytes.Buffer
					if err := f.Write(&out, c); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
