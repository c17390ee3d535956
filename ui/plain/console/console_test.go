package console

import (
	"bytes"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/tools/sanitize"
)

// heard returns the spoken text of pieces that arrive at once, without the marks of
// unbroken lines.
func heard(pieces ...string) string {
	var p Markdown
	var out strings.Builder
	for _, piece := range pieces {
		out.WriteString(p.Add(piece, time.Time{}))
	}
	return strings.ReplaceAll(out.String()+p.End(time.Time{}), exactly, "")
}

func TestMarkdown(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"text", "One. Two.", "One. Two.\n"},
		{"paragraphs", "one\n\n\n\ntwo\n", "one\n\ntwo\n"},
		{"headings and lists stay", "# Title\n\n1. one\n2. two\n   - three\n> four", "# Title\n\n1. one\n2. two\n   - three\n> four\n"},
		{"links", "See [the docs](https://a.example/b_(c)), <https://d.example> and [https://e.example](https://e.example).", "See the docs (https://a.example/b_(c)), <https://d.example> and https://e.example.\n"},
		{"a link says where it leads", "[https://bank.example](https://evil.example)", "https://bank.example (https://evil.example)\n"},
		{"pictures", `![a cat](cat.png "Tom") ![](x.png)`, "image: a cat (cat.png) image (x.png)\n"},
		{"bold", "**One.** And __two__, 2**3**4, snake__case__name.", "One. And two, 2**3**4, snake__case__name.\n"},
		{"code in text stays", "call `f(**args)` and `[a](b)`", "call `f(**args)` and `[a](b)`\n"},
		{"rulers", "one\n\n---\n\n* * *\n\ntwo", "one\n\ntwo\n"},
		{"code", "Look:\n```go\na := 1. // x\n\n\tb\n```\nDone", "Look:\nCode, go, 3 lines:\na := 1. // x\n\n\tb\nEnd of code.\nDone\n"},
		{"code without a language, in a list", "- like this:\n  ~~~\n  one\n    two\n  ~~~", "- like this:\nCode, 2 lines:\none\n  two\nEnd of code.\n"},
		{"empty code", "```\n```", "Code, 0 lines:\nEnd of code.\n"},
		{"code that is not closed", "```sh\nls\n", "Code, sh, 1 line:\nls\nEnd of code.\n"},
		{"fences in fences", "````md\n```go\nx\n```\n````\n", "Code, md, 3 lines:\n```go\nx\n```\nEnd of code.\n"},
		{"a table", "| name | legs |\n|:-----|-----:|\n| cod | 0 |\n| a\\|b | `1` |\n\nEnd", "Table, 2 columns: name, legs.\nname: cod; legs: 0\nname: a|b; legs: `1`\nEnd of table.\n\nEnd\n"},
		{"a table without edges", "a | b\n--|--\n1 | 2\nend", "Table, 2 columns: a, b.\na: 1; b: 2\nEnd of table.\nend\n"},
		{"cells too many and too few", "|a|b|\n|-|-|\n|1|\n|1|2|3|", "Table, 2 columns: a, b.\na: 1\na: 1; b: 2; 3\nEnd of table.\n"},
		{"a bar is no table", "a | b\nc | d\n", "a | b\nc | d\n"},
		{"control characters", "a\x1b[31mb\u202ec\r\n", "a␛[31mb<U+202E>c\n"},
		{"a sign of ours from outside", "\x01x", "␁x\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := heard(tt.in); got != tt.want {
				t.Errorf("got\n%q\nwant\n%q", got, tt.want)
			}
			if got := heard(strings.SplitAfter(tt.in, "")...); got != tt.want {
				t.Errorf("rune by rune: got\n%q\nwant\n%q", got, tt.want)
			}
		})
	}
}

// TestSentences: text is read out in whole sentences. After a while, incomplete
// ones are read out too.
func TestSentences(t *testing.T) {
	start := time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)
	tests := []struct {
		name   string
		pieces []string
		now    string // read out immediately
		late   string // read out after a while
	}{
		{"half a sentence", []string{"The sky is", " blue"}, "", "The sky is "},
		{"a sentence", []string{"The sky is blue. It"}, "The sky is blue. ", ""},
		{"a full stop may be a point", []string{"It costs 3."}, "", "It costs "},
		{"in quotes", []string{"“Stop!” he said. And"}, "“Stop!” he said. ", ""},
		{"no spaces", []string{"天是蓝的。海"}, "天是蓝的。", ""},
		{"a number is no sentence", []string{"1. First"}, "", "1. "},
		{"a link is whole", []string{"See [a. b](http"}, "", "See [a. "},
		{"code is whole", []string{"Run `a. b"}, "", "Run `a. "},
		{"bold is whole", []string{"**One. Two"}, "", "**One. "},
		{"a line", []string{"- item\n- next"}, "- item\n", "- "},
		{"a row waits for its end", []string{"| a. b "}, "", ""},
		{"a fence waits for its end", []string{"```go. "}, "", ""},
		{"code waits for its end", []string{"```go\nx\ny"}, "", "Code, go:\nx\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var p Markdown
			now := ""
			for _, piece := range tt.pieces {
				now += p.Add(piece, start)
			}
			if now != tt.now {
				t.Errorf("at once %q, want %q", now, tt.now)
			}
			if got := p.Late(start.Add(SentenceWait - 1)); got != "" {
				t.Errorf("too early: %q", got)
			}
			if got := strings.ReplaceAll(p.Late(start.Add(CodeWait)), exactly, ""); got != tt.late && tt.late != "" {
				t.Errorf("late %q, want %q", got, tt.late)
			}
		})
	}
}

