package transcript

import (
	"fmt"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"parley/ui/theme"
)

// A hand moves the mouse over a transcript.
type hand struct {
	*Model
	clock time.Time
}

func handOn(m *Model) *hand {
	h := &hand{Model: m, clock: time.Unix(1e9, 0)}
	m.Now = func() time.Time { return h.clock }
	return h
}

// find returns the position of a text on the screen: the cells of its first and
// its last character.
func (h *hand) find(t *testing.T, text string) (x, last, y int) {
	t.Helper()
	for y, row := range strings.Split(ansi.Strip(h.View()), "\n") {
		if before, _, ok := strings.Cut(row, text); ok {
			x := ansi.StringWidth(before)
			return x, x + ansi.StringWidth(text) - 1, y
		}
	}
	t.Fatalf("%q is not on the screen:\n%s", text, ansi.Strip(h.View()))
	return 0, 0, 0
}

func (h *hand) down(x, y int) { h.Update(tea.MouseClickMsg{X: x, Y: y, Button: tea.MouseLeft}) }

func (h *hand) move(x, y int) tea.Cmd {
	return h.Update(tea.MouseMotionMsg{X: x, Y: y, Button: tea.MouseLeft})
}

func (h *hand) up() CopyMsg {
	if cmd := h.Update(tea.MouseReleaseMsg{}); cmd != nil {
		msg, _ := cmd().(CopyMsg)
		return msg
	}
	return CopyMsg{}
}

// drag selects from the beginning of one text to the end of another.
func (h *hand) drag(t *testing.T, from, to string) CopyMsg {
	t.Helper()
	x, _, y := h.find(t, from)
	_, x2, y2 := h.find(t, to)
	h.clock = h.clock.Add(time.Minute)
	h.down(x, y)
	h.move(x2, y2)
	return h.up()
}

// click clicks times times on the beginning of a text.
func (h *hand) click(t *testing.T, text string, times int) (msg CopyMsg) {
	t.Helper()
	x, _, y := h.find(t, text)
	h.clock = h.clock.Add(time.Minute)
	for range times {
		h.down(x, y)
		msg = h.up()
	}
	return msg
}

// chosenText returns the text shown as selected.
func chosenText(view string) string {
	var all []string
	for _, part := range strings.Split(view, sgrFound)[1:] {
		text, _, _ := strings.Cut(part, sgrReset)
		all = append(all, ansi.Strip(text))
	}
	return strings.Join(all, "|")
}

const talk = "## Plan\n\nRead **the file** first, then `main.go` of the package, which is quite long and goes over several rows here.\n\n" +
	"- one [link](https://example.com/a/b)\n- two *words*\n  1. inner\n  1. other\n\n" +
	"```go\nfunc main() {\n\tprintln(\"hi\")\n}\n```\n\n| a | b |\n|---|---|\n| cell one | **three** |\n\nThe *end*."

