package composer

import (
	"slices"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"parley/ui/theme"
)

// plain is the simplest model of the composer: a text with a cursor, split into
// characters again for each key.
type plain struct {
	text string
	cur  int // in bytes, between two characters
}

func (p *plain) insert(s string) {
	p.text = p.text[:p.cur] + s + p.text[p.cur:]
	p.settle(p.cur + len(s))
}

func (p *plain) delete(i, j int) {
	p.text = p.text[:i] + p.text[j:]
	p.settle(i)
}

// settle puts the cursor at i, or after the character that contains i.
func (p *plain) settle(i int) {
	p.cur = 0
	for _, u := range Split(p.text) {
		if p.cur >= i {
			return
		}
		p.cur += len(u.Text)
	}
}

func (p *plain) before() int {
	last := 0
	for at, units := 0, Split(p.text); at < p.cur; units = units[1:] {
		last = at
		at += len(units[0].Text)
	}
	return last
}

func (p *plain) after() int {
	if p.cur == len(p.text) {
		return p.cur
	}
	return p.cur + len(first(p.text[p.cur:]).Text)
}

// pieces lists text to type: combining, wide and invisible characters.
var pieces = []string{
	"a", "Zz ", " ", "\n", "\t", "日本", "\u0301", "👨", "\u200d", "👩‍👧", "🇩", "🇪🇫", "\x1b[2J", "\u200b", "\u202e", "\x00", "क्", "षि", "한", "\u1112\u1161", "\u0600", "long-word-without-end", "\xff", "\r\n", "\r",
}

func FuzzComposer(f *testing.F) {
	f.Add([]byte("\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c"), uint8(20))
	f.Add([]byte{10, 11, 10, 100, 10, 101, 102, 10, 103, 10, 100}, uint8(3))
	f.Add([]byte{7, 8, 7, 100, 100, 8, 102, 7, 6, 6, 105, 106, 107, 120, 121}, uint8(1))
	f.Add([]byte{244, 246, 247, 100, 200, 241, 241, 239, 240, 244, 0, 221, 249, 245, 251, 252}, uint8(12))
	f.Add([]byte{236, 230, 231, 232, 233, 234, 235, 236, 237, 238, 0, 5, 221, 230, 233, 234, 236, 231}, uint8(9))
	f.Fuzz(func(t *testing.T, keys []byte, width uint8) {
		m := &rig{Model: New(theme.Plain())}
		m.SetCompleter(hostile)
		m.SetSize(int(width), 4)
		m.Recall.Remember("one two\nthree")
		p := &plain{}
		modeled := true // the simple model does not support every key
		for _, k := range keys {
			modeled = step(m, p, k) && modeled
			check(t, m.Model)
			if got := text(m.editor.Units); modeled && (got != p.text || text(m.editor.Units[:m.editor.Cursor]) != p.text[:p.cur]) {
				t.Fatalf("holds %q with the cursor behind %q, want %q, %q", got, text(m.editor.Units[:m.editor.Cursor]), p.text, p.text[:p.cur])
			}
		}
	})
}

// hostile returns names that are hard to display, or nothing, as completions.
func hostile(kind rune, word string) ([]Candidate, bool) {
	var found []Candidate
	for i := range len(word) * 5 % 17 {
		found = append(found, Candidate{
			Text: strings.Repeat(pieces[i%len(pieces)], i*3), Detail: pieces[(i+len(word))%len(pieces)],
			Directory: i%3 == 0, Submit: i%2 == 0,
		})
	}
	return found, false
}

// A rig is a composer with its pending commands.
type rig struct {
	*Model
	cmds []tea.Cmd
}

func (m *rig) send(msg tea.Msg) { m.do(m.Update(msg)) }

func (m *rig) do(cmd tea.Cmd) {
	if cmd != nil {
		m.cmds = append(m.cmds, cmd)
	}
}

// answer runs the pending commands.
func (m *rig) answer() {
	cmds := m.cmds
	m.cmds = nil
	for _, cmd := range cmds {
		msg := cmd()
		if batch, ok := msg.(tea.BatchMsg); ok {
			m.cmds = append(m.cmds, batch...)
			continue
		}
		m.send(msg)
	}
}

