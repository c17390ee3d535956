//go:build unix

package tools

import (
	"os"
	"path/filepath"
	"testing"

	"parley/tools/sandbox"
)

// TestGrantablePath: what is offered is what a program needs as a whole, and no more.
func TestGrantablePath(t *testing.T) {
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", home)
	for _, file := range []string{
		"app/package.json", "app/src/main.js",
		"app/node_modules/server/package.json", "app/node_modules/server/dist/index.js", "app/node_modules/server/node_modules/zod/index.js",
		"lib/node_modules/@scope/server/cli.js", "loose/run", ".ssh/id_rsa",
	} {
		if err := os.MkdirAll(filepath.Join(home, filepath.Dir(file)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(home, file), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for file, want := range map[string]string{
		"app/src/main.js":                                   "app",
		"app/node_modules/server/dist/index.js":             "app/node_modules",
		"app/node_modules/server/node_modules/zod/index.js": "app/node_modules",
		"lib/node_modules/@scope/server/cli.js":             "lib/node_modules",
		"loose/run":                                         "loose",
		".ssh/id_rsa":                                       "",
	} {
		if want != "" {
			want = filepath.Join(home, want)
		}
		if got := GrantablePath(sandbox.Policy{Workspace: "/w"}, filepath.Join(home, file), false); got != want {
			t.Errorf("%s: got %q, want %q", file, got, want)
		}
	}
}
