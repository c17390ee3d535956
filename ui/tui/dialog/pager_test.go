package dialog_test

import (
	"fmt"
	"strings"
	"testing"

	"parley/ui/format"
	"parley/ui/theme"
	"parley/ui/tui/dialog"

	tea "charm.land/bubbletea/v2"
)

var _ dialog.Dialog = (*dialog.Pager)(nil)

// pages returns two parts: a short one, and one of a hundred lines with a fold.
func pages() []format.Part {
	long := format.Part{Title: "Body", Note: "1.2 MB", Source: "the whole body"}
	for i := range 100 {
		long.Lines = append(long.Lines, format.Line{Text: fmt.Sprint("line ", i)})
	}
	long.Lines[50] = format.Line{Text: "folded …", Full: "unfolded\nwith Needle\nin it"}
	return []format.Part{{Title: "Head", Source: "a: b\n", Lines: []format.Line{{Text: "a: b"}}}, long}
}

func pager(keys ...dialog.PageKey) *dialog.Pager {
	p := dialog.Pages("An exchange", pages(), theme.Dark())
	p.Actions = keys
	p.SetSize(40, 12)
	return p
}

// Rows end between words, unless a word is longer than half a row.
func TestPagerBreaksBetweenWords(t *testing.T) {
	for text, want := range map[string]string{
		"one two three four five":  "one two|three four|five",
		"a word-that-is-too-long":  "a word-that|-is-too-lon|g",
		"exactly ten and on":       "exactly ten|and on",
		"one ww ほうとう ほ":            "one ww|ほうとう ほ",
		"no-spaces-at-all-in-here": "no-spaces-a|t-all-in-he|re",
	} {
		p := dialog.Pages("An exchange", []format.Part{{Title: "Body", Lines: []format.Line{{Text: text}}}}, theme.Plain())
		var got []string
		for _, row := range rows(t, p, 13, 12)[1:10] {
			if row = strings.Trim(row, " ›"); row != "" {
				got = append(got, row)
			}
		}
		if strings.Join(got, "|") != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}

func TestPager(t *testing.T) {
	for _, tt := range []struct {
		name string
		keys []string
		want string // expected in the row of the cursor
	}{
		{"begins at the top", nil, "› Head"},
		{"by lines", []string{"j", "j", "down", "k"}, "›"},
		{"to the end", []string{"G"}, "› line 99"},
		{"and back", []string{"G", "g"}, "› Head"},
		{"next part", []string{"tab"}, "› Body 1.2 MB"},
		{"and back", []string{"tab", "shift+tab"}, "› Head"},
		{"finds", []string{"/", "line 7", "enter"}, "› line 7"},
		{"finds the next", []string{"/", "line 7", "enter", "n"}, "› line 70"},
		{"and the one before", []string{"/", "line 7", "enter", "n", "N"}, "› line 7"},
		{"round the end", []string{"G", "/", "a: b", "enter"}, "› a: b"},
		{"in what is folded", []string{"/", "needle", "enter"}, "› with Needle"},
		{"capital letters count", []string{"/", "NEEDLE", "enter"}, "› Head"},
		{"nothing", []string{"/", "nowhere", "enter"}, "› Head"},
		{"given up", []string{"/", "line 7", "esc"}, "› Head"},
		{"unfolds", []string{"/", "folded", "enter", "enter"}, "›-unfolded"},
		{"and folds", []string{"/", "folded", "enter", "enter", "enter"}, "›+folded …"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := pager()
			press(t, p, tt.keys...)
			for _, row := range rows(t, p, 40, 12) {
				if strings.HasPrefix(row, "›") {
					if !strings.HasPrefix(row, tt.want) {
						t.Errorf("the cursor is on %q, want %q", row, tt.want)
					}
					return
				}
			}
			t.Error("there is no cursor")
		})
	}
}

