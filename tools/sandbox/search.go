package sandbox

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// How far repositories are looked for: by levels, before a command no further than
// takes a few milliseconds, and after it by the clock. A directory below the last level
// is left out, and told if it is new.
const (
	maxDepth   = maxLevels
	maxFolders = 2000
	maxNames   = 20_000
	part       = 512 // names of a directory that are read before it is the turn of others
)

// A search goes through the directories of a workspace: through those where one worked
// before a command, then through those that are new, then through all others. So
// nothing that a command makes keeps it from looking where it matters.
type search struct {
	*repos
	since   time.Time // what has changed before is not new; zero: nothing is
	all     bool      // those where one worked before were all there were: others are new
	until   time.Time // when it gives up, unless zero
	folders int       // looked into at most, unless zero
	names   int       // read at most of directories with many, unless zero
	was     map[string]bool
	queues  [3][]visit // the first goes first
	looked  []string   // directories it has looked into
	read    int        // names
	left    []visit
}

// A visit is a directory that is to be looked into.
type visit struct {
	dir  string
	new  bool     // it has changed or been moved, or is in one that was
	rest *os.File // of a directory with many names: those that were not read yet
}

// begin looks at the directories that were there before, and puts the rest of the work
// in order.
func (s *search) begin(before []string) {
	if len(before) == 0 {
		before = []string{"."}
	}
	s.was = make(map[string]bool, len(before))
	for _, dir := range before {
		s.was[dir] = true
		s.look(dir)
		s.queues[0] = append(s.queues[0], visit{dir: dir})
	}
}

// run looks into directories as long as it may. It returns those that it did not come to,
// or that it could not read.
func (s *search) run() []visit {
	for rank := 0; rank < len(s.queues); rank++ {
		for len(s.queues[rank]) > 0 {
			if s.folders > 0 && len(s.looked) >= s.folders || !s.until.IsZero() && time.Now().After(s.until) {
				for _, v := range slices.Concat(s.queues[:]...) {
					s.leave(v)
				}
				return s.left
			}
			v := s.queues[rank][0]
			s.queues[rank] = s.queues[rank][1:]
			if v.rest != nil && s.names > 0 && s.read > s.names {
				s.leave(v)
				continue
			}
			if s.visit(v) {
				rank = 0 // it has found directories that may go first
			}
		}
	}
	return s.left
}

func (s *search) leave(v visit) {
	v.rest.Close() // which may be nil, and then says so
	s.left = append(s.left, v)
}

// open opens a directory, also one that a command has made unreadable.
func (s *search) open(v visit) (*os.File, error) {
	at := filepath.Join(s.workspace, v.dir)
	f, err := os.Open(at)
	if (v.new || s.was[v.dir]) && errors.Is(err, fs.ErrPermission) {
		unseal(s.root, v.dir)
		return os.Open(at)
	}
	return f, err
}

// unseal lets the directory dir be read, and all on the way to it.
func unseal(root *os.Root, dir string) {
	for _, name := range append(above(dir), dir) {
		info, err := root.Lstat(name)
		if err == nil && info.IsDir() && info.Mode().Perm()&0o500 != 0o500 {
			_ = root.Chmod(name, info.Mode().Perm()|0o700)
		}
	}
}

// visit reads names of a directory, and looks at the directories in it. It reports whether
// there is more to do.
func (s *search) visit(v visit) (more bool) {
	dir := v.rest
	if dir == nil {
		var err error
		if dir, err = s.open(v); err != nil {
			elsewhere := errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
			always := errors.Is(err, fs.ErrPermission) && !v.new && !s.was[v.dir]
			if !elsewhere && !always {
				s.leave(v)
			}
			return false
		}
		s.looked = append(s.looked, v.dir)
	}
	entries, err := dir.ReadDir(part)
	s.read += len(entries)
	for _, e := range entries {
		name := path.Join(v.dir, e.Name())
		if !e.IsDir() || e.Name() == ".git" || s.was[name] {
			continue
		}
		next := visit{dir: name, new: v.new || s.all || s.fresh(e)}
		if strings.Count(name, "/") >= maxDepth {
			s.leave(next)
			continue
		}
		s.look(name)
		rank := 0
		switch {
		case next.new:
			rank = 1
		case !s.since.IsZero():
			rank = 2
		}
		s.queues[rank] = append(s.queues[rank], next)
		more = true
	}
	if err == io.EOF || len(entries) < part {
		dir.Close()
		return more
	}
	v.rest = dir
	s.queues[1] = append(s.queues[1], v)
	return true
}

func (s *search) fresh(e os.DirEntry) bool {
	if s.since.IsZero() {
		return false
	}
	info, err := e.Info()
	return err == nil && !changedAt(info).Before(s.since)
}
