package transcript

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"parley/providers/llmtest"
	"parley/ui/theme"
)

// hostile holds text that models, tools and servers may send.
var hostile = []string{
	"A\x1b]52;c;ZXZpbA==\x07B", "\x1b]0;root@prod\x07", "\x1bP$qm\x1b\\\x1b[6n\x1b[c",
	"text \x1b]8;;http://x and on", "\u009b31m raw \x9b \u0090x\u009c", "good\r\x1b[2Krm -rf ~",
	"a\x1b[2Jb\nx\ny \xff\xfe \u202egpj.exe", "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f 👨‍👩‍👧‍👦 e\u0301\u0301\u0301",
	"日本語のテキストは幅が二つ", "\t\ttabs\tand\ttabs", strings.Repeat("long", 60), strings.Repeat("w ", 90),
	"", "\n\n\n", "```go\nfunc main() {}\n```\n", "| a | b |\n|---|---|\n| 日本 | x |\n", "- one\n- two\n\n> quote\n",
	`{"command":"\u001b[2J", "path":"x`, sampleDiff, "\u200b\u200d\ufeff", "\x00\x01\x7f", "#", "---\n", "a\r\nb\rc",
}

var sgr = regexp.MustCompile(`\x1b\[[0-9;:]*m`)

// check verifies the contract of View: as many lines as the height, none wider
// than the width, and only text and our colors.
func check(t *testing.T, m *Model, after string) {
	t.Helper()
	view := m.View()
	if x, y, ok := m.Cursor(); ok && (x < 0 || x >= m.window.width || y != m.window.height-1) {
		t.Fatalf("%s: the cursor is at %d, %d of %d×%d", after, x, y, m.window.width, m.window.height)
	}
	if m.window.width == 0 || m.window.height == 0 {
		if view != "" {
			t.Fatalf("%s: %d×%d shows %q", after, m.window.width, m.window.height, view)
		}
		return
	}
	lines := strings.Split(view, "\n")
	if len(lines) != m.window.height {
		t.Fatalf("%s: %d lines, want %d", after, len(lines), m.window.height)
	}
	for _, line := range lines {
		if w := ansi.StringWidth(line); w > m.window.width {
			t.Fatalf("%s: %d cells of %d: %q", after, w, m.window.width, line)
		}
		for _, r := range sgr.ReplaceAllString(line, "") {
			if r < ' ' || r >= 0x7f && r < 0xa0 || r == '\u202e' || r == '\u200b' {
				t.Fatalf("%s: %U reaches the terminal in %q", after, r, line)
			}
		}
	}
}

// An op is an operation on a transcript. Arriving text must not move the text
// being read.
type op struct {
	name    string
	arrives bool
	do      func(m *Model, n int, s string)
}

