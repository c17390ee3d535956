package tools

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"parley/tools/act"
	"parley/tools/permission"
)

// atHome is a workspace that is the home directory, or one in it.
func atHome(t *testing.T, workspace string, files map[string]string) fixture {
	t.Helper()
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("USERPROFILE", home)
	t.Setenv("XDG_CONFIG_HOME", "")
	for name, content := range files {
		write(t, filepath.Join(home, filepath.FromSlash(name)), content)
	}
	if err := os.MkdirAll(filepath.Join(home, workspace), 0o755); err != nil {
		t.Fatal(err)
	}
	set, err := Open(filepath.Join(home, workspace))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { set.Close() })
	return fixture{set, t}
}

// decided is what a policy says about a call, with the reason that a user sees.
func (f fixture) decided(p *Policy, name string, pairs ...any) (verdict act.Verdict, why string) {
	f.t.Helper()
	a, err := f.Plan(context.Background(), name, args(pairs...))
	if err != nil {
		f.t.Fatalf("%s %v: %v", name, pairs, err)
	}
	return p.Decide(a), a.Caution
}

var everyMode = []act.Mode{act.ModeAsk, act.ModeAuto, act.ModeReadOnly, act.ModeYolo}

// The home directory is no workspace: reading asks, and writing does each time,
// whatever was answered before. Names are free.
func TestHomeAsks(t *testing.T) {
	f := atHome(t, ".", map[string]string{"notes.md": "x\n", "src/a.go": "package a\n"})
	for _, test := range []struct {
		name  string
		args  []any
		modes [4]act.Verdict // ask, auto, read-only, yolo
	}{
		{"list", []any{"path", "."}, [4]act.Verdict{act.Allow, act.Allow, act.Allow, act.Allow}},
		{"glob", []any{"pattern", "**/*.go"}, [4]act.Verdict{act.Allow, act.Allow, act.Allow, act.Allow}},
		{"read", []any{"path", "notes.md"}, [4]act.Verdict{act.Ask, act.Ask, act.Ask, act.Allow}},
		{"grep", []any{"pattern", "x"}, [4]act.Verdict{act.Ask, act.Ask, act.Ask, act.Allow}},
		{"grep", []any{"pattern", "x", "path", "src"}, [4]act.Verdict{act.Ask, act.Ask, act.Ask, act.Allow}},
		{"write", []any{"path", "new.md", "content", "x"}, [4]act.Verdict{act.Ask, act.Ask, act.Deny, act.Allow}},
		{"shell", []any{"command", "echo x"}, [4]act.Verdict{act.Ask, act.Ask, act.Deny, act.Allow}},
	} {
		for i, mode := range everyMode {
			if got, why := f.decided(NewPolicy(mode), test.name, test.args...); got != test.modes[i] || got == act.Ask && test.name != "shell" && !strings.Contains(why, "is your home folder") {
				t.Errorf("%s %v in %s: got %s (%s), want %s", test.name, test.args, mode, got, why, test.modes[i])
			}
		}
	}

	p := NewPolicy(act.ModeAuto)
	write, err := f.Plan(t.Context(), "write", args("path", "new.md", "content", "x"))
	if err != nil || !write.AskEachTime {
		t.Fatalf("got %+v, %v", write, err)
	}
	p.AllowForSession(write)
	if err := p.AllowFlag("write"); err != nil {
		t.Fatal(err)
	}
	if got := p.Decide(write); got != act.Ask {
		t.Errorf("a write that was allowed before: %s", got)
	}
	if err := p.AllowFlag("write:new.md"); err != nil {
		t.Fatal(err)
	}
	if got := p.Decide(write); got != act.Allow {
		t.Errorf("a write that the user has a rule for: %s", got)
	}
	read, err := f.Plan(t.Context(), "read", args("path", "notes.md"))
	if err != nil || read.AskEachTime {
		t.Fatalf("got %+v, %v", read, err)
	}
	p.AllowForSession(read)
	if got := p.Decide(read); got != act.Allow {
		t.Errorf("a file whose reading was allowed: %s", got)
	}
}

// No command is held where there is no workspace, so that each of them asks.
func TestHomeHoldsNoCommands(t *testing.T) {
	f := atHome(t, ".", nil)
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	f.EnableSandbox(SandboxConfig{})
	if b := f.Sandbox(); b.Available() {
		t.Errorf("got %+v", b)
	}
	project := atHome(t, "project", nil)
	project.EnableSandbox(SandboxConfig{Write: []string{"~/"}})
	if b := project.Sandbox(); b.Available() || !strings.Contains(b.Reason, "cannot be changed as a whole") {
		t.Errorf("the home folder as one that commands may change: got %+v", b)
	}
}

