package renderer

import (
	"bytes"
	"errors"
	"fmt"
	"image/color"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A frame equal to the last one costs no allocation and no output, whether it
// is compared or painted.
func TestEqualFrameIsFree(t *testing.T) {
	v := newTerminal(t, 80, 24)
	s := on(v, 80, 24)
	rows := strings.Repeat("\x1b[1mwords\x1b[m and 汉字\n", 23)
	views := [2]tea.View{}
	for i := range views { // equal, but not identical
		views[i] = tea.View{Content: strings.Clone(rows), Cursor: tea.NewCursor(1, 1), ProgressBar: tea.NewProgressBar(tea.ProgressBarWarning, 9), WindowTitle: "t"}
	}
	s.Show(views[0])
	s.paint()
	before := v.Bytes
	if n := testing.AllocsPerRun(100, func() { s.Show(views[0]); s.Show(views[1]); s.paint() }); n != 0 {
		t.Errorf("%v allocations", n)
	}
	s.fresh = true // as after a change without effect
	s.paint()
	if v.Bytes != before {
		t.Errorf("%d bytes", v.Bytes-before)
	}
}

// A frame of a streaming answer costs a few allocations, regardless of the size
// and content of the screen.
func TestStreamingAllocatesLittle(t *testing.T) {
	const w, h = 120, 40
	lorem := func(n int) string {
		return fmt.Sprintf("\x1b[1mline %d\x1b[m %s 汉字", n, strings.Repeat("words ", 15))
	}
	page := func(first int, last string) string {
		var rows []string
		for y := range h - 3 {
			rows = append(rows, lorem(first+y))
		}
		return strings.Join(append(rows, last, "› ", "status"), "\n")
	}
	const most = 2 // the strings of the keyboard modes
	tests := []struct {
		name  string
		frame func(i int) string
	}{
		{"the last row grows", func(i int) string { return page(0, strings.Repeat("word ", i%20)) }},
		{"it scrolls by a row", func(i int) string { return page(i, "\x1b[2mword\x1b[m") }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var frames []tea.View
			for i := range 300 {
				frames = append(frames, tea.View{Content: tt.frame(i), Cursor: tea.NewCursor(2, 38)})
			}
			s := on(io.Discard, w, h)
			i := 0
			next := func() {
				s.Show(frames[i%len(frames)])
				s.paint()
				i++
			}
			for range 50 { // until all styles are cached and all buffers have their final size
				next()
			}
			if n := testing.AllocsPerRun(200, next); n > most {
				t.Errorf("%v allocations in a frame, want at most %d", n, most)
			}
		})
	}
}

// Usual changes cost few bytes.
func TestBytes(t *testing.T) {
	const w, h = 80, 24
	lorem := func(n int) string { return fmt.Sprintf("line %d %s", n, strings.Repeat("words ", 10)) }
	page := func(first int) []string {
		var rows []string
		for y := range h - 2 {
			rows = append(rows, lorem(first+y))
		}
		return append(rows, "› ", "status")
	}
	with := func(y int, row string) []string {
		rows := page(0)
		rows[y] = row
		return rows
	}
	tests := []struct {
		name string
		rows []string
		most int
	}{
		{"a letter at the end", with(22, "› x"), 1},
		{"a word at the end of a row", with(9, lorem(9)+"more"), 20},
		{"a letter in the middle", with(9, strings.Replace(lorem(9), "words", "swords", 1)), 80},
		{"the end of a row is gone", with(9, "line 9"), 16},
		{"it scrolls by one", page(1), 110},
		{"it scrolls by five", page(5), 400},
		{"it scrolls back", append([]string{lorem(-1)}, append(page(0)[:h-3], page(0)[h-2:]...)...), 110},
		{"a row more at the bottom", append(page(1)[:h-3], "› ", "  ", "status"), 60},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			v := newTerminal(t, w, h)
			s := on(v, w, h)
			s.show(strings.Join(page(0), "\n"), 2, 22)
			s.updateSettings(func(k *settings) { k.syncUpdates = true })
			before := v.Bytes
			content := strings.Join(tt.rows, "\n")
			s.show(content, 2, 22)
			v.shows(content)
			const update, cursor = len("\x1b[?2026h\x1b[?2026l"), len("\x1b[23;3H")
			if n := v.Bytes - before - update - cursor; n > tt.most {
				t.Errorf("%d bytes, want at most %d", n, tt.most)
			}
		})
	}
}

