package sandbox_test

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// gitSetup makes git in the sandbox independent of the user of the tests.
const gitSetup = `set -e
export GIT_TEMPLATE_DIR=
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=init.defaultBranch GIT_CONFIG_VALUE_0=main
export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
`

// Everyday work in repositories of every kind succeeds, without a notice.
func TestNewRepositories(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip(err)
	}
	const script = `git init -q .; git config user.name me; git config user.email a@b; echo 1 > f; git add f; git commit -qm one
git worktree add -q w; cd w; echo 2 > f; git commit -qam two; cd ..
mkdir -p a/b; cd a/b; git init -q .; echo 1 > f; git add f; git commit -qm one; cd ../..
git clone -q a/b two; cd two; git log --oneline | grep -q one`
	const again = `for d in . w a/b two; do cd $d; echo 3 >> f; git commit -qam three; git log --oneline | grep -q three; git status --short f; cd "$OLDPWD"; done
git -C two fetch -q; test "$(git config user.name)" = me`
	for _, s := range setups() {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			p := newFixture(t, s)
			if err := os.RemoveAll(p.at("workspace/.git")); err != nil {
				t.Fatal(err)
			}
			for _, commands := range []string{script, again} {
				if out, status := p.run(gitSetup + "unset GIT_TEMPLATE_DIR\n" + commands); status != 0 || out != "" {
					t.Errorf("got %d, %s", status, out)
				}
			}
		})
	}
}

// One can commit in a submodule and in another tree of a repository in the
// workspace, and still not change what configures them.
func TestInnerGitDirs(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip(err)
	}
	for _, s := range setups() {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			p := newFixture(t, s)
			if err := os.RemoveAll(p.at("workspace/.git")); err != nil {
				t.Fatal(err)
			}
			p.write("workspace/lib/f", "1\n")
			p.env = append(p.env, "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b")
			p.chownWorkspace()
			p.git("workspace/lib", "init", "-q")
			p.git("workspace/lib", "add", "f")
			p.git("workspace/lib", "commit", "-qm", "one")
			p.git("workspace", "init", "-q")
			p.git("workspace", "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", "./lib", "sub")
			p.git("workspace", "commit", "-qm", "one")
			p.git("workspace", "worktree", "add", "-q", "tree")
			for _, dir := range []string{"sub", "tree"} {
				out, status := p.run(gitSetup + "cd " + dir + "; echo 2 > g; git add g; git commit -qm two; git log --oneline")
				if status != 0 || strings.Contains(out, "[") || !strings.Contains(out, "two") {
					t.Errorf("%s: got %d, %s", dir, status, out)
				}
			}
			before := p.read("workspace/.git/modules/sub/config")
			p.run(`m=.git/modules/sub; w=.git/worktrees/tree
echo evil >> $m/config; echo evil > $m/hooks/pre-commit; echo evil > $m/commondir; mv $m $m.old; mkdir -p $m/hooks; echo evil > $m/hooks/post-commit
echo evil > $w/commondir; echo evil > $w/config.worktree; mv $w $w.old; mkdir -p $w; echo evil > $w/commondir
mkdir -p .git/worktrees/new .git/modules/new; echo ref: x > .git/modules/new/HEAD; echo evil > .git/modules/new/config
echo ref: x > .git/worktrees/new/HEAD; echo ../../../evil > .git/worktrees/new/commondir`)
			at := "workspace/.git/"
			if got := p.read(at+"modules/sub/config") + p.read(at+"worktrees/tree/commondir"); got != before+"../..\n" {
				t.Errorf("got %s", got)
			}
			for _, name := range []string{"modules/sub/commondir", "modules/sub/hooks/pre-commit", "modules/sub/hooks/post-commit", "worktrees/tree/config.worktree", "modules/new/config", "worktrees/new/commondir"} {
				if got := p.read(at + name); got != "" {
					t.Errorf("%s is there: %s", name, got)
				}
			}
		})
	}
}

