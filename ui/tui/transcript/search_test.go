package transcript

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"parley/ui/theme"
)

// lit returns the highlighted parts of the view, with the selected match in brackets.
func lit(m *Model) string {
	var all []string
	for _, part := range strings.Split(m.View(), "\x1b[")[1:] {
		codes, text, _ := strings.Cut(part, "m")
		switch "\x1b[" + codes + "m" {
		case sgrFound:
			all = append(all, text)
		case sgrCurrent:
			all = append(all, "["+text+"]")
		}
	}
	return strings.Join(all, "|")
}

func lastRow(m *Model) string {
	rows := strings.Split(ansi.Strip(m.View()), "\n")
	return strings.Join(strings.Fields(rows[len(rows)-1]), " ")
}

func TestMatching(t *testing.T) {
	for _, c := range []struct {
		name, word, in, over string
		want                 string // matches, between bars
	}{
		{"in either case", "error", "Error, ERROR and error", "", "Error|ERROR|error"},
		{"as it is written, if there is upper case", "Error", "Error, ERROR and error", "", "Error"},
		{"no pattern", "a.c[", "abc[ a.c[", "", "a.c["},
		{"places do not overlap", "aa", "aaaaa", "", "aa|aa"},
		{"a space is any white space", "one two", "one\n\t two one  two onetwo", "", "one\n\t two|one  two"},
		{"spaces around it do not count", "  one ", "one", "", "one"},
		{"wide characters", "日本", "新日本語 日本", "", "日本|日本"},
		{"umlauts in either case", "äpfel", "ÄPFEL Äpfel", "", "ÄPFEL|Äpfel"},
		{"not inside of a character", "\u0301", "e\u0301", "", "\u0301"},
		{"through emphasis", "bold text", "some **bold** _text_", markupRunes, "bold** _text"},
		{"through a quote", "one two", "> one\n> two", markupRunes, "one\n> two"},
		{"not through emphasis in plain text", "bold text", "some **bold** text", "", ""},
		{"markup itself", "**bold", "some **bold** text", markupRunes, "**bold"},
		{"over the end of a full line", "abcdef", "abc\x00def", brokenLine, "abc\x00def"},
		{"where there was a space", "abc def", "abc\x00  def", brokenLine, "abc\x00  def"},
		{"over a margin", "abc def", "abc\n▎ def", brokenLine, "abc\n▎ def"},
		{"not over the end of another line", "abcdef", "abc\ndef", brokenLine, ""},
		{"nothing", "", "abc", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			w, at := newQuery(c.word), 0
			var got []string
			for start, end := w.find(c.in, at, c.over); end >= 0; start, end = w.find(c.in, end, c.over) {
				got = append(got, c.in[start:end])
			}
			if got := strings.Join(got, "|"); got != c.want {
				t.Errorf("found %q, want %q", got, c.want)
			}
			if n := w.count(c.in, c.over); n != len(got) {
				t.Errorf("counted %d, want %d", n, len(got))
			}
		})
	}
}

// A literal word is found exactly where the standard library finds it.
func FuzzMatching(f *testing.F) {
	f.Add("word", "a word and a word")
	f.Add("日本", "日本日本")
	f.Add("**", "a***b")
	f.Fuzz(func(t *testing.T, s, in string) {
		if !utf8.ValidString(s) || !utf8.ValidString(in) || strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
			t.Skip()
		}
		w := newQuery(s)
		if w.ignoreCase {
			for i, r := range in { // the Kelvin sign and the like are not ASCII letters
				if r >= utf8.RuneSelf {
					in = in[:i]
					break
				}
			}
			s, in = strings.ToLower(s), strings.ToLower(in)
		}
		want := 0
		if s != "" {
			want = strings.Count(in, s)
		}
		if got := w.count(in, ""); got != want {
			t.Errorf("%q in %q: %d times, want %d", s, in, got, want)
		}
	})
}

