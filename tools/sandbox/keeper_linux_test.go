package sandbox_test

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	tools "parley/tools/process"
)

// plants are what a command leaves for others to run, and the file of each.
var plants = []struct{ command, file string }{
	{"mkdir -p new/.git; printf '[core]\\n\\tfsmonitor = evil\\n' > new/.git/config", "new/.git/config"},
	{"git init -q made; printf '[core]\\n\\tfsmonitor = evil\\n' >> made/.git/config", "made/.git/config"},
	{"mkdir -p hooked/.git/hooks; echo evil > hooked/.git/hooks/pre-commit", "hooked/.git/hooks/pre-commit"},
	{"mkdir -p bare/objects bare/refs; echo evil > bare/config; echo 'ref: refs/heads/main' > bare/HEAD", "bare/HEAD"},
	{"mkdir -p apart linked/x; echo evil > apart/config; echo 'gitdir: /tmp/x' > linked/.git", "linked/.git"},
	{"d=1/2/3/4/5/6; mkdir -p $d/.git; printf '[core]\\n\\tpager = evil\\n' > $d/.git/config", "1/2/3/4/5/6/.git/config"},
	{"mkdir -p moved/sub/.git; mv moved/sub there; printf '[core]\\n\\tpager = evil\\n' > x; mv x there/.git/config", "there/.git/config"},
	{"echo evil > .envrc", ".envrc"},
	{"echo '{}' > .mcp.json", ".mcp.json"},
	{"mkdir -p .parley; echo evil > .parley/config.toml", ".parley/config.toml"},
}

// plantAll is a command that plants everything.
func plantAll() string {
	var all []string
	for _, p := range plants {
		all = append(all, "("+p.command+") 2>/dev/null")
	}
	return gitSetup + strings.Join(all, "; ") + "; "
}

// Everything that no command may make is gone while the command still runs.
func TestTakenAtOnce(t *testing.T) {
	t.Parallel()
	for _, s := range setups() {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			p := newFixture(t, s)
			script := plantAll()
			for _, plant := range plants {
				script += fmt.Sprintf("for i in $(seq 1000); do test -e %[1]s || break; sleep 0.01; done; test -e %[1]s && echo %[1]s stays; ", plant.file)
			}
			out, _ := p.run(script + "true")
			for _, plant := range plants {
				if strings.Contains(out, plant.file+" stays") {
					t.Errorf("%s stays while the command runs", plant.file)
				}
				if top, _, _ := strings.Cut(plant.file, "/"); !strings.Contains(out, top) {
					t.Errorf("%s is not told: %s", plant.file, out)
				}
			}
		})
	}
}

// A command among many new folders hides nothing.
func TestTakenInAFlood(t *testing.T) {
	t.Parallel()
	folders := 2000
	if long {
		folders = 40_000
	}
	p := newFixture(t, setups()[0])
	out, _ := p.run(fmt.Sprintf(`mkdir -p a/b; (cd a; seq %d | xargs mkdir); mkdir -p a/7/x/.git; printf '[core]\n\tfsmonitor = evil\n' > a/7/x/.git/config; (cd a/b; seq %[1]d | xargs mkdir); mv a z`, folders))
	if got := p.read("workspace/z/7/x/.git/config") + p.read("workspace/a/7/x/.git/config"); got != "" || !strings.Contains(out, "7/x/.git/config") {
		t.Errorf("got %q, %s", got, out)
	}
}

// suspend stops a caller, and waits until none of its threads runs.
func (p *fixture) suspend(cmd *exec.Cmd) {
	p.t.Helper()
	var status syscall.WaitStatus
	err := cmd.Process.Signal(syscall.SIGSTOP)
	if err == nil {
		_, err = syscall.Wait4(cmd.Process.Pid, &status, syscall.WUNTRACED, nil)
	}
	if err != nil || !status.Stopped() {
		p.t.Fatal(err, status)
	}
}

