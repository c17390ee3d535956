// Package renderer draws frames on the terminal's alternate screen. It replaces Bubble Tea's renderer,
// which polls for work 120 times a second, parses every frame completely, and writes in the program's
// event loop.
//
//	root.View ──► Screen.Show ──► Screen.Run ──► terminal
//
// Show stores the frame and wakes the goroutine of Run. Run draws the first change immediately, and
// also a second one right after it, such as the result of a key. It draws further changes at most 120
// times a second, and less often if the terminal is slow to accept them. A frame that is replaced
// before its turn is never drawn. An unchanged screen costs nothing.
//
// Only the changed rows of a frame are parsed, and only their changed cells are written. The
// terminal itself moves rows that only changed their position.
package renderer

import (
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi"
)

// frameTime is the minimum time between two frames.
const frameTime = time.Second / 120

// A Terminal is the terminal of a Screen.
type Terminal struct {
	In      *os.File
	Keys    io.Reader              // reader of In for the program; nil for Bubble Tea's own
	Pause   func() (resume func()) // stops Keys from reading In
	Out     io.Writer
	Env     []string // as from os.Environ
	Profile colorprofile.Profile
	Size    func() (width, height int, err error) // in cells
	Raw     func() error                          // sets raw mode
	Cooked  func() error                          // restores the mode before Raw
}

// A Screen is the alternate screen of a terminal. Its methods may be called from
// any goroutine.
type Screen struct {
	t    Terminal
	sent size // size last sent by Program
	signals

	mu     sync.Mutex // guards the fields below; never held during writes to the terminal
	size   size       // size of the next frames; zero before the program has one
	next   frame
	queue  []byte // sequences to write unchanged
	fresh  bool   // next or queue has not been written
	shown  int    // number of the latest frame
	ready  int    // number of the last frame that the terminal accepted
	drawn  sync.Cond
	redraw bool // the content of the terminal is unknown
	set    settings

	lent atomic.Bool // see Lent

	painted
}

// Lent reports whether another program has the terminal; see Exec.
func (s *Screen) Lent() bool { return s.lent.Load() }

// signals holds the channels that wake Run and Follow.
type signals struct {
	wake chan struct{}  // there is something to draw
	move chan struct{}  // the size may have changed
	stop chan os.Signal // SIGTSTP while we have the terminal; a sender has the same effect as ctrl+z
	done chan struct{}  // closed by Close
	once sync.Once
}

// painted is the state of the terminal after the last write.
type painted struct {
	terminalMu sync.Mutex // guards these fields, and writes to the terminal
	away       bool       // we do not have the terminal
	entered    bool       // the terminal shows the alternate screen
	modes      modes
	cursor     bool // the cursor is visible
	grid       grid
	buf        []byte
}

// A frame is a view and its size.
type frame struct {
	view tea.View
	size
}

type size struct{ w, h int } // in cells

// size returns the size of the terminal, or 80 by 24 if it is unknown or zero, as on serial lines and
// in some containers.
func (t *Terminal) size() size {
	w, h, err := t.Size()
	if err != nil || w <= 0 || h <= 0 {
		return size{80, 24}
	}
	return size{w, h}.bounded()
}

// Limits of the screen size: programs that set a wrong terminal size may request billions of cells.
const (
	maxWidth = 4096
	maxCells = 1 << 20
)

// bounded returns the size of the drawn part of s, at the top left.
func (s size) bounded() size {
	s.w = min(s.w, maxWidth)
	s.h = min(s.h, maxCells/s.w)
	return s
}

// oversized returns an error if the terminal is too large at the start. If it grows later, only a part
// is drawn.
func (t *Terminal) oversized() error {
	w, h, err := t.Size()
	if err != nil || w <= 0 || h <= 0 || (size{w, h}) == (size{w, h}).bounded() {
		return nil
	}
	return fmt.Errorf("the terminal says that it has %d × %d cells, too many to paint: set its size, such as with stty cols 100 rows 40", w, h)
}

// settings holds known properties of the terminal.
type settings struct {
	profile     colorprofile.Profile
	syncUpdates bool               // supports synchronized output (mode 2026)
	clusters    bool               // measures grapheme clusters (mode 2027)
	pictures    map[uint32]Picture // by number; not changed
}