var ops = []op{
	{"user", true, func(m *Model, n int, s string) { m.Blocks.AddUser(s) }},
	{"user with files", true, func(m *Model, n int, s string) { m.Blocks.AddUser(s, s, "image a.png 12x12 4 KB") }},
	{"summary", true, func(m *Model, n int, s string) { m.Blocks.SetSummary("summary", s, n%3) }},
	{"marker", true, func(m *Model, n int, s string) { m.Blocks.AddMarker(NoteKind(n%5), s) }},
	{"tag", true, func(m *Model, n int, s string) { m.Blocks.SetMessageSeq(n) }},
	{"think", true, func(m *Model, n int, s string) { m.Blocks.AppendThinking(fmt.Sprint(n%3), s) }},
	{"thought", true, func(m *Model, n int, s string) {
		m.Blocks.FinishThinking(fmt.Sprint(n%3), time.Duration(n)*time.Second)
	}},
	{"answer", true, func(m *Model, n int, s string) { m.Blocks.AppendAnswer(fmt.Sprint(n%3), s) }},
	{"answered", true, func(m *Model, n int, s string) { m.Blocks.FinishAnswer(fmt.Sprint(n % 3)) }},
	{"tool", true, func(m *Model, n int, s string) {
		m.Blocks.SetTool(fmt.Sprint(n%4), Tool{Name: "shell", Title: s, Status: Status(n % 7), Started: began, Duration: time.Second})
	}},
	{"arguments", true, func(m *Model, n int, s string) { m.Blocks.SetTool(fmt.Sprint(n%4), Tool{Name: s, Input: s}) }},
	{"result", true, func(m *Model, n int, s string) {
		m.Blocks.SetTool(fmt.Sprint(n%4), Tool{Name: "edit", Title: "x", Status: Done, Output: s, Diff: s})
	}},
	{"look", true, func(m *Model, n int, s string) {
		m.Blocks.SetTool(fmt.Sprint("look", n%6), Tool{Name: []string{"read", "grep", "list"}[n%3], Title: s, Status: []Status{Arriving, Running, Done, Done, Failed}[n%5], Output: s})
	}},
	{"looked", true, func(m *Model, n int, s string) {
		for i := range 2 + n%4 {
			m.Blocks.SetTool(fmt.Sprint("look", i), Tool{Name: "read", Title: s, Status: Done, Output: s + "\n" + s})
		}
	}},
	{"draft", true, func(m *Model, n int, s string) {
		id := fmt.Sprint("draft", n%3)
		input := ""
		if b, ok := m.Blocks.blockByID(kindCall, id).(*call); ok && b.tool.Status == Arriving {
			input = b.received.Input
		}
		if input == "" {
			input = []string{`{"path":"a.go","old":"`, `{"content":"`, `{"path":"x","new":"a\nb","old":"`}[n%3]
		}
		m.Blocks.SetTool(id, Tool{Name: []string{"edit", "write", "shell"}[n%3], Input: input + s + `\n`, Status: Status(n % 9 / 7)})
	}},
	{"drafted", true, func(m *Model, n int, s string) {
		m.Blocks.SetTool(fmt.Sprint("draft", n%3), Tool{Name: "edit", Title: s, Status: Status(n % 7), Diff: sampleDiff, Hint: s})
	}},
	{"output", true, func(m *Model, n int, s string) { m.Blocks.AppendToolOutput(fmt.Sprint(n%4), s+"\n") }},
	{"footer", true, func(m *Model, n int, s string) { m.Blocks.AddFooter(s) }},
	{"note", true, func(m *Model, n int, s string) { m.Blocks.AddNote(s) }},
	{"replace", true, func(m *Model, n int, s string) { m.Blocks.SetNote("note", NoteKind(n%4), s) }},
	{"fail", true, func(m *Model, n int, s string) { m.Blocks.AddError(s, s) }},
	{"tick", true, func(m *Model, n int, s string) { m.Tick(began.Add(time.Duration(n) * time.Second)) }},
	{"scroll up", false, func(m *Model, n int, s string) { m.Scroll(-n % 40) }},
	{"scroll up again", false, func(m *Model, n int, s string) { m.Scroll(-n % 7) }},
	{"scroll down", false, func(m *Model, n int, s string) { m.Scroll(n % 40) }},
	{"page", false, func(m *Model, n int, s string) { m.Page(float64(n%5) - 2.5) }},
	{"top", false, func(m *Model, n int, s string) { m.Top() }},
	{"bottom", false, func(m *Model, n int, s string) { m.Bottom() }},
	{"previous", false, func(m *Model, n int, s string) { m.PrevUser() }},
	{"next", false, func(m *Model, n int, s string) { m.NextUser() }},
	{"fold thinking", false, func(m *Model, n int, s string) { m.ToggleThinking() }},
	{"fold output", false, func(m *Model, n int, s string) { m.ToggleOutput() }},
	{"resize", false, func(m *Model, n int, s string) { m.SetSize(n%120, n/3%40) }},
	{"narrow", false, func(m *Model, n int, s string) { m.SetSize(n%12, n%7) }},
	{"theme", false, func(m *Model, n int, s string) { m.SetTheme([]*theme.Theme{theme.Dark(), theme.Plain()}[n%2]) }},
	{"drop", false, func(m *Model, n int, s string) { m.Remove(fmt.Sprint(n % 4)) }},
	{"browse", false, func(m *Model, n int, s string) { m.Browse(n%2 == 0) }},
	{"key", false, func(m *Model, n int, s string) {
		const keys = "jkudgG[]{} yYzvvrefw//nNnaei"
		k := rune(keys[n%len(keys)])
		if cmd := m.Update(tea.KeyPressMsg{Code: k, Text: string(k)}); cmd != nil {
			cmd()
		}
	}},
	{"special key", false, func(m *Model, n int, s string) {
		m.Update(tea.KeyPressMsg{Code: []rune{tea.KeyEnter, tea.KeyEscape, tea.KeyUp, tea.KeyDown, tea.KeyBackspace, tea.KeyEnter}[n%6]})
	}},
	{"typed", false, func(m *Model, n int, s string) {
		m.Update(tea.KeyPressMsg{Code: '/', Text: "/"})
		m.Update(tea.PasteMsg{Content: s[:min(len(s), n%20)]})
	}},
	{"details", false, func(m *Model, n int, s string) {
		if len(m.Blocks.items) > 0 {
			m.Browse(true)
			m.openDetails()
		}
	}},
	{"motion", false, func(m *Model, n int, s string) { m.SetMotion(n%2 == 0) }},
	{"wide", false, func(m *Model, n int, s string) { m.SetSize(123+n%30, 3+n%40) }},
	{"wheel", false, func(m *Model, n int, s string) {
		m.Update(tea.MouseWheelMsg{Button: []tea.MouseButton{tea.MouseWheelUp, tea.MouseWheelDown}[n%2]})
	}},
	{"copy", false, func(m *Model, n int, s string) { m.LastAnswer(); m.LastCode() }},
	{"clear", false, func(m *Model, n int, s string) {
		if n%16 == 0 {
			m.Clear()
		}
	}},
}

