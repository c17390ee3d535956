package uitest

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"
	uv "github.com/charmbracelet/ultraviolet"

	"parley/ui/tty"
)

// A Line is a terminal whose bytes arrive in pieces, with pauses that no test waits for.
type Line struct {
	tty.File
	Pieces []any // strings, and a time.Duration for a pause
}

// ReadWithin implements tty.File.
func (l *Line) ReadWithin(buf []byte, limit time.Duration) (int, error) {
	for len(l.Pieces) > 0 {
		switch piece := l.Pieces[0].(type) {
		case time.Duration:
			if limit >= 0 && piece >= limit {
				l.Pieces[0] = piece - limit
				return 0, nil
			}
			l.Pieces = l.Pieces[1:]
			limit -= min(piece, max(limit, 0))
		case string:
			n := copy(buf, piece)
			if l.Pieces[0] = piece[n:]; n == len(piece) {
				l.Pieces = l.Pieces[1:]
			}
			return n, nil
		}
	}
	if limit >= 0 {
		return 0, nil
	}
	return 0, io.EOF
}

// Events returns what Bubble Tea makes of pieces that a terminal sends: text as it is, keys in
// angle brackets, pastes in double ones.
func Events(t testing.TB, pieces ...any) string {
	t.Helper()
	events, done := make(chan uv.Event), make(chan error, 1)
	in := &wholeReader{t: t, Reader: tty.NewReader(&Line{Pieces: pieces})}
	go func() {
		done <- uv.NewTerminalReader(in, "xterm-256color").StreamEvents(context.Background(), events)
		close(events)
	}()
	var b strings.Builder
	for event := range events {
		switch e := event.(type) {
		case uv.KeyPressEvent:
			if e.Text != "" {
				b.WriteString(e.Text)
			} else {
				b.WriteString("<" + e.String() + ">")
			}
		case uv.PasteStartEvent, uv.PasteEndEvent:
		case uv.PasteEvent:
			b.WriteString("<<" + e.Content + ">>")
		default:
			fmt.Fprintf(&b, "<%T %v>", e, e)
		}
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	return b.String()
}

// A wholeReader checks that no read needs a timer to be decoded.
type wholeReader struct {
	*tty.Reader
	t   testing.TB
	dec uv.EventDecoder
}

func (r *wholeReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	for b := p[:n]; len(b) > 0; {
		used, event := r.dec.Decode(b)
		if _, unknown := event.(uv.UnknownEvent); unknown || b[0] == '\x1b' && used <= 2 {
			r.t.Errorf("%q of %q depends on what follows", b[:used], p[:n])
		}
		b = b[used:]
	}
	return n, err
}

// cuts holds what was checked by checkCuts, for all tests of the process.
var cuts sync.Map

// checkCuts fails the test unless sent means want however it is cut, with a pause at each cut.
func checkCuts(t testing.TB, sent, want string) {
	t.Helper()
	if _, done := cuts.LoadOrStore(sent, true); done {
		return
	}
	if got := Events(t, sent); got != want {
		t.Errorf("the terminal sends %q: %q, want %q", sent, got, want)
		return
	}
	Cut(t, sent)
}

// Cut fails the test unless sent means the same however it is cut, with a pause at each cut: a long
// one, unless esc is before the cut, which alone is a key. Long texts are cut at fewer places one
// by one, and at all of them at once.
func Cut(t testing.TB, sent string) {
	t.Helper()
	want := Events(t, sent)
	pause := func(i int) time.Duration {
		if sent[i-1] == '\x1b' {
			return 40 * time.Millisecond
		}
		return 900 * time.Millisecond
	}
	check := func(pieces []any) {
		t.Helper()
		if got := Events(t, pieces...); got != want {
			t.Errorf("%q cut as %.200q means\n%.200q, want\n%.200q", sent, pieces, got, want)
		}
	}
	const all, edge = 64, 16
	for i := 1; i < len(sent); i++ {
		if i <= edge || i >= len(sent)-edge || i%(1+len(sent)/all) == 0 {
			check([]any{sent[:i], pause(i), sent[i:]})
		}
	}
	size := 1 + len(sent)/(16<<10)
	var pieces []any
	for i := 0; i < len(sent); i += size {
		if i > 0 {
			pieces = append(pieces, pause(i))
		}
		pieces = append(pieces, sent[i:min(i+size, len(sent))])
	}
	check(pieces)
}

// checkKey checks the forms in which terminals send a key.
func checkKey(t testing.TB, k tea.KeyPressMsg) {
	t.Helper()
	want := k.Text
	if want == "" {
		want = "<" + k.String() + ">"
	}
	for _, sent := range sentAs(k) {
		checkCuts(t, sent, want)
	}
}

// finals are the ends of sequences of keys that are no characters.
var finals = map[rune]string{
	tea.KeyUp: "1A", tea.KeyDown: "1B", tea.KeyRight: "1C", tea.KeyLeft: "1D", tea.KeyHome: "1H", tea.KeyEnd: "1F",
	tea.KeyInsert: "2~", tea.KeyDelete: "3~", tea.KeyPgUp: "5~", tea.KeyPgDown: "6~",
	tea.KeyF1: "1P", tea.KeyF2: "1Q", tea.KeyF3: "13~", tea.KeyF4: "1S", tea.KeyF5: "15~", tea.KeyF6: "17~", tea.KeyF7: "18~",
	tea.KeyF8: "19~", tea.KeyF9: "20~", tea.KeyF10: "21~", tea.KeyF11: "23~", tea.KeyF12: "24~",
}

// sentAs returns what terminals send for a key: in the old way, if there is one, and in kitty's.
func sentAs(k tea.KeyPressMsg) (all []string) {
	mods := 1
	for i, m := range []tea.KeyMod{tea.ModShift, tea.ModAlt, tea.ModCtrl, tea.ModSuper, tea.ModHyper, tea.ModMeta} {
		if k.Mod.Contains(m) {
			mods += 1 << i
		}
	}
	if end, ok := finals[k.Code]; ok {
		number, final := end[:len(end)-1], end[len(end)-1:]
		if mods > 1 {
			return []string{"\x1b[" + number + ";" + fmt.Sprint(mods) + final}
		}
		if number == "1" {
			all = append(all, "\x1b["+final, "\x1b[1;1"+final)
		}
		return append(all, "\x1b["+strings.TrimPrefix(number, "1;")+final)
	}
	if k.Text != "" {
		return []string{k.Text}
	}
	prefix, code := "", k.Code
	if k.Mod.Contains(tea.ModAlt) {
		prefix = "\x1b"
	}
	switch rest := k.Mod &^ tea.ModAlt; {
	case rest == 0 && code != ' ':
		all = append(all, prefix+string(code))
	case rest == tea.ModCtrl && ('a' <= code && code <= 'z' && code != 'i' && code != 'm'):
		all = append(all, prefix+string(code-0x60))
	case rest == tea.ModCtrl && strings.ContainsRune(`\]^_`, code):
		all = append(all, prefix+string(code-0x40))
	}
	return append(all, fmt.Sprintf("\x1b[%d;%du", code, mods))
}

// checkPaste checks the form in which terminals send a paste.
func checkPaste(t testing.TB, content string) {
	t.Helper()
	if utf8.ValidString(content) && !strings.ContainsAny(content, "\x1b\uFFFD") {
		checkCuts(t, "\x1b[200~"+content+"\x1b[201~", "<<"+content+">>")
	}
}
