package compare

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"parley/providers/llm"
	"parley/session"
	"parley/ui/app/candidates"
	"parley/ui/theme"
	"parley/ui/tui/dialog"
)

// An unchanged frame costs nothing.
func TestCompareCached(t *testing.T) {
	c := newDialog(&candidates.Prompt{Names: []string{"a/a", "b/b", "c/c"}}, theme.Dark(), true)
	c.SetSize(130, 40)
	for n := range 3 {
		c.Apply(session.CandidateEvent{N: n, Event: llm.Delta{Block: "a", Part: llm.Part{Kind: llm.Text, Text: strings.Repeat("some words\n\n", 50)}}}, time.Unix(0, 0))
	}
	c.View()
	if n := testing.AllocsPerRun(10, func() { c.View() }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

// A compared dialog records what it does.
type compared struct {
	*Dialog
	did []string
}

// compare returns a dialog of 130 × 9 cells without colors.
func compare(names ...string) *compared {
	c := &compared{Dialog: newDialog(&candidates.Prompt{Names: names}, theme.Plain(), true)}
	c.goOn = func(n int) tea.Cmd { c.did = append(c.did, fmt.Sprint("continue with ", n)); return nil }
	c.stop = func() tea.Cmd { c.did = append(c.did, "stop"); return nil }
	c.Attach(dialog.Root{Copy: func(text, what string) tea.Cmd {
		c.did = append(c.did, fmt.Sprintf("copy %s as %s", text, what))
		return nil
	}})
	c.SetSize(130, 9)
	return c
}

// says applies the text of an answer, and answers also its end.
func (c *compared) says(n int, text string) {
	c.Apply(session.CandidateEvent{N: n, Event: llm.Delta{Block: "a", Part: llm.Part{Kind: llm.Text, Text: text}}}, time.Unix(0, 0))
}

func (c *compared) answers(n, seq int, err error) {
	c.says(n, fmt.Sprint("answer ", n))
	c.Apply(session.CandidateEvent{N: n, Event: session.Response{Seq: seq}, Err: err, Done: true}, time.Unix(0, 0))
}

func (c *compared) press(keys ...string) {
	for _, key := range keys {
		msg := tea.KeyPressMsg{Text: key}
		if code, ok := map[string]rune{"enter": tea.KeyEnter, "esc": tea.KeyEscape, "left": tea.KeyLeft, "right": tea.KeyRight, "tab": tea.KeyTab, "up": tea.KeyUp, "down": tea.KeyDown,
			"pgup": tea.KeyPgUp, "pgdown": tea.KeyPgDown, "home": tea.KeyHome, "end": tea.KeyEnd}[key]; ok {
			msg = tea.KeyPressMsg{Code: code}
		} else if key == "ctrl+t" {
			msg = tea.KeyPressMsg{Code: 't', Mod: tea.ModCtrl}
		} else {
			msg.Code = rune(key[0])
		}
		c.Update(msg)
	}
}

// rows returns the view without the spaces at the ends.
func (c *compared) rows() []string {
	rows := strings.Split(ansi.Strip(c.View()), "\n")
	for i := range rows {
		rows[i] = strings.TrimRight(rows[i], " ")
	}
	return rows
}

// Keys move between the columns, and choose or copy an answer.
func TestKeys(t *testing.T) {
	for _, tt := range []struct {
		name string
		keys []string
		at   int
		did  []string
	}{
		{"right", []string{"right", "tab"}, 2, nil},
		{"around", []string{"l", "l", "l"}, 0, nil},
		{"left", []string{"left", "h"}, 1, nil},
		{"a number", []string{"3"}, 2, nil},
		{"the first", []string{"3", "1"}, 0, nil},
		{"too large a number", []string{"2", "4"}, 1, nil},
		{"no number", []string{"2", "0"}, 1, nil},
		{"copy", []string{"2", "y"}, 1, []string{"copy answer 1 as answer of b/b"}},
		{"choose", []string{"2", "enter"}, 1, []string{"continue with 1"}},
		{"choose once", []string{"enter", "enter", "right"}, 0, []string{"continue with 0"}},
		{"no answer", []string{"3", "enter"}, 2, nil},
		{"leave", []string{"esc"}, 0, []string{"continue with -1"}},
	} {
		c := compare("a/a", "b/b", "c/c")
		c.answers(0, 3, nil)
		c.answers(1, 4, nil)
		c.answers(2, 0, errors.New("boom"))
		if next := c.Finish(); next != nil {
			t.Errorf("%s: it continues without a choice", tt.name)
		}
		if c.press(tt.keys...); c.at != tt.at || !slices.Equal(c.did, tt.did) {
			t.Errorf("%s: column %d, did %q; want %d, %q", tt.name, c.at, c.did, tt.at, tt.did)
		}
	}
}

// A choice or esc while models answer stops them. The choice counts once they have stopped.
func TestChooseEarly(t *testing.T) {
	for _, tt := range []struct {
		name   string
		key    string
		answer bool // before the choice
		did    []string
	}{
		{"an answer", "enter", true, []string{"stop", "continue with 0"}},
		{"none yet", "enter", false, []string{"stop"}},
		{"esc", "esc", true, []string{"stop"}},
	} {
		c := compare("a/a", "b/b")
		c.says(0, "some")
		c.press(tt.key)
		if tt.answer {
			c.answers(0, 3, nil)
		}
		if next := c.Finish(); next != nil {
			next()
		}
		if !slices.Equal(c.did, tt.did) {
			t.Errorf("%s: did %q, want %q", tt.name, c.did, tt.did)
		}
	}
}

// The title, the states and the keys say how far the answers are.
func TestView(t *testing.T) {
	const keys, more = "enter continue with this · ←→ choose · ", " · y copy · ↑↓ scroll · ctrl+t thinking"
	names := func(a, b, c string) string { return fmt.Sprintf("%-44s%-44s%s", a, b, c) }
	for _, tt := range []struct {
		name string
		do   func(c *compared)
		want map[int]string // by row
	}{
		{"nothing yet", func(*compared) {}, map[int]string{
			0: "Compare · choose an answer to continue with", 1: names("› a/a", "  b/b", "  c/c"), 2: names("  waiting", "  waiting", "  waiting"), 3: "", 8: keys + "esc stop" + more}},
		{"they begin", func(c *compared) {
			c.Apply(session.CandidateEvent{N: 1, Event: llm.Delta{Block: "t", Part: llm.Part{Kind: llm.Thinking, Text: "hm"}}}, time.Unix(0, 0))
			c.says(2, "some words")
			c.says(7, "no such model")
		}, map[int]string{2: names("  waiting", "  thinking", "  answering"), 3: names("", "∴ thinking", "  some words"), 4: names("", "  hm", "")}},
		{"one has failed", func(c *compared) {
			c.answers(0, 0, errors.New("boom"))
			c.press("right")
		}, map[int]string{1: names("  a/a", "› b/b", "  c/c"), 2: names("  no answer · 0.0 s", "  waiting", "  waiting"), 5: "✗ Boom", 8: keys + "esc stop" + more}},
		{"the first whole answer is the current one", func(c *compared) {
			c.answers(1, 3, errors.New("cut"))
			c.answers(2, 4, nil)
			c.Finish()
		}, map[int]string{1: names("  a/a", "  b/b", "› c/c"), 8: keys + "esc keep the third" + more}},
		{"else a part of one", func(c *compared) {
			c.answers(1, 3, errors.New("cut"))
			c.Finish()
		}, map[int]string{1: names("  a/a", "› b/b", "  c/c"), 8: keys + "esc keep the second" + more}},
		{"the selected answer stays selected", func(c *compared) {
			c.answers(0, 3, nil)
			c.answers(1, 4, nil)
			c.press("right")
			c.Finish()
		}, map[int]string{1: names("  a/a", "› b/b", "  c/c"), 8: keys + "esc keep the first" + more}},
		{"no answer", func(c *compared) { c.Finish() }, map[int]string{2: names("  not asked", "  not asked", "  not asked"), 8: keys + "esc leave" + more}},
		{"none to choose", func(c *compared) {
			c.Finish()
			c.press("enter")
		}, map[int]string{0: "No answer to continue with · choose another"}},
		{"none to choose, and another key", func(c *compared) {
			c.Finish()
			c.press("enter", "right")
		}, map[int]string{0: "Compare · choose an answer to continue with"}},
		{"a verdict", func(c *compared) {
			c.View()
			c.ShowVerdict(session.Verdict{Judge: "j/j", Winner: 1, Reason: "better\x1b"})
		}, map[int]string{0: "Judge j/j: B · better␛"}},
		{"thinking is hidden", func(c *compared) {
			c.Apply(session.CandidateEvent{N: 1, Event: llm.Delta{Block: "t", Part: llm.Part{Kind: llm.Thinking, Text: "hm"}}}, time.Unix(0, 0))
			c.answers(1, 3, nil)
			c.press("ctrl+t")
		}, map[int]string{3: names("", "∴ thought", ""), 4: names("", "  hm", "")}},
	} {
		c := compare("a/a", "b/b", "c/c")
		tt.do(c)
		rows := c.rows()
		for i, want := range tt.want {
			if rows[i] != strings.TrimRight(want, " ") {
				t.Errorf("%s: row %d is %q, want %q", tt.name, i, rows[i], want)
			}
		}
		if len(rows) != 9 {
			t.Errorf("%s: %d rows", tt.name, len(rows))
		}
	}
}

// Columns that do not fit are hidden, and the keys that do not fit are left out. The selected column is visible.
func TestWidths(t *testing.T) {
	for _, tt := range []struct {
		width, at     int
		title, labels string
		keys          string
	}{
		{120, 2, "Compare · choose an answer to continue with", "a/a b/b › c/c", "enter continue with this · ←→ choose · esc stop · y copy · ↑↓ scroll · ctrl+t thinking"},
		{119, 2, "Compare · choose an answer · 3 of 3", "b/b › c/c", "enter continue with this · ←→ choose · esc stop · y copy · ↑↓ scroll · ctrl+t thinking"},
		{119, 1, "Compare · choose an answer · 2 of 3", "a/a › b/b", "enter continue with this · ←→ choose · esc stop · y copy · ↑↓ scroll · ctrl+t thinking"},
		{86, 0, "Compare · choose an answer · 1 of 3", "› a/a b/b", "enter continue with this · ←→ choose · esc stop · y copy · ↑↓ scroll · ctrl+t thinking"},
		{85, 0, "Compare · choose an answer · 1 of 3", "› a/a b/b", "enter continue with this · ←→ choose · esc stop · y copy · ↑↓ scroll"},
		{79, 0, "Compare · choose an answer · 1 of 3", "› a/a b/b", "enter continue with this · ←→ choose · esc stop · y copy · ↑↓ scroll"},
		{78, 1, "Compare · choose an answer · 2 of 3", "› b/b", "enter continue with this · ←→ choose · esc stop · y copy · ↑↓ scroll"},
		{47, 0, "Compare · choose an answer · 1 of 3", "› a/a", "enter continue with this · ←→ choose · esc stop"},
		{46, 0, "Compare · choose an answer · 1 of 3", "› a/a", "enter use this · ←→ choose · esc stop · y copy"},
		{10, 0, "Compare ·…", "› a/a", "enter use…"},
		{0, 0, "", "", ""},
	} {
		c := compare("a/a", "b/b", "c/c")
		c.at = tt.at
		c.SetSize(tt.width, 9)
		rows := c.rows()
		if labels := strings.Join(strings.Fields(rows[1]), " "); rows[0] != tt.title || labels != tt.labels || rows[8] != tt.keys {
			t.Errorf("%d cells: got %q, %q, %q; want %+v", tt.width, rows[0], labels, rows[8], tt)
		}
	}
	for height := range 9 {
		c := compare("a/a", "b/b")
		c.SetSize(130, height)
		if got := c.rows(); len(got) != max(height, 1) || c.Height() != height {
			t.Errorf("%d rows: got %q", height, got)
		}
	}
}

// Keys and the wheel scroll the selected answer.
func TestScroll(t *testing.T) {
	c := compare("a/a", "b/b")
	for n := range 2 {
		for line := range 30 {
			c.says(n, fmt.Sprintf("%d-%02d\n\n", n, line))
		}
	}
	c.press("right")
	for _, tt := range []struct {
		msg  any
		want string // first row of the selected answer
	}{
		{"home", "1-00"}, {"j", ""}, {"j", "1-01"}, {"k", ""}, {"up", "1-00"}, {"pgdown", "1-02"}, {"pgup", "1-00"}, {"down", ""}, {"down", "1-01"}, {"g", "1-00"},
		{tea.MouseWheelMsg{Button: tea.MouseWheelDown}, ""}, {"home", "1-00"}, {"G", "1-27"}, {"end", "1-27"},
	} {
		if key, ok := tt.msg.(string); ok {
			c.press(key)
		} else {
			c.Update(tt.msg.(tea.Msg))
		}
		if row := strings.TrimRight(c.rows()[3], " ┃"); !strings.HasSuffix(row, tt.want) || (tt.want == "") != !strings.Contains(row, "1-") {
			t.Errorf("%v: got %q, want %q", tt.msg, row, tt.want)
		}
	}
}

// Calls of tools are shown as requests. A blind comparison hides notices, which may name the model.
func TestNotes(t *testing.T) {
	for _, blind := range []bool{false, true} {
		c := compare("a/a", "b/b")
		c.columns[0].Blind = blind
		now := time.Unix(0, 0)
		c.Apply(session.CandidateEvent{N: 0, Event: llm.Notice{Text: "a/a is slow"}}, now)
		c.Apply(session.CandidateEvent{N: 1, Event: session.Call{Part: llm.Part{Kind: llm.Call, ID: "1", Name: "read", Input: `{"path":"x"}`}}}, now)
		got := strings.Join(c.rows(), "\n")
		if strings.Contains(got, "a/a is slow") == blind || !strings.Contains(got, "read") {
			t.Errorf("blind %v: got\n%s", blind, got)
		}
	}
}
