package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"parley/session"
	"parley/session/config"
	"parley/session/hooks"
	"parley/session/trust"
	"parley/tools"
	"parley/tools/act"
	"parley/tools/process"
	"parley/ui/app"
)

// newRunner returns a runner of hooks in dir; nil in a build that runs none.
var newRunner func(dir string, run func(context.Context, process.Run) process.Result, list ...hooks.Hook) hooks.Runner

// openHooks prepares the runner for the hooks of the configuration and, once it is trusted, of the project. Without
// hooks it does nothing.
func openHooks(a *program) error {
	if a.project.runner != nil || len(a.config.Hooks) == 0 && len(a.project.offer.FilesOfKind(trust.Hooks)) == 0 {
		return nil
	}
	if newRunner == nil {
		return errors.New("this build runs no hooks: remove [[hooks]]")
	}
	set, err := programSet(a)
	if err != nil {
		return err
	}
	a.project.runner = newRunner(a.dir, set.RunProgram, slices.Concat(a.ownHooks(), a.project.hooks)...)
	return nil
}

// programSet returns the tools that run programs of the configuration and of flags, also with --tools none.
func programSet(a *program) (*tools.Set, error) {
	if set := cmp.Or(a.toolSet, a.project.programs); set != nil {
		return set, nil
	}
	policy, err := a.newPolicy()
	if err != nil {
		return nil, err
	}
	set, err := tools.Open(a.dir)
	if err == nil {
		set.EnableSandbox(a.config.Sandbox)
		set.SetPolicy(policy)
		a.project.programs = set
	}
	return set, err
}

// closeTools closes the tools of the working directory.
func closeTools(a *program) {
	for _, set := range []*tools.Set{a.toolSet, a.project.programs} {
		if set != nil {
			set.Close()
		}
	}
}

// newCheck returns a check that lets a turn end once a command passes; nil in a build without that.
var newCheck func(s *session.Session, run func(ctx context.Context, command string, progress func(string)) (act.Outcome, error), command string, rounds int) session.Check

// until returns Machine.Until, whose commands run in the sandbox by the rules of the session; nil in a build without it.
func (a *program) until() func(s *session.Session, command string, rounds int) session.Check {
	if newCheck == nil {
		return nil
	}
	return func(s *session.Session, command string, rounds int) session.Check {
		set, err := programSet(a)
		return newCheck(s, func(ctx context.Context, command string, progress func(string)) (act.Outcome, error) {
			if err != nil {
				return act.Outcome{}, err
			}
			if p, ok := s.Policy().(*tools.Policy); ok {
				set.SetPolicy(p)
			}
			return set.RunConfined(ctx, command, progress)
		}, command, rounds)
	}
}

// ownHooks returns the hooks of the user's configuration.
func (a *program) ownHooks() (list []hooks.Hook) {
	for _, c := range a.config.Hooks {
		list = append(list, hooks.Hook{Config: c, Source: abbrevPath(a.configPath)})
	}
	return list
}

// readHooks reads the hooks of a file of the project.
func readHooks(f trust.File) (list []hooks.Hook, err error) {
	var of hooks.File
	if err := config.Decode(f.Text, &of); err != nil {
		return nil, fmt.Errorf("%s:%w", f.Name, err)
	}
	for _, c := range of.Hooks {
		list = append(list, hooks.Hook{Config: c, Source: f.Name, Project: true})
	}
	return list, nil
}

// hookItems lists the hooks for /hooks, the user's own first, including those of an untrusted project.
func (p *project) hookItems(own []hooks.Hook) (items []app.Item) {
	list := slices.Concat(own, p.hooks)
	if !p.trusted {
		for _, f := range p.offer.FilesOfKind(trust.Hooks) {
			more, _ := readHooks(f) // errors are reported once the project is trusted
			list = append(list, more...)
		}
	}
	for _, h := range list {
		var about []string
		if h.Event == act.HookPreToolUse || h.Event == act.HookPostToolUse {
			about = append(about, cmp.Or(h.Matcher, "any tool"))
		}
		if h.Timeout > 0 {
			about = append(about, time.Duration(h.Timeout).String())
		}
		if h.Sandbox != "" && h.Sandbox != process.Confined {
			about = append(about, "sandbox "+string(h.Sandbox))
		}
		source := h.Source
		switch {
		case h.Project && p.trusted:
			source += ", trusted"
		case h.Project:
			source += ", not trusted: does not run"
		}
		title, detail := h.Event+": "+h.Command.String(), strings.Join(append(about, source), " · ")
		items = append(items, app.Item{Title: title, Detail: detail, Value: title + " · " + detail, Disabled: h.Project && !p.trusted})
	}
	return items
}
