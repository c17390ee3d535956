package sandbox_test

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// What git writes while it works, and later runs programs by, is told.
func TestArmed(t *testing.T) {
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
	for _, s := range settings() {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t, s)
			script := ""
			for _, test := range tests {
				p.write("workspace/"+test.name+"/.git/config", "")
				script += fmt.Sprintf("(cd '%s'; %s)\n", test.name, test.command)
			}
			p.write("workspace/what was there/.git/info/attributes", "* filter=mine\n")
			p.hand()
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

// A rebase that a command has begun stays, and one can go on with it.
func TestRebaseStays(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip(err)
	}
	for _, s := range settings() {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t, s)
			if err := os.RemoveAll(p.at("workspace/.git")); err != nil {
				t.Fatal(err)
			}
			p.git("workspace", "init", "-q")
			p.hand()
			out, _ := p.run(gitSetup + "for i in 1 2 3; do echo $i > f; git add f; git commit -qm $i; done; git rebase -q -x 'false' -x 'echo went on' HEAD~1 || true")
			if !strings.Contains(out, "[CAUTION: .git/rebase-merge/git-rebase-todo is new") {
				t.Errorf("it is not told: %s", out)
			}
			if out, status := p.run(gitSetup + "git rebase --continue; git status --short f"); status != 0 || !strings.Contains(out, "went on") || strings.Contains(out, "CAUTION") {
				t.Errorf("got %d, %s", status, out)
			}
		})
	}
}
