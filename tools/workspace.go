package tools

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"

	"parley/tools/places"
	"parley/tools/process"
)

// A workspace is the directory that file tools can reach, and the model's knowledge of it.
// Paths are relative to it, clean and with slashes, unless noted; those of files in added
// directories are absolute.
type workspace struct {
	root        *os.Root
	dir         string         // absolute, as it was given
	realDir     string         // the same with symbolic links resolved
	cmdSandbox  commandSandbox // the sandbox of commands
	jobs        *Jobs
	notices     sandboxNotices                    // about commands, for the user
	directories atomic.Pointer[[]*addedDirectory] // added directories; the slice is never changed in place
	directoryMu sync.Mutex                        // held to change the pointer

	places  *places.Table
	problem string // why the directory is not used as a workspace; "" if it is

	policy   atomic.Pointer[Policy] // restricts reading; nil: everything may be read
	onPrompt atomic.Pointer[func()] // called by BeginPrompt; nil: none

	known    knownFiles
	writes   writeLocks
	buffers  buffers
	outputs  savedOutputs
	folders  heldList
	readable []string // directories outside the workspace that read can access, absolute and without links
}

// maxEdit is the largest file, in bytes, that is edited or remembered.
const maxEdit = 50 << 20

// maxLinks is how many symbolic links a path may contain.
const maxLinks = 40

// locate resolves the path that the model means by name: relative to the
// workspace, or absolute and inside it. It follows symbolic links, so that the
// result says where the bytes are; parts that do not exist stay as they are. A
// later race cannot lead out, because os.Root checks each step again.
func (w *workspace) locate(name string) (string, error) {
	plain := unquotePath(name)
	if runtime.GOOS == "windows" {
		var err error
		if plain, err = w.windowsPath(plain); err != nil {
			return "", err
		}
	}
	rel, err := w.toRelative(plain)
	if err != nil {
		return "", err
	}
	return w.resolveLinks(rel, name)
}

// windowsPath returns a path with its drive; /c/x, as bash writes it, is c:/x. It refuses other names of a
// file, devices, and servers outside the workspace, because a look at their files already connects.
func (w *workspace) windowsPath(name string) (string, error) {
	slashed := filepath.ToSlash(name)
	if len(slashed) > 1 && slashed[0] == '/' && slashed[1] != '/' && (len(slashed) == 2 || slashed[2] == '/') {
		name = slashed[1:2] + ":/" + slashed[min(3, len(slashed)):]
	} else if slashed != "" && slashed[0] == '/' && filepath.VolumeName(name) == "" {
		name = filepath.VolumeName(w.realDir) + name
	}
	volume := filepath.VolumeName(name)
	if volume != "" && volume[1:] != ":" && !slices.ContainsFunc(slices.Concat((&Set{workspace: w}).Directories(), w.readable, []string{w.dir, w.realDir}), func(dir string) bool {
		return strings.EqualFold(filepath.Clean(volume), filepath.VolumeName(dir))
	}) {
		return "", w.outsideError(name, "")
	}
	return name, checkNames(name[len(volume):])
}

// checkNames refuses parts of a path that Windows reads as another name.
func checkNames(file string) error {
	for part := range strings.SplitSeq(filepath.ToSlash(file), "/") {
		switch {
		case part == "", part == ".", part == "..":
		case strings.TrimRight(part, ". ") != part:
			return refuse("%s: Windows ignores dots and spaces at the end of a name: remove them", quotePath(part))
		case !filepath.IsLocal(part):
			return refuse("%s is a device or a stream on Windows, not a file", quotePath(part))
		}
	}
	return nil
}