func TestSearch(t *testing.T) {
	for _, c := range []struct {
		name, keys string
		row, want  string // the last row; the highlighted text
	}{
		{"an empty line", "/", "/", ""},
		{"the nearest one", "/ 'answer", "/answer 4/4", "[answer]"},
		{"kept", "/ 'answer enter", "/answer 4/4", "[answer]"},
		{"the one before", "/ 'answer enter N", "/answer 3/4", "[answer]"},
		{"after the last the first", "/ 'answer enter n", "/answer 1/4", "[answer]"},
		{"and around", "/ 'answer enter n n n n", "/answer 4/4", "[answer]"},
		{"with the arrows", "/ 'answer up up down", "/answer 3/4", "[answer]"},
		{"smart case", "/ 'Answer", "/Answer not found", ""},
		{"a phrase", "/ 'question_2", "/question 2 1/1", "[question 2]"},
		{"inside of what is folded", "/ 'end_1", "/end 1 1/1", "[end 1]"},
		{"in a title", "/ 'make enter N", "/make 3/4", "[make]"},
		{"erased", "/ 'answerx backspace", "/answer 4/4", "[answer]"},
		{"a word erased", "/ 'answer_code ctrl+w", "/answer 4/4", "[answer]"},
		{"emptied", "/ 'answer ctrl+u", "/", ""},
		{"several in a block", "g / 'out enter n n", "/out 3/36", "out|out|[out]|out"},
		{"back through a block", "g / 'out enter n n N", "/out 2/36", "out|[out]|out|out"},
		{"left", "/ 'answer enter esc", "… 5 more lines (ctrl+o)", ""},
		{"left while it is typed", "/ 'answer esc", "… 5 more lines (ctrl+o)", ""},
		{"left by erasing", "/ backspace", "▎… 5 more lines (ctrl+o)", ""},
		{"left and browsed no more", "/ 'answer enter i", "… 5 more lines (ctrl+o)", ""},
		{"taken up again", "/ 'answer enter esc n", "/answer 4/4", "[answer]"},
		{"by an empty line", "/ 'answer enter esc / enter", "/answer 4/4", "[answer]"},
		{"nothing to take up", "n", "▎… 5 more lines (ctrl+o)", ""},
		{"from a block that has none", "/ 'answer enter [ [ n", "/answer 3/4", "[answer]"},
		{"moved on", "/ 'answer enter j", "/answer 4 found", "answer"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := chat()
			m.Browse(true)
			press(m, strings.Fields(c.keys)...)
			if got := lit(m); got != c.want {
				t.Errorf("highlighted %q, want %q in\n%s", got, c.want, ansi.Strip(m.View()))
			}
			if got := lastRow(m); got != c.row {
				t.Errorf("the last row is %q, want %q", got, c.row)
			}
			check(t, m, c.keys)
		})
	}
}

// TestSearchFoldsAgain: a block unfolded for a match is folded again when the next letter has no match.
func TestSearchFoldsAgain(t *testing.T) {
	const folded = "… 5 more lines (ctrl+o)"
	m := chat()
	m.Browse(true)
	press(m, "g", "/", "'end_1")
	if got := ansi.Strip(m.View()); !strings.Contains(got, "end 1") {
		t.Fatalf("the match is not shown:\n%s", got)
	}
	press(m, "'x", "esc", "G")
	if got := ansi.Strip(m.View()); !strings.Contains(got, folded) {
		t.Errorf("no %q in\n%s", folded, got)
	}
}

// For any query in any conversation at any width: n visits as many matches as
// are counted, in order, and each is visible.
func TestEveryPlaceIsSeen(t *testing.T) {
	for _, width := range []int{20, 50, 110} {
		for _, word := range []string{"timer", "er", "line", "It could be", "0123456789 abc", "wait()", "shell", "日本", "tail -f log", "thought"} {
			m := New(theme.Plain())
			m.SetSize(width, 12)
			conversation(m)
			m.Blocks.AppendAnswer("x", "# The *timer*\n\n- **the** timer,\n  which runs\n- 日本語のテキストは文字の間で改行できます、日本。\n\n> It could\n> be\n\n| the | line |\n|---|---|\n| run | `wait()` |\n")
			m.Blocks.FinishAnswer("x")
			m.Browse(true)
			press(m, "g", "/")
			m.Update(tea.PasteMsg{Content: word})
			press(m, "enter")
			total := m.search.total
			if total == 0 {
				t.Errorf("%q is not found at width %d", word, width)
			}
			first := m.browser.cursor
			for i := range total + 1 {
				if want := fmt.Sprintf("%d/%d", i%total+1, total); i > 0 && m.search.searchTally() != want {
					t.Fatalf("%q at width %d: %s, want %s", word, width, m.search.searchTally(), want)
				} else if i == 0 && m.search.searchTally() != want {
					t.Fatalf("%q at width %d begins with %s in block %d", word, width, m.search.searchTally(), first)
				}
				if !strings.Contains(m.View(), sgrCurrent) {
					t.Fatalf("%q at width %d: place %d of %d is not in sight\n%s", word, width, i+1, total, m.View())
				}
				press(m, "n")
			}
			check(t, m, word)
		}
	}
}