// Directories of the system are no workspace either.
func TestSystemFoldersAsk(t *testing.T) {
	set, err := Open("/etc")
	if err != nil {
		t.Skip(err)
	}
	defer set.Close()
	f := fixture{set, t}
	if got, why := f.decided(NewPolicy(act.ModeAuto), "read", "path", "passwd"); got != act.Ask || !strings.Contains(why, "belongs to the system") {
		t.Errorf("got %s, %q", got, why)
	}
	if got, _ := f.decided(NewPolicy(act.ModeYolo), "read", "path", "shadow"); got != act.Ask {
		t.Errorf("/etc/shadow in yolo: %s", got)
	}
}

// Files with credentials, or that start programs at login, ask in every mode, in every
// directory, and by whatever name it is reached.
func TestSensitivePlacesAsk(t *testing.T) {
	files := map[string]string{
		"dotfiles/.ssh/id_rsa": "key\n", "dotfiles/.bashrc": "alias l=ls\n", "dotfiles/.aws/credentials": "secret\n",
		"dotfiles/.config/parley/config.toml": "api_key = \"x\"\n", "dotfiles/readme.md": "x\n",
	}
	f := atHome(t, "dotfiles", files)
	if err := os.Symlink(".ssh", f.at("harmless")); err != nil {
		t.Skip(err)
	}
	for _, test := range []struct {
		name  string
		args  []any
		why   string
		write bool
	}{
		{"read", []any{"path", ".ssh/id_rsa"}, "contains SSH keys", false},
		{"read", []any{"path", "harmless/id_rsa"}, "contains SSH keys", false},
		{"read", []any{"path", f.at(".aws/credentials")}, "contains cloud credentials", false},
		{"grep", []any{"pattern", "x", "path", ".aws"}, "contains cloud credentials", false},
		{"glob", []any{"pattern", "*", "path", ".ssh"}, "contains SSH keys", false},
		{"read", []any{"path", ".config/parley/config.toml"}, "parley's settings and keys", false},
		{"write", []any{"path", ".SSH/authorized_keys", "content", "x"}, "contains SSH keys", true},
		{"write", []any{"path", "harmless/authorized_keys", "content", "x"}, "contains SSH keys", true},
		{"write", []any{"path", ".config/systemd/user/x.service", "content", "x"}, "starts programs as services", true},
		{"write", []any{"path", ".config/autostart/x.desktop", "content", "x"}, "starts programs at login", true},
		{"write", []any{"path", ".zshenv", "content", "x"}, "runs whenever a shell starts", true},
	} {
		for _, mode := range everyMode {
			want := act.Ask
			if test.write && mode == act.ModeReadOnly {
				want = act.Deny
			}
			p := NewPolicy(mode)
			for _, rule := range []string{test.name, test.name + ":**"} { // no rule that does not name it
				if err := p.AllowFlag(rule); err != nil {
					t.Fatal(err)
				}
			}
			if got, why := f.decided(p, test.name, test.args...); got != want || !strings.Contains(why, test.why) {
				t.Errorf("%s %v in %s: got %s (%q), want %s", test.name, test.args, mode, got, why, want)
			}
		}
	}
	if got, why := f.decided(NewPolicy(act.ModeAuto), "read", "path", "readme.md"); got != act.Allow || why != "" {
		t.Errorf("an ordinary file: %s, %q", got, why)
	}
}

// Searches leave sensitive places out, and say so, unless they begin in one.
func TestSearchesLeaveSensitivePlacesOut(t *testing.T) {
	f := atHome(t, "dotfiles", map[string]string{
		"dotfiles/.aws/credentials": "secret=1\n", "dotfiles/.netrc": "secret=2\n", "dotfiles/a.txt": "secret=3\n", "dotfiles/sub/.ssh/config": "secret=4\n",
	})
	text := f.must("grep", "pattern", "secret", "all", true)
	if !strings.Contains(text, "secret=3") || strings.Contains(text, "secret=1") || strings.Contains(text, "secret=2") || strings.Contains(text, "secret=4") {
		t.Errorf("grep: got %q", text)
	}
	if !strings.Contains(text, "3 entries hidden: credentials") {
		t.Errorf("grep does not say what it left out: %q", text)
	}
	if text := f.must("glob", "pattern", "**/c*"); strings.Contains(text, "credentials\n") || !strings.Contains(text, "hidden: credentials") {
		t.Errorf("glob: got %q", text)
	}
	if text := f.must("grep", "pattern", "secret", "path", ".aws"); !strings.Contains(text, "secret=1") {
		t.Errorf("in a place that was asked about: %q", text)
	}
	if text := f.must("list", "path", ".", "depth", 3, "all", true); !strings.Contains(text, ".netrc") {
		t.Errorf("names are free: %q", text)
	}
	p := NewPolicy(act.ModeAsk)
	if err := p.AllowFlag("credentials"); err != nil {
		t.Fatal(err)
	}
	f.SetPolicy(p)
	if text := f.must("grep", "pattern", "secret", "all", true); !strings.Contains(text, "secret=1") {
		t.Errorf("allowed by their class: %q", text)
	}
}

