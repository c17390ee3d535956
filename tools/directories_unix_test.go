//go:build unix

package tools

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"parley/tools/act"
	"parley/tools/permission"
)

// beside returns a workspace, and another folder with files that was added to it.
func beside(t *testing.T, files map[string]string) (f fixture, dir string) {
	t.Helper()
	f, dir = open(t, map[string]string{"own.txt": "own\n"}), t.TempDir()
	for name, content := range files {
		write(t, filepath.Join(dir, name), content)
	}
	dir, err := f.CheckDirectory(dir)
	if err == nil {
		err = f.RestoreDirectories(nil, dir)
	}
	if err != nil {
		t.Fatal(err)
	}
	return f, dir
}

func TestToolsReachAddedFolders(t *testing.T) {
	f, dir := beside(t, map[string]string{"a.txt": "alpha\n", "sub/b.txt": "beta\n", "sub/skip.log": "beta\n", ".gitignore": "*.log\n"})
	at := func(name string) string { return filepath.Join(dir, name) }
	for _, test := range []struct {
		tool string
		with []any
		want string // whole, or with … the beginning
	}{
		{"read", []any{"path", at("a.txt")}, "     1\talpha\n"},
		{"list", []any{"path", dir, "depth", 2}, ".gitignore\t6\na.txt\t6\nsub/\nsub/b.txt\t5…"},
		{"list", []any{"path", at("sub")}, "b.txt\t5…"},
		{"glob", []any{"pattern", "**/a*.txt", "path", dir}, at("a.txt") + "…"},
		{"glob", []any{"pattern", at("sub") + "/*.txt", "path", at("sub")}, at("sub/b.txt") + "…"},
		{"grep", []any{"pattern", "beta", "path", dir}, at("sub/b.txt") + "\n     1: …"},
		{"grep", []any{"pattern", "beta", "path", at("sub")}, at("sub/b.txt") + "\n     1: …"},
		{"grep", []any{"pattern", "alpha", "path", at("a.txt")}, at("a.txt") + "\n     1: …"},
		{"edit", []any{"path", at("a.txt"), "old", "alpha", "new", "omega"}, "…"},
		{"read", []any{"path", at("a.txt")}, "     1\tomega\n"},
		{"write", []any{"path", at("new/deep/c.txt"), "content", "gamma\n"}, "…"},
		{"read", []any{"path", at("new/deep/c.txt")}, "     1\tgamma\n"},
		{"read", []any{"path", "own.txt"}, "     1\town\n"},
	} {
		got := f.must(test.tool, test.with...)
		if want, open := strings.CutSuffix(test.want, "…"); got != want && !(open && strings.HasPrefix(got, want)) {
			t.Errorf("%s %v: got %q, want %q", test.tool, test.with, got, test.want)
		}
	}
	rel, err := filepath.Rel(f.Root(), at("a.txt"))
	if err != nil {
		t.Fatal(err)
	}
	if got := f.must("read", "path", rel); got != "     1\tomega\n" {
		t.Errorf("relative: got %q", got)
	}
}

