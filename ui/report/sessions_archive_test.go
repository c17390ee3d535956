package report

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"parley/providers/llm"
	"parley/session"
)

// A key in a title is in no name of a file either.
func TestExportedNamesAreMasked(t *testing.T) {
	open := OpenIn(t.TempDir())
	lib, err := open()
	if err != nil {
		t.Fatal(err)
	}
	log := lib.Create(session.Info{Title: "my key sk-hidden"})
	for _, err := range []error{log.Put(session.Node{Seq: 1, Message: llm.UserText("my key sk-hidden")}), log.Close(), lib.Close()} {
		if err != nil {
			t.Fatal(err)
		}
	}
	dir := filepath.Join(t.TempDir(), "texts")
	mask := func() func(string) string { return strings.NewReplacer("sk-hidden", "[redacted]").Replace }
	cmd := SessionCommands{Open: open, Out: io.Discard, Note: func(string) {}, Now: time.Now, Mask: mask}.Sessions()
	cmd.SetArgs([]string{"export", "--all", "--to", dir})
	if err := cmd.Execute(); err != nil {
		t.Fatal(err)
	}
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != 1 || strings.Contains(files[0].Name(), "hidden") || !strings.Contains(files[0].Name(), "my-key") {
		t.Errorf("wrote %v, %v", files, err)
	}
}
