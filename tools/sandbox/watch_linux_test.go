package sandbox_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"parley/tools/sandbox"
)

// New configuration that runs programs is moved to quarantine; that which was
// there or was accepted is not.
func TestWatch(t *testing.T) {
	p := newFixture(t, setup{"", os.Getuid(), false})
	const evil = "[core]\n\tfsmonitor = evil\n"
	p.write("workspace/mine/.git/config", evil)
	w := sandbox.NewWatch(p.at("workspace"))
	if got := w.QuarantineNew(); got != "" {
		t.Errorf("nothing has appeared: %s", got)
	}
	p.write("workspace/mine/x", "")
	p.write("workspace/accepted/.git/config", evil)
	w.Accept()
	p.write("workspace/accepted/.git/x", "")
	p.write("workspace/src/.git/config", evil)
	p.write("workspace/fine/.git/config", "[core]\n\tbare = false\n")
	if got := w.QuarantineNew(); !strings.Contains(got, "undid changes of src/.git/config:") || !strings.Contains(got, p.at("workspace/src/.git/config.undone-")) {
		t.Errorf("got %s", got)
	}
	for name, want := range map[string]bool{"mine": true, "accepted": true, "fine": true, "src": false} {
		if got := p.read("workspace/"+name+"/.git/config") != ""; got != want {
			t.Errorf("%s: its setups are there: %v", name, got)
		}
	}
	if got := w.QuarantineNew(); got != "" {
		t.Errorf("it is told twice: %s", got)
	}
}

// A repository made just before is not new, though the clock that stamps files is late by some
// milliseconds: a notice would tell of directories that no command has made.
func TestMadeJustBefore(t *testing.T) {
	dir := t.TempDir()
	w := sandbox.NewWatch(dir)
	for i := range 2 {
		far := fmt.Sprintf("%s/%d/%s", dir, i, strings.Repeat("d/", 66))
		if err := os.MkdirAll(far, 0o700); err != nil {
			t.Fatal(err)
		}
		w.Accept()
		if got := w.QuarantineNew(); got != "" {
			t.Errorf("got %s", got)
		}
	}
}
