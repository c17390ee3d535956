package dialog_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"parley/tools/sanitize"
	"parley/ui/theme"
	"parley/ui/tui/dialog"
)

var (
	yes = confirmed{Yes: true}
	no  = confirmed{}
)

// confirm asks text, with its own clock.
func confirm(text string) (*dialog.Confirmation, *clock) {
	c := &clock{time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)}
	q := dialog.Confirm(text, "delete", "keep", theme.Dark())
	q.Gate.Now = c.now
	q.SetSize(40, 10)
	listen(q)
	return q, c
}

// answer presses keys in q and returns its answer, if any.
func answer(t *testing.T, q *dialog.Confirmation, keys ...string) (got tea.Msg) {
	t.Helper()
	for _, key := range keys {
		if said, ok := press(t, q, key).(confirmed); ok {
			got = said
		}
	}
	return got
}

// Key hints are in lower case, however the answers begin.
func TestConfirmHint(t *testing.T) {
	q := dialog.Confirm("Sure?", "Trust", "Don't trust", theme.Plain())
	q.Harmless = true
	expect(t, q, 40, 10, "y trust   n don't trust")
}

func TestConfirm(t *testing.T) {
	for name, c := range map[string]struct {
		keys []string
		want any
	}{
		"y":                       {[]string{"y"}, yes},
		"n":                       {[]string{"n"}, no},
		"esc":                     {[]string{"esc"}, no},
		"no is selected":          {[]string{"enter"}, no},
		"yes, by selecting it":    {[]string{"left", "enter"}, yes},
		"and back":                {[]string{"tab", "shift+tab", "enter"}, no},
		"other keys mean nothing": {[]string{"x", "ctrl+y", "space", "down"}, nil},
		"a paste is no key":       {[]string{"paste:y"}, nil},
		"once only":               {[]string{"n", "y"}, no},
	} {
		t.Run(name, func(t *testing.T) {
			harmless := dialog.Confirm("Delete all?", "delete", "keep", theme.Plain())
			harmless.Harmless = true
			if got := press(t, harmless, c.keys...); got != c.want {
				t.Errorf("harmless, not painted: got %#v, want %#v", got, c.want)
			}
			q, clock := confirm("Delete all?")
			rows(t, q, 40, 10)
			q.Drawn(clock.now())
			var got any
			for _, key := range c.keys {
				clock.pass(400)
				if said := answer(t, q, key); said != nil {
					got = said
				}
			}
			if got != c.want {
				t.Errorf("seen, with pauses: got %#v, want %#v", got, c.want)
			}
		})
	}
}

// An unasked question is answered by y and n after a pause, and by enter only if the user is not typing. The
// rest of the typed text goes to the composer.
func TestUnaskedConfirm(t *testing.T) {
	for name, tt := range map[string]struct {
		typed string
		left  string
		want  any
	}{
		"a sentence with n and y": {"explain why", "explain why", nil},
		"a word of no more":       {"why", "why", nil},
		"y":                       {"y", "", yes},
		"n":                       {"n", "", no},
	} {
		t.Run(name, func(t *testing.T) {
			q, clock := confirm("Trust this folder?")
			q.Unasked = true
			rows(t, q, 40, 10)
			q.Drawn(clock.now())
			clock.pass(400)
			left, got := "", any(nil)
			for _, letter := range tt.typed {
				switch said := press(t, q, string(letter)).(type) {
				case typed:
					left += said.Msg.(tea.KeyPressMsg).Text
				case confirmed:
					got = said
				}
				clock.pass(80)
			}
			if tt.want == nil {
				clock.pass(10_000)
				got = answer(t, q, "enter")
			}
			if left != tt.left || got != tt.want {
				t.Errorf("left %q, want %q; answered %#v, want %#v", left, tt.left, got, tt.want)
			}
		})
	}
}

func TestConfirmLooks(t *testing.T) {
	q := dialog.Confirm("Delete\tall?\n\x1b[2J"+strings.Repeat("long ", 40), "delete", "keep", theme.Plain())
	q.Harmless = true
	expect(t, q, 40, 24, "Delete    all?", "␛[2Jlong", "delete  › keep", "y delete   n keep", "not: scroll")
	toPlainLines(t, q, "tab")
	expect(t, q, 40, 6, "› delete    keep", "↑ ↓ scroll")
	toPlainLines(t, q, "end")
	expect(t, q, 40, 6, "long long", "not: all?")
}

// Text typed before the question appeared, or before it could be read, is no
// consent. Refusing works at once.
func TestYesSleepsUntilTheQuestionWasSeen(t *testing.T) {
	for name, ask := range map[string]func(q *dialog.Confirmation, c *clock){
		"before anything was drawn":     func(q *dialog.Confirmation, c *clock) {},
		"before it was painted":         func(q *dialog.Confirmation, c *clock) { q.View(); c.pass(10_000) },
		"as it is painted":              func(q *dialog.Confirmation, c *clock) { q.View(); q.Drawn(c.now()) },
		"299 ms later":                  func(q *dialog.Confirmation, c *clock) { q.View(); q.Drawn(c.now()); c.pass(299) },
		"painted without having a view": func(q *dialog.Confirmation, c *clock) { q.Drawn(c.now()); c.pass(10_000) },
		"in a window too narrow to read": func(q *dialog.Confirmation, c *clock) {
			q.SetSize(15, 10)
			q.View()
			q.Drawn(c.now())
			c.pass(10_000)
		},
		"in a window without rows": func(q *dialog.Confirmation, c *clock) { q.SetSize(40, 0); q.View(); q.Drawn(c.now()); c.pass(10_000) },
		"399 ms after another key": func(q *dialog.Confirmation, c *clock) {
			q.View()
			q.Drawn(c.now())
			c.pass(10_000)
			q.Update(tea.KeyPressMsg{Code: 'x', Text: "x"})
			c.pass(399)
		},
		"399 ms after a paste": func(q *dialog.Confirmation, c *clock) {
			q.View()
			q.Drawn(c.now())
			c.pass(10_000)
			q.Update(tea.PasteMsg{Content: "x"})
			c.pass(399)
		},
	} {
		for _, key := range []string{"y", "tab enter", "n", "esc", "enter"} {
			q, clock := confirm("Trust it?")
			ask(q, clock)
			var want tea.Msg = no
			if key == "y" || key == "tab enter" {
				want = nil
			}
			got := answer(t, q, strings.Fields(key)...)
			if got != want {
				t.Errorf("%s %s is answered by %#v, want %#v", name, key, got, want)
			}
		}
	}
}

func TestYesWakesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, clock := confirm("Trust it?")
		if q.Drawn(clock.now()) != nil {
			t.Error("nothing was drawn yet")
		}
		asleep := q.View()
		settled := q.Drawn(clock.now())
		if settled == nil || q.Drawn(clock.now()) != nil {
			t.Fatal("yes is not woken up, or twice")
		}
		clock.pass(300)
		if again := q.Update(settled()); again != nil || q.View() == asleep {
			t.Error("yes is still faint 300 ms later")
		}
		if got := press(t, q, "y"); got != yes {
			t.Errorf("300 ms after it was painted: %#v", got)
		}
	})
}

// A yes requires that all of the text was read, however the user scrolls.
func TestYesSleepsUntilTheTextWasRead(t *testing.T) {
	text := "Trust this folder?" + strings.Repeat("\nharmless", 30) + "\nruns: rm -rf ~"
	paint := func(q *dialog.Confirmation, c *clock) string {
		view := screen(t, q, 40, 10)
		q.Drawn(c.now())
		c.pass(400)
		return view
	}
	t.Run("page by page", func(t *testing.T) {
		q, clock := confirm(text)
		for page := 0; ; page++ {
			view := paint(q, clock)
			if strings.Contains(view, "rm -rf") {
				break
			}
			if !strings.Contains(view, "pgdn read to the end (") || !strings.Contains(view, ") · n keep") || page > 9 {
				t.Fatalf("page %d does not lead on:\n%s", page, view)
			}
			if answer(t, q, "y") != nil {
				t.Fatalf("page %d: yes without having seen the end", page)
			}
			clock.pass(400)
			press(t, q, "pgdown")
		}
		expect(t, q, 40, 10, "y delete   n keep")
		if got := press(t, q, "y"); got != yes {
			t.Errorf("read to its end: %#v", got)
		}
	})
	t.Run("jump to the end", func(t *testing.T) {
		q, clock := confirm(text)
		paint(q, clock)
		press(t, q, "end")
		paint(q, clock)
		expect(t, q, 40, 10, "rm -rf", "pgup ")
		if answer(t, q, "y") != nil {
			t.Error("yes with the middle unseen")
		}
	})
	t.Run("another width on the way", func(t *testing.T) {
		q, clock := confirm(text)
		paint(q, clock)
		rows(t, q, 30, 10)
		press(t, q, "end")
		paint(q, clock)
		if answer(t, q, "y") != nil {
			t.Error("yes with the middle unseen")
		}
	})
	t.Run("another size when all was seen", func(t *testing.T) {
		q, clock := confirm(text)
		rows(t, q, 80, 60)
		q.Drawn(clock.now())
		clock.pass(400)
		rows(t, q, 30, 8)
		if got := press(t, q, "y"); got != yes {
			t.Errorf("got %#v", got)
		}
	})
}

// TestDecideHintsAtWhatWorks verifies that the keys in the hint below a list work: enter
// is listed only while an answer is selected.
func TestDecideHintsAtWhatWorks(t *testing.T) {
	q := dialog.Decide("What now?", []string{"Go on", "Wait", "Stop"}, 0, theme.Dark())
	q.Harmless = true
	listen(q)
	q.SetSize(60, 20)
	if view := ansi.Strip(q.View()); !strings.Contains(view, "enter choose") {
		t.Errorf("with an answer selected:\n%s", view)
	}
	q.Update(tea.KeyPressMsg{Code: 'b', Text: "b"})
	if view := ansi.Strip(q.View()); strings.Contains(view, "enter choose") || !strings.Contains(view, "select") {
		t.Errorf("with none selected:\n%s", view)
	}
	if cmd := q.Update(tea.KeyPressMsg{Code: tea.KeyEnter}); cmd != nil {
		t.Errorf("enter answered with none selected: %v", cmd())
	}
	q.Update(tea.KeyPressMsg{Code: tea.KeyDown})
	if view := ansi.Strip(q.View()); !strings.Contains(view, "enter choose") {
		t.Errorf("with an answer selected again:\n%s", view)
	}
}

// Each row of a quote has its mark, however long its lines are, so that none looks like the
// question itself.
func TestConfirmMarksQuotes(t *testing.T) {
	fake := strings.Repeat("x", 36) + "── User " + strings.Repeat("many words ", 20) + "\nAllow?"
	for _, width := range []int{10, 38, 40, 77} {
		q := dialog.Confirm("A server asks:\n\n"+sanitize.Quote(fake), "yes", "no", theme.Plain())
		q.SetSize(width, 200)
		_, quoted, _ := strings.Cut(ansi.Strip(q.View()), ">")
		for row := range strings.SplitSeq(">"+quoted, "\n") {
			if row = strings.Trim(row, "▌ "); row == "" {
				break // the answers are below
			} else if !strings.HasPrefix(row, ">") {
				t.Errorf("at %d cells: %q has no mark", width, row)
			}
		}
	}
}
