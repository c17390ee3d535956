package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"
)

// Time limits after a command: for finding directories that were moved away, for
// searching repositories, and for copying to quarantine. Tests on busy machines
// raise them.
var (
	findTimeout       = time.Second
	searchTimeout     = time.Second
	quarantineTimeout = 500 * time.Millisecond
)

// maxNewNames bounds the new names in a protected directory that are moved out
// individually. With more of them, the directory is replaced.
const maxNewNames = 256

// changes lists what a command changed in protected paths.
type changes struct {
	restored, failed []string
	dangerousFiles   []string // files that name programs for git to run
	unsearchedDirs   []string // directories that were not searched and may have new repositories
}

func (c *changes) note(name string, err error) {
	list := &c.restored
	if err != nil {
		list = &c.failed
	}
	if !slices.Contains(*list, name) {
		*list = append(*list, name)
	}
}

// restore undoes changes since the snapshot. The command cannot have changed paths that were
// mounted read-only: if they differ now, the user changed them, and they stay. Files are
// moved aside rather than removed, so that restoring takes no longer than renaming.
func (s *snapshot) restore() (c changes) {
	s.findDeadline = time.Now().Add(findTimeout)
	for _, p := range s.paths {
		if !s.restoreParents(p, &c) {
			continue
		}
		was := s.before[p]
		if s.mountedReadOnly && !was.absent && was.mode&fs.ModeSymlink == 0 || s.isUnchanged(was, p) || was.absent && s.isHarmless(p) {
			continue
		}
		c.note(p, s.restoreNode(was, p))
	}
	s.restoreNewRepositories(&c)
	return c
}

// restoreNewRepositories restores new repositories: their configuration is removed unless
// it is harmless. A repository beyond the earlier search only seems new; it is recognized
// by its directories, which have not changed since.
func (s *snapshot) restoreNewRepositories(c *changes) {
	if !slices.Contains(s.paths, ".git/config") {
		return
	}
	now := time.Now()
	s.adjustSince(now.Sub(s.began), now.Round(0).Sub(s.began.Round(0)))
	r := repositories{root: s.root, workspace: s.root.Name(), protected: slices.Clone(s.paths)}
	r.quarantined = map[string]bool{}
	for _, m := range s.quarantine.pending {
		r.quarantined[m.aside] = true
	}
	w := search{repositories: &r, since: s.since, knewAll: s.searchComplete, deadline: time.Now().Add(searchTimeout)}
	w.start(s.searchedDirs)
	c.unsearchedDirs = unsearchedDirs(w.run(), s.searchComplete)
	for _, gitDir := range r.gitDirs {
		s.newGitDirs[gitDir] = true
	}
	for _, p := range r.protected[len(s.paths):] {
		if _, err := s.root.Lstat(p); errors.Is(err, fs.ErrPermission) {
			makeReadable(s.root, path.Dir(p))
		}
		if !s.exists(p) || !s.isNew(p) || s.isHarmless(p) {
			continue
		}
		if r.bareDirs[path.Dir(p)] {
			p = s.newLayoutPart(path.Dir(p), p)
		}
		c.note(p, s.restoreNode(node{absent: true}, p))
	}
	s.compareStates(slices.DeleteFunc(r.gitDirs, func(dir string) bool { return r.bareDirs[dir] && !r.hasGitDirLayout(filepath.Join(r.workspace, dir)) }), c)
	for _, far := range s.outside {
		far.compareStates([]string{"."}, c)
	}
}

// unsearchedDirs returns those directories left out of a search that may have new content
// which the earlier search would have found.
func unsearchedDirs(left []visit, searched bool) (dirs []string) {
	for _, v := range left {
		if searched || v.isNew {
			dirs = append(dirs, v.dir)
		}
	}
	return dirs
}

// newLayoutPart returns a new file that gives a directory the layout of a git directory:
// without it git does not treat the directory as one, and other files can stay. If there is
// none, it returns what.
func (s *snapshot) newLayoutPart(dir, what string) string {
	for _, name := range gitDirLayout {
		name = path.Join(dir, name)
		if s.exists(name) && !slices.Contains(s.layoutParts, name) && (s.searchComplete || s.changedSince(name)) {
			return name
		}
	}
	return what
}

// isNew reports whether p, which was not found before, may have been created since the
// snapshot: always if the search was complete, otherwise by the change times of p and of
// the directories above it.
func (s *snapshot) isNew(p string) bool {
	return s.searchComplete || slices.ContainsFunc(append(parentDirs(p), p), s.changedSince)
}

