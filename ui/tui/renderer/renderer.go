// Package renderer puts frames on the terminal's alternate screen. It stands in
// the place of Bubble Tea's renderer, which looks for work 120 times a second
// for ever, reads every frame whole, and writes on the program's loop.
//
//	root.View ──► Screen.Show ──► painter ──► terminal
//
// Show keeps the frame and wakes the painter, a goroutine of its own: the first
// change is painted at once, and so may be a second right behind it, as that of a
// key; further ones up to 120 times a second, and less often where the terminal
// is slow to take them. What is overtaken meanwhile is never painted. A screen on
// which nothing changes costs nothing.
//
// Of a frame only the rows that differ are read, and of those only the cells
// that differ are written; rows that moved are moved by the terminal.
package renderer

import (
	"fmt"
	"io"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi"
)

// frameTime sets the least time between two paints.
const frameTime = time.Second / 120

// A Terminal is what a Screen needs to know of one.
type Terminal struct {
	Out     io.Writer
	Env     []string // as os.Environ has it
	Profile colorprofile.Profile
	Size    func() (width, height int, err error) // in cells
	Raw     func() error                          // hands over every key, unread
	Cooked  func() error                          // as it was before Raw
}

// A Screen is the alternate screen of a terminal. Its methods may be called from
// any goroutine.
type Screen struct {
	t    Terminal
	sent size // the first that Program tells
	signals

	mu     sync.Mutex // never held while the terminal is written to
	size   size       // of the frames to come; none before the program has it
	next   frame
	queue  []byte // sequences that go out as they are
	fresh  bool   // next or queue has not been painted
	shown  int    // frames so far
	ready  int    // of which the terminal has this one, or a later one
	drawn  sync.Cond
	redraw bool // what the terminal shows is not known
	set    settings

	painted
}

// signals wake the painter.
type signals struct {
	wake chan struct{} // something is to be painted
	move chan struct{} // the size may be another
	done chan struct{} // closed by Close
	once sync.Once
}

// painted is the terminal as it was left.
type painted struct {
	terminalMu sync.Mutex // held while the terminal is written to
	away       bool       // the terminal is not ours
	entered    bool       // it shows the screen
	modes      modes      // that the terminal is in
	cursor     bool       // it shows its cursor
	grid       grid
	buf        []byte
}

// A frame is what is to be seen.
type frame struct {
	view tea.View
	size
}

type size struct{ w, h int } // in cells

// size returns that of the terminal, or a usual one where it does not say, as serial
// lines and some terminals of containers, or says nothing that could be seen.
func (t *Terminal) size() size {
	w, h, err := t.Size()
	if err != nil || w <= 0 || h <= 0 {
		return size{80, 24}
	}
	return size{w, h}.bounded()
}

// What a screen has at most: programs that set the size of a terminal wrongly
// ask for billions of cells.
const (
	maxWidth = 4096
	maxCells = 1 << 20
)

// bounded returns the upper left part of s that is painted.
func (s size) bounded() size {
	s.w = min(s.w, maxWidth)
	s.h = min(s.h, maxCells/s.w)
	return s
}

// oversized returns why a screen is not begun on t; nil if it can be. One that grows
// later is painted in part.
func (t *Terminal) oversized() error {
	w, h, err := t.Size()
	if err != nil || w <= 0 || h <= 0 || (size{w, h}) == (size{w, h}).bounded() {
		return nil
	}
	return fmt.Errorf("the terminal says that it has %d × %d cells, too many to paint: set its size, such as with stty cols 100 rows 40", w, h)
}

// settings holds what is known of the terminal.
type settings struct {
	profile     colorprofile.Profile
	syncUpdates bool // it shows a frame at once (mode 2026)
	clusters    bool // it draws a grapheme cluster as one (mode 2027)
}

// New makes a screen of a terminal, which Enter takes.
func New(t Terminal) *Screen {
	s := &Screen{
		t: t, set: settings{profile: t.Profile}, painted: painted{away: true},
		signals: signals{wake: make(chan struct{}, 1), move: make(chan struct{}, 1), done: make(chan struct{})},
	}
	s.drawn.L = &s.mu
	return s
}

// Show has v painted, unless something else is shown before its turn comes. A
// view that equals the last costs a comparison. It never waits for the terminal.
func (s *Screen) Show(v tea.View) {
	s.mu.Lock()
	f := frame{v, s.size}
	if f.w <= 0 || f.h <= 0 || !s.redraw && s.next.equal(&f) {
		s.mu.Unlock()
		return
	}
	s.next, s.fresh = f, true
	s.shown++
	s.mu.Unlock()
	notify(s.wake)
}

// Drawn waits until the terminal has what was shown last, or the screen is closed.
func (s *Screen) Drawn() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for n := s.shown; s.ready < n; {
		s.drawn.Wait()
	}
}

// markDrawn notes that the terminal has a frame.
func (s *Screen) markDrawn(frame int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ready = max(s.ready, frame)
	s.drawn.Broadcast()
}

// Write has a sequence written as it is, in front of the next frame, such as one
// that puts something on the clipboard. It never waits for the terminal.
func (s *Screen) Write(seq string) {
	s.mu.Lock()
	s.queue = append(s.queue, seq...)
	s.fresh = true
	s.mu.Unlock()
	notify(s.wake)
}

// Redraw has everything painted anew, whatever the terminal shows.
func (s *Screen) Redraw() {
	s.mu.Lock()
	s.redraw, s.fresh = true, true
	s.mu.Unlock()
	notify(s.wake)
}

// resize sets the size of the frames that are shown from now on.
func (s *Screen) resize(w, h int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.size = size{w, h}
	s.redraw = true // terminals move what they show, each in its own way
}

