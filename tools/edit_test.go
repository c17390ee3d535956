package tools

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

func TestReplace(t *testing.T) {
	tests := []struct {
		name           string
		text, old, new string
		all            bool
		want           string // or
		err            string
	}{
		{name: "a word", text: "one two\n", old: "two", new: "three", want: "one three\n"},
		{name: "lines", text: "a\nb\nc\n", old: "a\nb\n", new: "x\n", want: "x\nc\n"},
		{name: "deletes", text: "a\nb\n", old: "a\n", new: "", want: "b\n"},
		{name: "all", text: "a b a\n", old: "a", new: "aa", all: true, want: "aa b aa\n"},
		{name: "all, touching", text: "aaaa", old: "aa", new: "b", all: true, want: "bb"},
		{name: "all of one", text: "a\n", old: "a", new: "b", all: true, want: "b\n"},

		{name: "CRLF", text: "a\r\nb\r\nc\r\n", old: "a\nb\n", new: "x\ny\n", want: "x\r\ny\r\nc\r\n"},
		{name: "CRLF, one line becomes two", text: "a\r\nb\r\n", old: "b", new: "x\ny", want: "a\r\nx\r\ny\r\n"},
		{name: "CRLF as given", text: "a\r\nb\r\n", old: "a\r\nb", new: "x\r\ny", want: "x\r\ny\r\n"},
		{name: "CRLF given, LF in the file", text: "a\nb\n", old: "a\r\nb", new: "x\ny", want: "x\ny\n"},
		{name: "CRLF given for both, LF in the file", text: "a\nb\nc\n", old: "a\r\nb", new: "x\r\ny\r\nz", want: "x\ny\nz\nc\n"},
		{name: "CRLF given for both, no newline at the end", text: "a\r\nb", old: "b\r\n", new: "c\r\n", want: "a\r\nc"},
		{name: "CRLF given to the LF part", text: "a\r\nb\nc\n", old: "b\r\nc", new: "x\r\ny", want: "a\r\nx\ny\n"},
		{name: "CRLF, from the line end", text: "a\r\nb\r\n", old: "\nb", new: "\nc", want: "a\r\nc\r\n"},
		{name: "CRLF, up to the line end", text: "a\r\nb\r\n", old: "a\n", new: "c\n", want: "c\r\nb\r\n"},
		{name: "CRLF, all", text: "a\r\nb\r\na\r\n", old: "a\n", new: "c\n", all: true, want: "c\r\nb\r\nc\r\n"},
		{name: "mixed, in the LF part", text: "a\r\nb\nc\nd\r\n", old: "b\nc\n", new: "x\ny\n", want: "a\r\nx\ny\nd\r\n"},
		{name: "mixed, in the CRLF part", text: "a\nb\r\nc\r\n", old: "b\nc\n", new: "x\ny\n", want: "a\nx\r\ny\r\n"},
		{name: "mixed, twice to the eye", text: "a\r\nb\r\n\na\nb\n", old: "a\nb\n", new: "x", err: "old occurs 2 times, on lines 1, 4"},

		{name: "byte order mark", text: "\uFEFFa\nb\n", old: "a\n", new: "x\n", want: "\uFEFFx\nb\n"},
		{name: "byte order mark as given", text: "\uFEFFa\n", old: "\uFEFFa", new: "\uFEFFx", want: "\uFEFFx\n"},
		{name: "no newline at the end", text: "a\nb", old: "b\n", new: "c\n", want: "a\nc"},
		{name: "no newline at the end, CRLF", text: "a\r\nb\r\nc", old: "b\nc\n", new: "x\ny\n", want: "a\r\nx\r\ny"},
		{name: "not UTF-8 elsewhere", text: "gr\xFC\xDFe\nb\n", old: "b", new: "c", want: "gr\xFC\xDFe\nc\n"},

		{name: "nothing to replace", text: "a", old: "", new: "x", err: "old is empty"},
		{name: "nothing changes", text: "a", old: "a", new: "a", err: "old and new are the same"},
		{name: "nothing changes in the end", text: "a\r\n", old: "a\r\n", new: "a\n", want: "a\n", err: "nothing would change"},
		{name: "twice", text: "a\nb\na\n", old: "a", new: "x", err: "old occurs 2 times, on lines 1, 3; add lines around it until it occurs once, or set all"},
		{name: "twice, overlapping", text: "aaa", old: "aa", new: "x", err: "occurs 2 times, on lines 1, 1"},
		{name: "often", text: strings.Repeat("a\n", 50), old: "a", new: "x", err: "occurs 50 times, on lines 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, …;"},
		{name: "too often", text: strings.Repeat("a", maxSpans+1), old: "a", new: "b", all: true, err: "far too often"},
		{name: "absent", text: "a\nb\n", old: "c", new: "x", err: "not found (also ignoring white space"},
		{name: "other white space", text: "x\n\tif a  {\n\t\tb\n\t}\n", old: "if a {\n  b\n}", new: "x",
			err: "the same with other white space, quotes or dashes is on line 2; there it is\n\tif a  {\n\t\tb\n\t}"},
		{name: "other white space in one line", text: "x\n\ta =  b\n", old: "a = b", new: "x", err: "on line 2; there it is\n\ta =  b"},
		{name: "typographic quotes", text: "x\n“it’s” – so\n", old: "\"it's\" - so", new: "x", err: "on line 2; there it is\n“it’s” – so"},
		{name: "hidden characters", text: "a\u200Bb\n", old: "ab", new: "x", err: "on line 1"},
		{name: "line numbers", text: "a\nb\n", old: "     1\ta\n     2\tb\n", new: "x", err: "omit the line numbers"},
		{name: "nothing but a line number", text: "a\n", old: "     1\t", new: "x", err: "text to replace not found"},
		{name: "only white space", text: "a\n", old: "  ", new: "x", err: "only white space"},
	}
	for _, test := range tests {
		got, _, err := replaceText(test.text, test.old, test.new, test.all)
		switch {
		case test.err == "" && err != nil:
			t.Errorf("%s: %v", test.name, err)
		case test.err == "" && got != test.want:
			t.Errorf("%s: got %q, want %q", test.name, got, test.want)
		case test.err != "" && (err == nil || !strings.Contains(err.Error(), test.err)):
			t.Errorf("%s: got %q, %v, want %q", test.name, got, err, test.err)
		}
	}
}