// others lists operations on a composer other than keys.
var others = []func(m *rig){
	(*rig).answer,
	(*rig).answer,
	func(m *rig) { m.SetModal(true) },
	func(m *rig) { m.SetModal(false) },
	func(m *rig) { m.send(tea.KeyPressMsg{Code: '@', Text: "@"}) },
	func(m *rig) { m.send(tea.KeyPressMsg{Code: '/', Text: "/"}) },
	func(m *rig) {
		m.Queue.SetQueue([]string{"first", "\x1b[2J\nsecond", strings.Repeat("日本", 50), "", "last"}, 0)
	},
	func(m *rig) { m.Queue.SetQueue(nil, 0) },
	func(m *rig) { m.Recall.Stash() },
	func(m *rig) { m.Recall.Unstash() },
	func(m *rig) { m.SetValue("@a !\n日本語 /x") },
	func(m *rig) { m.SetValue(m.Value() + " @ ") },
	func(m *rig) { m.Clear() },
	func(m *rig) { m.Reset() },
	func(m *rig) {
		for y := -1; y <= m.Height(); y++ {
			m.do(m.Click(m.editor.width/2+y, y))
		}
	},
}

// vimKeys lists vim commands, for vim mode.
var vimKeys = []string{"dwcwyw", "d2jp", "P3xu", "vewy", "ggdG", "fa;t ,", "oO", "ddyyp", "r日A", "5G$", "c$v0bd", "2dw^ReEB"}

// step sends the key for k to both, and reports whether the simple model
// supports it.
func step(m *rig, p *plain, k byte) bool {
	press := func(code rune, mod tea.KeyMod) { m.send(tea.KeyPressMsg{Code: code, Mod: mod}) }
	switch piece := pieces[int(k)%len(pieces)]; {
	case k < 60:
		m.send(tea.KeyPressMsg{Code: tea.KeyExtended, Text: piece})
		p.insert(normalize(piece))
	case k < 100:
		m.send(tea.PasteMsg{Content: piece})
		p.insert(normalize(piece))
	case k < 110:
		press(tea.KeyBackspace, 0)
		p.delete(p.before(), p.cur)
	case k < 120:
		press(tea.KeyDelete, 0)
		p.delete(p.cur, p.after())
	case k < 130:
		press(tea.KeyLeft, 0)
		p.cur = p.before()
	case k < 140:
		press(tea.KeyRight, 0)
		p.cur = p.after()
	case k < 150:
		m.SetSize(int(k)%25, int(k)%9)
	case k < 175:
		press('a'+rune(k-150), tea.ModCtrl)
		return false
	case k < 200:
		press('a'+rune(k-175), tea.ModAlt)
		return false
	case k < 210:
		press('_', tea.ModCtrl)
		return false
	case k < 220:
		m.send(tea.PasteMsg{Content: strings.Repeat(piece, 3000)})
		return false
	case k < 230:
		press([]rune{tea.KeyUp, tea.KeyDown, tea.KeyEnter, tea.KeyHome, tea.KeyEnd, tea.KeyEscape, tea.KeyTab}[k%7], 0)
		return false
	case k < 240:
		for _, key := range vimKeys[int(k)%len(vimKeys)] {
			m.send(tea.KeyPressMsg{Code: key, Text: string(key)})
		}
		return false
	default:
		others[int(k)%len(others)](m)
		return false
	}
	return true
}

func check(t *testing.T, m *Model) {
	t.Helper()
	lines := strings.Split(m.View(), "\n")
	if len(lines) != m.Height() || len(lines) > m.editor.height {
		t.Fatalf("view of %d rows, Height %d, at most %d", len(lines), m.Height(), m.editor.height)
	}
	for _, line := range lines {
		if w := ansi.StringWidth(line); w > m.editor.width {
			t.Fatalf("row of %d cells, width %d: %q", w, m.editor.width, line)
		}
	}
	if x, y, ok := m.Cursor(); !ok || x < 0 || x >= m.editor.width || y < 0 || y >= len(lines) {
		t.Fatalf("cursor at %d, %d, %v in a view of %d by %d", x, y, ok, m.editor.width, len(lines))
	}
	var whole layout
	if whole.update(&Buffer{Units: m.editor.Units}, m.editor.layout.width); !slices.Equal(whole.rows, m.editor.rows) {
		t.Fatalf("rows are %v, want %v", m.editor.rows, whole.rows)
	}
	if row := m.PromptRow(); row < 0 || row >= len(lines) {
		t.Fatalf("the sign is in row %d of %d", row, len(lines))
	}
	i, j := 0, 0
	if m.modal != nil {
		i, j = m.modal.Selection()
	}
	if i < 0 || i > j || j > len(m.editor.Units) || m.editor.Cursor > len(m.editor.Units) {
		t.Fatalf("selected %d to %d, the cursor at %d of %d", i, j, m.editor.Cursor, len(m.editor.Units))
	}
	if v := m.Value(); stripControl(v) != v {
		t.Fatalf("the value has control characters: %q", v)
	}
	for rest := m.editor.Units; len(rest) > 0; {
		n := max(slices.IndexFunc(rest, func(u Unit) bool { return u.Kind != kindChar }), 0)
		if n == 0 && rest[0].Kind == kindChar {
			n = len(rest)
		}
		if run := rest[:n]; !slices.Equal(Split(text(run)), run) {
			t.Fatalf("%q is not cut into characters: %v", text(run), run)
		}
		rest = rest[max(n, 1):]
	}
}

