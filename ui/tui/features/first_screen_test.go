package features

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Without running git, HEAD determines the branch in a repository, in a work tree, and
// below their directories.
func TestGitBranch(t *testing.T) {
	const commit = "0123456789abcdef0123456789abcdef01234567"
	for _, tt := range []struct {
		name  string
		files map[string]string
		want  string
	}{
		{"a branch", map[string]string{".git/HEAD": "ref: refs/heads/feature/login\n"}, "feature/login"},
		{"a commit", map[string]string{".git/HEAD": commit + "\n"}, "0123456"},
		{"a work tree", map[string]string{".git": "gitdir: away\n", "away/HEAD": "ref: refs/heads/two\n"}, "two"},
		{"no repository", map[string]string{"HEAD": "ref: refs/heads/no\n"}, ""},
		{"no HEAD", map[string]string{".git/config": ""}, ""},
		{"something else", map[string]string{".git/HEAD": "password=hunter2\n"}, ""},
		{"an escape sequence", map[string]string{".git/HEAD": "ref: refs/heads/a\x1b[2Jb\n"}, "a␛[2Jb"},
		{"too long", map[string]string{".git/HEAD": "ref: refs/heads/" + strings.Repeat("a", 9000)}, strings.Repeat("a", maxGitFile-len("ref: refs/heads/"))},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			writeAll(t, dir, tt.files)
			below := filepath.Join(dir, "a", "b")
			if err := os.MkdirAll(below, 0o755); err != nil {
				t.Fatal(err)
			}
			for _, at := range []string{dir, below} {
				if got := gitBranch(at); got != tt.want {
					t.Errorf("gitBranch(%s) = %q, want %q", at, got, tt.want)
				}
			}
		})
	}
	if got := gitBranch("relative"); got != "" {
		t.Errorf("a relative directory has the branch %q", got)
	}
}

// Examples suit the content of the directory, and there are always three.
func TestExamples(t *testing.T) {
	for _, tt := range []struct {
		files []string
		git   bool
		want  string // the first example
	}{
		{[]string{"go.mod", "a.go"}, true, "Explain how this project is built and where to start reading"},
		{nil, true, "Suggest a commit message for my changes"},
		{[]string{"README.rst"}, false, "Summarize @README.rst in five points"},
		{[]string{"numbers.csv", "z.txt"}, false, "Summarize @numbers.csv as a short table"},
		{[]string{"two words.csv", ".hidden.log", "bad\x1b.md"}, false, "Which files here are the largest, and what are they?"},
		{nil, false, "Which files here are the largest, and what are they?"},
	} {
		dir := t.TempDir()
		for _, name := range tt.files {
			writeAll(t, dir, map[string]string{name: ""})
		}
		got := examplesFor(dir, tt.git)
		if len(got) != maxSuggested || got[0] != tt.want || len(slices.Compact(slices.Sorted(slices.Values(got)))) != maxSuggested {
			t.Errorf("examples for %q: %q, want three with %q first", tt.files, got, tt.want)
		}
	}
	if got := examplesFor(filepath.Join(t.TempDir(), "gone"), false); len(got) != maxSuggested {
		t.Errorf("a directory that is gone has examples %q", got)
	}
}

func writeAll(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
