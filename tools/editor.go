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

// An Editor has files open that may have unsaved changes. Paths are absolute.
type Editor struct {
	// Read returns the text that the editor shows for a file; "" or an error if the file is not open in it.
	Read func(ctx context.Context, path string) (string, error)
	// Write replaces the text that the editor shows for a file, and saves it. Nil: tools write
	// files directly.
	Write func(ctx context.Context, path, text string) error

	silent atomic.Bool // set after a timeout; the editor is not used any more
}

// SetEditor makes read, write and edit use the editor's text of open files, also in the views of
// s. Nil: they use the saved files.
func (s *Set) SetEditor(e *Editor) { s.buffers.editor.Store(e) }

// editorWait is how long to wait for the editor's text of a file.
var editorWait = 5 * time.Second // a variable for tests

// Text returns the text that the editor shows for a file; "" if it is not open, or e is nil.
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

// buffers gives access to files open in an editor. The zero value has no
// editor.
type buffers struct{ editor atomic.Pointer[Editor] }

// unsaved returns the editor's text of a file, with the line ends of saved; ok is false if the
// editor has no unsaved changes or cannot show such a file.
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
		shown += "\n" // some editors drop the last line end
	}
	text, _ = keepLineEnds(saved, shown)
	return text, true
}

// sameLines reports whether two texts are equal apart from line ends, including the last one,
// and a byte order mark.
func sameLines(a, b string) bool {
	lines := func(text string) string {
		return strings.TrimSuffix(toLF(strings.TrimPrefix(text, string(bom))), "\n")
	}
	return lines(a) == lines(b)
}

// reader returns the editor's text of a file, or saved if there is none or it has maxEdit bytes
// or more. Unsaved reports whether the text differs from the saved one.
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

// write has the editor write a file with unsaved changes in it; done is false if it cannot.
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
