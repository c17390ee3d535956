package transcript

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"parley/ui/theme"
)

// fillTurns adds the turns from..to of a conversation: prompts, thinking, calls, and answers
// with and without code.
func fillTurns(m *Model, from, to int) {
	for i := from; i < to; i++ {
		r := rand.New(rand.NewPCG(uint64(i), 1))
		m.Blocks.SetMessageSeq(2*i + 1)
		m.Blocks.AddUser(fmt.Sprintf("prompt %d: which word%d is it?", i, i%7))
		m.Blocks.SetMessageSeq(2*i + 2)
		if r.IntN(2) == 0 {
			id := m.Blocks.NewID()
			m.Blocks.AppendThinking(id, "hm\n\nperhaps so")
			m.Blocks.FinishThinking(id, time.Second)
		}
		for range r.IntN(4) {
			m.Blocks.SetTool(m.Blocks.NewID(), Tool{Name: "read", Title: "file.go", Status: Done, Output: "one\ntwo"})
		}
		id := m.Blocks.NewID()
		text := fmt.Sprintf("answer %d\n\nwith word%d", i, i%5)
		for n := range r.IntN(6) {
			text += fmt.Sprintf("\n\nparagraph %d of some words", n)
		}
		if r.IntN(3) == 0 {
			text += "\n\n```go\nfunc f() {}\n```\n"
		}
		m.Blocks.AppendAnswer(id, text)
		m.Blocks.FinishAnswer(id)
		m.Blocks.AddFooter("model · 1s")
	}
	m.Blocks.SetMessageSeq(0)
}

// inPages returns a transcript of turns. The last one is loaded; the others are loaded
// in pages when needed; loaded counts the pages.
func inPages(turns int, r *rand.Rand) (m *Model, loaded *int) {
	m, loaded = New(theme.Dark()), new(int)
	m.SetSize(60, 12)
	from := turns - 1
	fillTurns(m, from, turns)
	blocks := func(n int) int {
		whole := New(theme.Dark())
		fillTurns(whole, 0, n)
		return len(whole.Blocks.items)
	}
	first := 0
	left := func() int { return blocks(from) - blocks(first) }
	SetOlder(m, Older{
		Load: func() bool {
			if from == first {
				return false
			}
			*loaded++
			to := from
			from = max(first, from-1-r.IntN(3))
			page := NewPage(m)
			fillTurns(page, from, to)
			Prepend(m, page)
			return true
		},
		Next: func() bool {
			if from-first < 2+r.IntN(4) {
				return false
			}
			*loaded++
			begin := first
			first += 1 + r.IntN(min(3, from-first))
			page := NewPage(m)
			fillTurns(page, begin, first)
			Extend(m, page)
			return true
		},
		Left: left,
	})
	return m, loaded
}

// A conversation loaded in pages looks like a complete one, wherever the user
// scrolls while another answer arrives.
func TestPagesReadAsTheWhole(t *testing.T) {
	keys := []string{"j", "k", "j", "k", "J", "K", "{", "}", "g", "G", "/", "n", "N", "v", "space", "o", "y", "ctrl+u", "ctrl+d", "esc"}
	seeds := uint64(60)
	if long {
		seeds = 200
	}
	names := slices.Sorted(maps.Keys(awkward))
	for seed := range seeds {
		r := rand.New(rand.NewPCG(seed, 2))
		turns := 4 + r.IntN(12)
		whole := New(theme.Dark())
		whole.SetSize(60, 12)
		fillTurns(whole, 0, turns)
		paged, _ := inPages(turns, r)
		said, rest := "", awkward[names[r.IntN(len(names))]]
		both := func(name string, do func(*Model)) {
			said += name + " "
			do(whole)
			do(paged)
		}
		for step := range 60 {
			switch n := r.IntN(15); n {
			case 14: // the next answer arrives
				piece := rest[:min(1+r.IntN(40), len(rest))]
				rest = rest[len(piece):]
				both(fmt.Sprintf("arrives(%q)", piece), func(m *Model) { m.Blocks.AppendAnswer("live", piece) })
			case 0:
				lines := r.IntN(30) - 20
				both(fmt.Sprintf("scroll(%d)", lines), func(m *Model) { m.Scroll(lines) })
			case 1:
				both("pageup", func(m *Model) { m.Page(-0.9) })
			case 2:
				both("pagedown", func(m *Model) { m.Page(0.9) })
			case 3:
				both("prev", (*Model).PrevUser)
			case 4:
				both("next", (*Model).NextUser)
			case 5:
				seq := 1 + r.IntN(2*turns)
				both(fmt.Sprintf("show(%d)", seq), func(m *Model) { m.ShowMessage(seq) })
			case 6:
				w, h := 20+r.IntN(60), 4+r.IntN(20)
				both(fmt.Sprintf("size(%d,%d)", w, h), func(m *Model) { m.SetSize(w, h) })
			case 7:
				both("browse", func(m *Model) { m.Browse(!m.Browsing()) })
			case 8:
				if r.IntN(2) == 0 {
					both("top", (*Model).Top)
				} else {
					both("bottom", (*Model).Bottom)
				}
			case 9:
				word := fmt.Sprintf("word%d", r.IntN(7))
				both("search "+word, func(m *Model) { Search(m, word) })
			default:
				key := keys[r.IntN(len(keys))]
				var copied []tea.Msg
				both(key, func(m *Model) {
					if m.Typing() {
						m.Update(tea.KeyPressMsg{Code: tea.KeyEscape})
						return
					}
					if msg := press(m, key); key == "y" {
						copied = append(copied, msg)
					}
				})
				if len(copied) == 2 && copied[0] != copied[1] {
					t.Fatalf("seed %d, step %d, %s: copied\n%v\nas a whole\n%v", seed, step, said, copied[1], copied[0])
				}
			}
			if want, got := whole.View(), paged.View(); want != got {
				t.Fatalf("seed %d, step %d, %s:\nin pages\n%s\nas a whole\n%s", seed, step, said, got, want)
			}
		}
		if a, b := whole.LastAnswer(), paged.LastAnswer(); a != b {
			t.Errorf("seed %d: last answer %q, %q", seed, b, a)
		}
		a, okA := whole.LastCode()
		b, okB := paged.LastCode()
		if a != b || okA != okB {
			t.Errorf("seed %d: last code %q, %q", seed, b, a)
		}
	}
}

// Pages are loaded only when they are visible or requested.
func TestPagesComeWhenWanted(t *testing.T) {
	m, loaded := inPages(200, rand.New(rand.NewPCG(1, 1)))
	m.View()
	m.Browse(true)
	m.View()
	m.Browse(false)
	if m.LastAnswer(); *loaded > 2 {
		t.Errorf("%d pages for the last screen", *loaded)
	}
	m.Page(-1)
	m.View()
	if *loaded > 6 {
		t.Errorf("%d pages for one screen up", *loaded)
	}
	m.Top()
	if m.View(); *loaded > 20 {
		t.Errorf("%d pages at the top", *loaded)
	}
	m.Page(2)
	m.View()
	m.Bottom()
	if m.View(); *loaded > 30 {
		t.Errorf("%d pages for the beginning", *loaded)
	}
	if Search(m, "word1"); *loaded < 60 {
		t.Errorf("%d pages to search", *loaded)
	}
}
