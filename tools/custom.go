package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"parley/tools/act"
	"parley/tools/process"
	"parley/tools/rule"
)

// A CustomTool is a tool that the user configures: a program that receives the arguments of a call
// as one JSON object on standard input, and writes the result to standard output. It is a table
// [tools.NAME] of the configuration.
type CustomTool struct {
	Description string              `toml:"description"` // shown to the model
	Command     process.CommandLine `toml:"command"`
	Schema      CustomToolSchema    `toml:"schema"`  // of the arguments; zero: any object
	Rule        string              `toml:"rule"`    // "ask" or "allow"; "": as the mode decides for commands
	Timeout     process.Timeout     `toml:"timeout"` // 0: the default of commands
	Sandbox     process.Confinement `toml:"sandbox"`
}

// The rules of custom tools.
const (
	customAsk   = "ask"   // each call needs approval
	customAllow = "allow" // calls run without approval, but only in the sandbox
)

// A CustomToolSchema is a JSON Schema in the configuration: a table, or the path to a file.
type CustomToolSchema struct {
	JSON json.RawMessage
	File string // "" if JSON holds the schema
}

// UnmarshalTOML decodes a table or a path.
func (s *CustomToolSchema) UnmarshalTOML(value any) error {
	switch v := value.(type) {
	case string:
		*s = CustomToolSchema{File: v}
		return nil
	case map[string]any:
		text, err := compactJSON(v)
		*s = CustomToolSchema{JSON: text}
		return err
	}
	return errors.New("a schema is a table, or the path of a file with JSON")
}

// read returns the schema. Paths are relative to dir.
func (s CustomToolSchema) read(dir string) (json.RawMessage, error) {
	if s.File == "" {
		return s.JSON, nil
	}
	path := s.File
	if expanded := AbsolutePaths([]string{path}); len(expanded) == 1 {
		path = expanded[0]
	} else {
		path = filepath.Join(dir, path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxSchema+1))
	if err != nil {
		return nil, err
	}
	value, err := decodeJSON(string(text))
	if _, ok := value.(map[string]any); err != nil || !ok || len(text) > maxSchema {
		return nil, fmt.Errorf("%s does not contain a JSON Schema of at most %d KB", quotePath(path), maxSchema>>10)
	}
	return text, nil
}

// ValidateCustomTools returns an error for the first invalid setting of tools. With project set,
// the tools come from a project's configuration, which must not allow calls without approval or
// outside the sandbox, nor read files.
func ValidateCustomTools(own map[string]CustomTool, project bool) error {
	for _, name := range slices.Sorted(maps.Keys(own)) {
		c := own[name]
		err := c.Command.Validate()
		switch {
		case !externalName().MatchString(name):
			err = errors.New("a name has letters, digits, - and _, at most 64")
		case strings.HasPrefix(name, "mcp__") || act.IsReserved(name):
			err = errors.New("parley has a tool of this name: use another one")
		case err != nil:
		case c.Rule != "" && c.Rule != customAsk && c.Rule != customAllow:
			err = fmt.Errorf("rule = %q: use %s or %s", c.Rule, customAsk, customAllow)
		case project && (c.Rule == customAllow || c.Sandbox != "" || c.Schema.File != ""):
			err = errors.New("a tool of a folder asks each time and runs in the sandbox: it has no rule, no sandbox, and its schema is a table")
		default:
			err = c.Sandbox.Validate()
		}
		if err != nil {
			return fmt.Errorf("tools.%s: %w", name, err)
		}
	}
	return nil
}

// CustomToolRules returns the permission rules of tools.
func CustomToolRules(own map[string]CustomTool) (rules []rule.Rule) {
	for _, name := range slices.Sorted(maps.Keys(own)) {
		r := rule.Rule{Tool: name, Source: rule.FromConfig}
		switch own[name].Rule {
		case customAsk:
			r.Effect = act.Ask
		case customAllow:
			r.Effect, r.Sandboxed = act.Allow, true
		default:
			continue
		}
		rules = append(rules, r)
	}
	return rules
}

// AddCustomTools adds tools of a configuration. Paths of schemas are relative to dir. Project is
// the project's file that defines them, whose calls always need approval; "" for the user's own
// configuration. The error names the tools that were left out.
func (s *Set) AddCustomTools(own map[string]CustomTool, dir, project string) error {
	var fit []External
	var faults []error
	for _, name := range slices.Sorted(maps.Keys(own)) {
		c := own[name]
		schema, err := c.Schema.read(dir)
		if err != nil {
			faults = append(faults, fmt.Errorf("tools.%s.schema: %w", name, err))
			continue
		}
		fit = append(fit, External{Name: name, Description: c.Description, Schema: schema, Plan: func(_ context.Context, input json.RawMessage) (*act.Action, error) {
			a, err := planCustomTool(s.workspace, name, c, input)
			if err == nil && project != "" {
				a = act.FromProject(a, project)
			}
			return a, err
		}})
	}
	return errors.Join(append(faults, s.AddExternal(fit...))...)
}

// planCustomTool returns the action of a call.
func planCustomTool(w *workspace, name string, c CustomTool, input json.RawMessage) (*act.Action, error) {
	timeout := defaultTimeout
	if c.Timeout > 0 {
		timeout = time.Duration(c.Timeout)
	}
	a := &act.Action{Access: act.AccessRun, Title: name + ": " + firstLine(c.Command.String()), Command: c.Command.String()}
	run := func(how process.Confinement) func(context.Context, func(string)) act.Outcome {
		return func(ctx context.Context, progress func(string)) act.Outcome {
			policy, err := confineProgram(w, how)
			if err != nil {
				return failedOutcome("%s was not run: %v", name, err)
			}
			argv, err := CommandArgv(c.Command)
			if err != nil {
				return failedOutcome("%v", err)
			}
			if policy == nil {
				defer process.Sandbox.Trust()()
			}
			r := &runningCommand{policy: policy, streams: &programStreams{input: append(slices.Clip(input), '\n')}, result: headTail{limit: maxText - maxErrors - 1000}, progress: progress}
			return w.runForModel(ctx, r, argv, timeout)
		}
	}
	a.Do = run(c.Sandbox)
	switch {
	case c.Sandbox != process.Unconfined && w.cmdSandbox.isActive():
		a.Sandboxed, a.Network, a.DoOnline = true, c.Sandbox == process.Networked, run(process.Networked)
	case w.cmdSandbox.Required:
		return nil, refuse("%s cannot run: the configuration requires a sandbox: %s", name, unconfinedReason(c.Sandbox, w.cmdSandbox.backend().Reason))
	}
	return a, nil
}
