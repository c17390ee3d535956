// Package hooks is the vocabulary of hooks: the user's programs that run on events of a conversation.
// The package runner runs them.
package hooks

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"parley/tools/act"
	"parley/tools/process"
)

// Events lists the events.
var Events = []string{act.HookPreToolUse, act.HookPostToolUse, act.HookUserPromptSubmit, act.HookStop, act.HookNotification, act.HookSessionStart, act.HookSessionEnd}

// A Config is one table [[hooks]] of the configuration.
type Config struct {
	Event   string              `toml:"event"`
	Matcher string              `toml:"matcher"` // regular expression for the whole name of a tool; "" and "*": any
	Command process.CommandLine `toml:"command"`
	Timeout process.Timeout     `toml:"timeout"` // 0: a minute
	Sandbox process.Confinement `toml:"sandbox"`
}

// Validate returns an error for the first invalid setting, with its table.
func Validate(list []Config) error {
	for i, c := range list {
		_, wrong := c.pattern()
		command, sandbox := c.Command.Validate(), c.Sandbox.Validate()
		switch {
		case !slices.Contains(Events, c.Event):
			return &settingError{i + 1, "event", fmt.Errorf("event = %q: use one of %s", c.Event, strings.Join(Events, ", "))}
		case command != nil:
			return &settingError{i + 1, "command", command}
		case wrong != nil:
			return &settingError{i + 1, "matcher", fmt.Errorf("matcher = %q: %w", c.Matcher, wrong)}
		case sandbox != nil:
			return &settingError{i + 1, "sandbox", sandbox}
		}
	}
	return nil
}

// A settingError reports an invalid setting of a hook. The configuration reader adds its line.
type settingError struct {
	n   int // of the hook, from 1
	key string
	err error
}

func (e *settingError) Error() string               { return fmt.Sprintf("hook %d: %v", e.n, e.err) }
func (e *settingError) Unwrap() error               { return e.err }
func (e *settingError) Item() (string, int, string) { return "hooks", e.n, e.key }

// pattern returns the pattern for tool names; nil matches all. Letter case is ignored, because
// other programs capitalize their tools.
func (c Config) pattern() (*regexp.Regexp, error) {
	if c.Matcher == "" || c.Matcher == "*" {
		return nil, nil
	}
	return regexp.Compile("(?i)^(?:" + c.Matcher + ")$")
}

// Matches reports whether c is a hook of calls of tool, or of an event of no tool for "".
func (c Config) Matches(tool string) bool {
	pattern, err := c.pattern()
	return err == nil && (pattern == nil || tool != "" && pattern.MatchString(tool))
}

// A Hook is a hook with its source file.
type Hook struct {
	Config
	Source  string
	Project bool // the file came with the working directory
}

// File is a project's file of hooks.
type File struct {
	Hooks []Config `toml:"hooks"`
}

// Validate returns an error for the first invalid setting. Hooks of a project stay in the sandbox.
func (f *File) Validate() error {
	for i, c := range f.Hooks {
		if c.Sandbox == process.Networked || c.Sandbox == process.Unconfined {
			return &settingError{i + 1, "sandbox", fmt.Errorf("sandbox = %q: hooks of a folder run in the sandbox without network", string(c.Sandbox))}
		}
	}
	return Validate(f.Hooks)
}

// A Runner runs hooks. It is safe for concurrent use.
type Runner interface {
	act.Hooks
	Add(list ...Hook) // adds hooks after the present ones
}
