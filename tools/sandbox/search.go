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

// Bounds of the search for repositories: by levels, before a command by a number that
// takes a few milliseconds, and after it by time. A directory below the last level is
// left out, and reported if it is new.
const (
	maxSearchDirs  = 2000
	maxSearchNames = 20_000
)

// readBatch is how many names of a directory are read in one turn. Tests lower it.
var readBatch = 512

// search walks the directories of a workspace: first those searched before a command,
// then new ones, then all others, so that files of a command cannot delay the important
// part.
type search struct {
	*repositories
	since        time.Time // older directories are not new; zero: none is new
	knewAll      bool      // the earlier search was complete, so other directories are new
	deadline     time.Time // end of the search; zero: none
	maxDirs      int       // bound of searched directories; 0: none
	maxNames     int       // bound of names read of large directories; 0: none
	knownDirs    map[string]bool
	queues       [3][]visit // in order of priority
	searchedDirs []string   // directories that were opened
	namesRead    int        // names
	leftOut      []visit
}

// visit is a directory to search.
type visit struct {
	dir    string
	isNew  bool     // it, or a directory above it, was changed or moved
	unread *os.File // large directory whose reading continues; nil before the first turn
}

// start protects repositories in the directories searched before, and queues these.
func (s *search) start(before []string) {
	if len(before) == 0 {
		before = []string{"."}
	}
	s.knownDirs = make(map[string]bool, len(before))
	for _, dir := range before {
		s.knownDirs[dir] = true
		s.protectRepository(dir)
		s.queues[0] = append(s.queues[0], visit{dir: dir})
	}
}

// run searches directories until a bound is reached. It returns those left out or
// unreadable.
func (s *search) run() []visit {
	for rank := 0; rank < len(s.queues); rank++ {
		for len(s.queues[rank]) > 0 {
			if s.maxDirs > 0 && len(s.searchedDirs) >= s.maxDirs || !s.deadline.IsZero() && time.Now().After(s.deadline) {
				for _, v := range slices.Concat(s.queues[:]...) {
					s.leaveOut(v)
				}
				return s.leftOut
			}
			v := s.queues[rank][0]
			s.queues[rank] = s.queues[rank][1:]
			if v.unread != nil && s.maxNames > 0 && s.namesRead > s.maxNames {
				s.leaveOut(v)
				continue
			}
			if s.searchDir(v) {
				rank = 0 // new entries may have priority
			}
		}
	}
	return s.leftOut
}

func (s *search) leaveOut(v visit) {
	v.unread.Close() // a nil file only returns an error
	s.leftOut = append(s.leftOut, v)
}

// openDir opens a directory, also one that a command has made unreadable.
func (s *search) openDir(v visit) (*os.File, error) {
	at := filepath.Join(s.workspace, v.dir)
	f, err := os.Open(at)
	if (v.isNew || s.knownDirs[v.dir]) && errors.Is(err, fs.ErrPermission) {
		makeReadable(s.root, v.dir)
		return os.Open(at)
	}
	return f, err
}

// makeReadable makes dir, and all directories above it, readable.
func makeReadable(root *os.Root, dir string) {
	for _, name := range append(parentDirs(dir), dir) {
		info, err := root.Lstat(name)
		if err == nil && info.IsDir() && info.Mode().Perm()&0o500 != 0o500 {
			_ = root.Chmod(name, info.Mode().Perm()|0o700)
		}
	}
}

// searchDir reads names of a directory, and protects repositories in its subdirectories.
// It reports whether names remain.
func (s *search) searchDir(v visit) (more bool) {
	dir := v.unread
	if dir == nil {
		var err error
		if dir, err = s.openDir(v); err != nil {
			elsewhere := errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
			always := errors.Is(err, fs.ErrPermission) && !v.isNew && !s.knownDirs[v.dir]
			if !elsewhere && !always {
				s.leaveOut(v)
			}
			return false
		}
		s.searchedDirs = append(s.searchedDirs, v.dir)
	}
	entries, err := dir.ReadDir(readBatch)
	s.namesRead += len(entries)
	for _, e := range entries {
		name := path.Join(v.dir, e.Name())
		if !e.IsDir() || e.Name() == ".git" || s.knownDirs[name] {
			continue
		}
		next := visit{dir: name, isNew: v.isNew || s.knewAll || s.isNew(e)}
		if strings.Count(name, "/") >= maxLevels {
			s.leaveOut(next)
			continue
		}
		s.protectRepository(name)
		rank := 0
		switch {
		case next.isNew:
			rank = 1
		case !s.since.IsZero():
			rank = 2
		}
		s.queues[rank] = append(s.queues[rank], next)
		more = true
	}
	if err == io.EOF || len(entries) < readBatch {
		dir.Close()
		return more
	}
	v.unread = dir
	s.queues[1] = append(s.queues[1], v)
	return true
}

func (s *search) isNew(e os.DirEntry) bool {
	if s.since.IsZero() {
		return false
	}
	info, err := e.Info()
	return err == nil && !changeTime(info).Before(s.since)
}
