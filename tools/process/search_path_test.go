package process

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestSearchPath: nothing is found that somebody may have put into the workspace.
func TestSearchPath(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	at := func(path string) string { return filepath.Join(base, path) }
	for _, folder := range []string{"bin", "links", "ws/bin", "other"} {
		if err := os.MkdirAll(at(folder), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{"bin/tool", "ws/tool", "ws/bin/tool"} {
		if err := os.WriteFile(at(file), []byte("#!/bin/sh\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{"into": "ws/bin", "links/tool": "ws/tool", "ws/out": "bin", "space": "ws"} {
		if err := os.Symlink(at(to), at(link)); err != nil {
			t.Skip(err)
		}
	}
	t.Chdir(at("ws"))
	for _, tt := range []struct {
		name, workspace string
		folders         []string
		want            string
	}{
		{"the workspace", "ws", []string{at("ws"), at("bin")}, "bin/tool"},
		{"a folder of it", "ws", []string{at("ws/bin"), at("bin")}, "bin/tool"},
		{"relative", "ws", []string{"", ".", "bin", at("bin")}, "bin/tool"},
		{"a link into it", "ws", []string{at("into"), at("bin")}, "bin/tool"},
		{"a link of the program into it", "ws", []string{at("links"), at("bin")}, "bin/tool"},
		{"a link out of it", "ws", []string{at("ws/out")}, ""},
		{"a workspace behind a link", "space", []string{at("ws/bin"), at("bin")}, "bin/tool"},
		{"beside it", "other", []string{at("ws/bin"), at("bin")}, "ws/bin/tool"},
		{"none", "", []string{at("ws/bin")}, "ws/bin/tool"},
		{"all of the disk", "/", []string{at("ws/bin")}, "ws/bin/tool"},
	} {
		p := SearchPath{List: strings.Join(tt.folders, string(os.PathListSeparator)), Workspace: tt.workspace}
		if tt.workspace != "" && tt.workspace != "/" {
			p.Workspace = at(tt.workspace)
		}
		want := tt.want
		if want != "" {
			want = at(want)
		}
		if got := p.Find("tool"); got != want {
			t.Errorf("%s: found %q, want %q", tt.name, got, want)
		}
		for _, folder := range filepath.SplitList(p.String()) {
			if !filepath.IsAbs(folder) || p.Excludes(folder) {
				t.Errorf("%s: %s is left on PATH", tt.name, folder)
			}
		}
	}
}

func TestVariables(t *testing.T) {
	environ := []string{"Path=/bin", "LC_ALL=C", "LC=x", "=C:=x", "OPENAI_API_KEY=1", "PATHOLOGY=1", "nothing"}
	if got, want := Variables(environ, []string{"PATH", "LC_"}), []string{"Path=/bin", "LC_ALL=C"}; !slices.Equal(got, want) {
		t.Errorf("%q are left, want %q", got, want)
	}
}

// TestOutsideWorkspace: the working directory is a workspace, unless it is one of the user's or of the
// system's.
func TestOutsideWorkspace(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	work := filepath.Join(base, "home", "work")
	if err := os.MkdirAll(work, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", filepath.Dir(work))
	t.Setenv("USERPROFILE", filepath.Dir(work))
	shell, err := filepath.EvalSymlinks("/bin/sh")
	if err != nil {
		t.Skip(err)
	}
	for dir, want := range map[string]string{work: work, filepath.Dir(work): "", base: "", filepath.Dir(shell): ""} {
		t.Chdir(dir)
		if got := OutsideWorkspace("x"); got != (SearchPath{List: "x", Workspace: want}) {
			t.Errorf("in %s: got %q, want the workspace %q", dir, got, want)
		}
	}
}

// TestAddWorkspace: what editors have open is a workspace as well, wherever the process was started.
func TestAddWorkspace(t *testing.T) {
	defer func(dirs []string) { workspaces.dirs = dirs }(workspaces.dirs)
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"home", "one/bin", "two", "bin"} {
		if err := os.MkdirAll(filepath.Join(base, dir), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(base, dir, "tool"), []byte("#!/bin/sh\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(base, "two"), filepath.Join(base, "second")); err != nil {
		t.Skip(err)
	}
	t.Setenv("HOME", filepath.Join(base, "home"))
	t.Setenv("USERPROFILE", filepath.Join(base, "home"))
	t.Chdir(filepath.Join(base, "home"))
	var list []string
	for _, dir := range []string{"one/bin", "two", "second", "bin"} {
		list = append(list, filepath.Join(base, dir))
	}
	path := strings.Join(list, string(os.PathListSeparator))
	for _, tt := range []struct{ open, want string }{
		{"one", "two"}, {"second", "bin"}, {"second", "bin"}, {".", "bin"}, // has the home directory
	} {
		AddWorkspace(filepath.Join(base, tt.open))
		if got := OutsideWorkspace(path).Find("tool"); got != filepath.Join(base, tt.want, "tool") {
			t.Errorf("with %s open: found %s, want that of %s", tt.open, got, tt.want)
		}
	}
	AddWorkspace(string(filepath.Separator))
	if got := OutsideWorkspace(path).String(); got != list[3] {
		t.Errorf("with all of the disk open: %s is left, want %s", got, list[3])
	}
}
