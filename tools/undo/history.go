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
)

// logName is the file of a history: a line of JSON for each record, and for each branch that
// was left. A later record of the same number stands for the one before.
const logName = "log"

// A line is one line of the file.
type line struct {
	*Record
	Left *left `json:"left,omitempty"`
}

// A left says how the files were when a branch of the conversation was left.
type left struct {
	Head int `json:"head"` // last message of the branch
	At   int `json:"at"`   // number of the last record until then
}

// A History is what tools changed in one workspace for one conversation, in the order of time.
// It is safe for concurrent use. The methods of a nil one do nothing.
type History struct {
	*workspace
	session string
	file    string // the log
	now     func() time.Time

	mu      sync.Mutex
	loaded  bool
	records []Record
	reach   reach       // where tools worked on this machine
	added   []string    // directories beside the workspace that the user has added
	lefts   map[int]int // records until a branch was left, by its last message

	*readers
	ahead ahead
}

// History returns the history of a conversation in the workspace dir.
func (s *Store) History(session, dir string) (*History, error) {
	folder, err := s.sessionDir(session)
	if err != nil {
		return nil, err
	}
	w, err := s.workspaceAt(dir)
	if err != nil {
		return nil, err
	}
	return &History{workspace: w, session: session, file: filepath.Join(folder, logName), now: time.Now, lefts: map[int]int{}, readers: newReaders()}, nil
}

// load reads the log, once. A line that cannot be read ends it: parley was killed there.
func (h *History) load() {
	if h.loaded {
		return
	}
	h.loaded = true
	h.records, h.lefts = readLog(h.file)
	h.loadReach()
}

func readLog(name string) (records []Record, lefts map[int]int) {
	lefts = map[int]int{}
	f, err := os.Open(name)
	if err != nil {
		return nil, lefts
	}
	defer f.Close()
	for r := bufio.NewReader(f); ; {
		text, err := r.ReadBytes('\n')
		l := line{}
		if len(bytes.TrimSpace(text)) > 0 && json.Unmarshal(text, &l) == nil {
			switch {
			case l.Left != nil:
				lefts[l.Left.Head] = l.Left.At
			case l.Record == nil || l.N < 1:
			case l.N <= len(records):
				records[l.N-1] = *l.Record
			default:
				l.Record.N = len(records) + 1
				records = append(records, *l.Record)
			}
		}
		if err != nil {
			return records, lefts
		}
	}
}

// write adds a line to the log. One that was cut off in front of it stays alone.
func (h *History) write(l line) error {
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

// put adds a record, or replaces the one with its number.
func (h *History) put(r *Record) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.load()
	if !r.Restore {
		if err := h.addReach(r.Root, r.Folder); err != nil {
			return err
		}
	}
	if r.N == 0 {
		r.N = len(h.records) + 1
		h.records = append(h.records, *r)
	} else {
		h.records[r.N-1] = *r
	}
	return h.write(line{Record: r})
}

// Records returns what was changed in this workspace, in the order of time.
func (h *History) Records() []Record {
	if h == nil {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.load()
	return slices.DeleteFunc(slices.Clone(h.records), func(r Record) bool { return string(r.Root) != h.dir })
}

// Leave remembers how the files are as the branch that ends with the message head is left.
func (h *History) Leave(head int) {
	if h == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.load()
	n := len(h.records)
	if n > 0 && h.records[n-1].Restore && h.records[n-1].Seq != head {
		n-- // it is where the conversation goes, and not how the branch left them
	}
	if at, known := h.lefts[head]; n == 0 || known && at == n {
		return
	}
	h.lefts[head] = n
	_ = h.write(line{Left: &left{head, n}})
}

// Left returns the number of the record behind which the branch that ends with the message
// head was left; not ok if it is not known, or nothing was changed since.
func (h *History) Left(head int) (n int, ok bool) {
	if h == nil {
		return 0, false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.load()
	n, ok = h.lefts[head]
	return n, ok && n < len(h.records)
}

// Session reads the records of a conversation in all its workspaces.
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
