package tools

import (
	"crypto/rand"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// Output beyond what the model gets is kept, so that read can page
// through it and grep can search it. It is stored in unlinked files: nobody else can
// open them, and they vanish when parley ends in any way. Their names cannot be
// guessed; a model knows only those of its own conversation.
const (
	maxSavedOutput    = 50 << 20  // bytes of one output
	maxSavedOutputs   = 200 << 20 // bytes of all outputs; the oldest is removed first
	savedOutputPrefix = "output:" // prefix of their names
)

// A savedOutput is the whole output of a command, up to maxSavedOutput.
type savedOutput struct {
	name      string
	file      *os.File
	leftFile  string // path of the file if it could not be unlinked; else ""
	size      int64
	lines     int
	truncated bool // the output was longer
}

// newSavedOutput opens a saved output. It returns nil on errors, because the command
// can run without one.
func newSavedOutput() *savedOutput {
	dir := os.TempDir()
	if base, err := os.UserCacheDir(); err == nil { // preferred: a temp directory may be in memory
		if own := filepath.Join(base, "parley"); os.MkdirAll(own, 0o700) == nil {
			dir = own
		}
	}
	f, err := os.CreateTemp(dir, "output-") // readable for its owner only
	if err != nil {
		return nil
	}
	s := &savedOutput{name: savedOutputPrefix + rand.Text(), file: f}
	if os.Remove(f.Name()) != nil {
		s.leftFile = f.Name()
	}
	return s
}

func (s *savedOutput) write(text string) {
	if s.truncated {
		return
	}
	if room := maxSavedOutput - s.size; int64(len(text)) > room {
		text, s.truncated = strings.ToValidUTF8(text[:room], ""), true
	}
	n, err := s.file.WriteString(text)
	s.size += int64(n)
	s.lines += strings.Count(text[:n], "\n")
	s.truncated = s.truncated || err != nil
}

func (s *savedOutput) close() {
	s.file.Close()
	if s.leftFile != "" {
		_ = os.Remove(s.leftFile)
	}
}

// reader returns the content from its beginning.
func (s *savedOutput) reader() io.Reader { return io.NewSectionReader(s.file, 0, s.size) }

// notice tells the model how to read the output.
func (s *savedOutput) notice() string {
	what := "the whole output"
	if s.truncated {
		what = "the beginning of the output"
	}
	return note("%s, %s, can be paged through: read with path %q and an offset, or grep with that path", what, pluralize(s.lines, "line"), s.name)
}

// savedOutputs holds the outputs that read and grep can reach. The zero value is empty. It is safe
// for concurrent use.
type savedOutputs struct {
	mu   sync.Mutex
	list []*savedOutput // the oldest first
}

// add makes an output available, and closes the oldest ones beyond maxSavedOutputs.
func (o *savedOutputs) add(s *savedOutput) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.list = append(o.list, s)
	total := int64(0)
	for i := len(o.list) - 1; i >= 0; i-- {
		if total += o.list[i].size; total > maxSavedOutputs {
			for _, old := range o.list[:i+1] {
				old.close()
			}
			o.list = o.list[i+1:]
			return
		}
	}
}

// named returns the output of this name; nil if it is unknown or closed.
func (o *savedOutputs) named(name string) *savedOutput {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, s := range o.list {
		if s.name == name {
			return s
		}
	}
	return nil
}

// close closes all outputs.
func (o *savedOutputs) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, s := range o.list {
		s.close()
	}
	o.list = nil
}

// findOutput returns the output that a path names; nil if the path is not an output's. A closed
// output is an error.
func findOutput(w *workspace, name string) (*savedOutput, error) {
	if !strings.HasPrefix(name, savedOutputPrefix) {
		return nil, nil
	}
	if s := w.outputs.named(name); s != nil {
		return s, nil
	}
	if _, err := w.root.Lstat(name); err == nil {
		return nil, nil // a file that happens to have such a name
	}
	return nil, fmt.Errorf("%s is gone: outputs are kept while parley runs, the oldest are deleted first; run the command again", quoteName(name))
}