// A frame cannot move the cursor or query the terminal: everything except text,
// styles and links is removed.
func TestNothingElseGetsThrough(t *testing.T) {
	tests := []struct{ name, content, want string }{
		{"control characters", "a\x07b\x08c\rd\te\x7ff\x00", "abcdef"},
		{"C1", "a\u009b31mb\u0085c\u0090", "a31mbc"},
		{"invalid bytes", "a\xffb\xc3", "a\ufffdb\ufffd"},
		{"invalid bytes behind others", "é\x80汉\xe6\xb1x", "é\ufffd汉\ufffd\ufffdx"},
		{"bidi and invisible", "a\u202eb\u200bc\u2066d\ufeff\u2028", "abcd"},
		{"titles and clipboards", "a\x1b]0;x\ab\x1b]52;c;eA==\x1b\\c\x1b]9;x\ad", "abcd"},
		{"links that hold more", "a\x1b]8;;x\x00y\ab\x1b]8;;\u009b2J\ac\x1b]8;id=\x7f;x\x1b\\d\x1b]8;;\x9d0;x\ae\x1b]8;;x\xff\af", "abcdef"},
		{"moves and queries", "a\x1b[2Jb\x1b[Hc\x1b[6nd\x1b[?1049le\x1bcf\x1b7g\x1bMh", "abcdefgh"},
		{"strings", "a\x1bPq\x1b\\b\x1b_Gx\x1b\\c\x1bXd\x1b\\e", "abce"},
		{"not ended", "abc\x1b[3", "abc"},
		{"a mark without a letter", "\u0301abc", "abc"},
		{"a mark behind a style", "a\x1b[1m\u0301b", "a\u0301b"},
		{"too wide", "0123456789汉", "0123456789"},
		{"half of a wide one", "012345678汉", "012345678"},
		{"nothing takes its place", "012345678汉x", "012345678"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			v := newTerminal(t, 10, 2)
			s := on(v, 10, 2)
			s.updateSettings(func(k *settings) { k.clusters = true })
			s.show(tt.content, 0, 0)
			if got := v.Rows()[0]; got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			s.leave()
			v.right()
			if v.On("1049") || v.Title != "shell" || v.Copied != "" {
				t.Errorf("the terminal is not as it was: %q, %q", v.Title, v.Copied)
			}
		})
	}
}

// TestModes: the terminal has the modes that the view requires, and none after
// the screen is left.
func TestModes(t *testing.T) {
	v := newTerminal(t, 40, 10)
	found := v.Modes()
	s := on(v, 40, 10)
	s.updateSettings(func(k *settings) { k.clusters = true })
	full := tea.View{
		Content: "text", WindowTitle: "parley", ReportFocus: true, MouseMode: tea.MouseModeCellMotion,
		ProgressBar: tea.NewProgressBar(tea.ProgressBarWarning, 50), Cursor: tea.NewCursor(0, 0),
		KeyboardEnhancements: tea.KeyboardEnhancements{ReportAlternateKeys: true},
	}
	tests := []struct {
		name string
		view tea.View
		on   string
		keys string
	}{
		{"least", tea.View{}, "1049 2004 2027 keys", "1"},
		{"buttons", tea.View{MouseMode: tea.MouseModeCellMotion}, "1002 1006 1049 2004 2027 keys", "1"},
		{"all", full, "1002 1004 1006 1049 2004 2027 25 keys", "5"},
		{"buttons again", tea.View{MouseMode: tea.MouseModeCellMotion}, "1002 1006 1049 2004 2027 keys", "1"},
		{"a cursor", tea.View{Cursor: tea.NewCursor(1, 1)}, "1049 2004 2027 25 keys", "1"},
		{"letters too", tea.View{KeyboardEnhancements: tea.KeyboardEnhancements{ReportAllKeysAsEscapeCodes: true}}, "1049 2004 2027 keys", "9"},
		{"all again", full, "1002 1004 1006 1049 2004 2027 25 keys", "5"},
	}
	for _, tt := range tests {
		s.Show(tt.view)
		s.paint()
		if got := v.Modes(); got != tt.on {
			t.Errorf("%s: on is %s, want %s", tt.name, got, tt.on)
		}
		if strings.Join(v.Keys, " ") != tt.keys {
			t.Errorf("%s: the keyboard's stack is %q, want %q", tt.name, v.Keys, tt.keys)
		}
		if v.Title != tt.view.WindowTitle && v.Title != "shell" {
			t.Errorf("%s: the title is %q", tt.name, v.Title)
		}
	}
	if v.Progress != "4;4;50" {
		t.Errorf("progress %q", v.Progress)
	}
	for range 2 { // calling it twice is harmless
		s.leave()
	}
	if v.Modes() != found || len(v.Keys) > 0 || v.Title != "shell" || v.Progress != "4;0" {
		t.Errorf("left as %v, keys %q, title %q, progress %q", v.Modes(), v.Keys, v.Title, v.Progress)
	}
	if err := s.Enter(); err != nil {
		t.Fatal(err)
	}
	s.paint()
	if got := v.Modes(); got != tests[6].on {
		t.Errorf("after coming back, on is %s", got)
	}
	v.shows("text")
}