// apply runs an op and checks the invariants after it.
func apply(t *testing.T, m *Model, o op, n int, s string) {
	t.Helper()
	if !o.arrives || m.details != nil || m.AtBottom() || m.window.height == 0 || m.window.width == 0 {
		o.do(m, n, s)
		check(t, m, o.name)
		return
	}
	check(t, m, "before "+o.name)
	at, it := m.window.top, m.Blocks.items[m.window.top.item]
	was := append([]string(nil), it.lines...)
	o.do(m, n, s)
	check(t, m, o.name)
	if it.kind == kindNote && len(it.lines) == 0 {
		return // replaced by nothing: no row can stay
	}
	if m.AtBottom() || m.Blocks.items[m.window.top.item] != it || m.window.top.line > at.line {
		t.Fatalf("%s %q: the reader was moved from row %v to %v", o.name, s, at, m.window.top)
	}
	if it.kind == kindAnswer && !it.isDone() || it.kind == kindNote {
		return // open Markdown may still become another element; a note is replaced
	}
	if m.window.top != at || at.line > 0 && it.lines[at.line] != was[at.line] {
		t.Fatalf("%s %q: the reader's line %q became %q", o.name, s, was[max(at.line, 0)], it.lines[max(m.window.top.line, 0)])
	}
}

// For any operations at any size: the view keeps its shape, no text from outside reaches
// the terminal unsanitized, and arriving text does not move the text being read.
func TestAnything(t *testing.T) {
	seeds := uint64(16)
	if llmtest.Race {
		seeds = 3
	}
	for seed := range seeds {
		rnd := rand.New(rand.NewPCG(seed, 7))
		m := New(theme.Plain())
		m.SetSize(30+rnd.IntN(90), 3+rnd.IntN(30))
		for range 250 {
			apply(t, m, ops[rnd.IntN(len(ops))], rnd.IntN(1000), hostile[rnd.IntN(len(hostile))])
		}
	}
}

func FuzzAnything(f *testing.F) {
	for i, s := range hostile {
		f.Add([]byte{3, byte(i), 24, 40, 0, 1, 14, 9, 3, byte(i), 7, 3, 8, 2, 23, 0, 28, 2, 29, 5}, s)
	}
	var all []byte // one byte for every op
	for step := range len(ops) {
		all = append(all, byte(step*7%len(ops)), byte(step*5))
	}
	f.Add(all, "one two\nthree")
	f.Fuzz(func(t *testing.T, script []byte, s string) {
		if len(script) > 200 || len(s) > 2000 {
			t.Skip()
		}
		m := New(theme.Dark())
		m.SetSize(60, 12)
		for i := 0; i+1 < len(script); i += 2 {
			apply(t, m, ops[int(script[i])%len(ops)], int(script[i+1]), s)
		}
	})
}

// numbered returns n numbered words.
func numbered(prefix string, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "%s%d ", prefix, i)
		if i%40 == 39 {
			b.WriteString("\n\n")
		}
	}
	return b.String()
}

func topRow(m *Model) string {
	row, _, _ := strings.Cut(ansi.Strip(m.View()), "\n")
	return strings.TrimSpace(strings.TrimRight(row, "┃ "))
}

func TestResizeKeepsWhatIsRead(t *testing.T) {
	for _, up := range []int{3, 10, 17, 40, 41, 42, 77} {
		t.Run(fmt.Sprint(up), func(t *testing.T) {
			m := New(theme.Plain())
			m.SetSize(80, 20)
			for i := range 5 {
				m.Blocks.AddUser(numbered(fmt.Sprintf("u%d.", i), 60))
				m.Blocks.AppendAnswer("a", numbered(fmt.Sprintf("a%d.", i), 300))
				m.Blocks.FinishAnswer("a")
			}
			m.Scroll(-up)
			was, view := topRow(m), m.View()
			for _, w := range []int{33, 120, 57, 12, 200, 41} {
				m.SetSize(w, 20)
				if first, _, _ := strings.Cut(strings.TrimPrefix(was, "▌ "), " "); !strings.Contains(topRow(m)+" ", first+" ") {
					t.Errorf("at width %d the top row is %q, want the one with %q", w, topRow(m), first)
				}
			}
			m.SetSize(80, 20)
			if m.View() != view {
				t.Errorf("after going through other widths the view is\n%s\nwant\n%s", m.View(), view)
			}
		})
	}
}