// plantAndKill has a command plant everything while its caller is stopped, and kills both together, with all helpers.
func (p *fixture) plantAndKill() {
	p.t.Helper()
	cmd := p.caller("/bin/sh", "-c", "echo 1 > started; until test -e go; do sleep 0.01; done; "+plantAll()+"echo 1 > planted; sleep 1000")
	cmd.SysProcAttr.Setpgid = true
	if err := cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	p.waitFor("workspace/started")
	all, err := tools.List()
	if err != nil {
		p.t.Fatal(err)
	}
	helpers := tools.Descendants(all, cmd.Process.Pid)
	p.suspend(cmd)
	p.writeAsUser("workspace/go", "")
	p.waitFor("workspace/planted")
	for _, pid := range append(helpers, cmd.Process.Pid) {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	_ = cmd.Wait()
}

// The plants of commands that were killed together with their parley, as by a loss of power, are gone before the next
// one runs, and told. The files that the user had are still there.
func TestKilledTogether(t *testing.T) {
	t.Parallel()
	for _, s := range setups() {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			p := newFixture(t, s)
			p.write("workspace/mine/.git/config", "[alias]\n\tx = !mine\n")
			p.write("workspace/\xff\n/.git/config", "[alias]\n\tx = !mine\n")
			for _, name := range []string{"started", "planted"} {
				p.write("workspace/"+name, "")
			}
			p.chownWorkspace()
			p.plantAndKill()
			out, _ := p.run("echo next")
			if !strings.Contains(out, "parley was killed while commands ran here") {
				t.Errorf("it is not told: %s", out)
			}
			for _, plant := range plants {
				if _, err := os.Lstat(p.at("workspace/" + plant.file)); err == nil {
					t.Errorf("%s is there: %s", plant.file, out)
				}
			}
			if got := p.read("workspace/mine/.git/config") + p.read("workspace/\xff\n/.git/config"); got != "[alias]\n\tx = !mine\n[alias]\n\tx = !mine\n" {
				t.Errorf("what was there is %q", got)
			}
			if out, _ := p.run("echo next"); out != "next\n" {
				t.Errorf("it is told again: %s", out)
			}
		})
	}
}

// A journal that nobody understands is told, and leaves everything as it is.
func TestJournalDamaged(t *testing.T) {
	t.Parallel()
	for _, content := range []string{"", "{", `{"Version":999}`, `{"Version":1,"Workspace":"/elsewhere"}`} {
		p := newFixture(t, setups()[0])
		p.run("true")
		p.write("workspace/.envrc", "mine\n")
		dirs, _ := filepath.Glob(p.at("home/.cache/parley/undone/*"))
		if len(dirs) != 1 {
			t.Fatalf("there are %v", dirs)
		}
		if err := os.WriteFile(filepath.Join(dirs[0], "journal-1"), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		p.chownWorkspace()
		if out, _ := p.run("echo next"); !strings.Contains(out, "journal-1 is damaged") {
			t.Errorf("%q: it says %s", content, out)
		}
		if got := p.read("workspace/.envrc"); got != "mine\n" {
			t.Errorf("%q: .envrc is %q", content, got)
		}
		if out, _ := p.run("echo next"); out != "next\n" {
			t.Errorf("%q: it is told again: %s", content, out)
		}
	}
}

// A repository that the user makes in another window while a command runs stays, as git makes it.
func TestUsersOwnRepository(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip(err)
	}
	for _, s := range setups() {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			p := newFixture(t, s)
			out := p.runBeside("true", func() {
				p.writeAsUser("workspace/own/f", "1\n")
				p.git("workspace/own", "init", "-q")
				p.git("workspace/own", "add", "f")
				p.git("workspace/own", "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "one")
				p.git("workspace/own", "worktree", "add", "-q", "../tree")
				p.git("workspace", "clone", "-q", "own", "copy")
			})
			if out != "" {
				t.Errorf("it says %s", out)
			}
			for _, name := range []string{"own", "tree", "copy"} {
				p.git("workspace/"+name, "log", "-1")
			}
		})
	}
}

