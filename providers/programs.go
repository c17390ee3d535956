package providers

import (
	"errors"
	"slices"

	"parley/providers/command"
	"parley/providers/llm"
)

// openCommand runs another agent's program. A key from the environment reaches
// it there.
func openCommand(t target) llm.Model { return newCommand(t) }

func newCommand(t target) *command.Model {
	return command.New(command.Options{
		Provider: t.provider, Model: t.model, Kind: t.kind, Command: t.command,
		Key: t.key, KeyName: t.keyName, Idle: t.idle,
	})
}

// program reports whether the service is a program that is run, and not a
// server that is asked.
func (s service) program() bool { return slices.Contains(command.Kinds, s.kind) }

// installed says what is missing before the program can be run; "" if nothing.
func (s service) installed(getenv func(string) string) string {
	_, err := command.Find(s.kind, s.conf.Command, getenv("PATH"))
	if fault := (*llm.Error)(nil); errors.As(err, &fault) {
		return fault.Message
	}
	return ""
}

// programOf returns the program behind a name, without its key.
func (c Config) programOf(name string, o OpenOptions) (*command.Model, bool) {
	s, typed, err := c.find(name, o.complete().Getenv)
	if err != nil || !s.program() {
		return nil, false
	}
	return newCommand(target{
		provider: s.name, kind: s.kind, command: s.conf.Command, model: s.id(typed),
	}), true
}