// New returns a screen on a terminal. Enter acquires the terminal.
func New(t Terminal) *Screen {
	s := &Screen{
		t: t, set: settings{profile: t.Profile}, painted: painted{away: true},
		signals: signals{wake: make(chan struct{}, 1), move: make(chan struct{}, 1), stop: make(chan os.Signal, 1), done: make(chan struct{})},
	}
	s.drawn.L = &s.mu
	return s
}

// Show makes Run draw v, unless another view replaces it first. A view equal to the last one costs
// only a comparison. Show never waits for the terminal.
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

// Drawn waits until the terminal has accepted the last frame, or the screen is closed.
func (s *Screen) Drawn() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for n := s.shown; s.ready < n; {
		s.drawn.Wait()
	}
}

// markDrawn records that the terminal has accepted a frame.
func (s *Screen) markDrawn(frame int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ready = max(s.ready, frame)
	s.drawn.Broadcast()
}

// Write makes Run write a sequence, such as one for the clipboard, before the next frame. It never
// waits for the terminal.
func (s *Screen) Write(seq string) {
	s.mu.Lock()
	s.queue = append(s.queue, seq...)
	s.fresh = true
	s.mu.Unlock()
	notify(s.wake)
}

// Redraw makes Run draw everything again, regardless of the terminal's content.
func (s *Screen) Redraw() {
	s.mu.Lock()
	s.redraw, s.fresh = true, true
	s.mu.Unlock()
	notify(s.wake)
}

// resize sets the size of all following frames.
func (s *Screen) resize(w, h int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.size = size{w, h}
	s.redraw = true // terminals rearrange their content differently
}

// updateSettings changes the settings, and redraws if they affect drawing.
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

// Run draws until Close.
func (s *Screen) Run() {
	var next time.Time // earliest time of the next frame
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

// framePace returns the earliest time of the next frame after a frame that could have begun at could,
// began at began, and took took to write. The second frame after a pause may follow immediately: it
// may show the result of a key.
func framePace(could, began time.Time, took time.Duration) time.Time {
	if slow := backoff(took); slow > 0 {
		return began.Add(took + slow)
	}
	if paused := began.Add(-frameTime); could.Before(paused) {
		could = paused
	}
	return could.Add(frameTime)
}

// maxBackoff is the maximum pause that backoff returns.
const maxBackoff = 400 * time.Millisecond

// backoff returns the pause after a frame that took took to write. A slow terminal lags, so one
// later frame should replace several.
func backoff(took time.Duration) time.Duration {
	const quick = 4 * time.Millisecond
	if took < quick {
		return 0
	}
	return min(2*took, maxBackoff)
}

// paint writes the next frame and the queue, if either is new, and returns how long that took. After
// an error everything will be redrawn.
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
		if err != nil { // a part may have been written
			s.mu.Lock()
			s.redraw, s.fresh = true, true
			s.mu.Unlock()
			return took, painted, err
		}
	}
	s.markDrawn(shown)
	return took, painted, nil
}

// frame appends to buf the sequences that turn the screen into f.
func (s *Screen) frame(f *frame, set settings) {
	want, cursor := modesOf(&f.view, set), f.view.Cursor
	g := &s.grid
	g.clusters, g.pictures = set.clusters, set.pictures
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
	// Hide the cursor while it moves.
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

// flush writes buf to the terminal, and returns the number of bytes written.
func (s *Screen) flush() (n int, err error) {
	n, err = s.t.Out.Write(s.buf)
	s.buf = recycled(s.buf)
	return n, err
}

// recycled returns b emptied for reuse, or nil if an image made it large.
func recycled(b []byte) []byte {
	const large = 1 << 18
	if cap(b) > large {
		return nil
	}
	return b[:0]
}

// equal reports whether f and g are displayed identically.
func (f *frame) equal(g *frame) bool {
	a, b := &f.view, &g.view
	return f.size == g.size && a.Content == b.Content && a.WindowTitle == b.WindowTitle &&
		same(a.Cursor, b.Cursor) && same(a.ProgressBar, b.ProgressBar) &&
		a.MouseMode == b.MouseMode && a.ReportFocus == b.ReportFocus && a.KeyboardEnhancements == b.KeyboardEnhancements
}

func same[T comparable](a, b *T) bool { return a == b || a != nil && b != nil && *a == *b }

// getenv looks up a variable in the terminal's environment.
func (t *Terminal) getenv(name string) (string, bool) { return uv.Environ(t.Env).LookupEnv(name) }
