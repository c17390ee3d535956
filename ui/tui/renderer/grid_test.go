package renderer

import (
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"
)

// on returns a screen on a terminal without Run: tests paint.
func on(out io.Writer, w, h int) *Screen {
	s := New(Terminal{
		Out: out, Profile: colorprofile.TrueColor,
		Size: func() (int, int, error) { return w, h, nil },
		Raw:  func() error { return nil }, Cooked: func() error { return nil },
	})
	s.resize(w, h)
	if err := s.Enter(); err != nil {
		panic(err)
	}
	return s
}

// show paints content, with the cursor at x, y.
func (s *Screen) show(content string, x, y int) {
	s.Show(tea.View{Content: content, AltScreen: true, Cursor: tea.NewCursor(x, y)})
	s.paint()
}

// pieces holds parts of rows: plain and styled text, links, and characters whose
// width terminals agree or disagree on.
var pieces = []string{
	"a", "bc", "word ", "  ", "            ", "-----", "é", "e\u0301", "ñandú", "字", "汉字 kanji", "한글", "─│┌", "→", "…",
	"👍", "👨\u200d👩\u200d👧\u200d👦", "🏳\ufe0f\u200d🌈", "❤\ufe0f", "1\ufe0f\u20e3", "🇩🇪", "👍🏽", "✓", "⚠", "ไทย", "नमस्ते", "ﷺ",
	"\x1b[1m", "\x1b[2m", "\x1b[3;4m", "\x1b[31m", "\x1b[38;5;9m", "\x1b[38;2;1;2;3m", "\x1b[38;2;128;0;0m", "\x1b[44m", "\x1b[48;2;9;9;9m", "\x1b[7m", "\x1b[9m",
	"\x1b[22m", "\x1b[24m", "\x1b[27m", "\x1b[39m", "\x1b[49m", "\x1b[4:3m", "\x1b[m", "\x1b[m", "\x1b[0m", "\x1b[0m",
	"\x1b]8;;https://example.com\x1b\\", "\x1b]8;id=1;https://example.org/a\a", "\x1b]8;;\x1b\\", "\x1b]8;;\a", "x\x1b[31m\u0301",
	"\x1b]8;;https://a\x00b\a", "\x1b]8;;https://\u009d0x\a", "\x1b]8;id=\x7f;https://c\x1b\\", "\x1b]8;;https://\xff\a",
}

// line returns a random row of at most w cells.
func line(r *rand.Rand, w int) string {
	var b strings.Builder
	for range r.IntN(12) {
		p := pieces[r.IntN(len(pieces))]
		if ansi.StringWidth(b.String()+p) > w {
			break
		}
		b.WriteString(p)
	}
	if r.IntN(3) > 0 {
		b.WriteString("\x1b[m\x1b]8;;\a")
	}
	return b.String()
}

// edit changes rows as a screen does: a character, a row, a scrolled part, or everything.
func edit(r *rand.Rand, rows []string, w int) {
	h := len(rows)
	y := r.IntN(h)
	switch r.IntN(8) {
	case 0, 1:
		if row := rows[y] + "x"; ansi.StringWidth(row) <= w {
			rows[y] = row
		}
	case 2:
		rows[y] = line(r, w)
	case 3:
		rows[y] = ansi.Truncate(rows[y], r.IntN(w+1), "")
	case 4, 5:
		top, by := r.IntN(h), 1+r.IntN(h)
		bottom := top + r.IntN(h-top) + 1
		part := rows[top:bottom]
		for range min(by, len(part)) {
			if r.IntN(4) > 0 {
				copy(part, part[1:])
				part[len(part)-1] = line(r, w)
			} else {
				copy(part[1:], part)
				part[0] = line(r, w)
			}
		}
	case 6:
		rows[y] = ""
	case 7:
		if r.IntN(4) == 0 {
			for y := range rows {
				rows[y] = line(r, w)
			}
		}
	}
}

// TestFrames: after any sequence of frames, the terminal shows the last one,
// even if it draws emoji with other widths than ours, or other colors.
func TestFrames(t *testing.T) {
	for _, clusters := range []bool{true, false} {
		for seed := range uint64(60) {
			t.Run(fmt.Sprintf("clusters=%v/%d", clusters, seed), func(t *testing.T) {
				r := rand.New(rand.NewPCG(seed, 1))
				w, h := 1+r.IntN(60), 1+r.IntN(20)
				v := newTerminal(t, w, h)
				v.Clusters = clusters
				s := on(v, w, h)
				s.updateSettings(func(k *settings) { k.clusters, k.syncUpdates = clusters, r.IntN(2) == 0 })
				rows := make([]string, h)
				for range 60 {
					for range 1 + r.IntN(3) {
						edit(r, rows, w)
					}
					switch r.IntN(30) {
					case 0:
						w, h = 1+r.IntN(60), 1+r.IntN(20)
						rows = make([]string, h)
						for y := range rows {
							rows[y] = line(r, w)
						}
						v.resize(w, h)
						s.resize(w, h)
					case 1:
						v.resize(w, h) // it lost its content
						s.Redraw()
					}
					content, x, y := strings.Join(rows, "\n"), r.IntN(w), r.IntN(h)
					s.show(content, x, y)
					v.shows(content)
					if v.X != x || v.Y != y || !v.On("25") {
						t.Fatalf("the cursor is at %d,%d, want %d,%d; it is seen: %v", v.X, v.Y, x, y, v.On("25"))
					}
				}
				s.leave()
			})
		}
	}
}