// The selection is copied in the form of the source.
func TestSelectByMouse(t *testing.T) {
	answer := func(m *Model) { m.Blocks.AppendAnswer("a", talk); m.Blocks.FinishAnswer("a") }
	shell := func(m *Model) {
		m.Blocks.SetTool("t", Tool{Name: "shell", Title: "make test", Status: Done, Output: "one\ntwo\nthree\nfour\nfive\nsix\nseven\n"})
	}
	for _, c := range []struct {
		name     string
		do       func(*Model)
		from, to string
		want     string
	}{
		{"inside of a row", answer, "file", "first", "file** first"},
		{"over a soft break", answer, "main.go", "goes over", "main.go` of the package, which is quite long and goes over"},
		{"a heading has its sign", answer, "Plan", "Plan", "## Plan"},
		{"items have theirs", answer, "•", "words", "- one [link](https://example.com/a/b)\n- two *words*"},
		{"code has its tabs and no fence", answer, "func", "}", "func main() {\n\tprintln(\"hi\")\n}"},
		{"from text into code", answer, "words", "}", "words*\n  1. inner\n  1. other\n\n```go\nfunc main() {\n\tprintln(\"hi\")\n}\n```"},
		{"a row of a table", answer, "cell one", "three", "| cell one | **three** |"},
		{"all of it", answer, "Plan", "The end.", talk},
		{"what a person wrote", func(m *Model) { m.Blocks.AddUser("do   it\n\tnow") }, "do", "now", "do   it\n\tnow"},
		{"wide characters", func(m *Model) { m.Blocks.AddUser("全部 日本語の文 done") }, "日本", "語", "日本語"},
		{"joined characters", func(m *Model) { m.Blocks.AddUser("a 👩‍👩‍👧 b e\u0301 c") }, "👩‍👩‍👧", "e\u0301", "👩‍👩‍👧 b e\u0301"},
		{"right to left", func(m *Model) { m.Blocks.AddUser("see שלום עולם here") }, "שלום", "עולם", "שלום עולם"},
		{"a long word", func(m *Model) { m.Blocks.AddUser(strings.Repeat("0123456789", 9) + "end") }, "0123", "end", strings.Repeat("0123456789", 9) + "end"},
		{"the output of a call, not what is folded", shell, "make", "seven", "make test\nthree\nfour\nfive\nsix\nseven"},
		{"over its fold", shell, "…", "four", "three\nfour"},
		{"far down", func(m *Model) {
			m.Blocks.AppendAnswer("a", strings.Repeat(talk+"\n\n", 50)+"At *last* done.")
			m.Blocks.FinishAnswer("a")
		}, "last", "done", "last* done"},
		{"two blocks", func(m *Model) { m.Blocks.AddUser("question"); answer(m) }, "question", "Plan", "question\n\n## Plan"},
		{"a diff has no numbers and no signs", func(m *Model) {
			m.Blocks.SetTool("e", Tool{Name: "edit", Title: "a.go", Status: Done, Diff: "--- a/a.go\n+++ b/a.go\n@@ -1,3 +1,3 @@\n func main() {\n-\told()\n+\tnew()\n }\n"})
		}, "func", "}", "func main() {\n\told()\n\tnew()\n}"},
		{"math has its source", func(m *Model) {
			m.Blocks.AppendAnswer("a", "The area $\\alpha^2$ and\n\n$$\\frac{a}{b}$$\n\nend.")
			m.Blocks.FinishAnswer("a")
		}, "area", "end.", "area $\\alpha^2$ and\n\n$$\\frac{a}{b}$$\n\nend."},
		{"thinking", func(m *Model) {
			m.Blocks.AppendThinking("t", "It may be\nso.")
			m.Blocks.FinishThinking("t", time.Second)
			m.ToggleThinking()
		}, "It", "so.", "It may be\nso."},
		{"what is in no source", func(m *Model) {
			for i := range 3 {
				m.Blocks.SetTool(fmt.Sprint(i), Tool{Name: "read", Title: fmt.Sprint(i, ".go"), Status: Done, Output: "x"})
			}
		}, "Read 0", "2.go", "Read 0.go, 1.go, 2.go"},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, th := range []*theme.Theme{theme.Plain(), theme.Dark()} {
				m := New(th)
				m.SetSize(60, 40)
				c.do(m)
				h := handOn(m)
				if got := h.drag(t, c.from, c.to); got.Text != c.want {
					t.Errorf("copied %q, want %q", got.Text, c.want)
				}
				if chosenText(m.View()) == "" {
					t.Errorf("nothing is seen to be selected:\n%s", m.View())
				}
				check(t, m, c.name)
				if m.Deselect(); chosenText(m.View()) != "" {
					t.Error("still selected")
				}
			}
		})
	}
}

