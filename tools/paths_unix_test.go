//go:build unix

package tools

import (
	"net"
	"os"
	"parley/tools/act"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

func link(t testing.TB, target, name string) {
	t.Helper()
	if err := os.Symlink(target, name); err != nil {
		t.Fatal(err)
	}
}

func TestPaths(t *testing.T) {
	outside := t.TempDir()
	write(t, filepath.Join(outside, "secret"), "secret")
	f := open(t, map[string]string{"a.txt": "text", "sub/b.txt": "text", `"quoted`: "text", "~x": "text", "x\ny": "text"})
	link(t, "a.txt", f.at("good"))
	link(t, f.at("sub"), f.at("absolute"))
	link(t, "../a.txt", f.at("sub/up"))
	link(t, "../..", f.at("sub/above"))
	link(t, outside, f.at("out"))
	link(t, filepath.Join(outside, "secret"), f.at("secret"))
	link(t, "loop", f.at("loop"))
	link(t, "nowhere", f.at("dangling"))
	link(t, f.Root(), filepath.Join(outside, "back"))

	tests := []struct {
		path string
		want string // what is read, or
		err  string
	}{
		{path: "a.txt", want: "a.txt"},
		{path: "./sub/../a.txt", want: "a.txt"},
		{path: f.at("a.txt"), want: "a.txt"},
		{path: filepath.Join(outside, "back", "sub", "b.txt"), want: "sub/b.txt"},
		{path: "good", want: "a.txt"},
		{path: "absolute/b.txt", want: "sub/b.txt"},
		{path: "sub/up", want: "a.txt"},
		{path: `"\"quoted"`, want: `"quoted`},
		{path: "~x", want: "~x"},
		{path: `"x\ny"`, want: "x\ny"},

		{path: "", err: "the path is empty"},
		{path: "../x", err: "outside the workspace"},
		{path: "a/../../x", err: "outside the workspace"},
		{path: "/etc/passwd", err: "outside the workspace"},
		{path: f.Root() + "x/a", err: "outside the workspace"},
		{path: "/proc/self/root/etc/passwd", err: "outside the workspace"},
		{path: "~/.bashrc", err: "~ is not expanded"},
		{path: "~", err: "~ is not expanded"},
		{path: "out/secret", err: "symbolic link to " + outside},
		{path: "secret", err: "symbolic link to " + outside},
		{path: "sub/above/x", err: "outside the workspace"},
		{path: "loop", err: "too many symbolic links"},
		{path: "dangling", err: "nowhere does not exist"},
		{path: "a\x00b", err: "NUL byte"},
		{path: "a.txt/b", err: "does not exist"},
		{path: "a.tx", err: "did you mean a.txt?"},
		{path: "sub", err: "is a folder, not a file; use list"},
		{path: "absent", err: "absent does not exist"},
	}
	for _, test := range tests {
		if test.err != "" {
			f.fails("read", []any{"path", test.path}, test.err)
			continue
		}
		f.must("read", "path", test.path)
		if got, err := f.locate(test.path); err != nil || got != test.want {
			t.Errorf("%s: got %s, %v, want %s", test.path, got, err, test.want)
		}
	}
	for _, test := range tests {
		if !strings.Contains(test.err, "outside") && !strings.Contains(test.err, "symbolic") && !strings.Contains(test.err, "~") {
			continue
		}
		f.fails("write", []any{"path", test.path, "content", "x"}, test.err)
		f.fails("edit", []any{"path", test.path, "old", "secret", "new", "x"}, test.err)
		f.fails("list", []any{"path", test.path}, test.err)
		f.fails("grep", []any{"pattern", "x", "path", test.path}, test.err)
		f.fails("glob", []any{"pattern", "*", "path", test.path}, test.err)
	}
	if b, _ := os.ReadFile(filepath.Join(outside, "secret")); string(b) != "secret" {
		t.Errorf("the file outside is now %q", b)
	}
}

// A workspace that was opened under the name of a link is known by both names.
func TestWorkspaceBehindALink(t *testing.T) {
	real := t.TempDir()
	write(t, filepath.Join(real, "a"), "text")
	name := filepath.Join(t.TempDir(), "name")
	link(t, real, name)
	set, err := Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	for _, path := range []string{filepath.Join(name, "a"), filepath.Join(real, "a"), "a"} {
		if got, err := set.locate(path); err != nil || got != "a" {
			t.Errorf("%s: got %s, %v", path, got, err)
		}
	}
}

// None of these may make a tool wait.
func TestSpecialFilesAreRefused(t *testing.T) {
	f := open(t, nil)
	if err := syscall.Mkfifo(f.at("pipe"), 0o644); err != nil {
		t.Fatal(err)
	}
	short, err := os.MkdirTemp("", "p") // the path of a socket has to be short
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(short)
	socket, err := net.Listen("unix", filepath.Join(short, "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	if err := os.Link(filepath.Join(short, "s"), f.at("socket")); err != nil {
		t.Skip("the temporary folders are on two file systems:", err)
	}
	link(t, "/dev/zero", f.at("zero"))

	for _, test := range []struct{ path, want string }{
		{"pipe", "is a named pipe"},
		{"socket", "is a socket"},
		{"zero", "symbolic link to /dev/zero"},
		{"/dev/zero", "outside the workspace"},
	} {
		f.fails("read", []any{"path", test.path}, test.want)
		f.fails("edit", []any{"path", test.path, "old", "x", "new", "y"}, test.want)
		f.fails("write", []any{"path", test.path, "content", "y"}, test.want)
		f.fails("grep", []any{"pattern", "x", "path", test.path}, test.want)
	}
	if got := f.must("grep", "pattern", "x"); got != "[no matches]" {
		t.Errorf("grep over special files: %q", got)
	}
	if got := f.must("list"); !strings.Contains(got, "pipe\t(no regular file)") {
		t.Errorf("list: %q", got)
	}
}

// A device is refused also where it is inside of the workspace.
func TestDeviceInTheWorkspace(t *testing.T) {
	set, err := Open("/dev")
	if err != nil {
		t.Skip(err)
	}
	defer set.Close()
	f := fixture{Set: set, t: t}
	f.fails("read", []any{"path", "zero"}, "zero is a device, not a regular file")
	f.fails("write", []any{"path", "null", "content", "x"}, "null is a device, not a regular file")
}

// A directory that becomes a link out right after it was checked is not followed.
func TestSwappedAfterTheCheck(t *testing.T) {
	outside := t.TempDir()
	write(t, filepath.Join(outside, "f"), "outside")
	f := open(t, map[string]string{"dir/f": "inside"})
	content, info, err := f.readForEdit("dir/f")
	if err != nil || string(content) != "inside" {
		t.Fatal(err)
	}
	if err := os.Rename(f.at("dir"), f.at("moved")); err != nil {
		t.Fatal(err)
	}
	link(t, outside, f.at("dir"))

	if content, _, err := f.readForEdit("dir/f"); err == nil {
		t.Errorf("it read %q", content)
	}
	r := replacement{root: f.root, name: "dir/f", content: []byte("mine"), oldContent: content, oldInfo: info}
	if _, err := r.write(); err == nil {
		t.Error("it replaced the file")
	}
	if err := r.overwrite(); err == nil {
		t.Error("it wrote into the file")
	}
	if _, err := f.apply(t.Context(), fileChange{file: "dir/new", content: []byte("mine")}); err == nil {
		t.Error("it created a file")
	}
	if _, err := f.apply(t.Context(), fileChange{file: "dir/a/b", content: []byte("mine")}); err == nil {
		t.Error("it created a folder")
	}
	if entries, err := f.readDir("dir"); err == nil {
		t.Errorf("it listed %v", entries)
	}
	if b, err := os.ReadFile(filepath.Join(outside, "f")); err != nil || string(b) != "outside" {
		t.Errorf("the file outside is now %q, %v", b, err)
	}
	if entries, _ := os.ReadDir(outside); len(entries) != 1 {
		t.Errorf("outside there is now %v", entries)
	}
}

// While a directory is swapped for a link that leads out, no read and no write may
// follow it: for eighty swaps, or a minute with PARLEY_LONG=1.
func TestSwappedFolder(t *testing.T) {
	t.Parallel()
	outside := t.TempDir()
	write(t, filepath.Join(outside, "f"), "outside")
	f := open(t, map[string]string{"real/f": "a"})
	link(t, outside, f.at("bad"))

	stop := make(chan struct{})
	var swapping sync.WaitGroup
	var swaps atomic.Int32
	swapping.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			os.Rename(f.at("real"), f.at("dir"))
			time.Sleep(time.Millisecond) // long enough for some writes to go well
			os.Rename(f.at("dir"), f.at("real"))
			os.Rename(f.at("bad"), f.at("dir"))
			time.Sleep(time.Millisecond)
			os.Rename(f.at("dir"), f.at("bad"))
			swaps.Add(1)
		}
	})
	atLeast, wanted := time.Duration(0), 10
	if long {
		atLeast, wanted = time.Minute, 500
	}
	good, old, new := 0, "a", "b"
	for began := time.Now(); swaps.Load() < 80 || time.Since(began) < atLeast || good < wanted; {
		if time.Since(began) > atLeast+time.Minute {
			t.Errorf("only %d writes went well in %d swaps, want %d: too little was shown", good, swaps.Load(), wanted)
			break
		}
		for range 5 {
			if text, err := f.do("read", "path", "dir/f"); err == "" && strings.Contains(text, "outside") {
				t.Fatal("read outside")
			}
		}
		if _, err := f.do("edit", "path", "dir/f", "old", old, "new", new); err == "" {
			good, old, new = good+1, new, old
		}
	}
	close(stop)
	swapping.Wait()
	if b, err := os.ReadFile(filepath.Join(outside, "f")); err != nil || string(b) != "outside" {
		t.Errorf("the file outside is now %q, %v", b, err)
	}
	if entries, _ := os.ReadDir(outside); len(entries) != 1 {
		t.Errorf("outside there is now %v", entries)
	}
	t.Logf("%d writes went well in %d swaps", good, swaps.Load())
}

