package tools

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

// TestEditor: files are seen as an editor shows them, and one with unsaved changes is written there.
func TestEditor(t *testing.T) {
	latin1 := "gr\xFC\xDFe\n"
	for _, tt := range []struct {
		name, saved, shown string
		err                error
		read               string // what read begins with
		old, new           string // of an edit
		writes, file       string // the text that the editor is given; the file's own
	}{
		{name: "unsaved", saved: "one\n", shown: "two\n", read: "     1\ttwo\n[with changes that are not saved in the editor yet", old: "two", new: "three", writes: "three\n", file: "one\n"},
		{name: "saved", saved: "one\n", shown: "one\n", read: "     1\tone\n", old: "one", new: "two", file: "two\n"},
		{name: "without line ends", saved: "a\r\nb\r\n", shown: "a\nb", read: "     1\ta\n     2\tb\n[lines end with CRLF", old: "b", new: "c", file: "a\r\nc\r\n"},
		{name: "unsaved, without line ends", saved: "a\r\nb\r\n", shown: "a\nx", read: "     1\ta\n     2\tx\n[lines end with CRLF", old: "x", new: "y", writes: "a\r\ny\r\n", file: "a\r\nb\r\n"},
		{name: "without the byte order mark", saved: "\uFEFFa\n", shown: "a\n", read: "     1\ta\n[the file begins with", old: "a", new: "b", file: "\uFEFFb\n"},
		{name: "no text", saved: "a\n", shown: "", read: "     1\ta\n", old: "a", new: "b", file: "b\n"},
		{name: "an error", saved: "a\n", shown: "b", err: errors.New("not open"), read: "     1\ta\n", old: "a", new: "b", file: "b\n"},
		{name: "another encoding", saved: latin1, shown: "grüße\n", read: "     1\tgr\uFFFDe\n", old: "gr", new: "GR", file: strings.Replace(latin1, "gr", "GR", 1)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := open(t, map[string]string{"a.txt": tt.saved})
			wrote := ""
			f.SetEditor(&Editor{
				Read: func(_ context.Context, path string) (string, error) {
					if path != f.at("a.txt") {
						t.Errorf("asked for %s", path)
					}
					return tt.shown, tt.err
				},
				Write: func(_ context.Context, _, text string) error { wrote = text; return nil },
			})
			if got := f.must("read", "path", "a.txt"); !strings.HasPrefix(got, tt.read) {
				t.Errorf("read %q", got)
			}
			f.must("edit", "path", "a.txt", "old", tt.old, "new", tt.new)
			if wrote != tt.writes || f.content("a.txt") != tt.file {
				t.Errorf("the editor was given %q, and the file has %q", wrote, f.content("a.txt"))
			}
		})
	}
}

// TestEditorWrites: what is written is what was planned for what the editor shows then.
func TestEditorWrites(t *testing.T) {
	f := open(t, map[string]string{"a.txt": "one\n"})
	shown, failed := "two\n", error(nil)
	e := Editor{Read: func(context.Context, string) (string, error) { return shown, nil }}
	f.SetEditor(&e)
	f.must("read", "path", "a.txt")
	shown = "typed\n"
	f.fails("write", []any{"path", "a.txt", "content", "x\n"}, "has changed since you last read it")
	f.must("read", "path", "a.txt")
	e.Write = func(context.Context, string, string) error { return failed }
	failed = errors.New("read-only buffer")
	f.fails("write", []any{"path", "a.txt", "content", "x\n"}, "unsaved changes in the editor", "read-only buffer")
	e.Write = nil
	f.must("write", "path", "a.txt", "content", "x\n")
	if f.content("a.txt") != "x\n" {
		t.Errorf("%q was written past the editor", f.content("a.txt"))
	}
	f.SetEditor(nil)
	if got := f.must("read", "path", "a.txt"); got != "     1\tx\n" {
		t.Errorf("read %q", got)
	}
}

// TestSilentEditor: one that does not answer is asked once.
func TestSilentEditor(t *testing.T) {
	defer func(d time.Duration) { editorWait = d }(editorWait)
	editorWait = 0
	f := open(t, map[string]string{"a.txt": "one\n"})
	asked := 0
	f.SetEditor(&Editor{Read: func(ctx context.Context, _ string) (string, error) {
		asked++
		<-ctx.Done()
		return "", ctx.Err()
	}})
	for range 2 {
		if got := f.must("read", "path", "a.txt"); got != "     1\tone\n" || asked != 1 {
			t.Errorf("read %q, asked %d times", got, asked)
		}
	}
}

// TestEditorOfLargeFile: a file that is too large to be edited is not asked for, which could take the
// editor so long that it is asked no more.
func TestEditorOfLargeFile(t *testing.T) {
	f := open(t, map[string]string{"a.txt": strings.Repeat(strings.Repeat("a", 1<<20-1)+"\n", maxEdit>>20)})
	f.SetEditor(&Editor{Read: func(context.Context, string) (string, error) {
		t.Error("asked")
		return "b\n", nil
	}})
	f.must("read", "path", "a.txt", "limit", 1)
}
