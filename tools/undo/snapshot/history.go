package snapshot

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
	"parley/tools/undo"
)

// logName is the file of a history: a JSON line for each record and each branchMark. A later
// record of the same number replaces the earlier one.
const logName = "log"

// A logLine is one line of the log: a record or a mark.
type logLine struct {
	*undo.Record
	Mark *branchMark `json:"left,omitempty"`
}

// A branchMark is the state of the files when the user left a branch of the conversation.
type branchMark struct {
	Head int `json:"head"` // last message of the branch
	At   int `json:"at"`   // number of the last record at that time
}

// A History holds the changes by tools in one workspace for one conversation, oldest first. It
// is safe for concurrent use.
type History struct {
	*workspace
	session string
	file    string // path of the log
	now     func() time.Time

	mu          sync.Mutex
	loaded      bool
	records     []undo.Record
	reach       reach       // where tools worked on this machine
	added       []string    // directories that the user added to the workspace
	branchMarks map[int]int // by the last message of a branch: branchMark.At

	*background
}

// Files implements undo.Store.
func (s *Store) Files(session, dir string) act.Files {
	h, err := s.History(session, dir)
	if err != nil {
		return nil
	}
	return h
}

// History implements undo.Store.
func (s *Store) History(session, dir string) (undo.History, error) {
	h, err := s.history(session, dir)
	if err != nil {
		return nil, err
	}
	return h, nil
}

func (s *Store) history(session, dir string) (*History, error) {
	directory, err := s.sessionDir(session)
	if err != nil {
		return nil, err
	}
	w, err := s.workspaceAt(dir)
	if err != nil {
		return nil, err
	}
	w.mu.Lock()
	w.histories++
	w.mu.Unlock()
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

// readLog reads a log. It skips lines that are not JSON, which remain if parley was killed while writing.
func readLog(name string) (records []undo.Record, marks map[int]int) {
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

// write appends a line to the log, after a line break if the last line is unfinished.
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

// put adds r, setting N if it is 0, or replaces the record of that number.
func (h *History) put(r *undo.Record) error {
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

// Records implements undo.History.
func (h *History) Records() []undo.Record {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.load()
	return slices.DeleteFunc(slices.Clone(h.records), func(r undo.Record) bool { return string(r.Root) != h.dir })
}

// OtherRoots implements undo.History.
func (h *History) OtherRoots() (dirs []string) {
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

// MarkBranch stores the current number of records for the branch that ends with the message head,
// because the user leaves it for another one. See BranchMark.
func (h *History) MarkBranch(head int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.load()
	n := len(h.records)
	if n > 0 && h.records[n-1].Restore && h.records[n-1].Seq != head {
		n-- // the record belongs to the branch that the user switches to
	}
	if at, known := h.branchMarks[head]; n == 0 || known && at == n {
		return
	}
	h.branchMarks[head] = n
	_ = h.write(logLine{Mark: &branchMark{head, n}})
}

// BranchMark implements undo.History.
func (h *History) BranchMark(head int) (n int, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.load()
	n, ok = h.branchMarks[head]
	return n, ok && n < len(h.records)
}

// Session implements undo.Store.
func (s *Store) Session(session string) ([]undo.Record, error) {
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