// Messages that Bubble Tea passes to its renderer reach the screen, and are
// written immediately.
func TestFilter(t *testing.T) {
	v := newTerminal(t, 40, 10)
	s := on(v, 40, 10)
	s.show("text", 0, 0)
	for _, msg := range []tea.Msg{
		tea.RawMsg{Msg: ansi.SetSystemClipboard("copied")}, tea.RawMsg{Msg: ansi.SetWindowTitle("raw")}, tea.RequestBackgroundColor(),
		tea.ModeReportMsg{Mode: ansi.ModeUnicodeCore, Value: ansi.ModeReset},
		tea.ColorProfileMsg{Profile: colorprofile.ANSI}, tea.BatchMsg{nil}, nil, tea.WindowSizeMsg{Width: 30, Height: 5},
	} {
		if got := s.filter(nil, msg); fmt.Sprint(got) != fmt.Sprint(msg) {
			t.Errorf("%T is kept from the program", msg)
		}
	}
	v.resize(30, 5)
	s.show("\x1b[38;2;255;0;0mtext", 0, 0)
	if v.Copied != "c;Y29waWVk" || v.Title != "raw" || !v.On("2027") {
		t.Errorf("clipboard %q, title %q, modes %s", v.Copied, v.Title, v.Modes())
	}
	v.shows("\x1b[91mtext")
	v.resize(30, 5)
	s.filter(nil, tea.ClearScreen())
	s.paint()
	v.shows("\x1b[91mtext")
	for _, msg := range []tea.Msg{tea.SuspendMsg{}, Exec(nil, nil)()} {
		if got := fmt.Sprintf("%T", s.filter(nil, msg)); got != "tea.execMsg" {
			t.Errorf("%T becomes %s", msg, got)
		}
	}
}

// A program that runs on the terminal gets it in its original state.
func TestLent(t *testing.T) {
	v := newTerminal(t, 40, 10)
	s := on(v, 40, 10)
	var order []string
	s.t.Cooked = func() error { order = append(order, "cooked"); return nil }
	s.t.Raw = func() error { order = append(order, "raw"); return nil }
	s.show("text", 0, 0)
	run := &execTerminal{s: s, run: func() error {
		order = append(order, "run "+v.Modes())
		s.Show(tea.View{Content: "meanwhile"})
		if _, painted, _ := s.paint(); painted {
			t.Error("painted while the terminal was lent")
		}
		return errors.New("it failed")
	}}
	if err := run.Run(); err == nil || err.Error() != "it failed" {
		t.Errorf("error %v", err)
	}
	if got := strings.Join(order, ", "); got != "cooked, run 25, raw" {
		t.Error(got)
	}
	s.paint()
	v.shows("meanwhile")

	run.run = func() error { s.Close(time.Minute); return nil }
	order = nil
	if err := run.Run(); err != nil || strings.Join(order, ", ") != "cooked" {
		t.Errorf("after the end: %v, %v", order, err)
	}
}

// slow is a terminal that accepts output only when told to.
type slow struct {
	mu    sync.Mutex
	all   bytes.Buffer
	ready chan struct{}
	began chan struct{}
}

func (s *slow) Write(b []byte) (int, error) {
	s.began <- struct{}{}
	<-s.ready
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all.Write(b)
}

// While the terminal accepts a frame, Show does not wait. Of the frames shown
// meanwhile, the terminal gets the last.
func TestSlowTerminal(t *testing.T) {
	synctest.Test(t, slowTerminal)
}