func BenchmarkKey(b *testing.B) {
	for _, c := range []struct {
		name, text string
	}{
		{"empty", ""},
		{"10k/prose", strings.Repeat("the quick brown fox jumps ", 400)[:10_000]},
		{"10k/lines", strings.Repeat("the quick brown fox jumps over the lazy dog\n", 250)[:10_000]},
		{"10k/one word", strings.Repeat("x", 10_000)},
		{"10k/CJK", strings.Repeat("日本語", 3_334)},
		{"60k/prose", strings.Repeat("the quick brown fox jumps ", 2400)[:60_000]},
		{"10M/chip", strings.Repeat("the quick brown fox jumps\n", 400_000)},
	} {
		for at, key := range map[string]rune{"end": tea.KeyEnd, "middle": 0, "start": tea.KeyHome} {
			b.Run(c.name+"/"+at, func(b *testing.B) {
				m := New(theme.Dark())
				m.SetSize(120, 12)
				m.SetValue(c.text)
				switch key {
				case tea.KeyHome:
					m.editor.Cursor = 0
				case 0:
					m.editor.Cursor = len(m.editor.Units) / 2
				}
				m.View()
				b.ReportAllocs()
				for b.Loop() { // a key and its undo, so that the text keeps its length
					m.Update(tea.KeyPressMsg{Code: 'a', Text: "a"})
					m.View()
					m.Update(tea.KeyPressMsg{Code: tea.KeyBackspace})
					m.View()
				}
			})
		}
	}
}

func BenchmarkPaste10MB(b *testing.B) {
	content := strings.Repeat("the quick brown fox jumps over the lazy dog\r\n", 10<<20/45)
	for b.Loop() {
		m := New(theme.Dark())
		m.Update(tea.PasteMsg{Content: content})
		m.View()
		if len(m.Value()) < 9<<20 {
			b.Fatal("the paste is not whole")
		}
	}
}

func BenchmarkViewIdle(b *testing.B) {
	m := New(theme.Dark())
	m.SetValue("hello")
	b.ReportAllocs()
	for b.Loop() {
		m.View()
	}
}

// FuzzSetValue verifies that the text returned by an editor becomes the prompt,
// whether or not chips remain, except for line ends at the end, which editors
// lose.
func FuzzSetValue(f *testing.F) {
	large := strings.Repeat("one\n", 40)
	f.Add("see ", large, " and", "see "+large+" or")
	f.Add("", large, "", strings.TrimSpace(large))
	f.Add("e", large, "\u0301", "\u0301"+large+"\u0301")
	f.Add("e", large, "x", "e\u0301"+large[4:]+"two\nx")
	f.Add("!", large, "", "/"+large)
	f.Fuzz(func(t *testing.T, before, held, behind, s string) {
		m := New(theme.Plain())
		m.SetSize(20, 5)
		m.SetValue(before)
		m.editor.Replace(m.editor.Cursor, m.editor.Cursor, []Unit{newChip(normalize(held))})
		m.editor.Insert(normalize(behind))
		m.SetValue(s)
		check(t, m)
		got, want := promptText(m.editor.Units), stripControl(normalize(s))
		if got != want && (strings.TrimRight(got, "\n") != strings.TrimRight(want, "\n") || len(got) < len(want)) {
			t.Errorf("%q with %q and %q became %q of %q", before, held, behind, got, want)
		}
	})
}
