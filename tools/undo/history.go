package undo

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"parley/tools/act"
)

// logName is the file of a history: a line of JSON for each record and each branchMark. A later
// record of the same number replaces the earlier one.
const logName = "log"

// A logLine is one line of the file: a record or a mark.
type logLine struct {
	*Record
	Mark *branchMark `json:"left,omitempty"`
}

// A branchMark is the state of the files when the user left a branch of the conversation.
type branchMark struct {
	Head int `json:"head"` // last message of the branch
	At   int `json:"at"`   // number of the last record by then
}

// A History holds what tools changed in one workspace for one conversation, oldest first. It is
// safe for concurrent use. A nil History has no records, and Plan and Restore return an error.
type History struct {
	*workspace
	session string
	file    string // the log
	now     func() time.Time

	mu          sync.Mutex
	loaded      bool
	records     []Record
	reach       reach       // where tools worked on this machine
	added       []string    // directories that the user added to the workspace
	branchMarks map[int]int // by the last message of a branch: branchMark.At

	*background
	prefetch prefetch
}

// Files returns the history of a conversation in the workspace dir; nil if none can be kept, or s is nil.
func (s *Store) Files(session, dir string) act.Files {
	if s == nil {
		return nil
	}
	h, err := s.History(session, dir)
	if err != nil {
		return nil
	}
	return h
}

// History returns the history of a conversation in the workspace dir.
func (s *Store) History(session, dir string) (*History, error) {
	directory, err := s.sessionDir(session)
	if err != nil {
		return nil, err
	}
	w, err := s.workspaceAt(dir)
	if err != nil {
		return nil, err
	}
	return &History{workspace: w, session: session, file: filepath.Join(directory, logName), now: time.Now, branchMarks: map[int]int{}, background: newBackground()}, nil
}

// load reads the log and the reach file, once.
func (h *History) load() {
	if h.loaded {
		return
	}
	h.loaded = true
	h.records, h.branchMarks = readLog(h.file)
	h.loadReach()
}

// readLog reads a log. It skips lines that are no JSON: parley was killed while it wrote them.
func readLog(name string) (records []Record, marks map[int]int) {
	marks = map[int]int{}
	f, err := os.Open(name)
	if err != nil {
		return nil, marks
	}
	defer f.Close()
	for r := bufio.NewReader(f); ; {
		text, err := r.ReadBytes('\n')
		l := logLine{}
		if len(bytes.TrimSpace(text)) > 0 && json.Unmarshal(text, &l) == nil {
			switch {
			case l.Mark != nil:
				marks[l.Mark.Head] = l.Mark.At
			case l.Record == nil || l.N < 1:
			case l.N <= len(records):
				records[l.N-1] = *l.Record
			default:
				l.Record.N = len(records) + 1
				records = append(records, *l.Record)
			}
		}
		if err != nil {
			return records, marks
		}
	}
}

// write appends a line to the log, on a line of its own also after an unfinished one.
func (h *History) write(l logLine) error {
	text, err := json.Marshal(l)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(h.file), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(h.file, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	text = append(text, '\n')
	if size, err := f.Seek(0, io.SeekEnd); err == nil && size > 0 {
		last := []byte{0}
		if _, err := f.ReadAt(last, size-1); err == nil && last[0] != '\n' {
			text = append([]byte{'\n'}, text...)
		}
	}
	_, err = f.Write(text)
	return errors.Join(err, f.Close())
}

// put adds r, whose N it sets if it is 0, or replaces the record of that number.
func (h *History) put(r *Record) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.load()
	if !r.Restore {
		if err := h.addReach(r.Root, r.Directory); err != nil {
			return err
		}
	}
	if r.N == 0 {
		r.N = len(h.records) + 1
		h.records = append(h.records, *r)
	} else {
		h.records[r.N-1] = *r
	}
	return h.write(logLine{Record: r})
}

// Records returns the records of this workspace, oldest first.
func (h *History) Records() []Record {
	if h == nil {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.load()
	return slices.DeleteFunc(slices.Clone(h.records), func(r Record) bool { return string(r.Root) != h.dir })
}

// OtherRoots returns the other workspaces in which the conversation changed files, each once.
func (h *History) OtherRoots() (dirs []string) {
	if h == nil {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.load()
	for _, r := range h.records {
		if dir := string(r.Root); dir != h.dir && !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

// MarkBranch stores the current number of records for the branch that ends with the message head:
// the user leaves it for another one. See BranchMark.
func (h *History) MarkBranch(head int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.load()
	n := len(h.records)
	if n > 0 && h.records[n-1].Restore && h.records[n-1].Seq != head {
		n-- // it belongs to the branch that the user goes to
	}
	if at, known := h.branchMarks[head]; n == 0 || known && at == n {
		return
	}
	h.branchMarks[head] = n
	_ = h.write(logLine{Mark: &branchMark{head, n}})
}

// BranchMark returns the number of records when the user left the branch that ends with the message
// head; !ok without a mark, or if nothing was changed since.
func (h *History) BranchMark(head int) (n int, ok bool) {
	if h == nil {
		return 0, false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.load()
	n, ok = h.branchMarks[head]
	return n, ok && n < len(h.records)
}

// Session returns the records of a conversation in all its workspaces; none without a history.
func (s *Store) Session(session string) ([]Record, error) {
	dir, err := s.sessionDir(session)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(filepath.Join(dir, logName)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	records, _ := readLog(filepath.Join(dir, logName))
	return records, nil
}

// CountSince counts the paths that are not as they were before the record with the number
// from, as far as is known; paths that were restored do not count. For 0 it returns 0. Sure is
// false if more files may have changed.
func CountSince(records []Record, from int) (n int, sure bool) {
	type course struct{ first, last State }
	courses := map[Name]*course{}
	sure = true
	for _, r := range records {
		if r.N < from || from == 0 {
			continue
		}
		sure = sure && !r.Open && r.Partial == ""
		for _, c := range r.Changes {
			if c.Before.Kind == Directory || c.After.Kind == Directory {
				continue
			}
			if courses[c.Path] == nil {
				courses[c.Path] = &course{first: c.Before}
			}
			courses[c.Path].last = c.After
		}
	}
	for _, c := range courses {
		if !c.first.Same(c.last) {
			n++
		}
	}
	return n, sure
}
