// Package ui is the screen: one tea.Model and its children. The session's turn
// runs in a goroutine of its own; its events reach the screen through a pump
// that wakes it at most once per frame.
//
//	session.Turn ──► pump ──► news ──► transcript
//	keys ──► dialog, else action, else composer or transcript
//	View ──► paint ──► terminal
//
// Down by call, up by messages of the child's own package. Nothing from outside
// is drawn that did not pass ui/safe, and the terminal comes back on every way
// out: quit, signals, panics.
package ui

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
	"parley/tools"
	"parley/tools/mcp"
	"parley/ui/paint"
	"parley/ui/safe"
	"parley/ui/theme"
)

// Config is the [ui] section of the configuration.
type Config struct {
	Theme        string `toml:"theme"`         // "auto", one of theme.Names, or one of Themes
	Mouse        bool   `toml:"mouse"`         // take the wheel and selecting; off leaves the mouse to the terminal
	Vim          bool   `toml:"vim"`           // keys of vi in the composer
	Notify       string `toml:"notify"`        // one of Notices: how to call a person back who is in another window
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
			return fmt.Errorf("ui.%s = %q: there are %s", value.key, value.is, list(value.may))
		}
	}
	return nil
}

// Options is what the screen is made of.
type Options struct {
	Session    *session.Session
	Config     Config
	Keys       Keys
	Start      Start
	Attached   []llm.Part                                                                     // goes with the first prompt
	Notice     string                                                                         // shown at the start
	Workspace  string                                                                         // the folder that tools work in, as a person calls it
	Folder     string                                                                         // the same, absolute
	ConfigFile string                                                                         // where the configuration is
	Library    *session.Library                                                               // nil: nothing is kept
	Question   string                                                                         // about the folder, asked at the start with no preselected; "" if there is nothing to ask
	Decide     func(yes bool) (system string, err error)                                      // the answer, and the system prompt that follows from it
	Context    func() []Fact                                                                  // what every request tells the model
	Shell      func(ctx context.Context, command string, progress func(string)) tools.Outcome // runs a command of the person's own
	Servers    func() *mcp.Servers                                                            // nil: none is configured, or none may run yet
	Watch      func(func(server string))                                                      // registers who hears of changes of servers, on any goroutine
	Wire       Wire                                                                           // what went to models and came back
	Ephemeral  bool                                                                           // nothing of this is kept
	Enter      func(dir string)                                                               // has another screen begin in a directory once this one has ended; nil: it cannot
	Mask       func() (func(string) string, error)                                            // makes what takes configured keys out of exported texts, the error those it cannot know; nil: nothing does
	Left       func(id string)                                                                // what is said of a kept conversation once the screen is gone; nil: nothing
	Held       string                                                                         // why commands are not held by a sandbox; "" if they are
	Open       func(name string) (llm.Endpoint, error)
	Choices    func() []Choice                  // models for the picker
	Live       func() []Choice                  // the same with what servers say they have; may take seconds
	New        func() (*session.Session, error) // an empty conversation with the same settings
	Resume     func(id string) (s *session.Session, note string, err error)
	Fork       func(id string, head int) (s *session.Session, note string, err error)
	Short      func(path string) string                   // a path as a person calls it
	Estimate   func(text string) int                      // about how many tokens text has
	Price      func(model string) (input, cached float64) // US dollars for a million tokens; 0 if unknown
	Recent     []string                                   // models used before, the latest first
	Getenv     func(string) string                        // nil: os.Getenv
	Now        func() time.Time                           // nil: the clock; for tests
}

// Start is what a screen does first.
type Start struct {
	Prompt  []llm.Part // sent at once; nil: none
	Find    *string    // words that the list of conversations is opened with, "" for all; nil: it is not
	Fork    bool       // with Find: continues in a copy of the conversation that is chosen
	Compare []string   // models that the first prompt goes to; none: the session's
}

// TakeFork reports whether the conversation that was chosen now is to be copied:
// the first one is, if Find and Fork say so.
func (s *Start) TakeFork() bool {
	fork := s.Fork && s.Find != nil
	s.Fork = false
	return fork
}

// A Fact is something that every request tells the model, beside what was said.
type Fact struct {
	Name   string
	Tokens int // about
	Note   string
}

// Filled is o with what it must have.
func (o Options) Filled() Options {
	if o.Library == nil {
		o.Library = session.Ephemeral()
	}
	if o.Short == nil {
		o.Short = func(path string) string { return path }
	}
	if o.Estimate == nil {
		o.Estimate = func(text string) int { return len(text) / 4 }
	}
	if o.Getenv == nil {
		o.Getenv = os.Getenv
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Live == nil {
		o.Live = o.Choices
	}
	if o.Servers == nil {
		o.Servers = func() *mcp.Servers { return nil }
	}
	if o.Watch == nil {
		o.Watch = func(func(string)) {}
	}
	if o.Context == nil {
		o.Context = func() []Fact { return nil }
	}
	if o.Price == nil {
		o.Price = func(string) (input, cached float64) { return 0, 0 }
	}
	return o
}

// Run shows the screen until the person leaves, and returns the exit status.
func Run(o Options) int {
	m := newModel(o)
	return present(m, m)
}

// present runs root, which is m or holds it, on the terminal.
func present(m *Model, root tea.Model) int {
	const forFrame = 2 * time.Second // a slow terminal may have one before it comes back
	terminal := saveTerminal(os.Stdin, os.Stdout)
	screen := paint.New(terminal.screen(os.Environ()))
	out := &exit{terminal: terminal, leave: screen.Close}
	program := screen.Program(root, tea.WithoutSignalHandler(), tea.WithoutCatchPanics())
	out.kill = program.Kill
	m.send, m.crash, m.later = program.Send, out.crashed, afterSeen(m.later, screen.Seen)
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
		fmt.Fprintln(os.Stderr, "parley: the end of this conversation could not be saved: "+safe.Line(m.lost.Error()))
	case status == 0 && m.unsaved == nil && m.o.Left != nil && len(m.session.History()) > 0:
		m.o.Left(m.session.ID())
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
	s := m.session
	return m.play(func(ctx context.Context) iter.Seq[session.Event] { return s.Turn(ctx, parts...) })
}

// play shows the events of a turn as they come.
func (m *Model) play(events func(context.Context) iter.Seq[session.Event]) tea.Cmd {
	ctx, cancel := context.WithCancel(context.Background())
	ctx, pulse := llm.WithPulse(ctx, 0)
	m.turn = &turn{cancel: cancel, pulse: pulse, since: m.now(), waiting: m.now(), blocks: map[string]*block{}, tools: map[string]string{}}
	pump := newPump(m.send, m.frame())
	m.pump = pump
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
