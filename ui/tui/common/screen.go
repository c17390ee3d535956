// Package common holds what the parts of the screen share: clock, theme, toasts,
// clipboard, and guarded goroutines. Every part embeds one Screen.
package common

import (
	"context"
	"runtime/debug"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"

	"parley/ui/clip"
	"parley/ui/format"
	"parley/ui/theme"
	"parley/ui/tui/renderer"
)

// A Screen is shared by the parts of one screen. It belongs to the event loop, except
// for Send, Crash, Guard and Running.
type Screen struct {
	Config    Config
	Theme     *theme.Theme
	Colors    colorprofile.Profile                 // how many colors the terminal has
	Unfocused bool                                 // the terminal has reported the loss of focus
	Now       func() time.Time                     // the clock
	Tick      func(time.Duration, tea.Msg) tea.Cmd // tea.Tick; for tests
	Send      func(tea.Msg)                        // from other goroutines
	Crash     func(any, []byte)                    // ends the program with a report
	KeyOf     func(action string) string           // returns the key that runs an action, or its command

	Branch     string         // git branch of the directory, or the beginning of a commit; "" for none
	StatusText string         // output of the user's own status-line command
	Running    sync.WaitGroup // goroutines that the program waits for briefly before it exits

	clip     Clipboard
	toast    toast
	notice   string // how to notify the user
	getenv   func(string) string
	deferred []tea.Cmd
}

// A Clipboard is the clipboard of the screen.
type Clipboard struct {
	Put        func(text string) func(context.Context) clip.Result // copies text, in two steps
	Answered   func(content string)                                // handles the terminal's report of its clipboard
	AbbrevPath func(path string) string                            // shortens a path for display
	Tmux       func(context.Context) (term string, passes bool)    // the terminal outside of tmux, and whether tmux passes sequences on to it
}

// New returns a screen with the environment's theme and terminal.
func New(c Config, getenv func(string) string, now func() time.Time) *Screen {
	s := &Screen{Colors: colorsOf(getenv), Now: now, Send: func(tea.Msg) {}, Crash: func(any, []byte) {}, getenv: getenv}
	s.SetConfig(c)
	s.Theme = s.Displayable(firstTheme(c, getenv))
	s.Tick = func(d time.Duration, msg tea.Msg) tea.Cmd {
		return tea.Tick(d, func(time.Time) tea.Msg { return msg })
	}
	return s
}

// SetConfig sets the configuration for what comes.
func (s *Screen) SetConfig(c Config) { s.Config, s.notice = c, noticeFor(c.Notify, s.getenv) }

// Getenv returns a variable of the terminal's environment.
func (s *Screen) Getenv(name string) string { return s.getenv(name) }

// Tmux asks tmux; see Clipboard.
func (s *Screen) Tmux(ctx context.Context) (term string, passes bool) { return s.clip.Tmux(ctx) }

// Displayable returns th with colors that the terminal can show.
func (s *Screen) Displayable(th *theme.Theme) *theme.Theme {
	switch s.Colors {
	case colorprofile.ANSI:
		return th.Basic()
	case colorprofile.ANSI256:
		return th.Indexed()
	}
	return th
}

// SetClipboard sets the clipboard for Copy.
func (s *Screen) SetClipboard(c Clipboard) { s.clip = c }

// Write sends an escape sequence to the terminal unchanged, between frames.
func (s *Screen) Write(seq string) { s.Send(writeMsg(seq)) }

type (
	writeMsg  string // written to the terminal between frames
	copiedMsg struct {
		what   string
		result clip.Result
	}
)

// A ToastExpiredMsg wakes the screen when a toast may have expired.
type ToastExpiredMsg struct{}

