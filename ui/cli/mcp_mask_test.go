package cli

import (
	"testing"

	"parley/tools/mcp"
	"parley/tools/process"
)

// Exports contain no keys of MCP servers, and keep words that occur in their configuration by chance.
func TestExportsMaskServerKeys(t *testing.T) {
	a := &program{}
	a.config.MCP = map[string]mcp.Config{
		"a": {Command: process.ShellLine("npx"), Args: []string{"--api-key", "k-argument-1"}, Env: map[string]string{"KEY": "k-variable-2", "MODE": "production"}},
		"b": {URL: "https://host/s/k-path-3/mcp", Headers: map[string]string{"Authorization": "Bearer k-header-4"}},
	}
	a.mcp.logins = openLogins(t.TempDir())
	mask, err := maskSecrets(a)
	if err != nil {
		t.Fatal(err)
	}
	in := "in production: k-argument-1, k-variable-2, https://host/s/k-path-3/mcp, k-header-4"
	if got, want := mask(in), "in production: [redacted], [redacted], https://host/s/[redacted]/mcp, [redacted]"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
