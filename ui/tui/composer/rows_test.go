package composer_test

import (
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"parley/ui/theme"
	"parley/ui/tui/composer"
)

// Arrows at the right edge show that the text continues above or below.
func TestScrollMarks(t *testing.T) {
	for keys, want := range map[string]string{
		"":            "3         ↑|4|5",
		"up up":       "3         ↑|4|5",
		"up up up":    "2         ↑|3|4         ↓",
		"up up up up": "1|2|3         ↓",
		"up up down":  "3         ↑|4|5",
	} {
		m := composer.New(theme.Plain())
		m.SetSize(11, 9)
		m.SetTextRows(3)
		m.SetValue("1\n2\n3\n4\n5")
		play(t, m, strings.Fields(keys)...)
		if got := strings.ReplaceAll(ansi.Strip(m.View()), "\n", "|"); got != want {
			t.Errorf("%s: got %s, want %s", keys, got, want)
		}
	}
	m := composer.New(theme.Plain())
	m.SetSize(1, 1)
	m.SetValue("1\n2")
	if got := ansi.Strip(m.View()); got != "2" {
		t.Errorf("in one cell: %q", got)
	}
}

// A walk through the history keeps the draft, unless a prompt of the history is changed.
func TestDraftWhileWalking(t *testing.T) {
	for _, c := range []struct{ own, keys, want string }{
		{"mine", "", "mine"}, {"mine", "up", "mine"}, {"mine", "up x", "lastx"}, {"mine", "up up", "mine"}, {"", "up", "last"}, {"mine", "up down", "mine"},
		{"mine", "ctrl+r la", "mine"},
	} {
		m := composer.New(theme.Plain())
		m.SetSize(40, 5)
		m.Recall.Remember("first")
		m.Recall.Remember("last")
		m.SetValue(c.own)
		play(t, m, strings.Fields(c.keys)...)
		if got := m.Recall.Draft(); got != c.want {
			t.Errorf("%q, %s: the draft is %q, want %q", c.own, c.keys, got, c.want)
		}
	}
}

// A search ignores case unless the query has a capital letter.
func TestSearchCase(t *testing.T) {
	for query, want := range map[string]string{"make": "Make it", "Make": "Make it", "it": "Make it", "old": "the old one", "Old": ""} {
		m := composer.New(theme.Plain())
		m.SetSize(40, 5)
		m.Recall.Remember("the old one")
		m.Recall.Remember("Make it")
		play(t, m, "ctrl+r", query, "enter")
		if got := m.Value(); got != want {
			t.Errorf("%s: got %q, want %q", query, got, want)
		}
	}
}

// A prompt taken from the queue returns to its place, unless it was deleted completely.
func TestRequeued(t *testing.T) {
	for keys, want := range map[string]bool{"x": true, "backspace backspace": true, "backspace backspace backspace x": false} {
		m := composer.New(theme.Plain())
		m.SetSize(40, 5)
		m.SetValue("one")
		m.Queue.MarkRequeued()
		for _, key := range strings.Fields(keys) {
			play(t, m, key)
		}
		m.Update(tea.KeyPressMsg{Code: tea.KeyEnter})
		if sent := m.TakeSubmitted(); len(sent) != 1 || sent[0].Requeued != want {
			t.Errorf("%s: sent %+v, want %t", keys, sent, want)
		}
	}
}

// The sign of a shell line, pastes, and characters that are made visible have the accent.
func TestAccents(t *testing.T) {
	th := theme.Dark()
	accent := theme.NewSGR(th.Accent)
	for in, want := range map[string]string{"ls": "", "!ls": "!", "a!ls": "", "a\u200bb": "<U+200B>", strings.Repeat("x\n", 50): "[pasted 50 lines]"} {
		m := composer.New(th)
		m.SetSize(40, 5)
		if len(in) > 50 {
			play(t, m, "paste:"+in)
		} else {
			m.SetValue(in)
		}
		_, rest, _ := strings.Cut(m.View(), accent.On)
		if got, _, _ := strings.Cut(rest, accent.Off); ansi.Strip(got) != want {
			t.Errorf("%.10q: accented is %q, want %q", in, got, want)
		}
		if m.Len() != len(in) {
			t.Errorf("%.10q has %d bytes, want %d", in, m.Len(), len(in))
		}
	}
}