// Two parleys in one folder do not undo each other's work.
func TestTwoCallers(t *testing.T) {
	t.Parallel()
	p := newFixture(t, setups()[0])
	p.write("workspace/started", "")
	p.chownWorkspace()
	first := p.caller("/bin/sh", "-c", "echo 1 > started; until test -e go; do sleep 0.01; done; echo first")
	var out bytes.Buffer
	first.Stdout, first.Stderr = &out, &out
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	p.waitFor("workspace/started")
	if got, status := p.run("echo second; touch go"); got != "second\n" || status != 0 {
		t.Errorf("the second says %s", got)
	}
	if err := first.Wait(); err != nil || out.String() != "first\n" {
		t.Errorf("the first says %s, %v", out.String(), err)
	}
}

// Nothing is moved away through a link that was moved away before.
func TestTakenThroughNoLink(t *testing.T) {
	t.Parallel()
	for _, s := range setups() {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			p := newFixture(t, s)
			outside := p.at("outside")
			out, _ := p.run(fmt.Sprintf(`%smkdir d; ln -s %s d/.git; for i in $(seq 1000); do test -L d/.git || break; sleep 0.01; done
				git init -q d; echo evil > d/.git/config; for i in $(seq 1000); do test -e d/.git/config || break; sleep 0.01; done; test ! -e d/.git/config && echo taken`, gitSetup, outside))
			if _, err := os.Lstat(filepath.Join(outside, "config")); err == nil || !strings.Contains(out, "taken") {
				t.Errorf("the link was followed, or the settings stay: %v, %s", err, out)
			}
		})
	}
}

// A command that makes again and again what is taken away is ended, and a second command does not make that the user's
// own.
func TestSecondCommandAcceptsNothing(t *testing.T) {
	t.Parallel()
	p := newFixture(t, setups()[0])
	var out bytes.Buffer
	status := make(chan int)
	go func() {
		status <- callSandbox(p.policy, []string{"/bin/sh", "-c", "echo 1 > started; while :; do echo evil > .envrc; done 2>/dev/null"}, io.Discard, &out)
	}()
	p.waitFor("workspace/started")
	for range 10 {
		callSandbox(p.policy, []string{"/bin/true"}, io.Discard, io.Discard)
	}
	if got := <-status; got == 0 || !strings.Contains(out.String(), "[the sandbox ended the command, because it kept making .envrc]") {
		t.Errorf("it ended with %d: %s", got, out.String())
	}
	if exists(p.at("workspace/.envrc")) {
		t.Error(".envrc stays")
	}
}

// The links of files that stayed lead to no way to change them.
func TestTakenThroughLinks(t *testing.T) {
	t.Parallel()
	for _, s := range setups() {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			p := newFixture(t, s)
			p.write("workspace/scripts/x", "")
			for link, to := range map[string]string{".git/hooks/post-checkout": "../../scripts/hook", "envrc-link": "scripts/none"} {
				if err := os.Symlink(to, p.at("workspace/"+link)); err != nil {
					t.Fatal(err)
				}
			}
			p.chownWorkspace()
			out, _ := p.run(gitSetup + `git init -q sub; ln sub/.git/config other; sleep 0.3
printf '[core]\n\tfsmonitor = evil\n' > other; echo evil > scripts/hook
for i in $(seq 300); do grep -q evil sub/.git/config scripts/hook 2>/dev/null || break; sleep 0.01; done; grep -l evil sub/.git/config scripts/hook 2>/dev/null`)
			for _, name := range []string{"sub/.git/config", "scripts/hook"} {
				if !strings.Contains(out, "undid changes of "+name) && !strings.Contains(out, ", "+name) || strings.Contains(p.read("workspace/"+name), "evil") {
					t.Errorf("%s is there, or not told: %s", name, out)
				}
			}
		})
	}
}

func exists(name string) bool { _, err := os.Lstat(name); return err == nil }

// Later changes of a new repository are taken away at once, wherever its git directory is, also after it was replaced.
func TestTakenLater(t *testing.T) {
	t.Parallel()
	for _, s := range setups() {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			testTakenLater(newFixture(t, s))
		})
	}
}

