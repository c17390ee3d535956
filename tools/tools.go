// Package tools is what a model may do on a user's machine: read, list, glob,
// grep, write, edit, shell with its jobs, and fetch; and plan, which the user sees.
//
//	call ──► Set.Plan ──► *Action ──► Policy.Decide ──► Action.Run ──► Outcome
//	             │                       (the session asks, if it must)
//	             └──► *Refusal, which is told to the model
//
// Plan understands and checks and changes nothing; what an Action shows is what
// it will do; Policy alone decides whether it may. Files are reached through
// os.Root only, so that no path, link or race leads out of the workspace.
// Everything a tool answers is capped, and says where it was cut. A tool is one
// .go, one .md (the text the model reads), a name in the list below and its case.
package tools

import (
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"parley/providers/llm"
	"parley/tools/act"
	"parley/tools/places"
)

// registered holds the tools of this package by name.
var registered = map[string]toolDefinition{}

//go:embed *.md
var descriptions embed.FS

// A toolDefinition is a tool before its description and schema are loaded.
type toolDefinition struct {
	name   string
	schema func() (*argumentSchema, error)
	plan   func(ctx context.Context, w *workspace, input json.RawMessage) (*act.Action, error)
}

// register adds a tool with arguments A, whose fields' json and jsonschema tags make the
// schema. The schema is computed once, on first use.
func register[A any](name string, plan func(context.Context, *workspace, A) (*act.Action, error), limits ...argumentLimit) {
	registered[name] = toolDefinition{
		name:   name,
		schema: sync.OnceValues(func() (*argumentSchema, error) { return schemaOf(reflect.TypeFor[A](), limits) }),
		plan: func(ctx context.Context, w *workspace, input json.RawMessage) (*act.Action, error) {
			var args A
			if err := json.Unmarshal(input, &args); err != nil {
				return nil, err
			}
			return plan(ctx, w, args)
		},
	}
}

// A Set is the tools of one workspace. It is safe for concurrent use.
type Set struct {
	*workspace
	tools      []*toolEntry
	external   atomic.Pointer[[]*toolEntry] // the slice is never changed in place
	externalMu sync.Mutex                   // held to change the pointer
}

// A toolEntry is a tool with its description and schema, which are loaded on first
// use.
type toolEntry struct {
	toolDefinition
	once        sync.Once
	description string
	raw         json.RawMessage // the schema as sent to a model
	arguments   *argumentSchema // for checking calls; nil: the tool checks them
	err         error

	notFor     string // see llm.Tool
	minContext int
}

func (e *toolEntry) load() error {
	e.once.Do(func() {
		text, err := descriptions.ReadFile(e.name + ".md")
		if err != nil {
			e.err = err
			return
		}
		if e.arguments, e.err = e.schema(); e.err == nil {
			e.description, e.raw = strings.TrimSpace(string(text)), e.arguments.raw
			if shell, _ := shellOnWindows(); e.name == shellTool && shell.describe != nil {
				e.description = shell.describe.Replace(e.description)
			}
		}
	})
	return e.err
}

// A Refusal tells the model why a call cannot become an action.
type Refusal struct{ Text string }

func (r *Refusal) Error() string { return r.Text }

func refuse(format string, args ...any) *Refusal {
	return &Refusal{Text: truncate(fmt.Sprintf(format, args...), maxText)}
}

// Names lists the tools of this package in the order sent to a model.
func Names() (names []string) {
	for _, f := range act.Tools {
		names = append(names, f.Name)
	}
	return names
}

// Open returns all tools for the workspace root. Close releases it.
func Open(root string) (*Set, error) {
	w, err := openWorkspace(root)
	if err != nil {
		return nil, err
	}
	s := &Set{workspace: w}
	for _, name := range Names() {
		s.tools = append(s.tools, &toolEntry{toolDefinition: registered[name]})
	}
	return s, nil
}

// Close ends the background commands and releases the workspace, also for its views.
func (s *Set) Close() error {
	s.jobs.Close()
	return s.release()
}

// release releases the workspace. Background commands continue.
func (s *Set) release() error {
	s.outputs.close()
	_ = s.RestoreDirectories(nil)
	s.folders.close()
	return s.root.Close()
}

// Root returns the absolute path of the workspace.
func (s *Set) Root() string { return s.dir }

// SetPolicy makes searches leave out files that a policy denies or asks about, also
// in the views of s.
func (s *Set) SetPolicy(p *Policy) { s.policy.Store(p) }

