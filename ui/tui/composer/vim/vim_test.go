package vim_test

import (
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"parley/ui/theme"
	"parley/ui/tui/composer"
	"parley/ui/tui/composer/vim"
	"parley/ui/uitest"
)

func init() { vim.Register() }

// play sends keys by name to a composer. Text that is not a key name is typed, text after "paste:" is pasted, and "clear"
// calls Clear. A second passes between two of them.
func play(t *testing.T, m *composer.Model, keys ...string) {
	t.Helper()
	now := m.Now()
	m.Now = func() time.Time {
		now = now.Add(time.Second)
		return now
	}
	for _, key := range keys {
		text, pasted := strings.CutPrefix(key, "paste:")
		k, err := uitest.Key(key)
		switch {
		case key == "clear":
			m.Clear()
		case pasted:
			m.Update(tea.PasteMsg{Content: text})
		case err == nil:
			m.Update(k)
		default:
			for _, r := range key {
				m.Update(tea.KeyPressMsg{Code: r, Text: string(r)})
			}
		}
	}
}

// screen returns the view with a bar as the cursor.
func screen(m *composer.Model) string {
	lines := strings.Split(ansi.Strip(m.View()), "\n")
	if x, y, ok := m.Cursor(); ok {
		line := lines[y] + strings.Repeat(" ", max(x-ansi.StringWidth(lines[y]), 0))
		lines[y] = ansi.Truncate(line, x, "") + "|" + ansi.TruncateLeft(line, x, "")
	}
	return strings.Join(lines, "\n")
}

