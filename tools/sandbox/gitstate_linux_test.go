package sandbox_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// State that git writes itself, and later runs programs by, is reported.
func TestDangerousStateFiles(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, command, told string }{
		{"a rebase", "mkdir .git/rebase-merge; echo 'exec evil' > .git/rebase-merge/git-rebase-todo", ".git/rebase-merge/git-rebase-todo"},
		{"in short", "mkdir .git/sequencer; printf 'pick 1\\n\\tx evil\\n' > .git/sequencer/todo", ".git/sequencer/todo"},
		{"moved", "mkdir x; echo 'x evil' > x/git-rebase-todo; mv x .git/rebase-merge", ".git/rebase-merge/git-rebase-todo"},
		{"linked", "mkdir x; echo 'x evil' > x/git-rebase-todo; ln -s ../x .git/rebase-merge", ".git/rebase-merge"},
		{"attributes", "mkdir .git/info; echo '* filter=evil' > .git/info/attributes", ".git/info/attributes"},
		{"in a new one", "mkdir -p src/.git/rebase-merge; echo 'exec evil' > src/.git/rebase-merge/git-rebase-todo", "src/.git/rebase-merge/git-rebase-todo"},
		{"nothing that runs", "mkdir .git/info .git/rebase-merge; echo 'pick 1 exec' > .git/rebase-merge/git-rebase-todo; echo '* text=auto' > .git/info/attributes", ""},
		{"what was there", "echo x > .git/x", ""},
	}
	for _, s := range setups() {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			p := newFixture(t, s)
			script := ""
			for _, test := range tests {
				p.write("workspace/"+test.name+"/.git/config", "")
				script += fmt.Sprintf("(cd '%s'; %s)\n", test.name, test.command)
			}
			p.write("workspace/what was there/.git/info/attributes", "* filter=mine\n")
			p.chownWorkspace()
			out, _ := p.run(script)
			list, ok := strings.CutPrefix(out, "[CAUTION: ")
			list, ok2 := strings.CutSuffix(list, " is new and names programs for git to run; look at it before you use git there]\n")
			if !ok || !ok2 {
				t.Errorf("got %s", out)
			}
			var want []string
			for _, test := range tests {
				if test.told != "" {
					want = append(want, test.name+"/"+test.told)
				}
			}
			got := strings.Split(list, ", ")
			slices.Sort(got)
			slices.Sort(want)
			if !slices.Equal(got, want) {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}

// State that git never writes itself, and starts programs by, is undone and reported; the
// rest stays, unreported.
func TestStateFiles(t *testing.T) {
	t.Parallel()
	tests := []struct{ file, evil, fine string }{
		{"rebase-merge/strategy", "x/evil", "ort"},
		{"rebase-merge/strategy", "ort\\nx/evil", "recursive\\n"},
		{"rebase-merge/strategy_opts", " --x; ./evil", " --diff-algorithm=patience --ours\\n"},
		{"sequencer/opts", "[options]\\n\\tstrategy = x/evil\\n", "[options]\\n\\tstrategy = ort\\n\\tedit = true\\n\\tstrategy-option = patience\\n"},
		{"sequencer/opts", "[options] strategy = x/evil\\n", ""},
		{"sequencer/opts", "[options]\\n\\tstrategy = x/\\\\\\nevil\\n", ""},
		{"rebase-merge/author-script", "GIT_AUTHOR_NAME='a'\\nGIT_EDITOR='./evil'\\n", "GIT_AUTHOR_NAME='a\\nb'\\nGIT_AUTHOR_EMAIL=''\\nGIT_AUTHOR_DATE='@1 +0000'\\n"},
		{"rebase-apply/author-script", "GIT_AUTHOR_NAME='a'$(./evil)\\n", ""},
		{"BISECT_NAMES", "a; ./evil", " 'a b' 'c'\\n"},
		{"remotes/o", "URL: evil::x", "URL: https://example.com/x\\n"},
		{"branches/o", "evil::x", "../x#main\\n"},
	}
	for _, s := range setups() {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			p := newFixture(t, s)
			script := "put() { printf \"$2\" > $1; }\nmkdir -p"
			for i, test := range tests {
				script += fmt.Sprintf(" evil%d/.git/%s fine%[1]d/.git/%[2]s", i, filepath.Dir(test.file))
			}
			script += "\n"
			for i, test := range tests {
				for _, dir := range []string{"evil", "fine", "was"} {
					p.write(fmt.Sprintf("workspace/%s%d/.git/config", dir, i), "")
				}
				p.write(fmt.Sprintf("workspace/was%d/.git/%s", i, test.file), "mine, and no plain one ; ::\n")
				script += fmt.Sprintf("put evil%d/.git/%s \"%s\"; put fine%[1]d/.git/%[2]s \"%[4]s\"; touch was%[1]d/.git/%[2]s was%[1]d/.git/x\n", i, test.file, test.evil, test.fine)
			}
			p.chownWorkspace()
			out, _ := p.run(strings.ReplaceAll(script, "$(./evil)", "\\$(./evil)"))
			if strings.Contains(out, "fine") || strings.Contains(out, "was") && strings.Contains(out, "was0") || strings.Contains(out, "CAUTION") {
				t.Errorf("got %s", out)
			}
			for i, test := range tests {
				name := fmt.Sprintf("evil%d/.git/%s", i, test.file)
				if got := p.read("workspace/" + name); got != "" || !strings.Contains(out, name) {
					t.Errorf("%s: got %q, or it is not told: %s", name, got, out)
				}
				if got := p.read(fmt.Sprintf("workspace/was%d/.git/%s", i, test.file)); got != "mine, and no plain one ; ::\n" {
					t.Errorf("%s, which was there: %q", test.file, got)
				}
			}
			out, _ = p.run("echo x/evil > fine0/.git/rebase-merge/strategy")
			if got := p.read("workspace/fine0/.git/rebase-merge/strategy"); got != "ort" || !strings.Contains(out, "undid changes of fine0/.git/rebase-merge/strategy") {
				t.Errorf("one that was there is %q, %s", got, out)
			}
		})
	}
}