func slowTerminal(t *testing.T) {
	out := &slow{ready: make(chan struct{}), began: make(chan struct{})}
	s := on(out, 40, 10)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.Run()
	}()
	s.Drawn() // no frame was shown
	s.Show(tea.View{Content: "first"})
	seen := make(chan struct{})
	go func() {
		defer close(seen)
		s.Drawn()
	}()
	<-out.began
	synctest.Wait() // until Drawn waits for the first frame
	select {
	case <-seen:
		t.Error("the terminal does not have it yet")
	default:
	}
	for i := range 10000 {
		s.Show(tea.View{Content: fmt.Sprint("frame ", i)})
	}
	out.ready <- struct{}{}
	<-seen
	<-out.began
	out.ready <- struct{}{}
	synctest.Wait() // until the second is accepted
	if closed := s.Close(time.Nanosecond); closed {
		t.Error("the terminal is stuck, but is said to be left")
	}
	<-out.began
	out.ready <- struct{}{}
	if closed := s.Close(time.Minute); !closed {
		t.Error("the terminal is not left")
	}
	<-ended
	v := newTerminal(t, 40, 10)
	io.Copy(v, &out.all)
	if v.On("1049") {
		t.Error("the screen was not left")
	}
	if n := v.Bytes; n > 2000 {
		t.Errorf("%d bytes for two frames", n)
	}
	if got := v.Rows()[0]; got != "frame 9999" {
		t.Errorf("the terminal shows %q, not the last frame", got)
	}
	v.right()
}

// The first change is painted immediately, further ones at a limited rate. A
// slow terminal gets longer pauses.
func TestPace(t *testing.T) {
	const ms = time.Millisecond
	for _, tt := range []struct {
		name              string
		could, took, want time.Duration // since the start of the paint
	}{
		{"after a pause", -time.Second, 0, 0},
		{"the second after a pause", 0, 0, frameTime},
		{"one after another", -2 * ms, 0, frameTime - 2*ms},
		{"a terminal that is quick", 0, 3 * ms, frameTime},
		{"one that is slow", 0, 10 * ms, 30 * ms},
		{"one that is slow, after a pause", -time.Second, 100 * ms, 300 * ms},
		{"one that was stuck", 0, time.Minute, time.Minute + 400*ms},
	} {
		began := time.Now()
		if got := framePace(began.Add(tt.could), began, tt.took).Sub(began); got != tt.want {
			t.Errorf("%s: paints after %s, want %s", tt.name, got, tt.want)
		}
	}
}

// After a terminal lost a part of a frame, it gets the complete next one, or
// the same one later. The earlier frame does not count as accepted.
func TestWriteFails(t *testing.T) {
	v := newTerminal(t, 40, 10)
	var fail bool
	s := on(writer(func(b []byte) (int, error) {
		if fail {
			return 0, io.ErrShortWrite
		}
		return v.Write(b)
	}), 40, 10)
	s.show("one\ntwo", 0, 0)
	fail = true
	s.show("one\ntwo\nthree", 0, 0)
	fail = false
	s.show("one\ntwo\nthree\nfour", 0, 0)
	v.shows("one\ntwo\nthree\nfour")

	fail = true
	s.show("five", 0, 0)
	if s.ready == s.shown {
		t.Error("a frame that was lost counts as seen")
	}
	fail = false
	s.paint()
	v.shows("five")
	if s.Drawn(); s.ready != s.shown {
		t.Errorf("the terminal has frame %d of %d", s.ready, s.shown)
	}
}

// A frame that the terminal did not accept is painted again, even if nothing
// else changes.
func TestWriteFailsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newTerminal(t, 40, 10)
		failed := false
		s := on(writer(func(b []byte) (int, error) {
			if !failed {
				failed = true
				return 0, io.ErrShortWrite
			}
			return v.Write(b)
		}), 40, 10)
		go s.Run()
		s.Show(tea.View{Content: "text"})
		s.Drawn()
		s.Close(time.Minute)
		v.right()
		if got := v.Rows()[0]; got != "text" || !failed {
			t.Errorf("the terminal shows %q", got)
		}
	})
}

type writer func([]byte) (int, error)

func (w writer) Write(b []byte) (int, error) { return w(b) }

