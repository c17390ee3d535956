package cli

import (
	"testing"

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