// A repository that a command makes anywhere near runs nothing later.
func TestNestedRepositories(t *testing.T) {
	t.Parallel()
	commands := map[string]string{
		"settings":             "mkdir -p sub/.git; printf '[core]\\n\\tfsmonitor = ./evil\\n' > sub/.git/config",
		"an alias":             "mkdir -p sub/.git; printf '[alias]\\n\\tst = !evil\\n' > sub/.git/config",
		"behind a section":     "mkdir -p sub/.git; printf '[core] fsmonitor = evil\\n' > sub/.git/config",
		"behind a comment":     "mkdir -p sub/.git; printf '[user]\\n\\tname = a \\\\\\n[core]\\n\\tfsmonitor = evil\\n' > sub/.git/config",
		"a carriage return":    "mkdir -p sub/.git; printf '[user]\\n\\tname = a\\r\\tfsmonitor = evil\\n' > sub/.git/config",
		"other settings":       "mkdir -p sub/.git; printf '[include]\\n\\tpath = ../evil\\n' > sub/.git/config",
		"a transport":          "mkdir -p sub/.git; printf '[remote \"o\"]\\n\\turl = ext::sh -c evil\\n' > sub/.git/config",
		"another tree":         "mkdir -p sub/.git; printf '[core]\\n\\tworktree = /\\n#evil' > sub/.git/config",
		"a hook":               "mkdir -p sub/.git/hooks; echo evil > sub/.git/hooks/post-checkout; chmod +x sub/.git/hooks/*",
		"linked hooks":         "mkdir -p sub/.git bad; echo evil > bad/pre-commit; ln -s ../../bad sub/.git/hooks",
		"deep":                 "d=a/b/c/d/e; mkdir -p $d/.git; printf '[core]\\n\\tpager = evil\\n' > $d/.git/config",
		"another folder":       "mkdir -p sub bad/hooks; echo evil > bad/config; echo 'gitdir: ../bad' > sub/.git; echo evil > bad/hooks/pre-commit",
		"a folder outside":     "mkdir -p sub; echo 'gitdir: /tmp/evil' > sub/.git",
		"a link":               "mkdir -p sub bad; echo evil > bad/config; ln -s ../bad sub/.git",
		"a common folder":      "mkdir -p sub/.git bad; echo evil > bad/config; echo ../../bad > sub/.git/commondir",
		"settings of its tree": "mkdir -p sub/.git; echo evil > sub/.git/config.worktree",
		"a large file":         "mkdir -p sub/.git; (echo evil; head -c 100000 /dev/zero) > sub/.git/config",
		"a pipe":               "mkdir -p sub/.git; mkfifo sub/.git/config",
		"unlisted":             "mkdir -p sub/.git; printf '[core]\\n\\tpager = evil\\n' > sub/.git/config; chmod 311 sub/.git",
		"locked":               "mkdir -p sub/.git/hooks; echo evil > sub/.git/hooks/x; chmod 0 sub/.git/hooks",
	}
	// These may stay: nothing that was made leads there any more, or nothing is left
	// of what it leads to.
	leads := map[string]bool{"another folder/sub/.git": true, "a link/bad/config": true, "a common folder/bad/config": true}
	files := []string{
		"sub/.git", "sub/.git/config", "sub/.git/config.worktree", "sub/.git/commondir", "sub/.git/hooks/post-checkout", "sub/.git/hooks/pre-commit",
		"sub/.git/hooks/x", "a/b/c/d/e/.git/config", "bad/config", "bad/hooks/pre-commit",
	}
	script := "umask 022; mkdir '" + strings.Join(slices.Collect(maps.Keys(commands)), "' '") + "'\n"
	for name, command := range commands {
		script += fmt.Sprintf("(cd '%s'; %s)\n", name, command)
	}
	for _, s := range setups() {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			p := newFixture(t, s)
			out, _ := p.run(script)
			for name := range commands {
				if !strings.Contains(out, name+"/") {
					t.Errorf("%s: it is not told: %s", name, out)
				}
				for _, file := range files {
					file = name + "/" + file
					if info, err := os.Lstat(p.at("workspace/" + file)); err == nil && !info.IsDir() && !leads[file] {
						t.Errorf("%s is there: %v", file, info.Mode())
					}
				}
			}
			if !strings.Contains(out, "the sandbox undid changes of ") || !strings.Contains(out, "is kept in ") || strings.Contains(out, "CAUTION") {
				t.Errorf("got %s", out)
			}
			if got := p.quarantined("a hook/sub/.git/hooks/post-checkout"); len(got) != 1 || got[0] != "evil\n" {
				t.Errorf("kept %q", got)
			}
		})
	}
}

