//go:build linux

package console

import (
	"os"
	"runtime"
	"slices"
	"testing"

	"golang.org/x/sys/unix"
)

// typedLines returns the lines that a Keyboard makes of pieces, each from a separate read, as
// after ctrl+d.
func typedLines(t *testing.T, pieces ...string) (got []string) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	k, err := Listen(r)
	if err != nil {
		t.Fatal(err)
	}
	lines, gone := make(chan Line), make(chan struct{})
	defer close(gone)
	go k.Run(lines, gone)
	written, fd := make(chan struct{}), int(r.Fd())
	defer func() { <-written }()
	go func() {
		defer close(written)
		defer w.Close()
		for _, piece := range pieces {
			w.WriteString(piece)
			for unread := 1; unread > 0; runtime.Gosched() {
				unread, _ = unix.IoctlGetInt(fd, unix.TIOCINQ)
			}
		}
	}()
	for line := range lines {
		if line.EOF {
			break
		}
		got = append(got, line.Text)
	}
	return got
}

// TestTypedLines: a line is its text, without keys and reports, however it is split.
func TestTypedLines(t *testing.T) {
	for sent, want := range map[string][]string{
		"one two\x7f\n":                               {"one two"},
		"one\ntwo\n":                                  {"one", "two"},
		"a\xc3\xa9日本語\n":                              {"aé日本語"},
		"a\xffb\xc3\n":                                {"a\uFFFDb\uFFFD"},
		"a\x1b[Db\x1bOPc\x1b[1;3Ad\n":                 {"abcd"},
		"\x1b[?62;22ca\x1b]11;rgb:ff/ff\x07b":         {"ab"},
		"\x1b[<0;5;5M\x1b[I\x1bP>|x\x1b\\yes\n\x1b[O": {"yes", ""},
		"\x1b[200~a\x1b[201~\n":                       {"a"},
		"\x1btext\n\x1bé\n":                           {"text", "é"},
		"\x1b[\n\x1b\n":                               {"[", ""},
		"a\x1b]11;rgb:\n":                             {"a"},
		"a\tb\x01\n":                                  {"a\tb"},
	} {
		if got := typedLines(t, sent); !slices.Equal(got, want) {
			t.Errorf("%q: got %q, want %q", sent, got, want)
		}
		for i := 1; i < len(sent); i++ {
			if got := typedLines(t, sent[:i], sent[i:]); !slices.Equal(got, want) {
				t.Errorf("%q, %q: got %q, want %q", sent[:i], sent[i:], got, want)
			}
		}
	}
}
