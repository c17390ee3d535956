// Package tui is the screen: one tea.Model and its children. The session's turn
// runs in a goroutine of its own; its events reach the screen through a pump
// that wakes it at most once per frame.
//
//	session.Turn ──► pump ──► eventsMsg ──► transcript
//	keys ──► dialog, else action, else composer or transcript
//	View ──► renderer ──► terminal
//
// Down by call, up by messages of the child's own package. Nothing from outside
// is drawn that did not pass tools/sanitize, and the terminal comes back on every way
// out: quit, signals, panics.
package tui

import (
	"fmt"
	"os"
	"time"

	tea "charm.land/bubbletea/v2"

	"parley/tools/sanitize"
	"parley/ui/app"
	"parley/ui/tui/chat"
	"parley/ui/tui/common"
	"parley/ui/tui/overlay"
	"parley/ui/tui/terminal"
)

// Config is the [ui] section of the configuration.
type Config = common.Config

// Default returns what holds where the configuration says nothing.
func Default() Config { return common.DefaultConfig() }

// Options is what the screen is made of.
type Options struct {
	App    app.Options
	Config Config
	Keys   Keys
}

// TerminalState returns what the environment tells of the terminal, without asking it.
func TerminalState(getenv func(string) string) app.TerminalState {
	return environmentTerminal(getenv, chat.DrawsImages(getenv))
}

// Run shows the screen until the user leaves, and returns the exit status.
func Run(o Options) int {
	m := newModel(o)
	return present(m, m)
}

// present runs root, which is m or holds it, on the terminal.
func present(m *Model, root tea.Model) int {
	status, back := terminal.Run(root, terminal.Reports{Path: app.CrashPath, Crash: app.Crash}, func(l terminal.Loop) {
		m.Send, m.Crash, m.Tick = l.Send, l.Crash, afterSeen(m.Tick, l.Drawn)
	}, m.shutdown)
	switch {
	case !back:
	case m.closeErr != nil:
		fmt.Fprintln(os.Stderr, "parley: could not save the end of this conversation: "+sanitize.Line(m.closeErr.Error()))
	case (status == 0 || status > 128) && m.chat.SaveErr == nil && m.App.OnExit != nil && !m.App.Session.Empty():
		m.App.OnExit(m.App.Session.ID())
	}
	return status
}

// afterSeen returns later, but a frame is painted when the terminal has it: a slow one
// may take its time.
func afterSeen(later func(time.Duration, tea.Msg) tea.Cmd, seen func()) func(time.Duration, tea.Msg) tea.Cmd {
	return func(d time.Duration, msg tea.Msg) tea.Cmd {
		cmd := later(d, msg)
		switch msg.(type) {
		case overlay.DrawnMsg, common.FirstFrameMsg:
		default:
			return cmd
		}
		return func() tea.Msg {
			msg := cmd()
			seen()
			return msg
		}
	}
}