func TestVim(t *testing.T) {
	const lines = "one two\n  three\n\nfour, five six"
	for _, c := range []struct {
		text string // with the cursor before its first character, in normal mode
		keys string // ^ is esc, _ is ^, < is ctrl+r
		want string
	}{
		// motions
		{"abc", "l", "a|bc"},
		{"abc", "2l", "ab|c"},
		{"abc", "9l", "ab|c"},
		{"abc", "9lh", "a|bc"},
		{"abc", "$", "ab|c"},
		{"abc", "$0", "|abc"},
		{"  abc", "$_", "  |abc"},
		{lines, "j", "one two\n|  three\n\nfour, five six"},
		{lines, "G", "one two\n  three\n\n|four, five six"},
		{lines, "Ggg", "|one two\n  three\n\nfour, five six"},
		{lines, "2G", "one two\n  |three\n\nfour, five six"},
		{lines, "2gg", "one two\n  |three\n\nfour, five six"},
		{lines, "w", "one |two\n  three\n\nfour, five six"},
		{lines, "2w", "one two\n  |three\n\nfour, five six"},
		{lines, "3w", "one two\n  three\n|\nfour, five six"},
		{lines, "5w", "one two\n  three\n\nfour|, five six"},
		{lines, "5W", "one two\n  three\n\nfour, |five six"},
		{lines, "Gb", "one two\n  three\n|\nfour, five six"},
		{lines, "G$b", "one two\n  three\n\nfour, five |six"},
		{lines, "G$3b", "one two\n  three\n\nfour|, five six"},
		{lines, "G$3B", "one two\n  three\n\n|four, five six"},
		{lines, "e", "on|e two\n  three\n\nfour, five six"},
		{lines, "3e", "one two\n  thre|e\n\nfour, five six"},
		{lines, "GE", "one two\n  three\n\nfour|, five six"},
		{"a.b.c", "f.", "a|.b.c"},
		{"a.b.c", "2f.", "a.b|.c"},
		{"a.b.c", "f.;", "a.b|.c"},
		{"a.b.c", "f.;,", "a|.b.c"},
		{"a.b.c", "f.;;", "a.b|.c"},
		{"abcdc", "tc", "a|bcdc"},
		{"abcdc", "tc;", "abc|dc"},
		{"abcdc", "$Fb", "a|bcdc"},
		{"abcdc", "$Tb", "ab|cdc"},
		{"abc", "fx", "|abc"},
		{"a\nx", "fx", "|a\nx"},
		{"日本語", "f語", "日本|語"},
		// operators
		{"one two three", "dw", "|two three"},
		{"one two three", "2dw", "|three"},
		{"one two three", "d2w", "|three"},
		{"one two three", "de", "| two three"},
		{"one two three", "wdb", "|two three"},
		{"one two three", "wd0", "|two three"},
		{"one two three", "wd$", "one| "},
		{"one two three", "wD", "one| "},
		{"one two", "wdw", "one| "},
		{"one\n  two", "dw", "|\n  two"},
		{"a.b.c", "df.", "|b.c"},
		{"a.b.c", "dt.", "|.b.c"},
		{"a.b.c", "$dF.", "a.b|c"},
		{"a.b.c", "d2f.", "|c"},
		{"abc", "dl", "|bc"},
		{"abc", "$dh", "a|c"},
		{"abc", "x", "|bc"},
		{"abc", "2x", "|c"},
		{"abc", "$x", "a|b"},
		{"abc\nd", "9x", "|\nd"},
		{"abc", "$X", "a|c"},
		{lines, "dd", "  |three\n\nfour, five six"},
		{lines, "2dd", "|\nfour, five six"},
		{lines, "dj", "|\nfour, five six"},
		{lines, "Gdk", "one two\n  |three"},
		{lines, "Gdd", "one two\n  three\n|"},
		{lines, "dG", "|"},
		{lines, "Gdgg", "|"},
		{"one", "dj", "|one"},
		{"one", "dd", "|"},
		{"one two", "cwX^", "|X two"},
		{"one two", "cwX", "X| two"},
		{"one two", "wcbX", "X|two"},
		{"one two", "ceX", "X| two"},
		{"one two", "wC!", "one !|"},
		{"one two", "sX", "X|ne two"},
		{lines, "ccX", "X|\n  three\n\nfour, five six"},
		{lines, "jSX", "one two\nX|\n\nfour, five six"},
		{lines, "cjX", "X|\n\nfour, five six"},
		// registers
		{"one two", "ywP", "one| one two"},
		{"one two", "yw$p", "one twoone| "},
		{"one two", "dwp", "tone| wo"},
		{"abc", "xp", "b|ac"},
		{"abc", "x3p", "baa|ac"},
		{"a\nb", "yyp", "a\n|a\nb"},
		{"a\nb", "Yjp", "a\nb\n|a"},
		{"a\nb", "jyyP", "a\n|b\nb"},
		{"a\nb", "ddp", "b\n|a"},
		{"a\nb\nc", "yjGp", "a\nb\nc\n|a\nb"},
		{"one two", "wyb", "|one two"},
		{"abc", "p", "|abc"},
		// changes and back
		{"abc", "xu", "|abc"},
		{"abc", "xxuu", "|abc"},
		{"abc", "xx2u", "|abc"},
		{"abc", "xxu<", "|c"},
		{"one two", "cwa b c^u", "|one two"},
		{"a", "ob^u", "|a"},
		{"abc", "rx", "|xbc"},
		{"abc", "2rx", "x|xc"},
		{"abc", "4rx", "|abc"},
		// inserting
		{"abc", "iX", "X|abc"},
		{"abc", "aX", "aX|bc"},
		{"abc", "AX", "abcX|"},
		{"  abc", "$IX", "  X|abc"},
		{"a\nb", "oX", "a\nX|\nb"},
		{"a\nb", "jOX", "a\nX|\nb"},
		{"abc", "$iX^", "ab|Xc"},
		{"", "aX", "X|"},
		// visual mode
		{"one two", "vd", "|ne two"},
		{"one two", "ved", "| two"},
		{"one two", "wvby$p", "one twoone |t"},
		{"one two", "vecX", "X| two"},
		{"one two", "v$od", "|"},
		{"one two", "vlvx", "o|e two"},
		{"a\nb\nc", "vjd", "|\nc"},
		{"a\nb\nc", "vGx", "|"},
		{"one two", "vl^x", "o|e two"},
		// unfinished and meaningless commands
		{"one two", "d^w", "one |two"},
		{"one two", "dzw", "one |two"},
		{"one two", "gzx", "|ne two"},
		{"one two", "2^x", "|ne two"},
		{"one two", "Zx", "|ne two"},
		{"", "dwxpPu3ddvjd$wbe0", "|"},
	} {
		m := composer.New(theme.Plain())
		m.SetSize(60, 12)
		m.SetModal(true)
		m.SetValue(c.text)
		play(t, m, "alt+<", "esc")
		for _, key := range strings.Split(c.keys, "") {
			if name := map[string]string{"^": "esc", "_": "^", "<": "ctrl+r"}[key]; name != "" {
				key = name
			}
			play(t, m, key)
		}
		if got := screen(m); got != c.want {
			t.Errorf("%q in %q: got\n%s\nwant\n%s", c.keys, c.text, got, c.want)
		}
	}
}