func TestPagerSays(t *testing.T) {
	for _, tt := range []struct {
		name string
		keys []string
		want any
	}{
		{"copies the part", []string{"tab", "j", "y"}, copied{Text: "the whole body", What: "body"}},
		{"copies the line", []string{"tab", "j", "Y"}, copied{Text: "line 0", What: "line"}},
		{"copies what is folded", []string{"/", "folded", "enter", "Y"}, copied{Text: "unfolded\nwith Needle\nin it", What: "line"}},
		{"acts", []string{"tab", "c"}, acted{Key: "c"}},
		{"a letter of the query is no key", []string{"/", "c", "enter", "c"}, acted{Key: "c"}},
		{"closes", []string{"esc"}, dialog.Left{}},
		{"closes as less does", []string{"q"}, dialog.Left{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := press(t, pager(dialog.PageKey{Key: "c", Help: "curl", Do: func() tea.Cmd { return says(acted{"c"}) }}), tt.keys...); got != tt.want {
				t.Errorf("got %#v, want %#v", got, tt.want)
			}
		})
	}
}

// TestPagerGrows: text added at the end moves the cursor only if it is at the end.
func TestPagerGrows(t *testing.T) {
	more := func(p *dialog.Pager) {
		parts := pages()
		parts[1].Lines = append(parts[1].Lines, format.Line{Text: "the latest"})
		p.SetParts("running", parts)
	}
	for _, tt := range []struct{ key, want string }{{"G", "› the latest"}, {"tab", "› Body"}} {
		p := pager()
		press(t, p, tt.key)
		more(p)
		if view := strings.Join(rows(t, p, 40, 12), "\n"); !strings.Contains(view, tt.want) || !strings.Contains(view, "running") {
			t.Errorf("after %s:\n%s", tt.key, view)
		}
	}
}

// TestPagerWraps: no part of a long line is lost, at any width.
func TestPagerWraps(t *testing.T) {
	text := strings.Repeat("wide 世界 e\u0301 👨‍👩‍👧 ", 20) + "\x1b[2J\u202e" + strings.Repeat("plain ", 50)
	for width := 1; width < 60; width++ {
		p := dialog.Pages("x", []format.Part{{Title: "T", Lines: []format.Line{{Text: text}}}}, theme.Dark())
		joined := ""
		for _, row := range rows(t, p, width, 5000) {
			if width > 4 {
				joined += strings.TrimPrefix(strings.TrimPrefix(row, "›"), "  ")
			}
		}
		if width > 4 && (strings.Count(joined, "世界") < 15 || strings.Count(strings.ReplaceAll(joined, " ", ""), "plain") != 50) {
			t.Fatalf("at a width of %d something is missing:\n%s", width, joined)
		}
	}
}

// FuzzPager scrolls through any text, with any keys.
func FuzzPager(f *testing.F) {
	f.Add("a\x1b[2J", "b\nc", "jjG/a\rnN[]yY", uint8(40), uint8(12))
	f.Add("", "", "\r", uint8(0), uint8(0))
	f.Fuzz(func(t *testing.T, text, full, keys string, width, height uint8) {
		p := dialog.Pages(text, []format.Part{{Title: text, Source: full, Lines: []format.Line{{Text: text, Full: full}, {Text: full}}}, {Note: full}}, theme.Dark())
		rows(t, p, int(width), int(height))
		for _, key := range keys {
			name := string(key)
			if key == '\r' {
				name = "enter"
			}
			press(t, p, name)
			rows(t, p, int(width), int(height))
		}
		p.SetParts(full, nil)
		rows(t, p, int(width), int(height))
	})
}

// BenchmarkPager lays out the longest possible exchange, in one line.
func BenchmarkPager(b *testing.B) {
	parts := []format.Part{{Title: "T", Lines: []format.Line{{Text: strings.Repeat("0123456789", 200_000)}}}}
	p := dialog.Pages("x", parts, theme.Dark())
	p.SetSize(80, 24)
	b.SetBytes(2_000_000)
	for b.Loop() {
		p.SetParts("", parts)
		p.View()
	}
}

// Enter closes a pager in which no line can be unfolded.
func TestPagerEnter(t *testing.T) {
	for full, want := range map[string]tea.Msg{"": dialog.Left{}, "all of it": nil} {
		p := dialog.Pages("Text", []format.Part{{Title: "Part", Lines: []format.Line{{Text: "a line"}, {Text: "short", Full: full}}}}, theme.Plain())
		rows(t, p, 60, 12)
		if got := press(t, p, "enter"); got != want {
			t.Errorf("with %q folded: %#v", full, got)
		}
	}
}
