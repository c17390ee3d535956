package providers

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"log/slog"
	"time"

	"parley/providers/adapter"
	"parley/providers/llm"
	"parley/providers/wire"
)

// openProgram returns a model that runs another agent's program. The program gets a key found in
// the environment.
func openProgram(p *adapter.Programs, t target) llm.Model {
	m := newProgram(p, t)
	if t.log.To == nil {
		return m
	}
	return &loggedModel{m, t.Provider, t.log}
}

func newProgram(p *adapter.Programs, t target) adapter.Program {
	return p.Open(adapter.ProgramOptions{
		Provider: t.Provider, Model: t.Model, Kind: t.Kind, Command: t.command,
		Key: t.Key, KeyName: t.KeyName, IdleTimeout: t.idleTimeout,
		Tap: t.tap, Replay: t.replay, Secrets: t.secrets(),
	})
}

// programFamilies yields the families whose kinds are programs.
func programFamilies() iter.Seq[adapter.Family] {
	return func(yield func(adapter.Family) bool) {
		for _, f := range families {
			if f.Programs != nil && !yield(f) {
				return
			}
		}
	}
}

// isProgram reports whether the service is a program rather than a server.
func (s service) isProgram() bool { return s.family.Programs != nil }

// program returns the path of the program of s, followed by its first arguments.
func (s service) program(getenv func(string) string) (argv []string, err error) {
	return s.family.Programs.Find(s.kind, s.conf.Command, getenv("PATH"))
}

// missingProgram returns why the program cannot run; "" if it can.
func (s service) missingProgram() string {
	_, err := s.program(s.getenv)
	if fault := (*llm.Error)(nil); errors.As(err, &fault) {
		return fault.Message
	}
	return ""
}

// A Program is another agent's program installed on this machine.
type Program struct {
	Provider string // name of the service, such as "claude-cli"
	Name     string // shown to users
	Path     string
	adapter.ProgramLogin
}

// Programs lists the installed agent programs, in picker order. It runs none of them.
func Programs(c Config, getenv func(string) string) []Program {
	var list []Program
	for s := range c.services(getenv) {
		if !s.isProgram() {
			continue
		}
		if argv, err := s.program(getenv); err == nil {
			list = append(list, Program{s.name, cmp.Or(s.builtin.Name, s.name), argv[0], s.family.Programs.Login(s.kind, getenv)})
		}
	}
	return list
}

// ProgramNames lists the usual names of the agent programs.
func ProgramNames() (names []string) {
	for f := range programFamilies() {
		names = append(names, f.Programs.Names()...)
	}
	return names
}

// MissingProgram returns why the program of a service cannot run; nil if it can, or if the service
// is not a program.
func MissingProgram(c Config, name string, getenv func(string) string) error {
	s, ok := c.service(name, getenv)
	if !ok || !s.isProgram() {
		return nil
	}
	_, err := s.program(getenv)
	return err
}

// findProgram returns the program for a model name, without its key; its settings in the
// configuration; and a notice if another program replaced the named one.
func (c Config) findProgram(name string, o OpenOptions) (adapter.Program, Settings, string, bool) {
	s, typed, err := c.findModel(name, o.withDefaults().Getenv)
	if err != nil || !s.isProgram() {
		return nil, Settings{}, "", false
	}
	s.exactNames = o.ExactNames
	return newProgram(s.family.Programs, target{
		Options: adapter.Options{Provider: s.name, Kind: s.kind, Model: s.modelID(typed)}, command: s.conf.Command,
	}), s.settings(typed), s.renameNotice(typed), true
}

// A loggedModel logs each run of a program, as the client of a server logs each request.
type loggedModel struct {
	llm.Model
	provider string
	wire.Log
}

// Stream implements llm.Model.
func (m *loggedModel) Stream(ctx context.Context, req llm.Request) llm.Stream {
	s := m.Model.Stream(ctx, req)
	return func(yield func(llm.Event, error) bool) {
		start := time.Now()
		attrs := []slog.Attr{
			slog.String("provider", m.provider), slog.String("kind", m.Kind), slog.String("model", m.Log.Model),
			slog.String("strategy", m.Strategy()),
		}
		since := func(name string) {
			attrs = append(attrs, slog.Float64(name, float64(time.Since(start).Microseconds())/1000))
		}
		defer func() {
			since("total_ms")
			m.To.LogAttrs(context.WithoutCancel(ctx), slog.LevelInfo, "run", attrs...)
		}()
		spoke := false
		for event, err := range s {
			if !spoke && err == nil {
				since("first_event_ms")
				spoke = true
			}
			if err != nil {
				attrs = append(attrs, slog.String("error", wire.Category(err)))
			}
			if !yield(event, err) {
				return
			}
		}
	}
}
