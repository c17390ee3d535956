package composer_test

import (
	"fmt"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"parley/ui/theme"
	"parley/ui/tui/composer"
)

// TestPlain verifies that text of others is neither a command nor a shell line
// when it is sent unread, nor when it is restored later.
func TestPlain(t *testing.T) {
	long := strings.Repeat("x", 70_000)
	for name, c := range map[string]struct{ text, want string }{
		"words":                          {"hello", "hello"},
		"nothing":                        {"", ""},
		"a command":                      {"/quit", " /quit"},
		"a line for the shell":           {"!rm -rf ~", " !rm -rf ~"},
		"behind a space":                 {" !ls", " !ls"},
		"behind what is not sent":        {"\x00\x1b\u009b!ls", " !ls"},
		"behind a line end":              {"\r\n!ls", "\n!ls"},
		"a command behind invalid bytes": {"\xff/quit", "\uFFFD/quit"},
		"a long line for the shell":      {"!" + long, " !" + long},
		"a long command":                 {"/attach " + long, " /attach " + long},
	} {
		t.Run(name, func(t *testing.T) {
			m := composer.New(theme.Plain())
			m.SetSize(40, 5)
			m.SetPromptText(c.text)
			if got := m.Value(); got != c.want || m.Shell() {
				t.Errorf("holds %.60q, want %.60q; for the shell: %v", got, c.want, m.Shell())
			}
			if c.want == "" {
				return
			}
			for _, way := range [][]string{{"enter"}, {"up", "enter"}} {
				if sent := play(t, m, way...); len(sent) != 1 || sent[0] != c.want {
					t.Errorf("%q sent %.80q", way, sent)
				}
			}
		})
	}
}

// A large paste is not a command, even if it begins like one, nor is its stored
// form, as a draft or in the history.
func TestPastedCommand(t *testing.T) {
	for _, sign := range []string{"/", "!"} {
		pasted := sign + "x" + strings.Repeat(" y", 2000)
		m := composer.New(theme.Plain())
		m.SetSize(40, 5)
		play(t, m, "paste:"+pasted)
		if got, want := m.Value(), " "+pasted; got != want {
			t.Errorf("the draft is %.20q, want %.20q", got, want)
		}
		m.Update(tea.KeyPressMsg{Code: tea.KeyEnter})
		if sent := m.TakeSubmitted(); len(sent) != 1 || sent[0].Text != pasted || sent[0].Shell || !sent[0].Plain {
			t.Errorf("sends %.50q", fmt.Sprint(sent))
		}
		if play(t, m, "up"); m.Value() != " "+pasted || m.Shell() {
			t.Errorf("the history holds %.20q", m.Value())
		}
	}
}

// An editor gets the full text of chips, which become chips again afterwards.
func TestEditorKeepsChips(t *testing.T) {
	first, second := strings.Repeat("one\n", 50), strings.Repeat("two ", 1000)
	for name, c := range map[string]struct {
		edit func(string) string
		want string
	}{
		"nothing changed":           {func(s string) string { return s }, "see [pasted 50 lines] and [pasted 4.0 KB]!"},
		"changed around":            {func(s string) string { return "look: " + s[4:] + "?" }, "look: [pasted 50 lines] and [pasted 4.0 KB]!?"},
		"one is gone":               {func(s string) string { return strings.Replace(s, second, "that", 1) }, "see [pasted 50 lines] and that!"},
		"emptied":                   {func(string) string { return "" }, ""},
		"only one, without its end": {func(string) string { return "x" + strings.TrimSpace(first) }, "x[pasted 50 lines]"},
		"letters that join":         {func(s string) string { return strings.Replace(s, "see ", "see\u0301", 1) }, "see\u0301[pasted 50 lines] and [pasted 4.0 KB]!"},
	} {
		t.Run(name, func(t *testing.T) {
			m := composer.New(theme.Plain())
			m.SetSize(80, 5)
			play(t, m, "see ", "paste:"+first, " and ", "paste:"+second, "!")
			m.SetValue(c.edit(m.Value()))
			if got := ansi.Strip(m.View()); got != c.want {
				t.Errorf("shows %q, want %q", got, c.want)
			}
		})
	}
}

// A paste changed in the editor stays a chip, and the text typed around it
// stays visible.
func TestEditorChangesAChip(t *testing.T) {
	m := composer.New(theme.Plain())
	m.SetSize(80, 5)
	play(t, m, "see ", "paste:"+strings.Repeat("one\n", 50), " and so on")
	edited := strings.Replace(m.Value(), "one\n", "two\nthree\n", 1)
	m.SetValue(edited)
	if got, want := ansi.Strip(m.View()), "see [pasted 51 lines] and so on"; got != want || m.Value() != edited {
		t.Errorf("shows %q, want %q", got, want)
	}
}

// The history is limited in bytes, but keeps the last prompt regardless of its length.
func TestHistoryIsBounded(t *testing.T) {
	m := composer.New(theme.Plain())
	m.SetSize(80, 5)
	for _, sign := range []string{"a", "b", "c"} {
		m.Recall.Remember(strings.Repeat(sign, 7<<20))
	}
	if play(t, m, "up", "up", "up", "up"); m.Value()[0] != 'b' {
		t.Errorf("the oldest is %.3q", m.Value())
	}
	m.Reset()
	m.Recall.Remember(strings.Repeat("d", 20<<20))
	if play(t, m, "up", "up"); m.Value()[0] != 'd' {
		t.Errorf("the oldest is %.3q", m.Value())
	}
}
