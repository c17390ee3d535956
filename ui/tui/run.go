// Package tui is the screen: one tea.Model and its children. The session's turn
// runs in a goroutine of its own; its events reach the screen through a pump
// that wakes it at most once per frame.
//
//	session.Turn ──► pump ──► news ──► transcript
//	keys ──► dialog, else action, else composer or transcript
//	View ──► renderer ──► terminal
//
// Down by call, up by messages of the child's own package. Nothing from outside
// is drawn that did not pass tools/sanitize, and the terminal comes back on every way
// out: quit, signals, panics.
package tui

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"os"
	"path"
	"slices"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"

	"parley/providers/llm"
	"parley/session"
	"parley/tools/sanitize"
	"parley/ui/app"
	"parley/ui/theme"
	"parley/ui/tui/renderer"
)

// Config is the [ui] section of the configuration.
type Config struct {
	Theme        string `toml:"theme"`         // "auto", one of theme.Names, or one of Themes
	Mouse        bool   `toml:"mouse"`         // take the wheel and selecting; off leaves the mouse to the terminal
	Vim          bool   `toml:"vim"`           // keys of vi in the composer
	Notify       string `toml:"notify"`        // one of Notices: how to call a user back who is in another window
	Motion       string `toml:"motion"`        // "on", or "off": nothing moves but what is said
	ScreenReader bool   `toml:"screen_reader"` // plain lines in order in place of the screen, see package plain

	// Names of models, or patterns such as "openai/*-audio*": those that stand first
	// in the list, and those that are left out. What keys say of a model counts more.
	Favorites []string `toml:"favorites"`
	Hidden    []string `toml:"hidden"`

	Themes map[string]theme.Custom `toml:"themes"` // of one's own, by their names
}

// Default is what holds where the configuration says nothing.
func Default() Config { return Config{Theme: "auto", Mouse: true, Notify: "auto", Motion: "on"} }

// names lists the values of Theme.
func (c Config) names() []string {
	return slices.Concat([]string{"auto"}, theme.Names(), slices.Sorted(maps.Keys(c.Themes)))
}

// theme makes the one of this name; nil if there is none. The configuration was
// validated.
func (c Config) theme(name string) *theme.Theme {
	if own, ok := c.Themes[name]; ok {
		own.Name = name
		if th, err := theme.Make(own); err == nil {
			return th
		}
	}
	if th, ok := theme.ByName(name); ok {
		return th
	}
	return nil
}

// Validate names a value that cannot be meant.
func (c Config) Validate() error {
	for name, own := range c.Themes {
		if _, taken := theme.ByName(name); taken || name == "auto" {
			return fmt.Errorf("ui.themes.%s: parley has a theme of this name", name)
		}
		if err := own.Validate(); err != nil {
			return fmt.Errorf("ui.themes.%s: %w", name, err)
		}
	}
	for key, patterns := range map[string][]string{"favorites": c.Favorites, "hidden": c.Hidden} {
		for _, pattern := range patterns {
			if _, err := path.Match(pattern, ""); err != nil {
				return fmt.Errorf("ui.%s: %q is no pattern: * stands for anything, ? for one letter, [ab] for one of these", key, pattern)
			}
		}
	}
	for _, value := range []struct {
		key, is string
		may     []string
	}{{"theme", c.Theme, c.names()}, {"notify", c.Notify, Notices}, {"motion", c.Motion, []string{"on", "off"}}} {
		if !slices.Contains(value.may, value.is) {
			return fmt.Errorf("ui.%s = %q: there are %s", value.key, value.is, app.Join(value.may))
		}
	}
	return nil
}

// Options is what the screen is made of.
type Options struct {
	app.Options
	Config Config
	Keys   Keys
}

// Run shows the screen until the user leaves, and returns the exit status.
func Run(o Options) int {
	m := newModel(o)
	return present(m, m)
}

// present runs root, which is m or holds it, on the terminal.
func present(m *Model, root tea.Model) int {
	const forFrame = 2 * time.Second // a slow terminal may have one before it comes back
	terminal := saveTerminal(os.Stdin, os.Stdout)
	screen := renderer.New(terminal.screen(os.Environ()))
	out := &exit{terminal: terminal, leave: screen.Close}
	program := screen.Program(root, tea.WithoutSignalHandler(), tea.WithoutCatchPanics())
	out.kill = program.Kill
	m.send, m.crash, m.later = program.Send, out.crashed, afterSeen(m.later, screen.Drawn)
	stop := out.signals(program.Send)
	defer stop()
	var painting sync.WaitGroup
	func() {
		defer out.recover()
		if err := screen.Enter(); err != nil {
			out.ended(err)
			return
		}
		painting.Go(func() { m.guard(screen.Run) })
		painting.Go(func() { m.guard(func() { screen.Follow(program.Send) }) })
		_, err := program.Run()
		out.ended(err)
	}()
	back := out.restored(forFrame) && within(forFrame, painting.Wait)
	m.shutdown()
	status := out.finish(back)
	switch {
	case !back:
	case m.lost != nil:
		fmt.Fprintln(os.Stderr, "parley: the end of this conversation could not be saved: "+sanitize.Line(m.lost.Error()))
	case status == 0 && m.unsaved == nil && m.app.Left != nil && len(m.app.Session.History()) > 0:
		m.app.Left(m.app.Session.ID())
	}
	return status
}

// afterSeen is later, but a frame is painted when the terminal has it: a slow one
// may take its time.
func afterSeen(later func(time.Duration, tea.Msg) tea.Cmd, seen func()) func(time.Duration, tea.Msg) tea.Cmd {
	return func(d time.Duration, msg tea.Msg) tea.Cmd {
		cmd := later(d, msg)
		if _, painted := msg.(paintedMsg); !painted {
			return cmd
		}
		return func() tea.Msg {
			msg := cmd()
			seen()
			return msg
		}
	}
}

// themeFor picks the theme at the start; "auto" follows the terminal once it
// answers.
func themeFor(c Config, env func(string) string) *theme.Theme {
	if env("NO_COLOR") != "" || env("TERM") == "dumb" {
		return theme.Plain()
	}
	if th := c.theme(c.Theme); th != nil {
		return th
	}
	return theme.Dark()
}

// run sends parts.
func (m *Model) run(parts ...llm.Part) tea.Cmd {
	s := m.app.Session
	return m.play(func(ctx context.Context) iter.Seq[session.Event] { return s.Turn(ctx, parts...) })
}

// play shows the events of a turn as they come.
func (m *Model) play(events func(context.Context) iter.Seq[session.Event]) tea.Cmd {
	ctx, cancel := context.WithCancel(context.Background())
	ctx, pulse := llm.WithPulse(ctx, 0)
	m.chat.begin(&turn{cancel: cancel, pulse: pulse}, m.now())
	pump := newPump(m.send, m.frame())
	m.chat.pump = pump
	m.running.Add(1)
	go m.guard(func() {
		defer m.running.Done()
		defer cancel()
		for e := range events(ctx) {
			pump.put(e)
		}
	})
	return m.tick()
}