func testTakenLater(p *fixture) {
	p.write("workspace/.git/config", "[core]\n\thooksPath = tools/hooks\n")
	const evil = "printf '[core]\\n\\tfsmonitor = evil\\n' > "
	for _, test := range []struct{ command, file string }{
		{"git init -q --bare a; sleep 0.3; " + evil + "a/config", "a/HEAD"},
		{"git init -q --bare d; sleep 0.3; mkdir -p d/hooks; echo evil > d/hooks/update", "d/HEAD"},
		{"git init -q e; sleep 0.3; rm -r e/.git; git init -q e; sleep 0.3; " + evil + "e/.git/config", "e/.git/config"},
		{"git init -q b; mkdir c; mv b/.git store; echo gitdir: ../store > c/.git; sleep 0.3; " + evil + "store/config", "store/HEAD"},
		{"mkdir -m 311 f; git init -q f; " + evil + "f/.git/config", "f/.git/config"}, // only its owner cannot list it
		{"mkdir -p g/hooks; ln -s \"$PWD/g\" tools; echo evil > g/hooks/update", "tools"},
	} {
		if out, _ := p.run(fmt.Sprintf("%s%s; for i in $(seq 100); do test -e %[3]s || break; sleep 0.01; done; test -e %[3]s || echo taken", gitSetup, test.command, test.file)); !strings.Contains(out, "taken") {
			p.t.Errorf("%s: it stays: %s", test.command, out)
		}
	}
}

// A link in the place of a folder with a new repository does not lead the sandbox to the user's own.
func TestLinkedRepository(t *testing.T) {
	t.Parallel()
	for _, s := range setups() {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			p := newFixture(t, s)
			p.write("workspace/.git/HEAD", "ref: refs/heads/main\n")
			p.write("workspace/.git/objects/x", "")
			p.write("workspace/.git/refs/x", "")
			p.write("workspace/.git/hooks/pre-commit", "mine\n")
			p.write("workspace/sub/x", "")
			p.chownWorkspace()
			out, _ := p.run(gitSetup + "cd sub; git init -q .; cd ..; sleep 0.2; mv sub sub2; ln -s . sub; sleep 0.5; ls .git/hooks")
			if got := p.read("workspace/.git/hooks/pre-commit"); got != "mine\n" || !strings.Contains(out, "pre-commit") || strings.Contains(out, "undid") {
				t.Errorf("the user's hook is %q, %s", got, out)
			}
		})
	}
}

// After parley alone was killed, its helper takes away what the command left, and the next parley tells it; it does not
// touch what the user has made since.
func TestKilledAlone(t *testing.T) {
	t.Parallel()
	for _, s := range setups() {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			p := newFixture(t, s)
			p.write("workspace/started", "")
			p.chownWorkspace()
			cmd := p.caller("/bin/sh", "-c", "echo 1 > started; until test -e go; do sleep 0.01; done; echo evil > .envrc; sleep 1000")
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			p.waitStarted()
			p.suspend(cmd)
			p.writeAsUser("workspace/go", "")
			p.waitContent(".envrc", "evil\n")
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
			p.assertEnded()
			if exists(p.at("workspace/.envrc")) {
				t.Error("the helper leaves .envrc")
			}
			p.writeAsUser("workspace/.envrc", "mine\n")
			if out, _ := p.run("echo next"); !strings.Contains(out, "parley was killed while commands ran here") || !strings.Contains(out, "undid changes of .envrc") {
				t.Errorf("the next parley says %s", out)
			}
			if got := p.read("workspace/.envrc"); got != "mine\n" {
				t.Errorf("the user's file is %q", got)
			}
		})
	}
}

// waitContent waits until a file of the workspace has a content.
func (p *fixture) waitContent(name, content string) {
	p.t.Helper()
	for deadline := time.Now().Add(time.Minute); p.read("workspace/"+name) != content; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			p.t.Fatalf("%s has no such content", name)
		}
	}
}
