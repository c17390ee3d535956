package app

import (
	"os/exec"
	"strings"
	"testing"

	"parley/session"
)

// The application imports no terminal library: its output is data for any front end.
func TestNoTerminalLibrary(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", ".").Output()
	if err != nil {
		t.Skipf("go list: %v", err)
	}
	for name := range strings.FieldsSeq(string(out)) {
		for _, library := range []string{"charm.land/", "github.com/charmbracelet/ultraviolet", "github.com/charmbracelet/colorprofile", "github.com/charmbracelet/x/term", "github.com/charmbracelet/glamour"} {
			if strings.HasPrefix(name, library) {
				t.Errorf("depends on %s", name)
			}
		}
	}
}

// Lists distinguish a copy from its original until the copy is renamed.
func TestListTitle(t *testing.T) {
	for want, about := range map[string]session.Info{
		"whales": {Title: "whales"}, "copy: seals": {Title: "seals", Origin: "fork 0a1b"}, "copy: untitled": {Origin: "fork 0a1b"},
		"mine": {Title: "mine", Origin: "fork 0a1b", Named: true}, "theirs": {Title: "theirs", Origin: "codex"},
	} {
		if got := ListTitle(about); got != want {
			t.Errorf("%+v is listed as %q, want %q", about, got, want)
		}
	}
}