// Side by side, an unchanged line is copied once.
func TestSelectInSplitDiff(t *testing.T) {
	m := New(theme.Dark())
	m.SetSize(140, 30)
	m.Blocks.SetTool("e", Tool{Name: "edit", Title: "a.go", Status: Done, Diff: "--- a/a.go\n+++ b/a.go\n@@ -8,7 +8,7 @@\n" +
		" \treturn nil\n }\n \n-\told(1)\n+\tnew(1)\n \treturn nil\n // end\n"})
	want := "\treturn nil\n}\n\n\told(1)\n\tnew(1)\n\treturn nil\n// end"
	if got := handOn(m).drag(t, "8", "end"); got.Text != want {
		t.Errorf("copied %q, want %q", got.Text, want)
	}
}

func TestClicks(t *testing.T) {
	text := "see ui/tui/transcript/mouse.go: 日本語 and (words) that go on, far over the end of the row.\nAnother line."
	for _, c := range []struct {
		on    string
		times int
		want  string
	}{
		{"words", 1, ""},
		{"words", 2, "words"},
		{"mouse", 2, "ui/tui/transcript/mouse.go"},
		{"本", 2, "日本語"},
		{"(", 2, "("},
		{"words", 3, "see ui/tui/transcript/mouse.go: 日本語 and (words) that go on, far over the end of the row."},
		{"end of", 3, "see ui/tui/transcript/mouse.go: 日本語 and (words) that go on, far over the end of the row."},
		{"Another", 3, "Another line."},
		{"words", 4, ""},
	} {
		m := New(theme.Plain())
		m.SetSize(40, 12)
		m.Blocks.AddUser(text)
		m.Blocks.AppendAnswer("a", "The *answer*.")
		h := handOn(m)
		if got := h.click(t, c.on, c.times); got.Text != c.want {
			t.Errorf("%d clicks on %q copied %q, want %q", c.times, c.on, got.Text, c.want)
		}
	}
}

func TestClickClears(t *testing.T) {
	m := chat()
	h := handOn(m)
	h.drag(t, "answer 3", "answer 3")
	if got := chosenText(m.View()); got != "answer 3" {
		t.Errorf("selected %q", got)
	}
	if got := h.click(t, "answer 3", 1); got != (CopyMsg{}) || chosenText(m.View()) != "" {
		t.Errorf("a click copied %q and left %q", got, chosenText(m.View()))
	}
	m.Browse(true)
	h.click(t, "answer 3", 1)
	if got := under(m); got != " answer 3" {
		t.Errorf("the cursor is on %q, not where the click was", got)
	}
	h.drag(t, "answer 3", "answer 3")
	if m.SetSize(30, 16); chosenText(m.View()) != "" {
		t.Error("lines that are laid out anew are selected")
	}
}

// Held at an edge, the mouse scrolls, and the text that scrolls past is selected.
func TestDragOverTheEdge(t *testing.T) {
	m := New(theme.Plain())
	m.SetSize(40, 8)
	for i := range 30 {
		m.Blocks.AddUser(fmt.Sprintf("line %02d.", i))
	}
	h := handOn(m)
	x, _, y := h.find(t, "line 28")
	h.down(x, y)
	cmd := h.move(0, 0)
	for range 5 {
		if cmd == nil {
			t.Fatal("at the edge it does not go on")
		}
		cmd = m.Update(EdgeMsg{m.mouse.edge})
	}
	top := topRow(m)
	if !m.Dragging() || !strings.Contains(top, "line 23") {
		t.Errorf("top row %q, want line 23", top)
	}
	m.Blocks.AddUser("line 30.") // arriving text moves nothing
	if got := topRow(m); got != top {
		t.Errorf("top row %q, want %q", got, top)
	}
	late := m.Update(EdgeMsg{})
	if got := h.up(); late != nil || !strings.HasPrefix(got.Text, "line 23.\n\nline 24") || !strings.HasSuffix(got.Text, "l") {
		t.Errorf("copied %q", got)
	}
	if m.AtBottom() {
		t.Error("a reader who scrolled up is not moved")
	}
	check(t, m, "edge")
}

