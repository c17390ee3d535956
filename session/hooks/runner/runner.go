// Package runner runs hooks on events of a conversation, and returns their answers.
//
//	Input as JSON ──► each hook of the event, side by side ──► exit status, JSON ──► Answer
//
// The format is that of Claude Code's hooks (https://code.claude.com/docs/en/hooks), as far as
// other programs share it. Output of hooks is untrusted until it is sanitized, like that of any
// command. A hook of a project can forbid and ask; it cannot allow.
package runner

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"parley/session/hooks"
	"parley/tools/act"
	"parley/tools/process"
)

// Bounds of a hook.
const (
	defaultTimeout = 60 * time.Second
	endTimeout     = 5 * time.Second // of SessionEnd, because parley waits for it
	maxContext     = 10_000          // characters of one text
	blocks         = 2               // exit status of a hook that forbids
)

// A runner implements hooks.Runner.
type runner struct {
	dir string
	run func(context.Context, process.Run) process.Result

	mu      sync.Mutex
	hooks   []hooks.Hook
	noticed map[string]bool // failures already reported
}

// New returns a runner of hooks in dir.
func New(dir string, run func(context.Context, process.Run) process.Result, list ...hooks.Hook) hooks.Runner {
	return &runner{dir: dir, run: run, hooks: list, noticed: map[string]bool{}}
}

// Add implements hooks.Runner.
func (r *runner) Add(list ...hooks.Hook) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.hooks = append(r.hooks, list...)
}

// of returns the hooks of an event.
func (r *runner) of(event, tool string) (list []hooks.Hook) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, h := range r.hooks {
		if h.Event == event && h.Matches(tool) {
			list = append(list, h)
		}
	}
	return list
}

// Fire runs the hooks of in.Event and waits for them. Canceling ctx ends them and discards their
// answers.
func (r *runner) Fire(ctx context.Context, in act.HookInput) act.HookAnswer {
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
		wait.Go(func() { results[i] = r.run(ctx, program(h, text)) })
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
func program(h hooks.Hook, input []byte) process.Run {
	run := process.Run{Command: h.Command, Input: append(input[:len(input):len(input)], '\n'), Timeout: time.Duration(h.Timeout), Sandbox: h.Sandbox, RequireSandbox: h.Project}
	if run.Timeout == 0 {
		run.Timeout = defaultTimeout
	}
	if h.Event == act.HookSessionEnd {
		run.Timeout = min(run.Timeout, endTimeout)
	}
	return run
}