func (w *workspace) toRelative(name string) (string, error) {
	switch {
	case name == "":
		return "", refuse("the path is empty; the workspace itself is %q", ".")
	case strings.ContainsRune(name, 0):
		return "", refuse("the path %s contains a NUL byte", quoteName(name))
	case name == "~" || strings.HasPrefix(name, "~/"):
		return "", refuse("%s is outside the workspace %s: ~ is not expanded, and file tools reach only the workspace", quotePath(name), w.dir)
	}
	if filepath.IsAbs(name) {
		file, ok := toolPath(w, name)
		if !ok {
			return "", w.outsideError(name, "")
		}
		return file, nil
	}
	rel := filepath.Clean(name)
	if !filepath.IsLocal(rel) {
		file, ok := toolPath(w, filepath.Join(w.realDir, rel))
		if !ok {
			return "", w.outsideError(name, "")
		}
		return file, nil
	}
	return filepath.ToSlash(rel), nil
}

// relativeInside makes an absolute path relative to the workspace, under either of its
// names, or through another name of a parent directory.
func (w *workspace) relativeInside(abs string) (string, bool) {
	abs = filepath.Clean(abs)
	for _, base := range []string{w.dir, w.realDir} {
		if rel, err := filepath.Rel(base, abs); err == nil && filepath.IsLocal(rel) {
			return filepath.ToSlash(rel), true
		}
	}
	rest := ""
	for dir := abs; ; dir = filepath.Dir(dir) {
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			rel, err := filepath.Rel(w.realDir, filepath.Join(real, rest))
			return filepath.ToSlash(rel), err == nil && filepath.IsLocal(rel)
		}
		if dir == filepath.Dir(dir) {
			return "", false
		}
		rest = filepath.Join(filepath.Base(dir), rest)
	}
}

func (w *workspace) outsideError(name, link string) error {
	if link != "" {
		return refuse("%s is outside the workspace %s: it leads through a symbolic link to %s", quotePath(name), w.dir, quotePath(link))
	}
	return refuse("%s is outside the workspace %s; file tools reach only files inside it", quotePath(name), w.dir)
}

// resolveLinks resolves the symbolic links in rel. Absolute links, which
// os.Root refuses, are allowed if they point inside.
func (w *workspace) resolveLinks(rel, name string) (string, error) {
	base, rel := splitPath(w, rel)
	done, todo := ".", strings.Split(rel, "/")
	root, _ := rootOf(w, base)
	for links := 0; len(todo) > 0; {
		step := todo[0]
		todo = todo[1:]
		if step == ".." { // from a link: done has no links any more, so its parent is correct
			if done == "." {
				file, ok := toolPath(w, filepath.Join(cmp.Or(base, w.realDir), "..", filepath.Join(todo...)))
				if links++; !ok || links > maxLinks {
					return "", w.outsideError(name, "")
				}
				base, rel = splitPath(w, file)
				root, _ = rootOf(w, base)
				todo = strings.Split(rel, "/")
				continue
			}
			done = path.Dir(done)
			continue
		}
		next := path.Join(done, step)
		info, err := root.Lstat(filepath.FromSlash(next))
		if err == nil && runtime.GOOS == "windows" && strings.Contains(step, "~") && !isListed(root, done, step) {
			return "", refuse("%s: %s is the short form of another name; use that one", quotePath(name), quotePath(step)) // GIT~1 is .git, which needs approval
		}
		if err != nil || info.Mode()&fs.ModeSymlink == 0 {
			done = next
			continue
		}
		if links++; links > maxLinks {
			return "", refuse("%s goes through too many symbolic links", quotePath(name))
		}
		target, err := root.Readlink(filepath.FromSlash(next))
		if err != nil {
			return "", explainError(name, err)
		}
		if runtime.GOOS == "windows" {
			if target, err = w.windowsPath(target); err != nil {
				return "", err
			}
		}
		if filepath.IsAbs(target) {
			inside, ok := toolPath(w, target)
			if !ok {
				return "", w.outsideError(name, target)
			}
			base, target = splitPath(w, inside)
			root, _ = rootOf(w, base)
			done = "."
		}
		todo = append(strings.Split(filepath.ToSlash(target), "/"), todo...)
	}
	return joinPath(base, done), nil
}