// Only returns a view of s with the named tools, in the order of s. Spaces around a name are ignored; shell
// includes jobs. The single name "none", or no name, gives a view without tools.
func (s *Set) Only(names ...string) (act.Set, error) {
	view := &Set{workspace: s.workspace}
	names = slices.Clone(names)
	for i, name := range names {
		names[i] = strings.TrimSpace(name)
	}
	if len(names) == 1 && names[0] == "none" {
		return view, nil
	}
	for _, name := range names {
		if !slices.Contains(s.toolNames(), name) {
			return nil, unknownTool(name, s.toolNames())
		}
	}
	for _, e := range s.allEntries() {
		if slices.Contains(names, e.name) || e.name == jobsTool && slices.Contains(names, shellTool) {
			view.tools = append(view.tools, e)
		}
	}
	return view, nil
}

// ReadOnly returns a view of s with only the tools that read in the workspace.
func (s *Set) ReadOnly() act.Set {
	view := &Set{workspace: s.workspace}
	for _, e := range s.tools {
		if act.FactsOf(e.name).Reads {
			view.tools = append(view.tools, e)
		}
	}
	return view
}

// MayChangeAnything reports whether a call of a tool may change any file of the workspace: the tool
// runs a program, or belongs to a server. Other tools that write name the file.
func (s *Set) MayChangeAnything(name string) bool {
	return name == shellTool || !act.IsOwn(name)
}

func (s *Set) toolNames() []string {
	var names []string
	for _, e := range s.allEntries() {
		names = append(names, e.name)
	}
	return names
}

// Tools returns the tool definitions for the model, always in the same order.
func (s *Set) Tools() []llm.Tool {
	var out []llm.Tool
	for _, e := range s.allEntries() {
		if err := e.load(); err != nil {
			panic(fmt.Sprintf("tool %s: %v", e.name, err)) // a bug: tests load every tool
		}
		out = append(out, llm.Tool{Name: e.name, Description: e.description, Schema: e.raw, NotFor: e.notFor, MinContext: e.minContext})
	}
	return out
}

// Plan parses one call of the model: the tool's name and its arguments as JSON
// text. A call that cannot be done (an unknown tool, broken arguments, a path
// outside the workspace, an edit that does not match) returns a *Refusal. Plan
// runs and changes nothing. Plan a call right before running it: Run refuses an
// edit planned before another edit of the same file ran.
func (s *Set) Plan(ctx context.Context, name, input string) (action *act.Action, err error) {
	defer func() {
		if r := recover(); r != nil {
			action, err = nil, refuse("%s: internal error: %v", name, r)
		}
	}()
	all := s.allEntries()
	i := slices.IndexFunc(all, func(e *toolEntry) bool { return e.name == name })
	if i < 0 {
		if len(all) == 0 {
			return nil, refuse("no tool %s: no tools are available", quoteName(name))
		}
		return nil, refuse("no tool %s; the tools are %s", quoteName(name), strings.Join(s.toolNames(), ", "))
	}
	e := all[i]
	if err := e.load(); err != nil {
		return nil, refuse("%s: internal error: %v", name, err)
	}
	args, err := parseArguments(e.arguments, input)
	if err != nil {
		said := ""
		if _, ok := llm.Arguments(input); !ok { // requests cannot include such text
			said = "\nThey were: " + truncate(input, maxText/10)
		}
		return nil, refuse("bad arguments for %s: %v%s%s", name, err, describeArguments(e.name, e.arguments), said)
	}
	action, err = e.plan(ctx, s.workspace, args)
	var refusal *Refusal
	switch {
	case errors.As(err, &refusal):
		return nil, refusal
	case err != nil:
		return nil, refuse("%s: %v", name, err)
	}
	action.Tool, action.Input = name, args
	s.addCaution(action)
	return action, nil
}

// quoteName quotes a name from outside.
func quoteName(name string) string { return fmt.Sprintf("%q", truncate(name, 100)) }

// unknownTool returns a refusal for an unknown tool, with the name that may have been meant.
func unknownTool(name string, names []string) error {
	if near := nearestName(name, names); near != "" {
		return fmt.Errorf("unknown tool %s: did you mean %q?", quoteName(name), near)
	}
	return fmt.Errorf("unknown tool %s: the tools are %s", quoteName(name), strings.Join(names, ", "))
}

// openWorkspace opens the directory at path.
func openWorkspace(path string) (*workspace, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("workspace %s: %w", path, err)
	}
	real, err := filepath.EvalSymlinks(abs)
	if err != nil {
		return nil, fmt.Errorf("workspace: %w", err)
	}
	root, err := os.OpenRoot(real)
	if err != nil {
		return nil, fmt.Errorf("workspace: %w", err)
	}
	table := places.New(os.Getenv)
	return &workspace{
		root: root, dir: abs, realDir: real, places: table, problem: table.WorkspaceProblem(real), jobs: newJobs(),
	}, nil
}
