package app

import (
	"os/exec"
	"strings"
	"testing"
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
