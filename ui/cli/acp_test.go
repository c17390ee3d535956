package cli

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"parley/session"
	"parley/tools/mcp"
	"parley/tools/process"
	"parley/ui/client"
)

// TestEditorServers: a server of the editor is added after it was allowed, and runs in the sandbox. The user's own
// server of the same name takes precedence, and an invalid one is an error. "Always" allows that definition in that
// folder.
func TestEditorServers(t *testing.T) {
	dir, library := t.TempDir(), session.MemoryStore()
	defer library.Close()
	open := func(dir string) editor {
		a := editor{newProgram()}
		a.dir, a.library, a.config.MCP = dir, library, map[string]mcp.Config{"own": {Command: process.ShellLine("mine"), Network: true}}
		return a
	}
	script := filepath.Join(dir, "serve.js")
	if err := os.WriteFile(script, []byte("serve()"), 0o600); err != nil {
		t.Fatal(err)
	}
	files := client.Server{Name: "files", Command: "serve", Args: []string{script}, Env: map[string]string{"KEY": "sk-1"}}
	a := open(dir)
	if q, err := a.addServer(client.Server{Name: "own", Command: "theirs"}); q != nil || err != nil {
		t.Errorf("the user's own: %v, %v", q, err)
	}
	for _, s := range []client.Server{{Name: "a b", Command: "x"}, {Name: "nothing"}} {
		if q, err := a.addServer(s); q != nil || err == nil {
			t.Errorf("%s: %v, %v", s.Name, q, err)
		}
	}
	q, err := a.addServer(files)
	if err != nil || q == nil || q.Location != "serve "+script || !slices.Equal(q.Given, []string{"KEY"}) || len(a.config.MCP) != 1 {
		t.Fatalf("%+v, %v, %#v", q, err, a.config.MCP)
	}
	if err := q.Allow(false); err != nil {
		t.Fatal(err)
	}
	if c := a.config.MCP["files"]; a.config.MCP["own"].Command.String() != "mine" || c.Command.String() != "serve" || !c.Trusted || c.Network || c.Unsandboxed {
		t.Errorf("%#v", a.config.MCP)
	}
	if q, err = open(dir).addServer(files); q == nil || err != nil {
		t.Fatalf("allowed once, then not asked: %v", err)
	}
	if err := q.Allow(true); err != nil {
		t.Fatal(err)
	}
	a = open(dir)
	if q, err = a.addServer(files); q != nil || err != nil || a.config.MCP["files"].Command.String() != "serve" {
		t.Errorf("always allowed: %v, %v, %#v", q, err, a.config.MCP)
	}
	other := files
	other.Env = map[string]string{"KEY": "sk-2"}
	renamed := files
	renamed.Name = "files2"
	for name, s := range map[string]client.Server{"another variable": other, "another name": renamed} {
		if q, _ := open(dir).addServer(s); q == nil {
			t.Errorf("%s: not asked", name)
		}
	}
	if q, _ := open(t.TempDir()).addServer(files); q == nil {
		t.Error("another folder: not asked")
	}
	if err := os.WriteFile(script, []byte("evil()"), 0o600); err != nil {
		t.Fatal(err)
	}
	if q, _ := open(dir).addServer(files); q == nil {
		t.Error("another script: not asked")
	}
}

// TestEditorServerFails: a failure to start a server of the editor is reported once. It starts only after it was
// allowed.
func TestEditorServerFails(t *testing.T) {
	dir, e := editorHome(t)
	defer e.library.Close()
	opened, err := e.open(t.Context(), client.Request{Dir: dir, Servers: []client.Server{{Name: "gone", Command: filepath.Join(dir, "gone")}, {Name: "a b", Command: "x"}}})
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Close()
	ready := func() (told []string) {
		opened.Ready(t.Context(), func(text string) { told = append(told, text) })
		return told
	}
	if told := ready(); len(told) != 1 || !strings.Contains(told[0], "a b") || len(opened.Questions) != 1 {
		t.Errorf("before it is allowed: %q", told)
	}
	if err := opened.Questions[0].Allow(false); err != nil {
		t.Fatal(err)
	}
	if told := strings.Join(ready(), "\n"); !strings.Contains(told, "MCP server gone: ") {
		t.Errorf("told %q", told)
	}
	if told := ready(); len(told) != 0 {
		t.Errorf("told again: %q", told)
	}
}

// TestEditorLoadsUnused: a conversation without a prompt is not stored, and can be loaded by its id even after a
// restart of parley.
func TestEditorLoadsUnused(t *testing.T) {
	dir, e := editorHome(t)
	defer func() { e.library.Close() }()
	opened, err := e.open(t.Context(), client.Request{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	id := opened.App.Session.ID()
	for range 2 {
		opened.Close()
		if list, err := e.library.List(session.Query{}); err != nil || len(list) != 0 {
			t.Errorf("stored: %v, %v", list, err)
		}
		e.library.Close()
		e.library = session.MemoryStore()
		if opened, err = e.open(t.Context(), client.Request{Dir: dir, ID: id}); err != nil || opened.App.Session.ID() != id || opened.App.Session.Model().Name != "demo/parley" {
			t.Fatalf("%v", err)
		}
	}
	opened.Close()
	if _, err := e.open(t.Context(), client.Request{Dir: dir, ID: "none"}); !errors.Is(err, session.ErrNotFound) {
		t.Errorf("an id of nobody: %v", err)
	}
}

// editorHome returns an editor with the demo model and without a sandbox, and a folder to open.
func editorHome(t *testing.T) (string, editor) {
	t.Helper()
	for _, name := range []string{"HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"} {
		t.Setenv(name, t.TempDir())
	}
	e := editor{newProgram()}
	e.Quiet, e.library, e.configPath = true, session.MemoryStore(), filepath.Join(t.TempDir(), "config.toml")
	if err := os.WriteFile(e.configPath, []byte("model = \"demo/parley\"\n[sandbox]\noff = true\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return t.TempDir(), e
}

// The folder of a conversation is a workspace wherever the editor started parley: parley never runs a program from it
// on its own.
func TestEditorWorkspace(t *testing.T) {
	dir, e := editorHome(t)
	defer e.library.Close()
	if got := process.OutsideWorkspace(dir).String(); got != dir {
		t.Fatalf("%q is left of PATH before", got)
	}
	if opened, err := e.open(t.Context(), client.Request{Dir: dir}); err == nil {
		defer opened.Close()
	}
	if got := process.OutsideWorkspace(dir).String(); got != "" {
		t.Errorf("%q is left of PATH", got)
	}
}
