package tools

import (
	"bytes"
	encode "encoding/binary"
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

const accessList, defaultList = "system.posix_acl_access", "system.posix_acl_default"

// acl is an access control list as the kernel has it: user, a named user, group, mask
// and others, each with its rights.
func acl(user, named, group, mask, other uint16) []byte {
	var out bytes.Buffer
	const nobody, undefined = 65534, 0xFFFFFFFF
	put := func(values ...any) {
		for _, v := range values {
			encode.Write(&out, encode.LittleEndian, v)
		}
	}
	put(uint32(2))
	put(uint16(0x01), user, uint32(undefined), uint16(0x02), named, uint32(nobody), uint16(0x04), group, uint32(undefined))
	put(uint16(0x10), mask, uint32(undefined), uint16(0x20), other, uint32(undefined))
	return out.Bytes()
}

func xattr(t *testing.T, file, name string) []byte {
	t.Helper()
	value := make([]byte, 1024)
	n, err := unix.Getxattr(file, name, value)
	if errors.Is(err, unix.ENODATA) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	return value[:n]
}

func setAttribute(t *testing.T, file, name string, value []byte) {
	t.Helper()
	if err := unix.Setxattr(file, name, value, 0); err != nil {
		t.Skipf("%s: %v", name, err)
	}
}

// A file keeps its access control list and extended attributes when it is edited or
// written, and gets none of its directory.
func TestAttributesStay(t *testing.T) {
	for _, tool := range []string{"edit", "write"} {
		f := open(t, map[string]string{"a.txt": "one\n"})
		list := acl(6, 4, 4, 4, 0) // the mode says 0640
		setAttribute(t, f.at("a.txt"), "user.origin", []byte("https://example.com"))
		setAttribute(t, f.at("a.txt"), accessList, list)
		setAttribute(t, f.at("."), defaultList, acl(7, 7, 7, 7, 5))
		f.must("read", "path", "a.txt")
		if tool == "edit" {
			f.must("edit", "path", "a.txt", "old", "one", "new", "two")
		} else {
			f.must("write", "path", "a.txt", "content", "two\n")
		}
		if got := f.content("a.txt"); got != "two\n" {
			t.Errorf("%s: got %q", tool, got)
		}
		if got := string(xattr(t, f.at("a.txt"), "user.origin")); got != "https://example.com" {
			t.Errorf("%s: user.origin is %q", tool, got)
		}
		if got := xattr(t, f.at("a.txt"), accessList); !bytes.Equal(got, list) {
			t.Errorf("%s: the access control list is\n%x, want\n%x", tool, got, list)
		}
	}
}

// A file without an access control list gets none from its directory: its mode stays
// what it was, and lets in nobody else.
func TestModeIsNotWidened(t *testing.T) {
	f := open(t, map[string]string{"a.txt": "one\n"})
	if err := os.Chmod(f.at("a.txt"), 0o664); err != nil {
		t.Fatal(err)
	}
	setAttribute(t, f.at("."), defaultList, acl(7, 7, 7, 7, 7))
	f.must("edit", "path", "a.txt", "old", "one", "new", "two")
	info, err := os.Stat(f.at("a.txt"))
	if err != nil {
		t.Fatal(err)
	}
	if got := xattr(t, f.at("a.txt"), accessList); got != nil || info.Mode().Perm() != 0o664 {
		t.Errorf("got mode %04o and list %x", info.Mode().Perm(), got)
	}
}

// The bits with which a file runs as somebody else go with its content, and that is
// said.
func TestSetuidIsLost(t *testing.T) {
	f := open(t, map[string]string{"run": "one\n"})
	if err := os.Chmod(f.at("run"), 0o755|os.ModeSetuid); err != nil {
		t.Fatal(err)
	}
	if text := f.must("edit", "path", "run", "old", "one", "new", "two"); !strings.Contains(text, "set-user-ID") {
		t.Errorf("got %q", text)
	}
	if info, err := os.Stat(f.at("run")); err != nil || info.Mode() != 0o755 {
		t.Errorf("got %v, %v", info.Mode(), err)
	}
}

// A file that is mounted from elsewhere cannot be replaced: it is written in place,
// whether it becomes longer or shorter.
func TestMountedFileIsWrittenInPlace(t *testing.T) {
	f := open(t, map[string]string{"source/real.txt": "one two three\n", "here.txt": "\n"})
	if err := unix.Mount(f.at("source/real.txt"), f.at("here.txt"), "", unix.MS_BIND, ""); err != nil {
		t.Skipf("nothing can be mounted: %v", err)
	}
	t.Cleanup(func() { unix.Unmount(f.at("here.txt"), unix.MNT_DETACH) })
	for _, change := range [][2]string{{"two three", "2"}, {"2", "four five six"}} {
		text := f.must("edit", "path", "here.txt", "old", change[0], "new", change[1])
		if !strings.Contains(text, "written in place, as it is mounted there") {
			t.Errorf("got %q", text)
		}
	}
	if got := f.content("source/real.txt"); got != "one four five six\n" {
		t.Errorf("got %q", got)
	}
	if left, err := os.ReadDir(f.at(".")); err != nil || len(left) != 2 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// A file whose owner cannot be kept is written in place, as a file of a group is that
// several people work in.
func TestOwnerStays(t *testing.T) {
	f := open(t, map[string]string{"a.txt": "one\n"})
	if err := os.Chown(f.at("a.txt"), 12345, 12346); err != nil {
		t.Skipf("only root gives files away: %v", err)
	}
	before, err := os.Stat(f.at("a.txt"))
	if err != nil {
		t.Fatal(err)
	}
	f.must("edit", "path", "a.txt", "old", "one", "new", "two")
	after, err := os.Stat(f.at("a.txt"))
	if err != nil {
		t.Fatal(err)
	}
	was, is := before.Sys().(*syscall.Stat_t), after.Sys().(*syscall.Stat_t)
	if is.Uid != was.Uid || is.Gid != was.Gid || after.Mode() != before.Mode() {
		t.Errorf("got %+v, want the owner of %+v", is, was)
	}
	root, err := os.OpenRoot(f.Root())
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	r := replacement{root: root, name: "a.txt", content: []byte("3\n"), oldContent: []byte("two\n"), oldInfo: after}
	if err := r.overwrite(); err != nil || f.content("a.txt") != "3\n" {
		t.Errorf("in place: got %q, %v", f.content("a.txt"), err)
	}
	if now, err := os.Stat(f.at("a.txt")); err != nil || !os.SameFile(now, after) {
		t.Errorf("in place: another file, %v", err)
	}
}
