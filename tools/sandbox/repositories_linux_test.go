package sandbox_test

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// git runs git outside of the sandbox, as the caller.
func (p *fixture) git(dir string, args ...string) {
	p.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = p.at(dir)
	cmd.Env = append(p.env, "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "GIT_TEMPLATE_DIR=")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: p.credential()}
	out, err := cmd.CombinedOutput()
	if err != nil {
		p.t.Fatalf("git %v: %v, %s", args, err, out)
	}
}

// chownWorkspace gives all of the workspace to the caller.
func (p *fixture) chownWorkspace() {
	p.t.Helper()
	err := filepath.Walk(p.at("workspace"), func(path string, _ os.FileInfo, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(path, p.uid, p.uid)
	})
	if err != nil {
		p.t.Fatal(err)
	}
}

// Files that a command writes where git reads its configuration are not there
// afterwards, in every repository that was there.
func TestRepositories(t *testing.T) {
	t.Parallel()
	dirs := map[string]string{
		"the workspace's":   ".git",
		"a nested one":      "sub/.git",
		"deeper":            "a/b/c/.git",
		"behind a file":     "data/git",
		"its common folder": "data/common",
		"behind a link":     "data/linked",
	}
	commands := []string{
		"mkdir -p evil/hooks; echo evil > evil/config; echo ../evil > $d/commondir",
		"echo evil > $d/config; echo evil >> $d/config.worktree",
		"mkdir -p $d/hooks; echo evil > $d/hooks/pre-commit",
		"mkdir -p $d/modules/m $d/worktrees/w; echo evil > $d/modules/m/config; echo evil > $d/worktrees/w/commondir",
		"mv $d $d.old; mkdir -p $d/hooks; echo evil > $d/config; echo evil > $d/hooks/pre-commit",
		"for f in file/.git link/.git; do rm $f; mkdir -p $f/hooks; echo evil > $f/config; done",
	}
	if !long { // in two parts, in which none is in another's way
		commands = []string{strings.Join(commands[:4], "; "), strings.Join(commands[4:], "; ")}
	}
	all := strings.Join(slices.Sorted(maps.Values(dirs)), " ")
	for _, s := range setups() {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			p := newFixture(t, s)
			for _, d := range dirs {
				p.write("workspace/"+d+"/config", "[core]\n")
				p.write("workspace/"+d+"/HEAD", "ref: refs/heads/main\n")
			}
			p.write("workspace/data/git/commondir", "../common\n")
			p.write("workspace/file/.git", "gitdir: ../data/git\n")
			p.write("workspace/link/x", "")
			if err := os.Symlink("../data/linked", p.at("workspace/link/.git")); err != nil {
				t.Fatal(err)
			}
			p.chownWorkspace()
			for _, command := range commands {
				p.run("for d in " + all + "; do " + command + "; done")
				for where, dir := range dirs {
					at := "workspace/" + dir
					common := p.read(at + "/commondir")
					for _, name := range []string{"config.worktree", "hooks", "modules", "worktrees"} {
						if files, _ := filepath.Glob(p.at(at + "/" + name + "/*")); len(files) > 0 && !(dir == ".git" && name == "hooks") {
							t.Errorf("%s, %s: %s is there: %v", where, command, name, files)
						}
					}
					rest := p.read(at+"/config.worktree") + p.read(at+"/hooks/pre-commit") + p.read(at+"/modules/m/config") + p.read(at+"/worktrees/w/commondir")
					link, _ := os.Readlink(p.at("workspace/link/.git"))
					if p.read(at+"/config") != "[core]\n" || rest != "" || common != "" && common != "../common\n" ||
						p.read("workspace/file/.git") != "gitdir: ../data/git\n" || link != "../data/linked" {
						t.Errorf("%s, %s: config %q, commondir %q, file %q, link %q, others %q", where, command, p.read(at+"/config"), common, p.read("workspace/file/.git"), link, rest)
					}
				}
			}
		})
	}
}

// The target of a protected link, in the workspace, is protected as well.
func TestProtectedLinks(t *testing.T) {
	for _, s := range setups() {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			p := newFixture(t, s)
			p.write("workspace/scripts/hooks/pre-commit", "mine\n")
			p.write("workspace/scripts/envrc", "mine\n")
			if err := os.RemoveAll(p.at("workspace/.git/hooks")); err != nil {
				t.Fatal(err)
			}
			for link, to := range map[string]string{".git/hooks": "../scripts/hooks", ".envrc": "scripts/envrc"} {
				if err := os.Symlink(to, p.at("workspace/"+link)); err != nil {
					t.Fatal(err)
				}
			}
			p.chownWorkspace()
			p.run("echo evil > .git/hooks/pre-commit; echo evil > .git/hooks/post-commit; echo evil > scripts/envrc; mv scripts s; mkdir -p scripts/hooks; echo evil > scripts/hooks/post-commit")
			if got := p.read("workspace/.git/hooks/pre-commit") + p.read("workspace/.git/hooks/post-commit") + p.read("workspace/.envrc"); got != "mine\nmine\n" {
				t.Errorf("got %q", got)
			}
		})
	}
}

// Everyday work with git succeeds, without a notice.
func TestEverydayGit(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip(err)
	}
	const script = `set -e
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null
export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
echo 1 > f; git add f; git commit -qm one
git branch b; git checkout -q b; echo 2 > f; git commit -qam two
git checkout -q -; echo 3 > g; git add g; git stash -q; git stash pop -q; git commit -qm three
git merge -q --no-edit b; git tag v1; git rebase -q HEAD~1; git reset -q --hard HEAD; git gc -q; git status --short
git log --oneline | wc -l`
	for _, s := range setups() {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			p := newFixture(t, s)
			if err := os.RemoveAll(p.at("workspace/.git")); err != nil {
				t.Fatal(err)
			}
			p.git("workspace", "init", "-q")
			p.chownWorkspace()
			out, status := p.run(script)
			if status != 0 || strings.Contains(out, "[") {
				t.Errorf("got %d, %s", status, out)
			}
		})
	}
}
