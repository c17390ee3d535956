package places

import (
	"os"
	"path/filepath"
	"testing"
)

// table is one for a home directory of its own.
func table(t *testing.T, more ...string) (*Table, string) {
	t.Helper()
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return New(environment(home, nil), more...), home
}

func environment(home string, more map[string]string) func(string) string {
	return func(name string) string {
		if name == "HOME" || name == "USERPROFILE" {
			return home
		}
		return more[name]
	}
}

// Names are matched component by component, whatever their letter case, and some
// only in a home directory.
func TestOf(t *testing.T) {
	tab, home := table(t, "/srv/own.toml")
	tests := []struct {
		file string
		want Class
	}{
		{home + "/.ssh/id_ed25519", Credentials},
		{home + "/.SSH/authorized_keys", Credentials},
		{home + "/.Aws/credentials", Credentials},
		{home + "/.Zshrc", Startup},
		{home + "/.\u017fsh/id_rsa", Credentials}, // ſ is an s on a file system without letter case
		{home + "/.s\u200csh/id_rsa", Credentials},
		{home + "/.config/parley/config.toml", Credentials},
		{home + "/.config/gh/hosts.yml", Credentials},
		{home + "/.local/share/keyrings/login.keyring", Credentials},
		{home + "/Library/Application Support/Google/Chrome/Default/Cookies", Credentials},
		{home + "/.npmrc", Credentials},
		{home + "/.docker/config.json", Credentials},
		{home + "/.bashrc", Startup},
		{home + "/.profile", Startup},
		{home + "/.config/systemd/user/x.service", Startup},
		{home + "/.config/autostart/x.desktop", Startup},
		{"/home/bob/.profile", Startup},
		{"/backup/home/.aws/credentials", Credentials},
		{"/etc/shadow", Credentials},
		{"/etc/cron.d/job", Startup},
		{"/srv/own.toml", Credentials},

		{home, ""},
		{home + "/notes.md", ""},
		{home + "/.sshd/x", ""},
		{home + "/.ssh.md", ""},
		{home + "/ssh/config", ""},
		{home + "/.config/parley-notes/x", ""},
		{home + "/project/.npmrc", ""},
		{home + "/project/.docker/Dockerfile", ""},
		{home + "/project/Library/Cookies/x", ""},
		{"/srv/.profile", ""},
	}
	for _, test := range tests {
		if got := tab.Of(filepath.FromSlash(test.file)); got.Class != test.want || (got.Reason == "") != (test.want == "") {
			t.Errorf("%q: got %+v, want %q", test.file, got, test.want)
		}
	}
}