// A directory with the layout of a git directory is one: git checks no further.
func TestBareLayout(t *testing.T) {
	t.Parallel()
	const head = "echo 'ref: refs/heads/main' > HEAD; "
	tests := []struct{ name, command, gone string }{
		{"plain", head + "mkdir objects refs; printf '[core]\\n\\tbare = false\\n\\tworktree = ..\\n\\tfsmonitor = evil\\n' > config", "HEAD"},
		{"linked", "ln -s refs/heads/main HEAD; mkdir x; ln -s x objects; ln -s x refs; printf '[core]\\n\\tfsmonitor = evil\\n' > config", "HEAD"},
		{"hooks", head + "mkdir objects refs hooks; echo evil > hooks/post-checkout", "HEAD"},
		{"a common folder", head + "mkdir -p x/objects x/refs; echo x > commondir; printf '[core]\\n\\tfsmonitor = evil\\n' > x/config", "HEAD"},
		{"around what was there", "mkdir refs; printf '[core]\\n\\tfsmonitor = evil\\n' > config", "refs"},
	}
	for _, s := range setups() {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			p := newFixture(t, s)
			script := ""
			for _, test := range tests {
				p.write("workspace/"+test.name+"/src/old", "")
				script += fmt.Sprintf("(cd '%s/src'; %s)\n", test.name, test.command)
			}
			for name, content := range map[string]string{"HEAD": "ref: refs/heads/main\n", "objects/x": "", "config": "mine\n"} {
				p.write("workspace/around what was there/src/"+name, content)
			}
			p.write("workspace/mine.git/HEAD", "ref: refs/heads/main\n")
			p.write("workspace/mine.git/objects/x", "")
			p.write("workspace/mine.git/refs/x", "")
			p.write("workspace/mine.git/config", "mine\n")
			p.chownWorkspace()
			out, _ := p.run(script + "cd mine.git; echo evil > config; mkdir hooks; echo evil > hooks/update")
			for _, test := range tests {
				at := test.name + "/src/"
				if _, err := os.Lstat(p.at("workspace/" + at + test.gone)); err == nil || !strings.Contains(out, at+test.gone) {
					t.Errorf("%s: %s is there (%v), or not told of: %s", test.name, test.gone, err == nil, out)
				}
				if _, err := os.Lstat(p.at("workspace/" + at + "old")); err != nil {
					t.Errorf("%s: %v", test.name, err)
				}
			}
			if got := p.read("workspace/mine.git/config") + p.read("workspace/mine.git/hooks"); got != "mine\n" {
				t.Errorf("the one that was there: %q", got)
			}
		})
	}
}

// A command cannot keep the search from where the user works: not by names, not by
// directories, and not by their modes. With PARLEY_LONG=1 there are more of both than are
// looked at before a command; without, directories still take several turns to read.
func TestSearchUnderFlood(t *testing.T) {
	t.Parallel()
	names, dirs, beside := 100, 40, 40
	if long {
		names, dirs, beside = 21000, 2100, 2000
	}
	command := fmt.Sprintf(`mkdir -p src/.git new/x/.git aaa bbb
printf '[core]\n\tfsmonitor = evil\n' > evil; cp evil src/.git/config; cp evil new/x/.git/config
(cd aaa; seq %d | xargs touch); (cd bbb; seq %d | xargs mkdir); (cd src; seq %d | xargs touch)
(cd bbb; mkdir $(seq 40 | sed 's:$:/.git:'); tee $(seq 40 | sed 's:$:/.git/config:')) < evil > aaa/1
chmod 111 new src`, names, dirs, beside)
	gone := []string{"src/.git/config", "new/x/.git/config"}
	for i := range 40 { // more than are read in one turn
		gone = append(gone, fmt.Sprintf("bbb/%d/.git/config", i+1))
	}
	for _, s := range allSetups() {
		if s.spaces || s.uid != os.Getuid() {
			continue // one will do: it takes many files
		}
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			p := newFixture(t, s)
			p.write("workspace/src/x", "")
			p.chownWorkspace()
			out, _ := p.run(command)
			for _, name := range gone {
				if got := p.read("workspace/" + name); got != "" || !strings.Contains(out, name) {
					t.Errorf("%s is there (%v), or not told of: %s", name, got != "", out)
				}
			}
		})
	}
}

// Existing repositories do not count as new; for one from beyond the search
// the directories that were not searched are reported.
func TestFarRepositories(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat("d/", 66)
	far := "workspace/" + deep + "mine"
	for _, s := range setups() {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			p := newFixture(t, s)
			p.write(far+"/.git/config", "[alias]\n\tx = !mine\n")
			p.chownWorkspace()
			if out, _ := p.run("touch f 1/f; rm -r .git/x 2>&-"); strings.Contains(out, "[") {
				t.Errorf("got %s", out)
			}
			p.run("d=1/2/3/4/5/6/7/8/9/evil; mkdir -p $d/.git; echo evil > $d/.git/config")
			if got := p.read("workspace/1/2/3/4/5/6/7/8/9/evil/.git/config"); got != "" {
				t.Errorf("got %s", got)
			}
			out, _ := p.run("mkdir -p " + deep + "evil/.git; echo evil > " + deep + "evil/.git/config; mkdir -p e/" + deep + "x")
			if !strings.Contains(out, "it skipped e/d/") {
				t.Errorf("it is not told: %s", out)
			}
			p.run("mv " + deep + "evil near")
			if got := p.read("workspace/near/.git/config"); got != "" {
				t.Errorf("got %s", got)
			}
			if got := p.read(far + "/.git/config"); got == "" {
				t.Error("what was there is gone")
			}
		})
	}
}