// changedSince reports whether name itself was changed since the snapshot, by the change
// time, which no command can set.
func (s *snapshot) changedSince(name string) bool {
	info, err := s.root.Lstat(name)
	return err == nil && !changeTime(info).Before(s.since)
}

// adjustSince moves since back by as much as the clock was set back, by comparison with the
// monotonic clock.
func (s *snapshot) adjustSince(steady, clock time.Duration) {
	s.since = s.since.Add(min(0, clock-steady))
}

// restoreParents restores the directories above p. It reports whether p can be reached.
func (s *snapshot) restoreParents(p string, c *changes) bool {
	for _, dir := range parentDirs(p) {
		changed, err := s.restoreParent(dir)
		if changed {
			c.note(dir, err)
		}
		if now, err := s.root.Stat(dir); err != nil || !now.IsDir() {
			return false
		}
	}
	return true
}

// describeCreated returns a notice about protected paths that did not exist before; ""
// without any.
func (s *snapshot) describeCreated() string {
	var all []string
	for _, p := range s.paths {
		if _, err := s.root.Lstat(p); err == nil && s.before[p].absent {
			all = append(all, p)
		}
	}
	if len(all) == 0 {
		return ""
	}
	return "[CAUTION: " + joinNames(all) + " was made while the program ran; look at it before you use it]\n"
}

var errRemoved = errors.New("removed, with all that is not protected in it")

// restoreParent restores a directory above a protected path, where something else has taken
// its place. A new directory may stay.
func (s *snapshot) restoreParent(dir string) (changed bool, err error) {
	was := s.before[dir]
	info, err := s.root.Lstat(dir)
	switch {
	case err != nil && was.absent:
		return false, nil
	case was.absent && info.IsDir():
		return false, s.root.Chmod(dir, info.Mode().Perm()|0o700) // so that it can be read
	case was.mode.IsDir() && err == nil && os.SameFile(was.info, info):
		if info.Mode().Perm()&0o700 == was.mode.Perm()&0o700 {
			return false, nil
		}
		return true, s.root.Chmod(dir, was.mode.Perm())
	case s.mountedReadOnly && !was.absent && was.mode&fs.ModeSymlink == 0:
		return false, nil // no command can move a mount point
	case was.mode.IsDir():
		return true, s.restoreMovedDir(was, dir)
	case !s.isUnchanged(was, dir):
		return true, s.restoreNode(was, dir)
	}
	return false, nil
}

// restoreMovedDir moves a directory back, or creates an empty one.
func (s *snapshot) restoreMovedDir(was node, dir string) error {
	now, missing := s.root.Lstat(dir)
	from, found := s.findMoved(was.info)
	if missing == nil && (found || !now.IsDir()) {
		aside, err := s.quarantine.moveAside(s.root, dir)
		if err != nil {
			return err
		}
		if inner, ok := strings.CutPrefix(from, dir+"/"); ok {
			from = aside + "/" + inner
		}
		defer s.quarantine.add(s.root, aside, dir)
	}
	if found {
		if err := s.root.Rename(from, dir); err != nil {
			return err
		}
		return s.root.Chmod(dir, was.mode.Perm())
	}
	if missing != nil || !now.IsDir() {
		if err := s.root.Mkdir(dir, was.mode.Perm()|0o700); err != nil {
			return err
		}
	}
	return errRemoved
}

// findMoved searches the workspace for a directory, until findDeadline.
func (s *snapshot) findMoved(wanted fs.FileInfo) (name string, ok bool) {
	queue := []string{"."}
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		dir, err := s.root.Open(at)
		if err != nil {
			continue
		}
		for err == nil && time.Now().Before(s.findDeadline) {
			var entries []fs.DirEntry
			entries, err = dir.ReadDir(readBatch)
			for _, e := range entries {
				if !e.IsDir() {
					continue
				}
				child := path.Join(at, e.Name())
				if info, err := s.root.Lstat(child); err == nil && os.SameFile(wanted, info) {
					dir.Close()
					return child, true
				}
				queue = append(queue, child)
			}
		}
		dir.Close()
	}
	return "", false
}

