package tools

import (
	"crypto/rand"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// What a command says beyond what a model is told is kept, so that read can page
// through it and grep search it. It lies in files that have no name on disk:
// nobody else can open them, and they are gone once parley is, however that ends.
// Their names here cannot be guessed: who knows one was told it, in the same
// conversation.
const (
	maxSpill  = 50 << 20  // bytes of one output
	maxSpills = 200 << 20 // of all; the oldest goes
	spillName = "output:" // begins their names
)

// A spill is the whole output of a command, as far as it fits.
type spill struct {
	name  string
	file  *os.File
	named string // the file's name, where it could not be taken away; "" else
	size  int64
	lines int
	full  bool // there was more
}

// newSpill opens one. That it cannot is no reason for a command not to run: then
// it is nil.
func newSpill() *spill {
	dir := os.TempDir()
	if base, err := os.UserCacheDir(); err == nil { // a temp directory may be memory
		if own := filepath.Join(base, "parley"); os.MkdirAll(own, 0o700) == nil {
			dir = own
		}
	}
	f, err := os.CreateTemp(dir, "output-") // for its owner only
	if err != nil {
		return nil
	}
	s := &spill{name: spillName + rand.Text(), file: f}
	if os.Remove(f.Name()) != nil {
		s.named = f.Name()
	}
	return s
}

func (s *spill) write(text string) {
	if s.full {
		return
	}
	if room := maxSpill - s.size; int64(len(text)) > room {
		text, s.full = strings.ToValidUTF8(text[:room], ""), true
	}
	n, err := s.file.WriteString(text)
	s.size += int64(n)
	s.lines += strings.Count(text[:n], "\n")
	s.full = s.full || err != nil
}

func (s *spill) close() {
	s.file.Close()
	if s.named != "" {
		_ = os.Remove(s.named)
	}
}

// all is the content from its beginning.
func (s *spill) all() io.Reader { return io.NewSectionReader(s.file, 0, s.size) }

// note tells the model where the output is.
func (s *spill) note() string {
	what := "the whole output"
	if s.full {
		what = "the beginning of the output"
	}
	return note("%s, %s, can be paged through: read with path %q and an offset, or grep with that path", what, count(s.lines, "line"), s.name)
}

// keep makes a spill one that can be read.
func (w *workspace) keep(s *spill) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.spills = append(w.spills, s)
	total := int64(0)
	for i := len(w.spills) - 1; i >= 0; i-- {
		if total += w.spills[i].size; total > maxSpills {
			for _, old := range w.spills[:i+1] {
				old.close()
			}
			w.spills = w.spills[i+1:]
			return
		}
	}
}

// spilled is the output of this name; nil if the name is not of that kind. One
// that is gone is an error.
func (w *workspace) spilled(name string) (*spill, error) {
	if !strings.HasPrefix(name, spillName) {
		return nil, nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, s := range w.spills {
		if s.name == name {
			return s, nil
		}
	}
	if _, err := w.root.Lstat(name); err == nil {
		return nil, nil // a file that happens to be called so
	}
	return nil, fmt.Errorf("%s is no longer there: outputs are kept while parley runs, and the oldest go when there is much; run the command again", quote(name))
}

// forget closes all outputs.
func (w *workspace) forget() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, s := range w.spills {
		s.close()
	}
	w.spills = nil
}