func TestFollowing(t *testing.T) {
	m := New(theme.Plain())
	m.SetSize(40, 10)
	for i := range 30 {
		m.Blocks.AddNote(fmt.Sprintf("note %d", i))
	}
	if !m.AtBottom() || !strings.Contains(m.View(), "note 29") {
		t.Fatalf("the last note is not in sight:\n%s", m.View())
	}

	m.Scroll(-1)
	view := m.View()
	m.Blocks.AddNote("one\ntwo")
	m.Blocks.AppendAnswer("a", "three")
	if got := newLines(m); got != 3 || m.AtBottom() {
		t.Errorf("%d new lines, at bottom %v; want 3, false", got, m.AtBottom())
	}
	rows, want := strings.Split(ansi.Strip(m.View()), "\n"), strings.Split(ansi.Strip(view), "\n")
	if got := strings.TrimSpace(rows[9]); got != "3 new lines ↓" {
		t.Errorf("the last row is %q, want the number of new lines", got)
	}
	for i := range 9 {
		if trimMark(rows[i]) != trimMark(want[i]) {
			t.Errorf("row %d became %q from %q", i, rows[i], want[i])
		}
	}

	m.Scroll(1) // the last earlier note
	m.Scroll(2) // a blank row and "one"
	if got := newLines(m); got != 2 {
		t.Errorf("%d new lines after one came in sight, want 2", got)
	}
	m.Scroll(100)
	if !m.AtBottom() || newLines(m) != 0 || !strings.Contains(m.View(), "three") {
		t.Errorf("not at the bottom after scrolling down:\n%s", m.View())
	}
	m.Blocks.AppendAnswer("a", " and\n\nfour")
	if !strings.Contains(m.View(), "four") {
		t.Errorf("at the bottom the view does not follow:\n%s", m.View())
	}
}

func trimMark(row string) string { return strings.TrimRight(row, "┃ ") }

// A running command shows its last lines. When scrolled to, they stay.
func TestHeldWindow(t *testing.T) {
	m := New(theme.Plain())
	m.SetSize(40, 5)
	m.Blocks.AddUser("go")
	m.Blocks.SetTool("c", Tool{Name: "shell", Title: "make", Status: Running})
	m.Blocks.AppendToolOutput("c", numbered("", 39)+"\nb\nc\nd\ne\nf\n")
	m.Blocks.AddNote(strings.Repeat("x\n", 10))
	m.Top()
	m.Scroll(5) // past the title and the count of earlier lines
	was := topRow(m)
	m.Blocks.AppendToolOutput("c", "g\n")
	m.Blocks.SetTool("c", Tool{Name: "shell", Title: "make", Status: Done, Output: "quite\nanother\noutput\nof\nsix\nlines"})
	if got := topRow(m); got != was {
		t.Errorf("the top row became %q from %q", got, was)
	}
	m.Scroll(-1)
	if !strings.Contains(m.View(), "output") {
		t.Errorf("after moving, the output is not the final one:\n%s", m.View())
	}
}

func TestUserMessages(t *testing.T) {
	m := New(theme.Plain())
	m.SetSize(40, 8)
	for i := range 5 {
		m.Blocks.AddUser(fmt.Sprintf("question %d", i))
		m.Blocks.AppendAnswer("a", numbered("w", 100))
		m.Blocks.FinishAnswer("a")
	}
	for _, want := range []string{"question 4", "question 3", "question 2"} {
		m.PrevUser()
		if got := topRow(m); got != "▌ "+want {
			t.Errorf("top row %q, want %q", got, want)
		}
	}
	m.NextUser()
	if got := topRow(m); got != "▌ question 3" {
		t.Errorf("top row %q, want question 3", got)
	}
	m.NextUser()
	m.NextUser()
	if !m.AtBottom() {
		t.Error("after the last message comes the end")
	}
}