// Text waits from the arrival of its oldest part, and again after some of it was read out. Nothing is due if nothing waits.
func TestDue(t *testing.T) {
	start := time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)
	at := func(d time.Duration) time.Time { return start.Add(d) }
	var p Markdown
	for _, step := range []struct {
		name string
		do   func() string
		want string
		due  time.Duration // after start; 0 if nothing waits
	}{
		{"nothing", func() string { return p.Late(at(time.Hour)) }, "", 0},
		{"a part", func() string { return p.Add("one two", at(time.Second)) }, "", time.Second + SentenceWait},
		{"more of it", func() string { return p.Add(" three", at(2*time.Second)) }, "", time.Second + SentenceWait},
		{"too early", func() string { return p.Late(at(time.Second + SentenceWait - 1)) }, "", time.Second + SentenceWait},
		{"late", func() string { return p.Late(at(10 * time.Second)) }, "one two ", 10*time.Second + SentenceWait},
		{"a whole line, and a new one", func() string { return p.Add(".\nfour", at(11*time.Second)) }, "three.\n", 11*time.Second + SentenceWait},
		{"the end", func() string { return p.End(at(12 * time.Second)) }, "four\n", 0},
		{"a fence", func() string { return p.Add("```\n", at(20*time.Second)) }, "", 0},
		{"code", func() string { return p.Add("x\n", at(21*time.Second)) }, "", 21*time.Second + CodeWait},
		{"late", func() string { return p.Late(at(21*time.Second + CodeWait)) }, "Code:\nx\n", 0},
		{"more code", func() string { return p.Add("y\n", at(40*time.Second)) }, "y\n", 0},
	} {
		if got := strings.ReplaceAll(step.do(), exactly, ""); got != step.want {
			t.Errorf("%s: read out %q, want %q", step.name, got, step.want)
		}
		want := time.Time{}
		if step.due > 0 {
			want = at(step.due)
		}
		if got := p.Due(); !got.Equal(want) {
			t.Errorf("%s: due at %v, want %v", step.name, got, want)
		}
	}
}

// TestCodeThatTakesLong: slow code is announced without its length, which follows at its end.
func TestCodeThatTakesLong(t *testing.T) {
	start := time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)
	var p Markdown
	got := p.Add("```go\none\n", start) + p.Late(start.Add(CodeWait)) + p.Add("two\n", start.Add(CodeWait)) + p.Add("```\n", start.Add(CodeWait))
	if want := "Code, go:\none\ntwo\nEnd of code, 2 lines.\n"; strings.ReplaceAll(got, exactly, "") != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestLongLine: text without any sentence end is read out anyway, in linear time.
func TestLongLine(t *testing.T) {
	word := strings.Repeat("x", 10)
	var pieces []string
	for range 6_000 {
		pieces = append(pieces, word)
	}
	if got := heard(pieces...); strings.Trim(got, "\n") != strings.Join(pieces, "") {
		t.Errorf("%d bytes of %d", len(got), 6_000*len(word))
	}
}

// FuzzProse: however the text is split, the spoken text is the same, printable,
// and contains every letter and digit.
func FuzzProse(f *testing.F) {
	for _, seed := range []string{"One. Two\n\n**b** `c` [d](e)\n", "|a|b|\n|-|-|\n|1|2|\n", "```go\nx\n```\n", "- ~~~\n  x\n  ~~~", "a\x1b]0;b\x07\r\nc\u009b"} {
		f.Add(seed, uint8(3))
	}
	f.Fuzz(func(t *testing.T, text string, at uint8) {
		whole := heard(text)
		cut := min(int(at), len(text))
		if got := heard(text[:cut], text[cut:]); got != whole {
			t.Errorf("cut at %d: %q, whole %q", cut, got, whole)
		}
		if sanitize.Text(whole) != whole {
			t.Errorf("not printable: %q", whole)
		}
	})
}