// Hooks are protected wherever they are.
func TestHooksPath(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, config, more, hooks string }{
		{"plain", "[core]\n\thooksPath = .githooks\n", "", ".githooks"},
		{"line", "[core] HooksPath=\"scripts/hooks\" ; x\n", "", "scripts/hooks"},
		{"included", "[include]\n\tpath = ../.gitconfig\n", "[core]\n\thookspath = ./tools/hooks\n", "tools/hooks"},
		{"husky", "[core]\n\thooksPath = .husky/_\n", "", ".husky"},
	}
	for _, s := range setups() {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			p := newFixture(t, s)
			script := ""
			for _, test := range tests {
				at := "workspace/" + test.name + "/"
				p.write(at+".git/config", test.config)
				p.write(at+".gitconfig", test.more)
				p.write(at+test.hooks+"/pre-commit", "mine\n")
				script += fmt.Sprintf("(cd %s; h=%s; echo evil > $h/pre-commit; echo evil > $h/post-commit; mv $h old; mkdir -p $h; echo evil > $h/post-commit; echo evil > .gitconfig)\n", test.name, test.hooks)
			}
			p.chownWorkspace()
			p.run(script)
			for _, test := range tests {
				at := "workspace/" + test.name + "/"
				if got := p.read(at+test.hooks+"/pre-commit") + p.read(at+test.hooks+"/post-commit"); got != "mine\n" {
					t.Errorf("%s: got %q", test.name, got)
				}
				if got := p.read(at + ".gitconfig"); test.more != "" && got != test.more {
					t.Errorf("%s: got %q", test.name, got)
				}
			}
		})
	}
}

// In a worktree of a repository that is elsewhere git can commit, where the
// repository's configuration can be protected; it can read it everywhere.
func TestWorktree(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip(err)
	}
	for _, s := range setups() {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			p := newFixture(t, s)
			p.env = append(p.env, "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b")
			p.git("outside", "init", "-q")
			p.git("outside", "add", "file")
			p.git("outside", "commit", "-qm", "one")
			if err := os.RemoveAll(p.at("workspace")); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(p.at("."), 0o777); err != nil {
				t.Fatal(err)
			}
			p.git("outside", "worktree", "add", "-q", "../workspace")
			if out, status := p.run(gitSetup + "git log --oneline; git status --short"); status != 0 || !strings.Contains(out, "one") {
				t.Errorf("got %d, %s", status, out)
			}
			if out, status := p.run(gitSetup + "echo 2 > f; git add f; git commit -qm two; git log --oneline"); s.spaces && (status != 0 || !strings.Contains(out, "two") || strings.Contains(out, "[")) {
				t.Errorf("got %d, %s", status, out)
			}
			out, _ := p.run("w=" + p.at("outside/.git/worktrees/workspace") + "; mkdir $w/rebase-merge $w/modules; echo 'exec evil' > $w/rebase-merge/git-rebase-todo")
			if at := p.at("outside/.git/worktrees/workspace/"); s.spaces != strings.HasPrefix(out, "[CAUTION: "+at+"/rebase-merge/git-rebase-todo, "+at+"/modules is new and names") {
				t.Errorf("what git goes on with: %s", out)
			}
			git := p.at("outside/.git")
			before := p.read("outside/.git/config") + p.read("outside/.git/worktrees/workspace/commondir") + p.read("outside/.git/worktrees/workspace/gitdir")
			p.run("g=" + git + "; w=$g/worktrees/workspace; echo evil > $g/hooks/pre-commit; echo evil >> $g/config; echo evil > $w/commondir; echo evil > $w/gitdir; mv $w $w.old; mkdir -p $w; echo evil > $w/commondir; mv $g $g.old; echo evil > ../outside/file; mkdir $g/worktrees/x")
			after := p.read("outside/.git/config") + p.read("outside/.git/worktrees/workspace/commondir") + p.read("outside/.git/worktrees/workspace/gitdir")
			if after != before || p.read("outside/.git/hooks/pre-commit") != "" || p.read("outside/file") != "canary" || p.read("outside/.git/worktrees/x") != "" {
				t.Errorf("got %s", after)
			}
		})
	}
}

// A directory of another user that becomes a git directory is told of, although it cannot be listed.
func TestUnlistedRepository(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("all directories are the caller's")
	}
	for _, s := range setups() {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			p := newFixture(t, s)
			p.write("workspace/sub/old/config", "[core]\n\tpager = evil\n")
			p.chownWorkspace()
			if err := errors.Join(os.Chown(p.at("workspace/sub/old"), 1, 1), os.Chmod(p.at("workspace/sub/old"), 0o711)); err != nil {
				t.Fatal(err)
			}
			out, _ := p.run("mv sub/old sub/.git")
			if !strings.Contains(out, "sub/.git/config") {
				t.Errorf("it is not told: %s", out)
			}
		})
	}
}