// updateSettings changes what is known of the terminal.
func (s *Screen) updateSettings(change func(*settings)) {
	s.mu.Lock()
	before := s.set
	change(&s.set)
	known := before.profile == s.set.profile && before.clusters == s.set.clusters
	s.mu.Unlock()
	if !known {
		s.Redraw()
	}
}

func notify(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}

// Run paints until Close.
func (s *Screen) Run() {
	var next time.Time // not sooner
	for {
		select {
		case <-s.done:
			return
		case <-s.wake:
		}
		if wait := time.Until(next); wait > 0 {
			select {
			case <-s.done:
				return
			case <-time.After(wait):
			}
		}
		began := time.Now()
		took, painted, err := s.paint()
		switch {
		case err != nil:
			next = began.Add(took + maxBackoff)
			notify(s.wake)
		case painted:
			next = framePace(next, began, took)
		}
	}
}

// framePace returns when to paint next, after a paint that could have begun at could, began
// at began, and that the terminal took so long to take. The first two after a
// pause may follow each other at once: the second may be that of a key.
func framePace(could, began time.Time, took time.Duration) time.Time {
	if slow := backoff(took); slow > 0 {
		return began.Add(took + slow)
	}
	if paused := began.Add(-frameTime); could.Before(paused) {
		could = paused
	}
	return could.Add(frameTime)
}

// maxBackoff sets how long a terminal is left in peace at most.
const maxBackoff = 400 * time.Millisecond

// backoff returns how long a terminal is left in peace that took so long to take a
// frame: it has more to read than it can, and a frame that comes later holds
// what two would have.
func backoff(took time.Duration) time.Duration {
	const quick = 4 * time.Millisecond
	if took < quick {
		return 0
	}
	return min(2*took, maxBackoff)
}

// paint writes what is to be painted, if there is anything, and returns how long
// the terminal took to take it. Of a frame that it did not take, everything is
// to be painted anew.
func (s *Screen) paint() (took time.Duration, painted bool, err error) {
	s.terminalMu.Lock()
	defer s.terminalMu.Unlock()
	s.mu.Lock()
	if s.away || !s.fresh || s.next.h == 0 {
		s.mu.Unlock()
		return 0, false, nil
	}
	f, set, shown := s.next, s.set, s.shown
	if s.redraw || s.grid.w != f.w || s.grid.h != f.h {
		s.grid.forget(f.w, f.h)
	}
	s.buf = append(s.buf[:0], s.queue...)
	s.queue, s.fresh, s.redraw = recycled(s.queue), false, false
	s.mu.Unlock()
	modes, cursor, taken := s.modes, s.cursor, s.entered
	if !s.entered {
		s.buf, s.entered = append(s.buf, enter...), true
	}

	s.frame(&f, set)
	if len(s.buf) > 0 {
		began := time.Now()
		n, err := s.flush()
		took, painted = time.Since(began), true
		if n == 0 {
			s.modes, s.cursor, s.entered = modes, cursor, taken
		}
		if err != nil { // a part may have arrived
			s.mu.Lock()
			s.redraw, s.fresh = true, true
			s.mu.Unlock()
			return took, painted, err
		}
	}
	s.markDrawn(shown)
	return took, painted, nil
}

// frame appends what turns the screen into f.
func (s *Screen) frame(f *frame, set settings) {
	want, cursor := modesOf(&f.view, set), f.view.Cursor
	g := &s.grid
	g.clusters = set.clusters
	g.styles.downsample(set.profile)
	g.out = s.modes.change(g.out[:0], &want)
	s.modes = want
	g.draw(f.view.Content)
	if cursor != nil {
		g.point(cursor.X, cursor.Y)
	}
	together := set.syncUpdates && len(g.out) > 0
	if together {
		s.buf = append(s.buf, ansi.SetModeSynchronizedOutput...)
	}
	// The cursor is not to be seen flying about.
	if s.cursor && (cursor == nil || !together && len(g.out) > 0) {
		s.buf = append(s.buf, hideCursor...)
		s.cursor = false
	}
	s.buf = append(s.buf, g.out...)
	if cursor != nil && !s.cursor {
		s.buf = append(s.buf, showCursor...)
		s.cursor = true
	}
	if together {
		s.buf = append(s.buf, ansi.ResetModeSynchronizedOutput...)
	}
}

// flush hands buf to the terminal, and returns how much of it that took.
func (s *Screen) flush() (n int, err error) {
	n, err = s.t.Out.Write(s.buf)
	s.buf = recycled(s.buf)
	return n, err
}

// recycled returns b to be filled again, unless an image made it large.
func recycled(b []byte) []byte {
	const large = 1 << 18
	if cap(b) > large {
		return nil
	}
	return b[:0]
}

// equal reports whether nothing of f is seen to differ from g.
func (f *frame) equal(g *frame) bool {
	a, b := &f.view, &g.view
	return f.size == g.size && a.Content == b.Content && a.WindowTitle == b.WindowTitle &&
		same(a.Cursor, b.Cursor) && same(a.ProgressBar, b.ProgressBar) &&
		a.MouseMode == b.MouseMode && a.ReportFocus == b.ReportFocus &&
		a.DisableBracketedPasteMode == b.DisableBracketedPasteMode && a.KeyboardEnhancements == b.KeyboardEnhancements &&
		a.ForegroundColor == b.ForegroundColor && a.BackgroundColor == b.BackgroundColor
}

func same[T comparable](a, b *T) bool { return a == b || a != nil && b != nil && *a == *b }

// getenv looks a variable up in the terminal's environment.
func (t *Terminal) getenv(name string) (string, bool) { return uv.Environ(t.Env).LookupEnv(name) }