// Git, continuing from state that a command left, runs none of its programs unreported.
func TestGitRunsNoLeftPrograms(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip(err)
	}
	const conflict = `git init -q .; echo 0 > f; git add f; git commit -qm 0; git checkout -q -b t
echo 1 > f; for i in 1 2; do echo $i > g$i; git add .; git commit -qm $i; done; git checkout -q main; echo x > f; git commit -qam x
mkdir git-merge-x; printf '#!/bin/sh\necho ran >> ../ran\n' > git-merge-x/evil; chmod +x git-merge-x/evil
`
	tests := []struct{ name, attack, goOn string }{
		{"rebase", "git checkout -q t; git rebase -q main || true; echo x/evil > .git/rebase-merge/strategy", "rebase"},
		{"cherry-pick", "git cherry-pick t~1 t || true; printf '[options]\\n\\tstrategy = x/evil\\n' > .git/sequencer/opts", "cherry-pick"},
	}
	for _, s := range setups() {
		for _, test := range tests {
			t.Run(s.name+", "+test.name, func(t *testing.T) {
				t.Parallel()
				p := newFixture(t, s)
				p.env = append(p.env, "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b", "GIT_EDITOR=true")
				if err := os.RemoveAll(p.at("workspace/.git")); err != nil {
					t.Fatal(err)
				}
				out, status := p.run(gitSetup + conflict + test.attack)
				if status != 0 || !strings.Contains(out, "undid changes of .git/") {
					t.Fatalf("got %d, %s", status, out)
				}
				p.writeAsUser("workspace/f", "resolved\n")
				p.git("workspace", "add", "f")
				p.git("workspace", test.goOn, "--continue")
				if got := p.read("ran"); got != "" {
					t.Errorf("it %s", got)
				}
			})
		}
	}
}

// Objects may be shared among the repositories of the workspace, and not taken from
// one that was not examined.
func TestAlternates(t *testing.T) {
	for _, s := range setups() {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			p := newFixture(t, s)
			p.write("workspace/a/.git/objects/x", "")
			p.write("workspace/b/.git/config", "")
			p.write("workspace/c/.git/config", "")
			p.write("workspace/d/.git/config", "")
			p.chownWorkspace()
			out, _ := p.run(`for d in b c d; do mkdir -p $d/.git/objects/info; done
echo $PWD/a/.git/objects > b/.git/objects/info/alternates; echo ../../../a/.git/objects >> b/.git/objects/info/alternates
mkdir -p x/objects; echo ../../../x/objects > c/.git/objects/info/alternates; echo /tmp/evil/objects > d/.git/objects/info/alternates`)
			if want := "[CAUTION: c/.git/objects/info/alternates, d/.git/objects/info/alternates is new and names programs"; !strings.HasPrefix(out, want) {
				t.Errorf("got %s", out)
			}
		})
	}
}

// A rebase that a command has begun stays, and one can go on with it.
func TestRebaseStays(t *testing.T) {
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
			p.git("workspace", "init", "-q")
			p.chownWorkspace()
			out, _ := p.run(gitSetup + "for i in 1 2; do echo $i > f; git add f; git commit -qm $i; done; git rebase -q -x 'false' -x 'echo went on' HEAD~1 || true")
			if !strings.Contains(out, "[CAUTION: .git/rebase-merge/git-rebase-todo is new") {
				t.Errorf("it is not told: %s", out)
			}
			if out, status := p.run(gitSetup + "git rebase --continue; git status --short f"); status != 0 || !strings.Contains(out, "went on") || strings.Contains(out, "CAUTION") {
				t.Errorf("got %d, %s", status, out)
			}
		})
	}
}
