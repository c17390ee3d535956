//go:build unix

package cmdutil_test

import (
	"io"
	"os"
	"testing"

	"github.com/creack/pty"

	"parley/ui/cli/cmdutil"
)

// On a terminal, the editor opens the file. VISUAL precedes EDITOR.
func TestEdit(t *testing.T) {
	ptmx, tty, err := pty.Open()
	if err != nil {
		t.Skip(err)
	}
	defer ptmx.Close()
	defer tty.Close()
	stdin := os.Stdin
	os.Stdin = tty
	defer func() { os.Stdin = stdin }()
	for _, tt := range []struct {
		visual, editor string
		want           string // "" if it was edited
	}{
		{"", "true", ""},
		{"true", "false", ""},
		{"false", "true", "false: exit status 1"},
	} {
		t.Setenv("VISUAL", tt.visual)
		t.Setenv("EDITOR", tt.editor)
		edited, err := cmdutil.Edit(io.Discard, "a.toml")
		if edited != (tt.want == "") || err == nil && tt.want != "" || err != nil && err.Error() != tt.want {
			t.Errorf("VISUAL=%s EDITOR=%s: got %v, %v", tt.visual, tt.editor, edited, err)
		}
	}
}