// A link that takes the place of a folder after the decision does not lead a call elsewhere.
func TestLinkBehindTheDecision(t *testing.T) {
	for name, swap := range map[string]func(f fixture){
		"to another one": func(f fixture) { link(t, "kept", f.at("x")) },
		"below one":      func(f fixture) { link(t, "../kept", f.at("x/sub")) },
	} {
		file := map[string]string{"to another one": "x/f", "below one": "x/sub/f"}[name]
		f := open(t, map[string]string{"kept/f": "kept\n", file: "old\n", "x/y": ""})
		f.must("read", "path", file)
		dir := filepath.Dir(f.at(file))
		calls := map[string]*act.Action{}
		for tool, input := range map[string]string{
			"write": args("path", file, "content", "mine\n"), "edit": args("path", file, "old", "old", "new", "mine"), "read": args("path", file),
			"grep": args("path", filepath.Dir(file), "pattern", "kept"), "new": args("path", filepath.Dir(file)+"/g", "content", "mine\n"),
		} {
			tool = map[string]string{"new": "write"}[tool] + map[bool]string{true: tool}[tool != "new"]
			a, err := f.Plan(t.Context(), tool, input)
			if err != nil {
				t.Fatal(tool, err)
			}
			calls[tool+" "+input] = a
		}
		if err := os.Rename(dir, f.at("aside")); err != nil {
			t.Fatal(err)
		}
		swap(f)
		for call, a := range calls {
			if out := a.Run(t.Context(), nil); strings.Contains(out.Text, "kept\n") || !out.Failed {
				t.Errorf("%s: %s: %+v", name, call, out)
			}
		}
		if got := f.content("kept/f"); got != "kept\n" {
			t.Errorf("%s: it is %q", name, got)
		}
		if _, err := os.Lstat(f.at("kept/g")); err == nil {
			t.Errorf("%s: a file was made", name)
		}
	}
}