func TestSpeakerKeepsWords(t *testing.T) {
	tests := []struct {
		name  string
		width int
		write func(s *Writer)
		want  string
	}{
		{"a line", 20, func(s *Writer) { s.WriteLine("one two three four five six") }, "one two three four\nfive six\n"},
		{"a line that just fits", 20, func(s *Writer) { s.WriteLine("one two three four 5") }, "one two three four 5\n"},
		{"and one that does not", 20, func(s *Writer) { s.WriteLine("one two three four 56") }, "one two three four\n56\n"},
		{"a terminal that is too narrow", 19, func(s *Writer) { s.WriteLine("one two three four five") }, "one two three four five\n"},
		{"in pieces", 20, func(s *Writer) { s.Text("one two "); s.Text("three four "); s.Text("five\n") }, "one two three four\nfive\n"},
		{"a word in pieces", 20, func(s *Writer) { s.Text("on"); s.Text("e\ntwo") }, "one\ntwo"},
		{"code is not broken", 20, func(s *Writer) { s.Text(exactly + "one two three four five six\nseven\n") }, "one two three four five six\nseven\n"},
		{"spaces", 20, func(s *Writer) { s.Text("  one  two \n\n") }, "  one  two\n\n"},
		{"wide characters", 20, func(s *Writer) { s.WriteLine("海海海海海 海海海海海") }, "海海海海海\n海海海海海\n"},
		{"a long word", 20, func(s *Writer) { s.WriteLine("a %s b", strings.Repeat("x", 30)) }, "a\n" + strings.Repeat("x", 30) + "\nb\n"},
		{"unknown width", 0, func(s *Writer) { s.WriteLine("one two three four five six") }, "one two three four five six\n"},
		{"a question, and its answer", 20, func(s *Writer) { s.Ask("one two three four five: "); s.Entered(); s.WriteLine("six") }, "one two three four\nfive: six\n"},
		{"text behind a prompt begins a line", 20, func(s *Writer) { s.Ask("You: "); s.Text("one") }, "You: \none"},
		{"text behind an answered prompt does not", 20, func(s *Writer) { s.Ask("You: "); s.Entered(); s.Text("one") }, "You: one"},
		{"a line behind an echo begins anew", 20, func(s *Writer) { s.Ask("You: "); s.Echoed(); s.WriteLine("one") }, "You: \none\n"},
		{"an open line is ended", 20, func(s *Writer) { s.Text("one"); s.WriteLine("two") }, "one\ntwo\n"},
		{"what is quoted has its mark on each row", 20, func(s *Writer) {
			s.Question("Server s asks this question:\n\n> one two three four five six\n> " + strings.Repeat("x", 20) + "\tb\n\nhttps://a.example/b/c/d")
		}, "Server s asks this question:\n\n> one two three four\n> five six\n> xxxxxxxxxxxxxxxxxx\n> xx    b\n\nhttps://a.example/b/c/d\n"},
		{"also where words are not kept whole", 5, func(s *Writer) { s.Question("> one two\nthree four") }, "> one\n> two\nthree four\n"},
		{"and of unknown width it stays", 0, func(s *Writer) { s.Question("> one two three four five six\n") }, "> one two three four five six\n"},
		{"a question is printable", 20, func(s *Writer) { s.Question("> a\x1b[2J\n\x1b") }, "> a␛[2J\n␛\n"},
		{"what is not printable", 80, func(s *Writer) {
			s.WriteLine("a\x1bb\nc")
			s.Text("\x1b\n")
			s.Text(exactly + "\x1b\n")
			s.Block("d\x9be")
			s.Ask("\x07")
		}, "a␛b␊c\n␛\n␛\nd<U+009B>e\n␇"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var out bytes.Buffer
			tt.write(&Writer{out: &out, Width: func() int { return tt.width }})
			if got := out.String(); got != tt.want {
				t.Errorf("got\n%q\nwant\n%q", got, tt.want)
			}
		})
	}
}

// TestPrompted verifies when a prompt has to be written again.
func TestPrompted(t *testing.T) {
	for name, then := range map[string]func(*Writer){
		"a line": func(w *Writer) { w.WriteLine("one") }, "a block": func(w *Writer) { w.Block("one") }, "text": func(w *Writer) { w.Text("one") },
		"an answer": (*Writer).Entered, "an echo": (*Writer).Echoed, "its end": (*Writer).End, "its question": (*Writer).ClearPrompt,
	} {
		w := NewWriter(io.Discard)
		w.Ask("You: ")
		if !w.Prompted() {
			t.Fatal("no prompt stands there")
		}
		w.Text("")
		if !w.Prompted() {
			t.Error("no text takes the prompt away")
		}
		if then(w); w.Prompted() {
			t.Errorf("the prompt stands there after %s", name)
		}
	}
}

// TestOutput returns whole lines, sanitized, and keeps the rest.
func TestOutput(t *testing.T) {
	var o Output
	got := []string{o.Add("one\ntw"), o.Add("o"), o.Add("\x1b[2J\nthree"), o.Rest()}
	if want := []string{"one\n", "", "two␛[2J\n", "three"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