// isListed reports whether a directory has an entry of this exact name, ignoring letter case: a
// file can also be opened by its short name.
func isListed(root *os.Root, dir, name string) bool {
	entries, err := fs.ReadDir(root.FS(), dir)
	return err == nil && slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return strings.EqualFold(e.Name(), name) })
}

// explainError describes a file system error for the model.
func explainError(name string, err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return refuse("%s does not exist", quotePath(name))
	case errors.Is(err, fs.ErrPermission):
		return refuse("%s: permission denied", quotePath(name))
	case errors.Is(err, syscall.ENOTDIR), errors.Is(err, places.ErrNotDirectory):
		return refuse("%s does not exist: a part of it is a file, not a folder", quotePath(name))
	}
	var p *fs.PathError
	if errors.As(err, &p) {
		err = p.Err
	}
	return refuse("%s: %v", quotePath(name), err)
}

// explainAbsent is explainError for a file to be read; it also suggests a file with a similar
// name.
func (w *workspace) explainAbsent(file string, err error) error {
	if !errors.Is(err, fs.ErrNotExist) {
		return explainError(file, err)
	}
	dir, base := path.Split(file)
	var names []string
	if entries, err := w.readDir(path.Clean(dir)); err == nil {
		for _, e := range entries {
			names = append(names, e.Name())
		}
	}
	if near := nearestName(base, names); near != "" {
		return refuse("%s does not exist; did you mean %s?", quotePath(file), quotePath(dir+near))
	}
	return explainError(file, err)
}

// openFile opens a regular file for reading. It never blocks: pipes, devices,
// sockets and directories are refused.
func (w *workspace) openFile(file string) (*os.File, fs.FileInfo, error) {
	dir, base, err := openDirOf(w, file, false)
	if err != nil {
		return nil, nil, w.explainAbsent(file, err)
	}
	defer dir.Close()
	return w.openFileIn(dir, base, file)
}

// openDirOf opens the directory of a file without following links in its path, so that a decision about the
// path applies to the opened file. It returns the name of the file in it. With missing, it creates
// directories.
func openDirOf(w *workspace, file string, missing bool) (dir *os.Root, base string, err error) {
	root, native := rootOf(w, file)
	return places.OpenParent(root, native, missing)
}

// openFileIn is openFile for the file name in dir, which errors call file.
func (w *workspace) openFileIn(dir *os.Root, name, file string) (*os.File, fs.FileInfo, error) {
	info, err := dir.Lstat(name)
	if err != nil {
		return nil, nil, w.explainAbsent(file, err)
	}
	if err := requireRegular(file, info); err != nil {
		return nil, nil, err
	}
	f, info, err := openIn(dir, name, file)
	if refused := (*Refusal)(nil); err != nil && !errors.As(err, &refused) {
		err = w.explainAbsent(file, err)
	}
	return f, info, err
}

