package sandbox

import (
	"os"
	"path/filepath"
	"testing"
)

// Files that git runs, or takes its settings from, are known wherever a repository of the workspace has them,
// also where one becomes a repository only by the file. Others are not.
func TestGitRuns(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		".git":              "gitdir: ./.bare\n", // a bare repository with work trees beside it
		".bare/HEAD":        "ref: refs/heads/main\n",
		".bare/config":      "[core]\n\tbare = false\n",
		".bare/objects/x":   "",
		".bare/refs/x":      "",
		"store/HEAD":        "ref: refs/heads/main\n", // by --separate-git-dir
		"store/config":      "",
		"far/away/.git":     "gitdir: ../../store\n",
		"sub/.git/HEAD":     "ref: refs/heads/main\n",
		"sub/.git/config":   "[core]\n\thooksPath = ../hooks\n[include]\n\tpath = ../../shared.inc\n",
		"half/objects/x":    "",
		"half/refs/x":       "",
		"linked/HEAD":       "",
		"project/HEAD":      "",
		"project/objects/x": "",
	} {
		if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for file, want := range map[string]bool{
		".bare/config": true, ".bare/hooks/pre-commit": true, ".bare/commondir": true, ".Bare/Config": true, ".bare/rebase-merge/strategy": true,
		"store/config": true, "store/config.worktree": true, "store/hooks/pre-commit": true,
		"hooks/pre-commit": true, "hooks/pre-commit/x": true, "shared.inc": true, "sub/.git/config": true,
		"half/HEAD": true, "half/head": true, "linked/commondir": true, "project/refs/heads/main": true, "project/refs": true,

		"half/x": false, "half/config": false, "project/config": false, "linked/refs": false, "new/HEAD": false, "HEAD": false,
		"hooks.txt": false, "sub/hooks.go": false, "far/away/x": false, "main.go": false, ".bareness": false,
	} {
		if got := GitRuns(dir, file); got != want {
			t.Errorf("%s: %v, want %v", file, got, want)
		}
	}
}

func BenchmarkGitRuns(b *testing.B) {
	for b.Loop() {
		GitRuns("../..", "tools/sandbox/x.go")
	}
}