// While the button is down nothing moves; afterwards the end is followed again.
func TestPressHolds(t *testing.T) {
	m := chat()
	h := handOn(m)
	x, _, y := h.find(t, "answer 3")
	h.down(x, y)
	was := topRow(m)
	m.Blocks.AddNote("new\nnewer")
	if got := topRow(m); got != was {
		t.Errorf("top row %q, want %q", got, was)
	}
	h.move(x+5, y)
	if got := h.up(); got.Text != "answer" {
		t.Errorf("copied %q", got)
	}
	if !m.AtBottom() || !strings.Contains(m.View(), "newer") {
		t.Errorf("the end is not followed again:\n%s", m.View())
	}
}

// An earlier mouse action does not move a window that was scrolled up since.
func TestDeselectLeavesTheReader(t *testing.T) {
	for _, c := range []struct {
		name string
		do   func(*hand)
	}{
		{"scrolled after it", func(h *hand) { h.drag(t, "answer 3", "answer 3"); h.Scroll(-5) }},
		{"scrolled with the button down", func(h *hand) {
			h.down(4, 4)
			h.Update(tea.MouseWheelMsg{Button: tea.MouseWheelUp})
			h.up()
		}},
	} {
		m := chat()
		c.do(handOn(m))
		was := topRow(m)
		m.Deselect()
		m.Blocks.AddNote("new")
		if got := topRow(m); got != was || m.AtBottom() {
			t.Errorf("%s: top row %q, want %q", c.name, got, was)
		}
	}
}

func TestSelectInDetails(t *testing.T) {
	m := chat()
	m.Browse(true)
	press(m, "enter")
	h := handOn(m.details.model)
	x, _, y := h.find(t, "make")
	m.Update(tea.MouseClickMsg{X: x, Y: y, Button: tea.MouseLeft})
	m.Update(tea.MouseMotionMsg{X: x + 3, Y: y, Button: tea.MouseLeft})
	if !m.Dragging() {
		t.Error("not dragging")
	}
	cmd := m.Update(tea.MouseReleaseMsg{})
	if cmd == nil || cmd() != (CopyMsg{"make", "selection"}) {
		t.Error("nothing was copied")
	}
	if m.Deselect(); chosenText(m.View()) != "" {
		t.Error("still selected")
	}
}

// Any selection of any text works, and selected plain text equals the original.
func FuzzSelect(f *testing.F) {
	for _, seed := range []string{talk, "a\n\tb  c\n\n…", "日本語 שלום 👩‍👩‍👧", "- a\n  - b\n\n> q\n> ```\n> x\n> ```", "&amp; <b>x</b> [a][b]\n\n[b]: http://c"} {
		f.Add(seed, uint8(30), uint8(2), uint8(1), uint8(20), uint8(9))
	}
	f.Fuzz(func(t *testing.T, text string, width, x, y, x2, y2 uint8) {
		m := New(theme.Dark())
		m.SetSize(int(width), 20)
		m.Blocks.AddUser(text)
		m.Blocks.AppendAnswer("a", text)
		m.Blocks.FinishAnswer("a")
		m.Blocks.SetTool("t", Tool{Name: "shell", Title: text, Status: Done, Output: text, Diff: text})
		h := handOn(m)
		h.down(int(x), int(y))
		h.move(int(x2), int(y2))
		check(t, m, "drag")
		h.up()
		check(t, m, "release")
		words := New(theme.Plain())
		words.SetSize(max(int(width), 2), 4000)
		words.Blocks.AddUser(text)
		words.ToggleOutput()
		it := words.Blocks.items[0]
		source, _ := it.source()
		h = handOn(words)
		words.View()
		rows := len(words.window.linesOf(it))
		if rows == 0 || rows > 3000 {
			return
		}
		h.down(0, 0)
		h.move(int(width), 3999)
		if got := h.up().Text; source != "" && strings.Join(strings.Fields(got), "") != strings.Join(strings.Fields(source), "") {
			t.Errorf("copied %q, want %q", got, source)
		}
	})
}