func TestVimModes(t *testing.T) {
	m := composer.New(theme.Plain())
	m.SetSize(30, 5)
	if m.Mode() != "" {
		t.Errorf("the mode is %q without vim", m.Mode())
	}
	m.SetModal(true)
	m.Recall.Remember("past")
	for _, c := range []struct{ key, mode, screen string }{
		{"hello", "insert", "hello|"},
		{"esc", "normal", "hell|o"},
		{"2", "normal 2", "hell|o"},
		{"d", "normal 2d", "hell|o"},
		{"f", "normal 2df", "hell|o"},
		{"esc", "normal", "hell|o"},
		{"v", "visual", "hell|o"},
		{"b", "visual", "|hello"},
		{"left", "visual", "|hello"},
		{"esc", "normal", "|hello"},
		{"backspace", "normal", "|hello"},
		{"end", "normal", "hell|o"},
		{"ctrl+u", "normal", "|o"},
		{"paste:AB", "normal", "AB|o"},
		{"i", "insert", "AB|o"},
		{"enter", "insert", "|"},
		{"esc", "normal", "|"},
		{"k", "normal", "AB|o"},
		{"k", "normal", "pas|t"},
		{"j", "normal", "AB|o"},
		{"enter", "insert", "|"},
		{"x", "insert", "x|"},
		{"ctrl+r", "insert", "history: |\nx"},
		{"esc", "insert", "x|"},
	} {
		play(t, m, c.key)
		if m.Mode() != c.mode || screen(m) != c.screen {
			t.Errorf("after %s: mode %q, want %q; got\n%s\nwant\n%s", c.key, m.Mode(), c.mode, screen(m), c.screen)
		}
	}
	m.SetModal(false)
	if play(t, m, "esc", "d"); m.Mode() != "" || screen(m) != "xd|" {
		t.Errorf("without vim again: mode %q\n%s", m.Mode(), screen(m))
	}
}

// Cleared text is restored completely, although vim mode undoes inserted text
// in one step.
func TestVimClearCanBeTakenBack(t *testing.T) {
	m := composer.New(theme.Plain())
	m.SetSize(30, 5)
	m.SetModal(true)
	play(t, m, "one two", "clear", "ctrl+_")
	if got := screen(m); got != "one two|" {
		t.Errorf("got %s", got)
	}
}

// The arrows and j and k move by rows, and keep the column.
func TestVimRows(t *testing.T) {
	m := composer.New(theme.Plain())
	m.SetSize(18, 5)
	m.SetModal(true)
	play(t, m, "aaaa bbbb cccc dddd eeee ffff", "ctrl+j", "x", "ctrl+j", "gggg", "esc", "k", "k")
	if got, want := screen(m), "aaaa bbbb cccc \ndddd eeee ffff\nx\ngggg"; strings.ReplaceAll(got, "|", "") != want {
		t.Fatalf("got\n%s", got)
	}
	if x, y, _ := m.Cursor(); x != 3 || y != 1 {
		t.Errorf("the cursor is at %d, %d, want 3, 1", x, y)
	}
	play(t, m, "2", "j")
	if x, y, _ := m.Cursor(); x != 3 || y != 3 {
		t.Errorf("the cursor is at %d, %d, want 3, 3", x, y)
	}
}