// Tools reach the workspace and the added folders, whatever links say, and as long as
// they are added.
func TestOnlyAddedFoldersAreReached(t *testing.T) {
	f, dir := beside(t, map[string]string{"a.txt": "alpha\n"})
	outside := t.TempDir()
	write(t, filepath.Join(outside, "x"), "x")
	for link, to := range map[string]string{
		f.at("in"): filepath.Join(dir, "a.txt"), filepath.Join(dir, "out"): filepath.Join(outside, "x"), filepath.Join(dir, "up"): "../" + filepath.Base(outside) + "/x",
		filepath.Join(dir, "back"): f.at("own.txt"), f.at("loop"): filepath.Join(dir, "loop"), filepath.Join(dir, "loop"): f.at("loop"),
	} {
		if err := os.Symlink(to, link); err != nil {
			t.Fatal(err)
		}
	}
	for path, want := range map[string]string{"in": "alpha", filepath.Join(dir, "back"): "own"} {
		if got := f.must("read", "path", path); !strings.Contains(got, want) {
			t.Errorf("%s: got %q", path, got)
		}
	}
	for _, path := range []string{filepath.Join(outside, "x"), filepath.Join(dir, "out"), filepath.Join(dir, "up"), filepath.Join(dir, "..", "x"), "loop", "/", filepath.Dir(dir)} {
		if _, err := f.Plan(t.Context(), "read", args("path", path)); err == nil {
			t.Errorf("%s is read", path)
		}
	}
	if err := f.RestoreDirectories(nil); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"in", filepath.Join(dir, "a.txt")} {
		if _, err := f.Plan(t.Context(), "read", args("path", path)); err == nil || !strings.Contains(err.Error(), "outside the workspace") {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestFoldersThatCannotBeAdded(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	write(t, filepath.Join(home, ".ssh", "id"), "x")
	write(t, filepath.Join(home, "project", "file"), "x")
	f := open(t, map[string]string{"sub/x": "x"})
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(home, link); err != nil {
		t.Fatal(err)
	}
	for dir, want := range map[string]string{
		"/": "whole file system", home: "is your home folder", link: "is your home folder", filepath.Join(home, ".ssh"): "cannot be added", "/etc": "belongs to the system",
		f.Root(): "reach already", f.at("sub"): "reach already", filepath.Dir(f.Root()): "contains",
		filepath.Join(home, "absent"): "no such file", filepath.Join(home, "project", "file"): "is not a folder",
	} {
		if _, err := f.CheckDirectory(dir); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", dir, err, want)
		}
	}
	project, err := filepath.EvalSymlinks(filepath.Join(home, "project"))
	if err != nil {
		t.Fatal(err)
	}
	err = f.RestoreDirectories(nil, filepath.Join(home, "absent"), project)
	if err == nil || !slices.Equal(f.Directories(), []string{project}) {
		t.Errorf("added are %q: %v", f.Directories(), err)
	}
}

// The user agreed to add a folder, not the target of a link that takes its place or
// that of a folder above it.
func TestFoldersThatBecameLinks(t *testing.T) {
	for _, linked := range []string{"above", "above/project"} {
		f, outside := open(t, nil), t.TempDir()
		home, err := filepath.EvalSymlinks(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(outside, "secret"), "x")
		write(t, filepath.Join(outside, "project", "secret"), "x")
		write(t, filepath.Join(home, "above", "project", "file"), "x")
		dir, err := f.CheckDirectory(filepath.Join(home, "above", "project"))
		if err != nil {
			t.Fatal(err)
		}
		link := filepath.Join(home, filepath.FromSlash(linked))
		if err := errors.Join(os.Rename(link, link+".was"), os.Symlink(outside, link)); err != nil {
			t.Fatal(err)
		}
		if err := f.RestoreDirectories(nil, dir); err == nil || !strings.Contains(err.Error(), "leads to") || len(f.Directories()) > 0 {
			t.Errorf("%s: added are %q, %v", linked, f.Directories(), err)
		}
		if root, err := openDirectory(dir); err == nil {
			root.Close()
			t.Errorf("%s: opened", linked)
		}
	}
}

// In an added folder the policy says what it says in the workspace.
func TestPolicyInAddedFolders(t *testing.T) {
	f, dir := beside(t, map[string]string{"a.txt": "alpha\n", ".git/config": "", ".netrc": "secret"})
	at := func(name string) string { return filepath.Join(dir, name) }
	decide := func(mode act.Mode, rules []permission.Rule, tool string, with ...any) act.Verdict {
		t.Helper()
		p := NewPolicy(mode)
		p.AddRules(rules)
		p.SetWorkspace(f.Root())
		return p.Decide(f.plan("", tool, with...))
	}
	for _, test := range []struct {
		mode act.Mode
		tool string
		with []any
		want act.Verdict
	}{
		{act.ModeAsk, "read", []any{"path", at("a.txt")}, act.Allow},
		{act.ModeAsk, "grep", []any{"path", dir, "pattern", "x"}, act.Allow},
		{act.ModeAsk, "write", []any{"path", at("b.txt"), "content", "x"}, act.Ask},
		{act.ModeAuto, "write", []any{"path", at("b.txt"), "content", "x"}, act.Allow},
		{act.ModeReadOnly, "write", []any{"path", at("b.txt"), "content", "x"}, act.Deny},
		{act.ModeAuto, "write", []any{"path", at(".git/hooks/pre-commit"), "content", "x"}, act.Ask},
		{act.ModeAuto, "write", []any{"path", at(".envrc"), "content", "x"}, act.Ask},
		{act.ModeYolo, "read", []any{"path", at(".netrc")}, act.Ask},
	} {
		if got := decide(test.mode, nil, test.tool, test.with...); got != test.want {
			t.Errorf("%s: %s %v: %s, want %s", test.mode, test.tool, test.with, got, test.want)
		}
	}
}

// A command in the sandbox changes files of an added folder as it does in the workspace, and
// nothing that git or a shell would run there, nor anything once the folder is removed.
func TestSandboxInAddedFolders(t *testing.T) {
	f, dir := beside(t, map[string]string{"sub/a.txt": "alpha\n", ".git/config": "[core]\n", ".git/hooks/x": "x\n", "inner/.git/config": "[core]\n", "inner/.git/HEAD": "ref: refs/heads/main\n"})
	for _, part := range []string{"inner/.git/objects", "inner/.git/refs", ".git/objects", ".git/refs"} {
		if err := os.MkdirAll(filepath.Join(dir, part), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	write(t, filepath.Join(dir, ".git", "HEAD"), "ref: refs/heads/main\n")
	f.EnableSandbox(SandboxConfig{})
	backend := f.Sandbox()
	if !backend.Available() {
		t.Skip("no sandbox here")
	}
	run := func(command string) (out act.Outcome) {
		t.Helper()
		a := f.plan("", "shell", "command", command)
		if !a.Sandboxed {
			t.Fatal("it is not held")
		}
		if out = a.Run(t.Context(), nil); !strings.HasSuffix(out.Text, out.Notes) {
			t.Errorf("%q does not end with the notes %q", out.Text, out.Notes)
		}
		return out
	}
	at := func(name string) string { return filepath.Join(dir, name) }
	if out := run("cat " + at("sub/a.txt") + " && echo omega > " + at("sub/a.txt") + " && echo b > " + at("sub/b.txt")); out.Failed {
		t.Errorf("it cannot change the folder: %s", out.Text)
	}
	script, before := "", map[string]string{}
	for name, command := range map[string]string{
		".git/config": "echo x >> ", ".git/hooks/x": "echo x >> ", ".git/hooks/new": "echo x > ", "inner/.git/config": "echo x >> ", "inner/.git/hooks/new": "mkdir -p " + at("inner/.git/hooks") + "; echo x > ",
	} {
		b, _ := os.ReadFile(at(name))
		before[name] = string(b)
		script += command + at(name) + "\n"
	}
	_ = run(script)
	for name, was := range before {
		if after, _ := os.ReadFile(at(name)); string(after) != was {
			t.Errorf("%s is changed (%s): %q", name, backend.Name, after)
		}
	}
	out := run("mkdir -p " + at("sub/made/.git/hooks") + " && cd " + at("sub/made/.git") + " && mkdir -p objects refs && echo 'ref: refs/heads/main' > HEAD && printf '[core]\\n\\tfsmonitor = evil\\n' > config && echo evil > hooks/post-commit")
	if _, err := os.Stat(at("sub/made/.git/hooks/post-commit")); err == nil {
		t.Errorf("a new repository keeps its hook: %s", out.Text)
	}
	if err := f.RestoreDirectories(nil); err != nil {
		t.Fatal(err)
	}
	if out := run("echo x > " + at("sub/c.txt")); !out.Failed {
		t.Errorf("it changes a folder that was removed: %s", out.Text)
	}
}

// Files for git to run that a job makes in an added folder are taken away while it runs, also after the folder was
// removed, and told at once. What the user makes while none runs stays, and what a command makes that the user let run
// outside of the sandbox.
func TestNewRepositoriesInAddedFolders(t *testing.T) {
	f, dir := beside(t, map[string]string{"users/.git/config": "[core]\n\tfsmonitor = mine\n"})
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	if f.EnableSandbox(SandboxConfig{}); !f.Sandbox().Available() {
		t.Skip(f.Sandbox().Reason)
	}
	const evil = "[core]\n\tfsmonitor = evil\n"
	news := make(chan Job, 9)
	f.Jobs().OnNews(func(j Job) { news <- j })
	plant := func(name string) string {
		return fmt.Sprintf("mkdir -p %[1]s/%[2]s/.git; printf '%[3]s' > %[1]s/%[2]s/.git/config; ", dir, name, strings.ReplaceAll(strings.ReplaceAll(evil, "\n", "\\n"), "\t", "\\t"))
	}
	taken := func(name string) {
		t.Helper()
		if is := <-news; !is.Runs() {
			t.Fatalf("the job has ended: %+v", is)
		}
		if _, err := os.Lstat(filepath.Join(dir, name, ".git/config")); err == nil {
			t.Errorf("%s stays", name)
		}
		if got := f.TakeSandboxNotices(); !strings.Contains(got, "undid changes of "+name+"/.git/config") {
			t.Errorf("the user is told %q", got)
		}
		if got := f.TakeEndedJobs(""); !strings.Contains(got, "job 1: the sandbox undid changes of "+name+"/.git/config") {
			t.Errorf("the model is told %q", got)
		}
	}
	f.do("shell", "command", "until test -e go; do sleep 0.01; done; "+plant("during")+"until test -e on; do sleep 0.01; done; "+plant("later")+"sleep 1000", "background", true)
	write(t, filepath.Join(f.Root(), "go"), "")
	taken("during")
	if out := f.runShell(t.Context(), nil, shellCommand{shellArgs: shellArgs{Command: plant("allowed")}}, func(string) {}); out.Failed {
		t.Error(out.Text)
	}
	if err := f.RestoreDirectories(nil); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(f.Root(), "on"), "")
	taken("later")
	if _, err := f.Jobs().Kill(1); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"users": "[core]\n\tfsmonitor = mine\n", "allowed": evil} {
		if got, _ := os.ReadFile(filepath.Join(dir, name, ".git/config")); string(got) != want {
			t.Errorf("%s: got %q", name, got)
		}
	}
}