func TestEditSaysHowManyPlaces(t *testing.T) {
	f := open(t, map[string]string{"f": "a b a\n"})
	a, err := f.Plan(t.Context(), "edit", args("path", "f", "old", "a", "new", "c", "all", "true"))
	if err != nil {
		t.Fatal(err)
	}
	if a.Title != "edit f (2 places)" {
		t.Errorf("got %q", a.Title)
	}
	if out := a.Run(t.Context(), nil); out.Failed || out.Diff != a.Diff || f.content("f") != "c b c\n" {
		t.Errorf("got %+v, the file is %q", out, f.content("f"))
	}
}

// Undoing an edit gives the text back, byte for byte, wherever it was made: with
// either line ends, a byte order mark, no newline at the end. Only where both are
// mixed a new line may get the ends of its neighbors.
func TestEditUndone(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	ends, undone := []string{"\n", "\r\n"}, 0
	for range 2000 {
		var text strings.Builder
		if random.IntN(4) == 0 {
			text.WriteString("\uFEFF")
		}
		end, lines := ends[random.IntN(2)], 1+random.IntN(8)
		for i := range lines {
			fmt.Fprintf(&text, "%sline %d", strings.Repeat("\t", random.IntN(3)), i)
			if i < lines-1 || random.IntN(2) == 0 {
				text.WriteString(end)
			}
		}
		before := text.String()
		plain := strings.TrimPrefix(toLF(before), "\uFEFF")
		from := random.IntN(len(plain))
		old := plain[from : from+1+random.IntN(len(plain)-from)]
		const new = "«new»"
		after, _, err := replaceText(before, old, new, false)
		if err != nil {
			continue // it occurs twice
		}
		undone++
		at := strings.Index(after, new)
		back, _, err := replaceText(after, new, before[at:len(before)-(len(after)-at-len(new))], false)
		if err != nil || back != before {
			t.Fatalf("%q to %q in %q and back gives %q, %v", old, new, before, back, err)
		}
	}
	if undone < 1000 {
		t.Errorf("only %d edits were undone", undone)
	}
}

// An edit that is undone gives the text back, byte for byte, unless its new
// text stood there before; and it leaves the text before and after it alone.
func FuzzReplace(f *testing.F) {
	f.Add("a\r\nb\r\nc", "b\n", "x\ny\n", false)
	f.Add("\uFEFFaaa\r\n\n", "a", "b", true)
	f.Add("a\nb", "b\n", "c\n", false)
	f.Add("\r\r\n", "\n", "\r", true)
	f.Add("", "0\t", "0", false) // nothing is left of it without its line number
	f.Fuzz(func(t *testing.T, text, old, new string, all bool) {
		got, n, err := replaceText(text, old, new, all)
		if err != nil {
			if got != "" || n != 0 {
				t.Fatalf("%v, and yet %q, %d", err, got, n)
			}
			return
		}
		if got == text || n < 1 || n > 1 && !all {
			t.Fatalf("%q in %q: %d places give %q", old, text, n, got)
		}
		if n > 1 {
			return
		}
		head, tail := 0, 0
		for head < len(text) && head < len(got) && text[head] == got[head] {
			head++
		}
		for tail < len(text)-head && tail < len(got)-head && text[len(text)-1-tail] == got[len(got)-1-tail] {
			tail++
		}
		// The diff is no longer than the replaced text, with CR at its line ends.
		if longest := len(old) + strings.Count(old, "\n"); len(text)-head-tail > longest {
			t.Fatalf("%q to %q in %q gives %q", old, new, text, got)
		}
	})
}
