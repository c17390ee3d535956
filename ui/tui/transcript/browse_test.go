package transcript

import (
	"fmt"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"parley/ui/theme"
)

// named lists the keys that type nothing.
var named = map[string]tea.KeyPressMsg{
	"space": {Code: tea.KeySpace, Text: " "}, "esc": {Code: tea.KeyEscape}, "enter": {Code: tea.KeyEnter},
	"up": {Code: tea.KeyUp}, "down": {Code: tea.KeyDown}, "backspace": {Code: tea.KeyBackspace},
	"ctrl+u": {Code: 'u', Mod: tea.ModCtrl}, "ctrl+w": {Code: 'w', Mod: tea.ModCtrl},
}

// press presses keys, and returns the message of the last one. The text after an
// apostrophe is typed, with spaces for underscores.
func press(m *Model, keys ...string) (msg tea.Msg) {
	for _, name := range keys {
		strokes := []tea.KeyPressMsg{named[name]}
		if text, typed := strings.CutPrefix(name, "'"); typed || strokes[0].Code == 0 {
			strokes = nil
			for _, r := range text {
				strokes = append(strokes, tea.KeyPressMsg{Code: r, Text: strings.ReplaceAll(string(r), "_", " ")})
			}
		}
		for _, key := range strokes {
			if cmd := m.Update(key); cmd != nil {
				msg = cmd()
			}
		}
	}
	return msg
}

// under returns the first row of the block under the cursor.
func under(m *Model) string {
	for row := range strings.SplitSeq(ansi.Strip(m.View()), "\n") {
		if before, text, ok := strings.Cut(row, "▎"); ok {
			return before + trimMark(text)
		}
	}
	return ""
}

func chat() *Model {
	m := New(theme.Plain())
	m.SetSize(60, 16)
	for i := range 4 {
		m.Blocks.AddUser(fmt.Sprintf("question %d", i))
		m.Blocks.AppendAnswer("a", fmt.Sprintf("answer %d\n\n```go\ncode %d\n```\n\n```sh\nmore %d\n```\n", i, i, i))
		m.Blocks.FinishAnswer("a")
		m.Blocks.SetTool(fmt.Sprint(i), Tool{Name: "build", Title: "make", Status: Done, Output: strings.Repeat("out\n", 9) + fmt.Sprintf("end %d\n", i)})
	}
	return m
}

func TestBrowse(t *testing.T) {
	for _, c := range []struct {
		name  string
		keys  string
		want  string // the block under the cursor
		asked CopyMsg
	}{
		{"begins at the last block", "", "✓build make", CopyMsg{}},
		{"one up", "k", " answer 3", CopyMsg{}},
		{"up and down", "k k j", " answer 3", CopyMsg{}},
		{"down at the end", "j", "✓build make", CopyMsg{}},
		{"the message before", "[", "▌question 3", CopyMsg{}},
		{"two before and one after", "[ [ ]", "▌question 3", CopyMsg{}},
		{"the first block", "g", "▌question 0", CopyMsg{}},
		{"and the last", "g G", "✓build make", CopyMsg{}},
		{"far up", "k k k k k k", "✓build make", CopyMsg{}},
		{"copy the output", "y", "✓build make", CopyMsg{strings.Repeat("out\n", 9) + "end 3", "output"}},
		{"copy a message", "[ y", "▌question 3", CopyMsg{"question 3", "message"}},
		{"copy an answer", "k y", " answer 3", CopyMsg{"answer 3\n\n```go\ncode 3\n```\n\n```sh\nmore 3\n```\n", "answer"}},
		{"copy its last code", "k Y", " answer 3", CopyMsg{"more 3\n", "code"}},
		{"no code to copy", "Y", "✓build make", CopyMsg{}},
		{"the code before", "{ Y", " answer 3", CopyMsg{"more 3\n", "code"}},
		{"and one more", "{ { Y", " answer 3", CopyMsg{"code 3\n", "code"}},
		{"of the answer before", "{ { { Y", " answer 2", CopyMsg{"more 2\n", "code"}},
		{"forth again", "{ { { } Y", " answer 3", CopyMsg{"code 3\n", "code"}},
		{"from the top", "g } Y", " answer 0", CopyMsg{"code 0\n", "code"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := chat()
			m.Browse(true)
			msg, _ := press(m, strings.Fields(c.keys)...).(CopyMsg)
			if msg != c.asked {
				t.Errorf("asked to copy %q, want %q", msg, c.asked)
			}
			if m.browser.code >= 0 {
				m.window.jumpTo(rowPos{m.browser.cursor, 0}) // a code block is shown without the beginning of its answer
			}
			if got := under(m); got != c.want {
				t.Errorf("the cursor is on %q, want %q in\n%s", got, c.want, ansi.Strip(m.View()))
			}
			check(t, m, c.keys)
		})
	}
}

func TestBrowseFolds(t *testing.T) {
	m := chat()
	m.Browse(true)
	press(m, "space")
	if !strings.Contains(m.View(), "end 3") {
		t.Errorf("not unfolded:\n%s", m.View())
	}
	press(m, "space")
	if strings.Contains(m.View(), "end 3") {
		t.Errorf("not folded again:\n%s", m.View())
	}
	press(m, "space")
	m.ToggleOutput()
	m.ToggleOutput()
	if strings.Contains(m.View(), "end 3") {
		t.Error("folding all has to fold what was unfolded alone")
	}
}