// Update handles the results of operations started through the screen, such as copies, and
// reports whether msg is one.
func (s *Screen) Update(msg tea.Msg) (tea.Cmd, bool) {
	switch msg := msg.(type) {
	case ToastExpiredMsg:
		return nil, true // the next frame omits it
	case writeMsg:
		return tea.Raw(string(msg)), true
	case tea.ClipboardMsg:
		s.clip.Answered(msg.Content)
		return nil, true
	case ToastMsg:
		return s.ShowToast(string(msg)), true
	case copiedMsg:
		return s.copied(msg), true
	case renderer.SuspendUnavailableMsg:
		return s.ShowToast("No shell to suspend to"), true
	case tea.BlurMsg:
		s.Unfocused = true
		return nil, true
	case tea.FocusMsg:
		s.Unfocused = false
		return nil, true
	}
	return nil, false
}

// Defer runs cmd after the current Update, for code that cannot return a command.
func (s *Screen) Defer(cmd tea.Cmd) {
	if cmd != nil {
		s.deferred = append(s.deferred, cmd)
	}
}

// TakeDeferred returns and removes the deferred commands.
func (s *Screen) TakeDeferred() []tea.Cmd {
	after := s.deferred
	s.deferred = nil
	return after
}

const (
	toastFor  = 3 * time.Second
	toastMore = 50 * time.Millisecond // for each byte of a long text
)

// A toast is a short text above the composer that disappears by itself.
type toast struct {
	text  string
	till  time.Time
	while func() bool // reports whether the text still applies; nil for always
}

// ShowToast shows a short text above the composer, long enough to read it.
func (s *Screen) ShowToast(text string) tea.Cmd { return s.ShowToastWhile(text, nil) }

// ShowToastWhile is like ShowToast, but hides the text early once so returns false. A nil so
// never does.
func (s *Screen) ShowToastWhile(text string, so func() bool) tea.Cmd {
	text = format.Capital(text)
	long := toastFor + time.Duration(max(len(text)-60, 0))*toastMore
	s.toast = toast{text, s.Now().Add(long), so}
	return s.Tick(long, ToastExpiredMsg{})
}

// HideToast removes the current toast, which is outdated.
func (s *Screen) HideToast() { s.toast = toast{} }

// ToastText returns the text of the current toast; "" if there is none.
func (s *Screen) ToastText() string {
	t := s.toast
	if !s.Now().Before(t.till) || t.while != nil && !t.while() {
		return ""
	}
	return t.text
}

// Copy copies text to the clipboard and shows a toast, in which what names the text, such as "answer".
func (s *Screen) Copy(text, what string) tea.Cmd {
	if text == "" {
		return s.ShowToast("Nothing to copy")
	}
	put := s.clip.Put(text)
	return func() tea.Msg { return copiedMsg{what, put(context.Background())} }
}

// copied shows the route of a copied text.
func (s *Screen) copied(msg copiedMsg) tea.Cmd {
	if msg.result.Superseded {
		return nil
	}
	msg.result.File = s.clip.AbbrevPath(msg.result.File)
	return s.ShowToast(msg.result.Message(msg.what))
}

// Go runs f in a guarded goroutine. The program waits for it briefly before it exits.
func (s *Screen) Go(f func()) {
	s.Running.Go(func() { s.Guard(f) })
}

// Guard runs f and turns a panic into an orderly crash. Every goroutine of the
// screen must use it, because an unguarded panic would leave the terminal in
// raw mode.
func (s *Screen) Guard(f func()) {
	defer func() {
		if p := recover(); p != nil {
			s.Crash(p, debug.Stack())
		}
	}()
	f()
}

// Guarded wraps a command like Guard, because Bubble Tea runs it in a goroutine. The commands
// of a batch are wrapped separately. Those of a tea.Sequence cannot be, because its message is
// unexported: use Sequence.
func (s *Screen) Guarded(cmd tea.Cmd) tea.Cmd {
	if cmd == nil {
		return nil
	}
	return func() (msg tea.Msg) {
		s.Guard(func() { msg = cmd() })
		if batch, ok := msg.(tea.BatchMsg); ok {
			for i := range batch {
				batch[i] = s.Guarded(batch[i])
			}
		}
		return msg
	}
}

// Sequence returns a tea.Sequence of guarded commands.
func (s *Screen) Sequence(cmds ...tea.Cmd) tea.Cmd {
	for i, cmd := range cmds {
		cmds[i] = s.Guarded(cmd)
	}
	return tea.Sequence(cmds...)
}