// Endless new styles, such as those of a rainbow, are dropped from the cache in time.
func TestManyLooks(t *testing.T) {
	v := newTerminal(t, 10, 2)
	s := on(v, 10, 2)
	for i := range 3 * maxCached {
		content := fmt.Sprintf("\x1b[38;2;%d;%d;%dm%c\u0301", i>>16, i>>8&255, i&255, 'a'+i%26)
		s.show(content, 0, 0)
		if i%1000 == 0 {
			v.shows(content)
		}
	}
	if n := len(s.grid.styles.all) + len(s.grid.styles.clusters); n > 3*maxCached {
		t.Errorf("%d are kept", n)
	}
}

// If there are more styles than numbers, each style is unchanged or loses its
// color and link, but keeps attributes such as bold.
func TestMoreLooksThanNumbers(t *testing.T) {
	var l styleTable
	l.forget()
	pale := 0
	const n = 1<<16 + 1000
	for i := range n {
		k := style{
			Style: uv.Style{Attrs: uint8(i), Underline: uv.Underline(i % 6), Fg: color.RGBA{uint8(i >> 16), uint8(i >> 8), uint8(i), 255}},
			Link:  uv.Link{URL: "https://example.com"},
		}
		plain := style{Style: uv.Style{Attrs: k.Attrs, Underline: k.Underline}}
		switch got := l.all[l.number(k)]; got {
		case k:
		case plain:
			pale++
		default:
			t.Fatalf("number %d is %+v, want %+v", i, got, k)
		}
	}
	if pale == 0 || pale > n-maxNumbered+1 { // the first number is the terminal's default style
		t.Errorf("%d of %d are pale", pale, n)
	}
	if !l.full() || len(l.all) > 1<<16 || len(l.bare) != len(l.all) {
		t.Errorf("%d are kept", len(l.all))
	}
}

// FuzzContent: for any content of a frame, the terminal gets only text and the
// sequences of a Screen, and ends in the right state.
func FuzzContent(f *testing.F) {
	for _, p := range pieces {
		f.Add(p+"\nx"+p, uint8(20))
	}
	f.Add("\u094d\xe0", uint8(7))
	f.Add("\x1b]8;;a\x00\u009d0;b\ac\x1b]8;d=\x85;e\x1b\\f", uint8(9))
	f.Add("0\xa4\ufe0f", uint8(80))
	f.Add("\x1b]8;;x\x1b[2J\x1b\\\u009b2J\x1b", uint8(3))
	f.Fuzz(func(t *testing.T, content string, width uint8) {
		w, h := int(width)%80+1, 4
		v := newTerminal(t, w, h)
		s := on(v, w, h)
		s.updateSettings(func(k *settings) { k.clusters = true })
		s.show("something\nelse", 0, 0)
		s.show(content, 0, 3)
		if v.X != 0 || v.Y != 3 || v.Copied != "" {
			t.Errorf("cursor at %d,%d, clipboard %q", v.X, v.Y, v.Copied)
		}
		s.leave()
		v.right()
		if got := v.Modes(); got != "25" || v.Title != "shell" || len(v.Keys) > 0 {
			t.Errorf("left on: %s, title %q, keys %q", got, v.Title, v.Keys)
		}
	})
}

// frames returns 40 rows that partly change as while an answer streams.
func frames() []string {
	var all []string
	var rows []string
	for n := range 400 {
		if n%8 == 0 {
			rows = append(rows, "  ")
		}
		last := len(rows) - 1
		rows[last] += "\x1b[38;5;254mword" + fmt.Sprint(n) + "\x1b[m "
		top := rows[max(0, len(rows)-38):]
		all = append(all, strings.Join(top, "\n")+strings.Repeat("\n", 39-len(top))+"› \nstatus \x1b[2m"+fmt.Sprint(n)+"\x1b[m")
	}
	return all
}

// BenchmarkStream paints an answer that grows by a word.
func BenchmarkStream(b *testing.B) {
	out := &counter{}
	s := on(out, 120, 40)
	all := frames()
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		s.show(all[i%len(all)], 2, 38)
	}
	b.ReportMetric(float64(out.n)/float64(b.N), "B/frame")
}

// BenchmarkWhole paints a large screen completely.
func BenchmarkWhole(b *testing.B) {
	out := &counter{}
	s := on(out, 240, 80)
	row := strings.Repeat("\x1b[38;5;254mword\x1b[m ", 40)
	content := strings.Repeat(row+"\n", 79) + row
	b.ReportAllocs()
	for b.Loop() {
		s.Redraw()
		s.show(content, 0, 0)
	}
}

type counter struct{ n int }

func (c *counter) Write(b []byte) (int, error) { c.n += len(b); return len(b), nil }
