package sandbox

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"parley/tools/lazy"
)

// programDirs are the system's directories of programs, besides those on the search path; a
// pattern stands for each that exists.
var programDirs = []string{
	"/bin", "/sbin", "/usr/bin", "/usr/sbin", "/usr/local/bin", "/usr/local/sbin", "/usr/games", "/usr/libexec", "/usr/lib/git-core", "/usr/libexec/git-core",
	"/usr/lib/klibc/bin", "/opt/*/bin", "/snap/bin", "/snap/*/current/bin", "/snap/*/current/usr/bin", "/run/current-system/sw/bin",
}

// A programFile is a name in a directory of programs.
type programFile struct {
	path   string
	isLink bool
	target unix.Stat_t // after links; zero before it is needed
}

// stat fills in target, which stays zero for a missing file, and returns it.
func (f *programFile) stat() *unix.Stat_t {
	if f.target.Nlink == 0 {
		_ = unix.Stat(f.path, &f.target)
	}
	return &f.target
}

// isSameFile reports whether f, whose real path is given, and g are the same file.
func (f *programFile) isSameFile(real string, g *programFile) bool {
	if f == g || g.path == real {
		return true
	}
	if !g.isLink && f.stat().Nlink == 1 {
		return false
	}
	return f.stat().Dev == g.stat().Dev && f.stat().Ino == g.stat().Ino
}

// findPrograms returns the names in the system's directories of programs and in path, a list in the
// format of PATH, and those programs that are absolute paths.
func findPrograms(path string, programs ...string) (files []*programFile) {
	var dirs []string
	for _, program := range programs {
		if info, err := os.Lstat(program); err == nil && filepath.IsAbs(program) {
			files = append(files, &programFile{path: program, isLink: info.Mode()&fs.ModeSymlink != 0})
		}
	}
	for _, pattern := range append(filepath.SplitList(path), programDirs...) {
		found, _ := filepath.Glob(pattern)
		for _, dir := range found {
			if dir = resolved(dir); filepath.IsAbs(dir) && !slices.Contains(dirs, dir) {
				dirs = append(dirs, dir)
			}
		}
	}
	for _, dir := range dirs {
		entries, _ := os.ReadDir(dir)
		for _, e := range entries {
			if link := e.Type()&fs.ModeSymlink != 0; link || e.Type().IsRegular() {
				files = append(files, &programFile{path: filepath.Join(dir, e.Name()), isLink: link})
			}
		}
	}
	return files
}

// hiddenFiles returns the files of a program among all: those of its name, and other names of the
// same files. Whole is false if a file may be the program but cannot be hidden: it is many programs,
// as busybox is, or a shell that runs commands.
func hiddenFiles(all []*programFile, program string) (hidden []string, whole bool) {
	program = filepath.Base(program)
	open := false
	for _, f := range all {
		if !isNamed(filepath.Base(f.path), program) && !includes(f.path, program) {
			continue
		}
		real := resolved(f.path)
		paths, others := []string{real}, []string{}
		for _, g := range all {
			if !f.isSameFile(real, g) {
				continue
			}
			if !g.isLink {
				paths = append(paths, g.path)
			}
			if name := filepath.Base(g.path); name != filepath.Base(f.path) && !strings.Contains(name, program) && !slices.Contains(others, name) {
				others = append(others, name)
			}
		}
		if len(others) > 1 || isShell(real) {
			open = true
			continue
		}
		hidden = append(hidden, paths...)
	}
	slices.Sort(hidden)
	scripted := strings.Contains(program, ".") && len(hidden) == 0 // such as deploy.sh, which may be in any directory
	return slices.Compact(hidden), !open && !scripted
}

// isShell reports whether path is that of a shell that runs commands.
func isShell(path string) bool { return path == resolved("/bin/sh") || path == resolved("/bin/bash") }

// versionSuffix matches the end of names such as perl5.36.0 and python3.11-dbg.
var versionSuffix = lazy.NewRegexp(`^[0-9][0-9.]*(-.*)?$`)

// isNamed reports whether a file's name is that of a program, possibly with a version.
func isNamed(file, program string) bool {
	if len(file) < len(program) || !strings.EqualFold(file[:len(program)], program) {
		return false
	}
	rest := file[len(program):]
	return rest == "" || versionSuffix.MatchString(rest)
}

// includes reports whether path is, by its name, a file of many programs that has this program.
func includes(path, program string) bool {
	name := filepath.Base(path)
	if !strings.HasPrefix(name, "busybox") && !strings.HasPrefix(name, "toybox") && name != "coreutils" {
		return false
	}
	content, err := os.ReadFile(path)
	return err != nil || bytes.Contains(content, []byte("\x00"+program+"\x00"))
}

// Hides reports whether a command of a policy that denies a program can neither run, read, link nor
// copy any file of it.
func Hides(program string) bool {
	if !strings.HasSuffix(Probe().Name, "pidns") {
		return false
	}
	_, whole := hiddenFiles(findPrograms(os.Getenv("PATH"), program), program)
	return whole
}

// findHidden finds the files of denied programs.
func (p *policy) findHidden() {
	if len(p.Denied) == 0 {
		return
	}
	path := os.Getenv("PATH")
	for _, v := range p.Env {
		if list, ok := strings.CutPrefix(v, "PATH="); ok {
			path += string(filepath.ListSeparator) + list
		}
	}
	all := findPrograms(path, p.Denied...)
	for _, program := range p.Denied {
		files, _ := hiddenFiles(all, program)
		p.hidden = append(p.hidden, files...)
	}
}

// hide mounts a file that cannot be opened on each path.
func hide(paths []string) error {
	for _, path := range paths {
		mask, err := cloneMount(os.DevNull)
		if err != nil {
			return err
		}
		mask.path = path
		closed := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NODEV | unix.MOUNT_ATTR_NOEXEC}
		if err := unix.MountSetattr(mask.fd, "", unix.AT_EMPTY_PATH, &closed); err != nil {
			unix.Close(mask.fd)
			return err
		}
		if err := mask.attach(); err != nil && err != unix.ENOENT {
			return err
		}
	}
	return nil
}