// Ten thousand turns open and scroll quickly: only visible items are rendered,
// and items far off the screen are dropped again.
func TestUnseenIsNotLaidOut(t *testing.T) {
	m := New(theme.Dark())
	m.SetSize(80, 24)
	for range 10_000 {
		m.Blocks.AddUser("and?")
		m.Blocks.AppendAnswer("a", "It is so.")
		m.Blocks.FinishAnswer("a")
	}
	count := func() (n int) {
		for _, it := range m.Blocks.items {
			if it.lines != nil {
				n++
			}
		}
		return n
	}
	m.View()
	if n := count(); n > 24 {
		t.Errorf("%d blocks laid out to show 24 rows", n)
	}
	m.Top()
	m.View()
	if n := count(); n > 48 {
		t.Errorf("%d blocks laid out after a jump to the top", n)
	}
	for range 500 {
		m.Page(1)
		m.View()
	}
	if n := count(); n > 4*minCachedCost+48 {
		t.Errorf("%d blocks kept laid out while scrolling", n)
	}
}

// Opening a stored conversation costs the same for each turn, regardless of
// their number. Showing it costs the same regardless of the invisible turns.
func TestOpeningIsLinear(t *testing.T) {
	const few, many = 200, 2000
	take := func(turns int) float64 {
		return testing.AllocsPerRun(1, func() { stored(turns) }) / float64(turns)
	}
	show := func(turns int) float64 {
		m := stored(turns)
		return testing.AllocsPerRun(3, func() {
			m.invalidateAll() // nothing is rendered
			for _, move := range []func(){m.Bottom, m.Top, func() { m.ShowMessage(turns) }, m.PrevUser, m.NextUser} {
				move()
				m.View()
			}
		})
	}
	for name, cost := range map[string]func(int) float64{"taking a turn in": take, "showing": show} {
		if a, b := cost(few), cost(many); b > 1.3*a {
			t.Errorf("%s: %.1f allocations with %d turns, %.1f with %d", name, a, few, b, many)
		}
	}
	if m := stored(10); !m.ShowMessage(11) || topRow(m) != "▌ and what does the test say?" || m.ShowMessage(99) || m.ShowMessage(0) {
		t.Errorf("the message asked for is not at the top:\n%s", m.View())
	}
}

// Unfolded thinking that streams looks like the same text added at once.
func TestThinkingStreams(t *testing.T) {
	const thought = "\n  First.\nSecond is a longer line, which has to be wrapped.\n\n\nThird\n\n日本語 and more\n"
	show := func(step int) string {
		m := New(theme.Plain())
		m.SetSize(24, 20)
		m.ToggleThinking()
		for at := 0; at < len(thought); at += step {
			m.Blocks.AppendThinking("1", thought[at:min(at+step, len(thought))])
			m.View()
		}
		m.Blocks.FinishThinking("1", time.Second)
		return m.View()
	}
	want := show(len(thought))
	for _, step := range []int{1, 2, 3, 7, 20} {
		if got := show(step); got != want {
			t.Errorf("in steps of %d:\n%s\nwant\n%s", step, got, want)
		}
	}
}

// The live window shows the end of the text, however long it is and with or
// without line breaks, and spends time only on the end.
func TestLiveWindows(t *testing.T) {
	long := strings.Repeat("word ", 5000) + "the end"
	for name, add := range map[string]func(m *Model){
		"thinking":                func(m *Model) { m.Blocks.AppendThinking("1", long) },
		"thinking without spaces": func(m *Model) { m.Blocks.AppendThinking("1", strings.ReplaceAll(long, " ", "")+"the end") },
		"output":                  func(m *Model) { m.Blocks.AppendToolOutput("1", strings.Repeat("line\n", 50_000)+"the end\n") },
		"output without lines":    func(m *Model) { m.Blocks.AppendToolOutput("1", strings.Repeat("日", 100_000)+"\nthe end") },
	} {
		t.Run(name, func(t *testing.T) {
			m := New(theme.Plain())
			m.SetSize(60, 12)
			add(m)
			if view := m.View(); !strings.Contains(view, "the end") || strings.Contains(view, "\uFFFD") {
				t.Errorf("the end is not in sight, or damaged:\n%s", view)
			}
			if b, ok := m.Blocks.items[0].block.(*call); ok && len(b.live) > 2*minLiveBytes {
				t.Errorf("%d bytes of live output are kept", len(b.live))
			}
		})
	}
	m := New(theme.Plain())
	m.SetSize(60, 12)
	m.Blocks.AppendToolOutput("1", strings.Repeat("line\n", 50_000))
	if !strings.Contains(m.View(), "… 49995 earlier lines") {
		t.Errorf("the lines before are not counted:\n%s", m.View())
	}
}

// newLines returns the number of new lines below the window.
func newLines(m *Model) int {
	m.window.renderPending()
	return m.window.newLines
}
