package cli

import (
	"testing"

	"parley/session"
	"parley/tools/mcp"
	"parley/tools/process"
	"parley/ui/acp"
)

// TestEditorServers: the user's own server of a name comes before the editor's, which is held by
// the sandbox, and a server that cannot be meant is left out.
func TestEditorServers(t *testing.T) {
	a := editor{newProgram()}
	a.quiet = true
	a.config.MCP = map[string]mcp.Config{"own": {Command: process.ShellLine("mine"), Network: true}}
	for _, s := range []acp.Server{{Name: "own", Command: "theirs"}, {Name: "files", Command: "serve", Args: []string{"."}}, {Name: "a b", Command: "x"}, {Name: "nothing"}} {
		a.addServer(s)
	}
	files := a.config.MCP["files"]
	if own := a.config.MCP["own"].Command; len(a.config.MCP) != 2 || own.String() != "mine" || files.Command.String() != "serve" || !files.Trusted || files.Network || files.Unsandboxed {
		t.Errorf("%#v", a.config.MCP)
	}
}

// The folder of a conversation is a workspace wherever the editor started parley: no program in it is
// found for what parley runs by itself.
func TestEditorWorkspace(t *testing.T) {
	for _, name := range []string{"HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"} {
		t.Setenv(name, t.TempDir())
	}
	dir, e := t.TempDir(), editor{newProgram()}
	e.library = session.MemoryStore()
	defer e.library.Close()
	if got := process.OutsideWorkspace(dir).String(); got != dir {
		t.Fatalf("%q is left of PATH before", got)
	}
	if opened, err := e.open(t.Context(), acp.Request{Dir: dir}); err == nil {
		defer opened.Close()
	}
	if got := process.OutsideWorkspace(dir).String(); got != "" {
		t.Errorf("%q is left of PATH", got)
	}
}