// restoreNode restores name, reusing its unchanged parts.
func (s *snapshot) restoreNode(was node, name string) error {
	now, err := s.root.Lstat(name)
	there := err == nil
	switch {
	case s.isUnchanged(was, name):
		return nil
	case was.tooLarge:
		return errors.New("too large to be remembered")
	case there && now.IsDir() && was.children != nil:
		return s.restoreDir(was, name)
	}
	if there {
		aside, err := s.quarantine.moveAside(s.root, name)
		if err != nil {
			return err
		}
		defer s.quarantine.add(s.root, aside, name)
	}
	switch {
	case was.absent:
		return nil
	case was.mode.IsRegular():
		return s.writeNode(was, name)
	case was.mode&fs.ModeSymlink != 0:
		return s.root.Symlink(string(was.data), name)
	case was.mode.IsDir():
		if err := s.root.Mkdir(name, 0o700); err != nil {
			return err
		}
		return s.restoreDir(was, name)
	}
	return errors.New("not a file")
}

func (s *snapshot) restoreDir(was node, name string) error {
	if err := s.root.Chmod(name, 0o700); err != nil {
		return err
	}
	names, err := s.listNames(name, len(was.children)+maxNewNames+1)
	if len(names) > len(was.children)+maxNewNames {
		names, err = s.recreateDir(was, name)
	}
	for _, child := range names {
		n, ok := was.children[child]
		if !ok {
			n = node{absent: true}
		}
		err = errors.Join(err, s.restoreNode(n, name+"/"+child))
	}
	for child, n := range was.children {
		if !slices.Contains(names, child) {
			err = errors.Join(err, s.restoreNode(n, name+"/"+child))
		}
	}
	return errors.Join(err, s.root.Chmod(name, was.mode.Perm()))
}

// recreateDir moves aside a directory with too many new names, recreates it, and moves its
// earlier entries back. It returns their names.
func (s *snapshot) recreateDir(was node, name string) (names []string, err error) {
	aside, err := s.quarantine.moveAside(s.root, name)
	if err != nil {
		return nil, err
	}
	s.quarantine.add(s.root, aside, name)
	if err := s.root.Mkdir(name, 0o700); err != nil {
		return nil, err
	}
	for child, n := range was.children {
		if !n.absent && s.root.Rename(aside+"/"+child, name+"/"+child) == nil {
			names = append(names, child)
		}
	}
	return names, nil
}

// writeNode writes a temporary file and renames it, so that name is never incomplete.
func (s *snapshot) writeNode(was node, name string) error {
	side := name + ".parley-" + timestamp()
	f, err := s.root.OpenFile(side, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(was.data)
	if err = errors.Join(err, f.Chmod(was.mode.Perm()), f.Close()); err == nil {
		err = s.root.Rename(side, name)
	}
	if err != nil {
		_ = s.root.Remove(side)
	}
	return err
}

// describeChanges returns notices about c and the locations of moved files; "" without
// changes.
func describeChanges(c changes, kept []string) string {
	var b strings.Builder
	if len(c.restored) > 0 {
		b.WriteString("[the sandbox undid changes of " + joinNames(c.restored) + ": no command may change them")
		if len(kept) > 0 {
			b.WriteString("; the previous version is kept in " + joinNames(kept))
		}
		b.WriteString("]\n")
	}
	if len(c.failed) > 0 {
		b.WriteString("[CAUTION: " + joinNames(c.failed) + " was changed and could not be restored")
		if len(kept) > 0 && len(c.restored) == 0 {
			b.WriteString("; the previous version is kept in " + joinNames(kept))
		}
		b.WriteString("]\n")
	}
	if len(c.dangerousFiles) > 0 {
		b.WriteString("[CAUTION: " + joinNames(c.dangerousFiles) + " is new and names programs for git to run; look at it before you use git there]\n")
	}
	if len(c.unsearchedDirs) > 0 {
		b.WriteString("[CAUTION: the sandbox could not look at all that is new, for repositories that run programs; it skipped " + joinNames(c.unsearchedDirs) + "]\n")
	}
	return b.String()
}

// joinNames joins names, at most the first thousand. No name can begin a line of its own.
func joinNames(names []string) string {
	const most = 1000
	more := len(names) - most
	text := strings.Map(func(r rune) rune {
		switch {
		case r < ' ':
			return r + '␀'
		case unicode.IsControl(r):
			return unicode.ReplacementChar
		}
		return r
	}, strings.Join(names[:min(len(names), most)], ", "))
	if more > 0 {
		text = fmt.Sprintf("%s and %d more", text, more)
	}
	return text
}
