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

// A key is in no list of conversations and in no hit, in any format.
func TestListsAreMasked(t *testing.T) {
	open := OpenIn(t.TempDir())
	lib, err := open()
	if err != nil {
		t.Fatal(err)
	}
	log := lib.Create(session.Info{Title: "my key sk-hidden"})
	for _, err := range []error{log.Put(session.Node{Seq: 1, Message: llm.UserText("whales: my key sk-hidden")}), log.Close(), lib.Close()} {
		if err != nil {
			t.Fatal(err)
		}
	}
	mask := func() func(string) string { return strings.NewReplacer("sk-hidden", "[redacted]").Replace }
	for _, words := range []string{"list", "search whales", "search key", "search hidden"} {
		for _, format := range []string{"text", "json", "jsonl"} {
			var out strings.Builder
			cmd := SessionCommands{Open: open, Out: &out, Note: func(string) {}, Now: time.Now, Mask: mask}.Sessions()
			cmd.SetArgs(append(strings.Fields(words), "-o", format))
			if err := cmd.Execute(); err != nil {
				t.Fatal(err)
			}
			if got := out.String(); strings.Contains(got, "hidden") || !strings.Contains(got, "my key [redacted]") {
				t.Errorf("%s as %s: %s", words, format, got)
			}
		}
	}
}
