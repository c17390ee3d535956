// Package hooks runs the user's programs on events of a conversation, and returns
// their answers.
//
//	Input as JSON ──► each hook of the event, side by side ──► exit status, JSON ──► Answer
//
// The format is that of Claude Code's hooks (https://code.claude.com/docs/en/hooks), as far as
// other programs share it. Output of hooks is untrusted until it is sanitized, like that of any
// command. A hook of a project can forbid and ask; it cannot allow.
package hooks

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"parley/tools/act"
	"parley/tools/process"
)

// Events lists the events.
var Events = []string{act.HookPreToolUse, act.HookPostToolUse, act.HookUserPromptSubmit, act.HookStop, act.HookNotification, act.HookSessionStart, act.HookSessionEnd}

// Bounds of a hook.
const (
	defaultTimeout = 60 * time.Second
	endTimeout     = 5 * time.Second // of SessionEnd, because parley waits for it
	maxContext     = 10_000          // characters of one text
	blocks         = 2               // exit status of a hook that forbids
)

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

// A Runner runs hooks. A nil Runner has none. It is safe for concurrent use.
type Runner struct {
	dir string
	run func(context.Context, process.Run) process.Result

	mu      sync.Mutex
	hooks   []Hook
	noticed map[string]bool // failures already reported
}

// New returns a Runner of hooks in dir.
func New(dir string, run func(context.Context, process.Run) process.Result, list ...Hook) *Runner {
	return &Runner{dir: dir, run: run, hooks: list, noticed: map[string]bool{}}
}

// Add adds hooks after the present ones.
func (r *Runner) Add(list ...Hook) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.hooks = append(slices.Clip(r.hooks), list...)
}

// Hooks returns the hooks in their order.
func (r *Runner) Hooks() []Hook {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.hooks)
}

// of returns the hooks of an event.
func (r *Runner) of(event, tool string) (list []Hook) {
	for _, h := range r.Hooks() {
		if h.Event != event {
			continue
		}
		if pattern, err := h.pattern(); err == nil && (pattern == nil || tool != "" && pattern.MatchString(tool)) {
			list = append(list, h)
		}
	}
	return list
}

// Fire runs the hooks of in.Event and waits for them. Canceling ctx ends them and discards their
// answers.
func (r *Runner) Fire(ctx context.Context, in act.HookInput) act.HookAnswer {
	list := r.of(in.Event, in.Tool)
	if len(list) == 0 {
		return act.HookAnswer{}
	}
	in.Dir = r.dir
	text, err := json.Marshal(in)
	if err != nil {
		return act.HookAnswer{Verdict: act.Deny, Reason: "not sent to the hooks: " + err.Error()}
	}
	results := make([]process.Result, len(list))
	var wait sync.WaitGroup
	for i, h := range list {
		wait.Go(func() { results[i] = r.run(ctx, h.program(text)) })
	}
	wait.Wait()
	if ctx.Err() != nil {
		return act.HookAnswer{}
	}
	var a act.HookAnswer
	for i, h := range list {
		merge(&a, r.read(h, results[i]))
	}
	return a
}

// program returns a hook's program run.
func (h Hook) program(input []byte) process.Run {
	run := process.Run{Command: h.Command, Input: append(input[:len(input):len(input)], '\n'), Timeout: time.Duration(h.Timeout), Sandbox: h.Sandbox, RequireSandbox: h.Project}
	if run.Timeout == 0 {
		run.Timeout = defaultTimeout
	}
	if h.Event == act.HookSessionEnd {
		run.Timeout = min(run.Timeout, endTimeout)
	}
	return run
}
