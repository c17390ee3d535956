package sandbox

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"parley/tools/places"
)

func TestProfile(t *testing.T) {
	p := Policy{
		Workspace: "/Users/me/src/it's \"mine\"", TempDir: "/private/tmp/parley-1",
		ReadPaths: []string{"/Users/me/go"}, WritePaths: []string{"/Users/me/Library/Caches/parley"},
		Protected: []string{".git/hooks", ".envrc"},
	}
	for _, test := range []struct {
		network bool
		golden  string
	}{{false, "testdata/offline.sb"}, {true, "testdata/online.sb"}} {
		p.Network = test.network
		got := Profile(p)
		if os.Getenv("UPDATE") != "" {
			if err := os.WriteFile(test.golden, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(test.golden)
		if err != nil {
			t.Fatal(err)
		}
		if got != string(want) {
			t.Errorf("%s: got\n%s\nwant\n%s", test.golden, got, want)
		}
	}
}

func TestExplainDenial(t *testing.T) {
	tests := []struct{ output, want string }{
		{"touch: cannot touch '/etc/x': Read-only file system\n", `a file outside of the workspace, or a protected one ("touch: cannot touch '/etc/x': Read-only file system")`},
		{"one\ncat: /root/.ssh/id: Permission denied\nthree\n", `a file outside of the workspace, or a protected one ("cat: /root/.ssh/id: Permission denied")`},
		{"curl: (6) Could not resolve host: example.com", `the network ("curl: (6) Could not resolve host: example.com")`},
		{"dial tcp: lookup proxy.golang.org: operation not permitted", `the network ("dial tcp: lookup proxy.golang.org: operation not permitted")`},
		{"PermissionError: [Errno 1] Operation not permitted", `the network, a file outside of the workspace, or something only the system may do ("PermissionError: [Errno 1] Operation not permitted")`},
		{"permission denied: " + strings.Repeat("é", 300), `a file outside of the workspace, or a protected one ("permission denied: ` + strings.Repeat("é", 181) + `…")`},
		{"error: could not lock config file .git/config: Device or resource busy", `git's settings, which no command may change ("error: could not lock config file .git/config: Device or resource busy")`},
		{"fatal: not a git repository: /a/.git/worktrees/b", `the repository that this is a worktree of, which is outside of the workspace ("fatal: not a git repository: /a/.git/worktrees/b")`},
		{"fatal: not a git repository (or any of the parent directories): .git", ""},
		{"FAIL: 3 tests", ""},
		{"", ""},
	}
	for _, test := range tests {
		got, ok := ExplainDenial(test.output)
		if got != test.want || ok != (test.want != "") {
			t.Errorf("%.60q: got %q, %v, want %q", test.output, got, ok, test.want)
		}
	}
}

func TestReadablePaths(t *testing.T) {
	home := t.TempDir()
	for _, dir := range []string{
		"go", ".cargo/bin", ".cargo/registry", ".ssh", ".aws", ".config/git", ".config/parley", ".local/bin", ".local/share/parley", "tools/bin", ".nvm",
	} {
		if err := os.MkdirAll(filepath.Join(home, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{".gitconfig", ".config/git/config", ".config/git/credentials", ".netrc", ".bash_history", ".cargo/credentials.toml"} {
		if err := os.WriteFile(filepath.Join(home, file), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	in := func(names ...string) (out []string) {
		for _, name := range names {
			out = append(out, filepath.Join(home, name))
		}
		return out
	}
	usual := in(".gitconfig", ".config/git/config", ".local/bin", "go", ".cargo/bin", ".cargo/registry", ".nvm")
	tests := []struct {
		name    string
		environ []string
		want    []string
	}{
		{"nothing", nil, nil},
		{"home", []string{"HOME=" + home}, usual},
		{"path", []string{"PATH=" + filepath.Join(home, "tools/bin") + ":.::" + filepath.Join(home, "none"), "HOME=" + home}, append(in("tools/bin"), usual...)},
		{"secrets on the path", []string{"PATH=" + home + ":/:" + filepath.Join(home, ".ssh") + ":" + filepath.Join(home, ".config") + ":" + filepath.Dir(home), "HOME=" + home}, usual},
		{"a toolchain at home", []string{"GOPATH=" + home, "HOME=" + home}, usual},
		{"a relative home", []string{"HOME=x"}, nil},
	}
	for _, test := range tests {
		got := ReadablePaths(test.environ)
		slices.Sort(got)
		slices.Sort(test.want)
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: got %q, want %q", test.name, got, test.want)
		}
	}
}

func TestCheck(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("USERPROFILE", home)
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(home, link); err != nil {
		t.Skip(err)
	}
	tests := []struct {
		name   string
		policy Policy
		want   string
	}{
		{"a project", Policy{Workspace: filepath.Join(home, "src"), Protected: Protected()}, ""},
		{"a neighbour", Policy{Workspace: home + "2"}, ""},
		{"relative", Policy{Workspace: "src"}, "not absolute"},
		{"the home folder", Policy{Workspace: home}, "home folder"},
		{"above it", Policy{Workspace: filepath.Dir(home)}, "home folder"},
		{"everything", Policy{Workspace: "/"}, "home folder"},
		{"protected, outside", Policy{Workspace: filepath.Join(home, "src"), Protected: []string{"a/../../x"}}, "leads out"},
	}
	for _, test := range tests {
		err := check(test.policy, places.New(os.Getenv).WorkspaceProblem)
		if (err != nil) != (test.want != "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %q", test.name, err, test.want)
		}
	}
	t.Setenv("HOME", link)
	t.Setenv("USERPROFILE", link)
	real, err := filepath.EvalSymlinks(home)
	if err != nil {
		t.Fatal(err)
	}
	if err := check(Policy{Workspace: real}, places.New(os.Getenv).WorkspaceProblem); err == nil {
		t.Error("a home folder behind a link")
	}
}

// A workspace's claim to be a worktree of a repository counts only if the repository
// confirms it.
func TestAllowWorktree(t *testing.T) {
	tests := []struct {
		name            string
		gitdir, common  string // what the repository says; %W is the workspace
		config          string
		without         bool // namespaces
		lasting, linked bool
		read, write     bool
	}{
		{name: "one", gitdir: "%W/.git", common: "../..", read: true, write: true},
		{name: "nothing", common: "../.."},
		{name: "of another", gitdir: "/other/.git", common: "../.."},
		{name: "with settings elsewhere", gitdir: "%W/.git", common: "../../.."},
		{name: "with settings of its own", gitdir: "%W/.git", common: "../..", config: "[extensions]\n\tworktreeConfig = true\n", read: true},
		{name: "without namespaces", gitdir: "%W/.git", common: "../..", without: true, read: true},
		{name: "for a server", gitdir: "%W/.git", common: "../..", lasting: true, read: true},
		{name: "with objects elsewhere", gitdir: "%W/.git", common: "../..", linked: true},
	}
	for _, test := range tests {
		base, err := filepath.EvalSymlinks(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		workspace, git := filepath.Join(base, "workspace"), filepath.Join(base, "repository/.git")
		own := filepath.Join(git, "worktrees/w")
		write := func(path, text string) {
			t.Helper()
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		write(filepath.Join(workspace, ".git"), "gitdir: "+own+"\n")
		write(filepath.Join(own, "gitdir"), strings.ReplaceAll(test.gitdir, "%W", workspace)+"\n")
		write(filepath.Join(own, "commondir"), test.common+"\n")
		write(filepath.Join(git, "config"), test.config)
		write(filepath.Join(git, "refs/heads/x"), "")
		write(filepath.Join(base, "home/.ssh/id"), "")
		if test.linked {
			err = os.Symlink(filepath.Join(base, "home/.ssh"), filepath.Join(git, "objects"))
		} else {
			err = os.Mkdir(filepath.Join(git, "objects"), 0o755)
		}
		if err != nil {
			t.Fatal(err)
		}
		p := policy{Policy: Policy{Workspace: workspace, LongRunning: test.lasting}}
		p.allowWorktree(!test.without)
		var read, written []string
		if test.read {
			read = []string{git}
		}
		if test.write {
			written = []string{own, filepath.Join(git, "objects"), filepath.Join(git, "refs")}
		}
		if !slices.Equal(p.ReadPaths, read) || !slices.Equal(p.WritePaths, written) || test.write != slices.Contains(p.readOnlyFiles, filepath.Join(own, "commondir")) {
			t.Errorf("%s: reads %q, writes %q, keeps %q", test.name, p.ReadPaths, p.WritePaths, p.readOnlyFiles)
		}
	}
}

// A path passes a directory wherever the kernel comes through it, also where .. follows a link.
func TestPasses(t *testing.T) {
	at := t.TempDir()
	at, err := filepath.EvalSymlinks(at)
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"far/inner", "far/workspace/venv", "home"} {
		if err := os.MkdirAll(filepath.Join(at, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for from, to := range map[string]string{"home/in": "../far/inner", "home/venv": "in/../workspace/venv", "home/up": "in/../..", "home/round": "round"} {
		if err := os.Symlink(to, filepath.Join(at, from)); err != nil {
			t.Fatal(err)
		}
	}
	for path, want := range map[string]bool{
		"far/workspace": true, "far/workspace/none": true, "far/workspaces": false, "home/in": false, "home/in/../inner": false,
		"home/venv": true, "home/in/../workspace/venv": true, "home/up/far/workspace": true, "home/up/workspace": false, "home/round": true,
	} {
		if got := passes(at+string(filepath.Separator)+filepath.FromSlash(path), []string{filepath.Join(at, "far/workspace")}); got != want {
			t.Errorf("%s: %v", path, got)
		}
	}
}