// While the cursor is above the last block, arriving text must not push it
// away. On the last block it follows.
func TestBrowseStays(t *testing.T) {
	m := chat()
	m.SetSize(60, 40)
	m.Browse(true)
	m.Blocks.AddNote("new")
	if !m.AtBottom() {
		t.Error("on the last block the reader stays at the bottom")
	}
	press(m, "k")
	was := topRow(m)
	m.Blocks.AddNote("newer\nnewest")
	if got := topRow(m); got != was || newLines(m) != 2 {
		t.Errorf("top row %q and %d new lines, want %q and 2", got, newLines(m), was)
	}
	press(m, "g", "esc")
	if m.Browsing() || strings.Contains(m.View(), "▎") {
		t.Error("still browsing after esc")
	}
	if press(m, "G"); m.AtBottom() {
		t.Error("keys move although nobody browses")
	}
}

func TestCopies(t *testing.T) {
	m := New(theme.Plain())
	if _, ok := m.LastCode(); ok || m.LastAnswer() != "" {
		t.Error("an empty conversation has something to copy")
	}
	m.SetSize(40, 10)
	m.Blocks.AppendAnswer("a", "first\n\n```\ncode\n```")
	m.Blocks.FinishAnswer("a")
	m.Blocks.AppendAnswer("b", "second \x1b[2J")
	m.Blocks.AddUser("thanks")
	if got, want := m.LastAnswer(), "second ␛[2J"; got != want {
		t.Errorf("last answer %q, want %q", got, want)
	}
	if got, ok := m.LastCode(); got != "code\n" || !ok {
		t.Errorf("last code %q, %v", got, ok)
	}
	m.Remove("b")
	if got, want := m.LastAnswer(), "first\n\n```\ncode\n```"; got != want {
		t.Errorf("after a drop the last answer is %q, want %q", got, want)
	}
}

// Browsing begins at the end of a turn, on its footer.
func TestCopyAtTheFooter(t *testing.T) {
	for _, c := range []struct {
		name, keys string
		end        func(*Model)
		want       any
	}{
		{"the answer", "y", func(m *Model) {}, CopyMsg{"answer 3\n\n```go\ncode 3\n```\n\n```sh\nmore 3\n```\n", "answer"}},
		{"its code", "Y", func(m *Model) {}, CopyMsg{"more 3\n", "code"}},
		{"nothing was answered", "y", func(m *Model) { m.Blocks.AddUser("and?"); m.Blocks.AddNote("stopped") }, CopyMsg{"and?", "message"}},
		{"of several blocks", "k k v j y", func(m *Model) { m.Blocks.AddUser("and?"); m.Blocks.AddNote("stopped") }, CopyMsg{"and?\n\nstopped", "2 blocks"}},
		{"with the footer", "k v j y", func(m *Model) { m.Blocks.AddUser("and?"); m.Blocks.AddNote("stopped") }, CopyMsg{"stopped", "1 block"}},
	} {
		m := chat()
		c.end(m)
		m.Blocks.AddFooter("model · 3k tokens")
		m.Browse(true)
		if got := press(m, strings.Fields(c.keys)...); got != c.want {
			t.Errorf("%s: asked to copy %q, want %q", c.name, got, c.want)
		}
	}
}

// Browsing begins on the answer, not on the footer below it. Digits copy its code blocks,
// and keys that find nothing report it.
func TestBrowseAnswer(t *testing.T) {
	m := New(theme.Plain())
	m.SetSize(60, 20)
	m.Blocks.AddUser("question")
	m.Blocks.AppendAnswer("a", "Two:\n\n```go\none\n```\n\n```sh\ntwo\n```\n")
	m.Blocks.FinishAnswer("a")
	m.Blocks.AddFooter("model · 1 s")
	m.Browse(true)
	if text, what := m.Blocks.items[m.browser.cursor].source(); what != "answer" {
		t.Fatalf("browsing begins on %s %q", what, text)
	}
	if hint := m.Hint(); !strings.HasPrefix(hint, "browse: esc back · 1–2 copy code") {
		t.Errorf("the hint is %q", hint)
	}
	for key, want := range map[string]tea.Msg{
		"1": CopyMsg{"one\n", "code block 1"}, "2": CopyMsg{"two\n", "code block 2"}, "3": ToastMsg("No code block 3 here"),
		"]": ToastMsg("No later message from you"), "n": ToastMsg(nothingFound), "N": ToastMsg(nothingFound),
	} {
		cmd := m.Update(tea.KeyPressMsg{Code: rune(key[0]), Text: key})
		if cmd == nil || cmd() != want {
			t.Errorf("%s gives %v, want %v", key, cmd, want)
		}
	}
	m.browser.setCursor(0)
	for key, want := range map[string]tea.Msg{
		"[": ToastMsg("No earlier message from you"), "Y": ToastMsg("No code block here"), "{": ToastMsg("No code block above"),
	} {
		if cmd := m.Update(tea.KeyPressMsg{Code: rune(key[0]), Text: key}); cmd == nil || cmd() != want {
			t.Errorf("on the message %s gives no %v", key, want)
		}
	}
}

// A footer takes one row if one of its forms fits.
func TestFooterForms(t *testing.T) {
	m := New(theme.Plain())
	m.Blocks.AddFooter("model · 12 in · 3 out · 1.2 s", "model · 12 in · 3 out", "model")
	for width, want := range map[int]string{40: "model · 12 in · 3 out · 1.2 s", 28: "model · 12 in · 3 out", 12: "model"} {
		m.SetSize(width, 4)
		if got := visible(m); got != want {
			t.Errorf("at %d cells: %q, want %q", width, got, want)
		}
	}
}