// A home directory whose files are links to a repository of dotfiles is there as well.
func TestLinksOfTheHomeDirectory(t *testing.T) {
	dotfiles, home := t.TempDir(), t.TempDir()
	dotfiles, err := filepath.EvalSymlinks(dotfiles)
	if err != nil {
		t.Fatal(err)
	}
	for name, link := range map[string]string{"gitsettings": ".gitconfig", "keys": ".ssh"} {
		if err := os.MkdirAll(filepath.Join(dotfiles, name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(filepath.Join(dotfiles, name), filepath.Join(home, link)); err != nil {
			t.Skip(err)
		}
	}
	tab := New(environment(home, nil))
	for file, want := range map[string]Class{"gitsettings": Startup, "keys/id": Credentials, "other": ""} {
		if got := tab.Of(filepath.Join(dotfiles, filepath.FromSlash(file))); got.Class != want {
			t.Errorf("%s: got %+v, want %q", file, got, want)
		}
	}
}

// Variables move places, and with them what is known of them.
func TestVariablesMovePlaces(t *testing.T) {
	home, config, kube := t.TempDir(), t.TempDir(), filepath.Join(t.TempDir(), "kube.yml")
	tab := New(environment(home, map[string]string{"XDG_CONFIG_HOME": config, "KUBECONFIG": "relative" + string(filepath.ListSeparator) + kube}))
	for _, file := range []string{filepath.Join(config, "parley", "config.toml"), kube} {
		if got := tab.Of(file); got.Class != Credentials {
			t.Errorf("%s: got %+v", file, got)
		}
	}
}

func TestDirectory(t *testing.T) {
	tab, home := table(t)
	for dir, none := range map[string]bool{
		"/": true, "/etc": true, "/etc/systemd/system": true, "/usr": true, "/usr/lib/python3": true, "/home": true, "/root": true, "/home/bob": true,
		"/Users": true, "/Users/bob": true, "/boot": true, "/var": true, "/proc/1": true,
		home: true, filepath.Dir(home): true, home + "/.ssh": true, home + "/.config/parley": true, home + "/.config/autostart": true,
		home + "/project": false, home + "/.config": false, home + "2": false, "/srv/www": false, "/opt/project": false, "/usr/local/src/x": false,
		"/usr/src/app": false, "/var/www/site": false, "/home/bob/project": false, "/root/project": false, "/workspace": false, "/tmp/x": false,
	} {
		if why := tab.WorkspaceProblem(filepath.FromSlash(dir)); (why != "") != none {
			t.Errorf("%s: got %q, want a reason: %v", dir, why, none)
		}
	}
}

// A workspace such as ~/.config holds places that exist, and places where a program
// could be left to start.
func TestWithin(t *testing.T) {
	tab, home := table(t)
	if err := os.MkdirAll(filepath.Join(home, ".config", "gh"), 0o755); err != nil {
		t.Fatal(err)
	}
	here := map[string]bool{}
	for _, f := range tab.Within(filepath.Join(home, ".config")) {
		here[f.Path] = f.Exists
	}
	if there, known := here["gh"]; !there || !known {
		t.Errorf("gh is not among %v", here)
	}
	if there, known := here["autostart"]; there || !known {
		t.Errorf("autostart is not among %v", here)
	}
	project := filepath.Join(home, "project")
	if err := os.MkdirAll(project, 0o755); err != nil {
		t.Fatal(err)
	}
	if found := tab.Within(project); len(found) > 0 {
		t.Errorf("a project: got %v", found)
	}
	if err := os.WriteFile(filepath.Join(project, ".netrc"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if found := tab.Within(project); len(found) != 1 || found[0].Path != ".netrc" || !found[0].Exists || found[0].Class != Credentials {
		t.Errorf("a project with a .netrc: got %v", found)
	}
}

// A table looks at nothing twice: every start of the program and every command that is
// held makes one.
func TestNewLooksOnce(t *testing.T) {
	home := t.TempDir()
	for _, dir := range []string{".config/git", ".local/share"} {
		if err := os.MkdirAll(filepath.Join(home, filepath.FromSlash(dir)), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	looked := map[string]int{}
	lstat = func(path string) (os.FileInfo, error) {
		looked[path]++
		return os.Lstat(path)
	}
	t.Cleanup(func() { lstat = os.Lstat })
	New(environment(home, map[string]string{
		"XDG_CONFIG_HOME": filepath.Join(home, ".config"), "XDG_DATA_HOME": filepath.Join(home, ".local", "share"), "KUBECONFIG": filepath.Join(home, ".config", "kube"),
	}), filepath.Join(home, ".config", "parley", "config.toml"))
	for path, times := range looked {
		if times > 1 {
			t.Errorf("%s: looked at %d times", path, times)
		}
	}
	if looked[filepath.Join(home, ".cargo")] != 1 || looked[filepath.Join(home, ".cargo", "credentials")] != 0 {
		t.Error("what is in a directory that is not there is not looked at")
	}
}

// Further files are known besides what a table knew, and only to the one that has them.
func TestWith(t *testing.T) {
	tab, home := table(t)
	real := filepath.Join(home, "real.toml")
	if err := os.WriteFile(real, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(home, "link.toml")
	if err := os.Symlink(real, link); err != nil {
		t.Skip(err)
	}
	more := tab.With(link, "", "relative.toml")
	for _, file := range []string{link, real, filepath.Join(home, ".netrc")} {
		if got := more.Of(file); got.Class != Credentials {
			t.Errorf("%s: got %+v", file, got)
		}
	}
	if got := tab.Of(real); got.Class != "" {
		t.Errorf("the table it came from has %s: %+v", real, got)
	}
}
