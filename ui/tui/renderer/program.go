package renderer

import (
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
)

// Program returns a Bubble Tea program for root that draws on s. On systems that are not
// Supported, Bubble Tea draws.
func (s *Screen) Program(root tea.Model, options ...tea.ProgramOption) *tea.Program {
	if !Supported {
		return tea.NewProgram(root, append(options, tea.WithFPS(120))...)
	}
	s.sent = s.t.size()
	options = append(options,
		tea.WithoutRenderer(),
		tea.WithOutput(io.Discard), // filter writes sequences instead, without waiting for a tick
		tea.WithFPS(1),             // ticks have no effect here
		tea.WithWindowSize(s.sent.w, s.sent.h),
		tea.WithColorProfile(s.t.Profile),
		tea.WithFilter(s.filter))
	if s.t.Keys != nil {
		options = append(options, tea.WithInput(s.t.Keys))
	}
	if s.queriesTerminal() {
		s.Write(ansi.RequestModeSynchronizedOutput + ansi.RequestModeUnicodeCore)
	}
	return tea.NewProgram(&shown{root, s}, options...)
}

// shown wraps a root model and shows its views on a screen.
type shown struct {
	tea.Model
	on *Screen
}

func (r *shown) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	var cmd tea.Cmd
	r.Model, cmd = r.Model.Update(msg)
	return r, cmd
}

func (r *shown) View() tea.View {
	v := r.Model.View()
	r.on.Show(v)
	return v
}

// queriesTerminal reports whether to query modes of the terminal. Apple's Terminal prints the query.
// Over ssh the answer may come after the program has ended, except from terminals known to be fast.
func (s *Screen) queriesTerminal() bool {
	kind, _ := s.t.getenv("TERM")
	program, named := s.t.getenv("TERM_PROGRAM")
	_, ssh := s.t.getenv("SSH_TTY")
	if !ssh && (!named || !strings.Contains(program, "Apple")) {
		return true
	}
	for _, known := range []string{"ghostty", "wezterm", "alacritty", "kitty", "rio"} {
		if strings.Contains(kind, known) {
			return true
		}
	}
	return false
}

// filter handles messages to the renderer before the model gets them, as Bubble Tea does.
func (s *Screen) filter(_ tea.Model, msg tea.Msg) tea.Msg {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		s.resize(msg.Width, msg.Height)
	case tea.ColorProfileMsg:
		s.updateSettings(func(k *settings) { k.profile = msg.Profile })
	case tea.ModeReportMsg:
		s.onReport(msg)
	case tea.RawMsg:
		s.Write(fmt.Sprint(msg.Msg))
	case tea.SuspendMsg:
		return s.exec(&execTerminal{s: s, run: stopped}, resumed)
	case execMsg:
		return s.exec(&execTerminal{s: s, run: msg.Run, cmd: msg.Cmd}, msg.done)
	case PictureMsg:
		id, p := msg.Picture()
		s.changePictures(func(all map[uint32]Picture) { all[id] = p })
	case ForgetPicturesMsg:
		s.changePictures(func(all map[uint32]Picture) {
			for _, id := range msg {
				delete(all, id)
			}
		})
	default:
		s.unexported(msg)
	}
	return msg
}

// SuspendUnavailableMsg reports that the process cannot be suspended: no shell would continue it.
type SuspendUnavailableMsg struct{}

var errSuspendUnavailable = errors.New("the process was not stopped")

// resumed returns the message for the end of a suspension.
func resumed(err error) tea.Msg {
	if errors.Is(err, errSuspendUnavailable) {
		return SuspendUnavailableMsg{}
	}
	return tea.ResumeMsg{}
}

// onReport handles the answer to a query of a mode.
func (s *Screen) onReport(msg tea.ModeReportMsg) {
	switch {
	case msg.Mode == ansi.ModeSynchronizedOutput && msg.Value == ansi.ModeReset:
		s.updateSettings(func(k *settings) { k.syncUpdates = true })
	case msg.Mode == ansi.ModeUnicodeCore && (msg.Value == ansi.ModeReset || msg.Value == ansi.ModeSet || msg.Value == ansi.ModePermanentlySet):
		s.updateSettings(func(k *settings) { k.clusters = true })
	}
}

// unexported handles the unexported Bubble Tea messages that the root sends.
func (s *Screen) unexported(msg tea.Msg) {
	switch msg {
	case clearing:
		s.Redraw()
	case askingBackground:
		s.Write(ansi.RequestBackgroundColor)
	}
}

var clearing, askingBackground = tea.ClearScreen(), tea.RequestBackgroundColor()

// Exec runs another program on the terminal, like tea.ExecProcess.
func Exec(cmd *exec.Cmd, done tea.ExecCallback) tea.Cmd {
	if !Supported {
		return tea.ExecProcess(cmd, done)
	}
	return func() tea.Msg { return execMsg{cmd, done} }
}

type execMsg struct {
	*exec.Cmd
	done tea.ExecCallback
}

// exec returns the message that runs e. Before that, Bubble Tea waits for its reader.
func (s *Screen) exec(e *execTerminal, done tea.ExecCallback) tea.Msg {
	if s.t.Pause != nil {
		e.resume = s.t.Pause()
	}
	return tea.Exec(e, done)()
}

// execTerminal is a tea.ExecCommand that releases the terminal while run runs.
type execTerminal struct {
	s      *Screen
	run    func() error
	cmd    *exec.Cmd // nil if run does not run a program
	resume func()    // resumes reading from the terminal; nil if reading is never paused
}

func (l *execTerminal) Run() error {
	if l.resume != nil {
		defer l.resume()
	}
	l.s.lent.Store(l.cmd != nil)
	defer l.s.lent.Store(false)
	l.s.leave()
	err := l.s.t.Cooked()
	if err == nil {
		err = l.run()
	}
	if back := l.s.Enter(); err == nil {
		err = back
	}
	return err
}

// SetStdin passes the terminal itself to the program: Bubble Tea's input is a reader of it.
func (l *execTerminal) SetStdin(io.Reader) {
	if l.cmd != nil {
		l.cmd.Stdin = l.s.t.In
	}
}

// SetStdout passes the terminal to the program: Bubble Tea's output is io.Discard.
func (l *execTerminal) SetStdout(io.Writer) {
	if l.cmd != nil {
		l.cmd.Stdout = l.s.t.Out
	}
}

func (l *execTerminal) SetStderr(w io.Writer) {
	if l.cmd != nil {
		l.cmd.Stderr = w
	}
}