// openIn opens name in dir if it is a regular file, which errors call file. It
// never blocks.
func openIn(dir *os.Root, name, file string) (*os.File, fs.FileInfo, error) {
	f, err := dir.OpenFile(name, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err == nil {
		err = requireRegular(file, info)
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, info, nil
}

// requireRegular refuses anything but a regular file.
func requireRegular(file string, info fs.FileInfo) error {
	mode := info.Mode()
	kinds := []struct {
		bits fs.FileMode
		what string
	}{
		{fs.ModeDir, "is a folder, not a file; use list"},
		{fs.ModeSymlink, "is a symbolic link that leads nowhere"},
		{fs.ModeNamedPipe, "is a named pipe, not a regular file"},
		{fs.ModeSocket, "is a socket, not a regular file"},
		{fs.ModeDevice, "is a device, not a regular file"},
	}
	for _, kind := range kinds {
		if mode&kind.bits != 0 {
			return refuse("%s %s", quotePath(file), kind.what)
		}
	}
	if !mode.IsRegular() {
		return refuse("%s is not a regular file", quotePath(file))
	}
	return nil
}

// readForEdit reads a file that is to be changed.
func (w *workspace) readForEdit(file string) ([]byte, fs.FileInfo, error) {
	dir, base, err := openDirOf(w, file, false)
	if err != nil {
		return nil, nil, w.explainAbsent(file, err)
	}
	defer dir.Close()
	return w.readForEditIn(dir, base, file)
}

// readForEditIn is readForEdit for the file name in dir, which errors call
// file.
func (w *workspace) readForEditIn(dir *os.Root, name, file string) ([]byte, fs.FileInfo, error) {
	f, info, err := w.openFileIn(dir, name, file)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	large := refuse("%s is larger than %d MiB; change it with a shell command", quotePath(file), maxEdit>>20)
	if info.Size() > maxEdit {
		return nil, nil, large
	}
	var content bytes.Buffer
	content.Grow(int(info.Size()) + bytes.MinRead)
	if _, err := content.ReadFrom(io.LimitReader(f, maxEdit+1)); err != nil {
		return nil, nil, explainError(file, err)
	}
	if content.Len() > maxEdit { // the file has grown
		return nil, nil, large
	}
	return content.Bytes(), info, nil
}

// readDir reads a directory, sorted by name.
func (w *workspace) readDir(dir string) ([]fs.DirEntry, error) {
	root, native := rootOf(w, dir)
	info, err := root.Stat(native)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, refuse("%s is not a folder", quotePath(dir))
	}
	return fs.ReadDir(root.FS(), filepath.ToSlash(native))
}

// A fileChange is new content for a file, and the state of the file when the
// change was planned.
type fileChange struct {
	file    string
	content []byte
	old     fs.FileInfo // nil if there was none
	sum     hash        // of the old content
}

// apply carries out c unless the file has changed since it was planned. How is a
// note if the file was written in place; "" otherwise.
func (w *workspace) apply(ctx context.Context, c fileChange) (how string, err error) {
	defer w.writes.lock(c.file)()
	if err := ctx.Err(); err != nil {
		return "", refuse("%s was not written: canceled", quotePath(c.file))
	}
	dir, base, err := openDirOf(w, c.file, c.old == nil)
	if err != nil {
		return "", explainError(c.file, err)
	}
	defer dir.Close()
	now, info, err := w.readForEditIn(dir, base, c.file)
	shown, unsaved := now, false
	if err == nil && c.old != nil {
		if text, ok := w.buffers.unsaved(ctx, absolutePath(w.dir, c.file), now); ok {
			shown, unsaved = text, true
		}
	}
	switch {
	case c.old == nil && err == nil:
		return "", refuse("%s was created by another program since; read it first", quotePath(c.file))
	case c.old == nil && !isVacantIn(dir, base):
		return "", err
	case c.old != nil && err != nil:
		return "", err
	case c.old != nil && sha256.Sum256(shown) != c.sum:
		return "", refuse("%s has changed since this was planned, so it was not written; read it again", quotePath(c.file))
	}
	if unsaved {
		done, err := w.buffers.write(ctx, absolutePath(w.dir, c.file), c.content)
		if err != nil {
			return "", refuse("%s has unsaved changes in the editor, which did not write it: %v", quotePath(c.file), err)
		}
		if done {
			w.known.set(c.file, sha256.Sum256(c.content))
			return "saved by the editor, with the unsaved changes of its user", nil
		}
	}
	inside, rel := splitPath(w, c.file)
	process.Sandbox.Accept(filepath.Join(cmp.Or(inside, w.realDir), rel))
	r := replacement{root: dir, name: base, content: c.content, oldContent: now, oldInfo: info}
	how, err = r.write()
	if err != nil {
		return "", explainError(c.file, err)
	}
	w.known.set(c.file, sha256.Sum256(c.content))
	return how, nil
}
