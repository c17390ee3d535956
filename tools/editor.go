package tools

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"
	"unicode/utf8"
)

// An Editor has files open, which its user may have changed and not saved yet. Paths are absolute.
type Editor struct {
	// Read returns the text that the editor shows of a file; "" or an error: it has none.
	Read func(ctx context.Context, path string) (string, error)
	// Write puts a text in the place of what the editor shows of a file, and saves it; nil: files
	// are written past the editor.
	Write func(ctx context.Context, path, text string) error

	silent atomic.Bool // it once did not answer in time, and is asked no more
}

// SetEditor has read, write and edit see files as an editor shows them, also for the views of s;
// nil: as they are saved.
func (s *Set) SetEditor(e *Editor) { s.buffers.editor.Store(e) }

// editorWait is how long an editor has to say what it shows of a file.
var editorWait = 5 * time.Second // a variable for tests

// Text returns the text that the editor shows of a file; "" if it has none, or e is nil.
func (e *Editor) Text(ctx context.Context, path string) string {
	if e == nil || e.silent.Load() {
		return ""
	}
	wait, cancel := context.WithTimeout(ctx, editorWait)
	defer cancel()
	text, err := e.Read(wait, path)
	if err != nil {
		if wait.Err() != nil && ctx.Err() == nil {
			e.silent.Store(true)
		}
		return ""
	}
	return text
}

// buffers are files as an editor shows them. The zero value has none.
type buffers struct{ editor atomic.Pointer[Editor] }

// unsaved returns the text that the editor shows of a file, with the line ends of what is saved; ok
// is false if it shows what is saved, or cannot show such a file.
func (b *buffers) unsaved(ctx context.Context, path string, saved []byte) (text []byte, ok bool) {
	e := b.editor.Load()
	if e == nil || !utf8.Valid(saved) || binaryKind(saved) != "" || slices.Contains(mediaTypes, http.DetectContentType(saved)) {
		return nil, false
	}
	shown := e.Text(ctx, path)
	if shown == "" || len(shown) > maxEdit || sameLines(string(saved), shown) {
		return nil, false
	}
	if bytes.HasSuffix(saved, []byte("\n")) && !strings.HasSuffix(shown, "\n") {
		shown += "\n" // some editors join lines
	}
	text, _ = keepLineEnds(saved, shown)
	return text, true
}

// sameLines reports whether two texts differ at most in what editors show of no text: line ends,
// also the last one, and a byte order mark.
func sameLines(a, b string) bool {
	lines := func(text string) string {
		return strings.TrimSuffix(toLF(strings.TrimPrefix(text, string(bom))), "\n")
	}
	return lines(a) == lines(b)
}

// reader returns what the editor shows of a file that is read from saved, if that has less than
// maxEdit bytes; unsaved reports that it is something else.
func (b *buffers) reader(ctx context.Context, path string, saved io.Reader) (shown io.Reader, unsaved bool, err error) {
	if b.editor.Load() == nil {
		return saved, false, nil
	}
	content, err := io.ReadAll(io.LimitReader(saved, maxEdit))
	if err != nil {
		return nil, false, err
	}
	if len(content) < maxEdit {
		if text, ok := b.unsaved(ctx, path, content); ok {
			return bytes.NewReader(text), true, nil
		}
	}
	return io.MultiReader(bytes.NewReader(content), saved), false, nil
}

// write has the editor write a file that it shows unsaved changes of; done is false if it cannot.
func (b *buffers) write(ctx context.Context, path string, text []byte) (done bool, err error) {
	e := b.editor.Load()
	if e == nil || e.Write == nil {
		return false, nil
	}
	return true, e.Write(ctx, path, string(text))
}

// absolutePath returns the path of a file of the workspace in dir, or of an added directory.
func absolutePath(dir, file string) string {
	if native := filepath.FromSlash(file); filepath.IsAbs(native) {
		return native
	}
	return filepath.Join(dir, filepath.FromSlash(file))
}
