// Package tui is the screen: one tea.Model and its children. The session's turn
// runs on its own goroutine. Its events reach the screen through a pump that
// wakes it at most once per frame.
//
//	session.Turn ──► pump ──► eventsMsg ──► transcript
//	keys ──► dialog, else action, else composer or transcript
//	View ──► renderer ──► terminal
//
// The root calls its children; children send messages of their own packages up. All
// text from outside passes through tools/sanitize before it is drawn. The terminal is
// restored on every way out: quit, signals, panics.
package tui

import (
	"fmt"
	"os"
	"time"

	tea "charm.land/bubbletea/v2"

	"parley/tools/sanitize"
	"parley/ui/app"
	"parley/ui/crash"
	"parley/ui/tui/chat"
	"parley/ui/tui/common"
	"parley/ui/tui/overlay"
	"parley/ui/tui/panel"
	"parley/ui/tui/termimage"
	"parley/ui/tui/terminal"
)

// Config is the [ui] section of the configuration.
type Config = common.Config

// Default returns the configuration for missing settings.
func Default() Config { return common.DefaultConfig() }

// Options holds the parameters of the screen.
type Options struct {
	App    app.Options
	Config Config
	Keys   Keys
	Panels func(*panel.Deps, *chat.Chat) []common.Part // returns the optional parts; nil for none
}

// TerminalState returns the facts about the terminal in the environment, without asking the terminal.
func TerminalState(getenv func(string) string) app.TerminalState {
	return environmentTerminal(getenv, imagesText(termimage.Detect("auto", getenv)))
}

// Run shows the screen until the user leaves, and returns the exit status.
func Run(o Options) int {
	m := newModel(o)
	return present(m, m)
}

// present runs root, which is m or contains it, on the terminal.
func present(m *Model, root tea.Model) int {
	status, back := terminal.Run(root, terminal.Reports{Path: crash.Path, Crash: crash.Report}, func(l terminal.Loop) {
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

// afterSeen returns later, modified to call seen when the terminal has had time to
// show a frame. A slow terminal may take long.
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