// Rules can name all files of a class.
func TestRulesByClass(t *testing.T) {
	f := atHome(t, "dotfiles", map[string]string{"dotfiles/.ssh/id_rsa": "key\n", "dotfiles/.bashrc": "x\n"})
	rule := func(effect permission.Effect, text string) *Policy {
		t.Helper()
		c := Permissions{}
		switch effect {
		case permission.Deny:
			c.Deny = []string{text}
		case permission.Allow:
			c.Allow = []string{text}
		}
		rs, err := c.Rules()
		if err != nil {
			t.Fatal(err)
		}
		p := NewPolicy(act.ModeYolo)
		p.AddRules(rs)
		return p
	}
	for _, test := range []struct {
		policy     *Policy
		keys, bash act.Verdict
	}{
		{rule(permission.Deny, "credentials"), act.Deny, act.Ask},
		{rule(permission.Deny, "startup"), act.Ask, act.Deny},
		{rule(permission.Allow, "credentials"), act.Allow, act.Ask},
		{rule(permission.Allow, "read:.bashrc"), act.Ask, act.Allow},
	} {
		keys, _ := f.decided(test.policy, "read", "path", ".ssh/id_rsa")
		bash, _ := f.decided(test.policy, "read", "path", ".bashrc")
		if keys != test.keys || bash != test.bash {
			t.Errorf("%v: got %s and %s, want %s and %s", test.policy.Rules(), keys, bash, test.keys, test.bash)
		}
	}
	if got, _ := f.decided(rule(permission.Deny, "credentials"), "grep", "pattern", "x", "path", ".ssh"); got != act.Deny {
		t.Errorf("grep: %s", got)
	}
	if _, err := ParseRule("credentials:.ssh"); err == nil {
		t.Error("a class with a path is no rule")
	}
}

// The configuration is protected wherever it is.
func TestProtectedConfiguration(t *testing.T) {
	f := atHome(t, "project", map[string]string{"project/my.toml": "api_key = \"x\"\n"})
	f.ProtectFiles(f.at("my.toml"))
	if got, why := f.decided(NewPolicy(act.ModeAuto), "read", "path", "my.toml"); got != act.Ask || !strings.Contains(why, "configuration") {
		t.Errorf("got %s, %q", got, why)
	}
}

// An action that a file of the folder wants says so, beside its other cautions.
func TestProjectCaution(t *testing.T) {
	for before, want := range map[string]string{
		"":                         ".parley/hooks.toml of this folder runs it",
		"~/.ssh contains SSH keys": ".parley/hooks.toml of this folder runs it; ~/.ssh contains SSH keys",
	} {
		if got := act.FromProject(&act.Action{Caution: before}, ".parley/hooks.toml").Caution; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// An edit that does not fit quotes nothing of a file that nobody let the model read.
func TestEditQuotesNothingUnasked(t *testing.T) {
	for _, workspace := range []string{".", "dotfiles"} {
		f := atHome(t, workspace, map[string]string{workspace + "/.aws/credentials": "key  =  hunter2\n"})
		if _, err := f.do("edit", "path", ".aws/credentials", "old", "key =", "new", "x"); strings.Contains(err, "hunter2") || !strings.Contains(err, "read it first") {
			t.Errorf("got %q", err)
		}
	}
}

// Commands beside credentials ask in auto, for they could read them; and they
// cannot change what starts programs at login, or leave it where it is expected.
func TestCommandsBesideCredentials(t *testing.T) {
	f := atHome(t, "dotfiles", map[string]string{"dotfiles/.ssh/id_rsa": "key\n"})
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	f.EnableSandbox(SandboxConfig{})
	if b := f.Sandbox(); !b.Available() {
		t.Skip(b.Reason)
	}
	if got, why := f.decided(NewPolicy(act.ModeAuto), "shell", "command", "cat .ssh/id_rsa"); got != act.Ask || !strings.Contains(why, ".ssh in this folder contains SSH keys") {
		t.Errorf("got %s, %q", got, why)
	}

	f = atHome(t, ".config", nil)
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	write(t, f.at("fish/config.fish"), "before\n")
	f.EnableSandbox(SandboxConfig{})
	f.do("shell", "command", "echo after > fish/config.fish; mkdir autostart; echo x > autostart/x.desktop; echo ok > note.txt")
	if got := f.content("fish/config.fish"); got != "before\n" {
		t.Errorf("a start file was changed: %q", got)
	}
	if _, err := os.Stat(f.at("autostart/x.desktop")); err == nil {
		t.Error("a command made a file that starts at login")
	}
	if got := f.content("note.txt"); got != "ok\n" {
		t.Errorf("note.txt: %q", got)
	}
}
