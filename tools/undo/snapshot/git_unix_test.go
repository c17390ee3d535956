//go:build unix

package snapshot

import (
	"fmt"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestGitObjects reads each blob that git knows, in every way that git keeps them. A working tree finds its objects
// from any folder in it.
func TestGitObjects(t *testing.T) {
	lines := make([]string, 20000)
	random := rand.New(rand.NewPCG(1, 0))
	for i := range lines {
		lines[i] = fmt.Sprintf("%x\n", random.Uint64())
	}
	base := fastDir(t)
	origin := filepath.Join(base, "origin")
	write(t, filepath.Join(origin, "file"), strings.Join(lines, ""))
	write(t, filepath.Join(origin, "sub/other"), "other\n")
	run(t, origin, "git", "init", "-q", "--template=")
	commit := func() {
		run(t, origin, "git", "add", "-A")
		run(t, origin, "git", "commit", "-q", "-m", "x")
	}
	commit()
	lines[5], lines[9000] = "changed\n", "changed as well\n"
	write(t, filepath.Join(origin, "file"), strings.Join(lines, ""))
	commit()
	pack := func(settings ...string) func() string {
		return func() string {
			run(t, origin, slices.Concat([]string{"git"}, settings, []string{"repack", "-q", "-a", "-d", "-f"})...)
			return origin
		}
	}
	for _, tt := range []struct {
		name string
		tree func() string // a folder of the working tree
		none bool          // it has no objects that can be read
	}{
		{"loose", func() string { return origin }, false},
		{"in a folder", func() string { return filepath.Join(origin, "sub") }, false},
		{"packed", pack(), false},
		{"packed, deltas with names", pack("-c", "repack.useDeltaBaseOffset=false"), false},
		{"an old index", pack("-c", "pack.indexVersion=1"), true},
		{"a clone that shares them", func() string {
			pack()()
			run(t, base, "git", "clone", "-q", "--shared", "origin", "shared")
			return filepath.Join(base, "shared")
		}, false},
		{"a relative way to them", func() string {
			write(t, filepath.Join(base, "shared/.git/objects/info/alternates"), "# a comment\n\n../../../origin/.git/objects\n")
			return filepath.Join(base, "shared")
		}, false},
		{"a linked working tree", func() string {
			run(t, origin, "git", "worktree", "add", "-q", "../linked")
			return filepath.Join(base, "linked")
		}, false},
		{"a relative link to the repository", func() string {
			write(t, filepath.Join(base, "moved/.git"), "gitdir: ../origin/.git\r\n")
			return filepath.Join(base, "moved")
		}, false},
		{"another kind of link", func() string {
			write(t, filepath.Join(base, "other/.git"), "../origin/.git\n")
			return filepath.Join(base, "other")
		}, true},
		{"no repository", func() string { return base }, true},
	} {
		g := openGit(tt.tree())
		for _, name := range []string{"HEAD:file", "HEAD~:file", "HEAD:sub/other"} {
			cmd := exec.Command("git", "cat-file", "blob", name)
			cmd.Dir = origin
			want, err := cmd.Output()
			if err != nil {
				t.Fatal(err)
			}
			id := blobOf(want)
			got, err := g.read(id)
			if has := g.has(id); has == tt.none || !tt.none && (err != nil || string(got) != string(want)) || tt.none && err == nil {
				t.Errorf("%s: %s: there: %v; %d bytes, %v, want %d", tt.name, name, has, len(got), err, len(want))
			}
			id[0]++
			if _, err := g.read(id); g.has(id) || err == nil {
				t.Errorf("%s: there is an object that git does not have", tt.name)
			}
		}
		g.close()
		if g != nil && g.packs != nil {
			t.Errorf("%s: %d packs are open", tt.name, len(g.packs))
		}
	}
}

// TestRulesAbove: rules of folders above, without a slash, apply in a folder of a repository.
func TestRulesAbove(t *testing.T) {
	base := t.TempDir()
	for name, text := range map[string]string{".gitignore": "*.top\n/here\n", "a/.gitignore": "*.mid\nb/here\n", "a/b/.gitignore": "*.own\n", ".git/info/exclude": "*.excluded\n", ".git/objects/x": ""} {
		write(t, filepath.Join(base, name), text)
	}
	rules, ok := rulesAbove(filepath.Join(base, "a/b"))
	for name, want := range map[string]bool{"x.top": true, "x.mid": true, "c/x.mid": true, "x.excluded": true, "x.own": false, "here": false} {
		if got := rules.Match(name, false); got != want || !ok {
			t.Errorf("%s: ignored %v, want %v; in a repository: %v", name, got, want, ok)
		}
	}
	if rules, ok = rulesAbove(base); !ok || !rules.Match("x.excluded", false) || rules.Match("x.top", false) {
		t.Errorf("at the top: %v, in a repository: %v", rules, ok)
	}
	if _, ok := rulesAbove(t.TempDir()); ok {
		t.Error("there is a repository elsewhere")
	}
}
