package cli

import (
	"os"
	"path/filepath"
	"strings"
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
	a.mcp.logins = openKeys(t.TempDir(), true)
	mask, err := maskSecrets(a)
	if err != nil {
		t.Fatal(err)
	}
	in := "in production: k-argument-1, k-variable-2, https://host/s/k-path-3/mcp, k-header-4"
	if got, want := mask(in), "in production: [redacted], [redacted], https://host/s/[redacted]/mcp, [redacted]"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A stored key that cannot be read is not taken for none, so that no undo loses it.
func TestUnreadServerKey(t *testing.T) {
	dir := t.TempDir()
	store := openKeys(filepath.Join(dir, "mcp"), true)
	if _, err := store.Put(t.Context(), secretEntry("s")+"API_KEY", "", "tCanary9"); err != nil {
		t.Fatal(err)
	}
	m := mcpServers{logins: store}
	if values, err := m.options().Secrets("s"); err != nil || values["API_KEY"] != "tCanary9" {
		t.Errorf("got %v, %v", values, err)
	}
	files, _ := filepath.Glob(filepath.Join(dir, "mcp", "*"))
	for _, file := range files {
		if text, _ := os.ReadFile(file); strings.Contains(string(text), "tCanary9") {
			if err := os.WriteFile(file, []byte("{"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	m.logins = openKeys(filepath.Join(dir, "mcp"), true)
	if values, err := m.options().Secrets("s"); err == nil {
		t.Errorf("got %v", values)
	}
}
