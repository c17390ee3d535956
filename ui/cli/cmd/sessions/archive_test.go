package sessions

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"parley/providers/llm"
	"parley/session"
	"parley/session/archive"
	"parley/tools/sanitize"
	"parley/ui/cli/cmdutil"
)

// Keys in titles are masked in file names, too.
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
	cmd := Options{Stored: cmdutil.Conversations{Open: open, Mask: mask}, Archive: archive.New(), Out: io.Discard, Note: func(string) {}, Now: time.Now}.Sessions()
	cmd.SetArgs([]string{"export", "--all", "--to", dir})
	if err := cmd.Execute(); err != nil {
		t.Fatal(err)
	}
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != 1 || strings.Contains(files[0].Name(), "hidden") || !strings.Contains(files[0].Name(), "my-key") {
		t.Errorf("wrote %v, %v", files, err)
	}
}

// Keys are masked in lists and search hits, in every format.
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
			cmd := Options{Stored: cmdutil.Conversations{Open: open, Mask: mask}, Archive: archive.New(), Out: &out, Note: func(string) {}, Now: time.Now}.Sessions()
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

// TestTitlesAreMasked: keys, and parts of keys at the end of shortened titles or snippets, are masked in other output
// that names conversations: shell completion, removal, and the error about several matches.
func TestTitlesAreMasked(t *testing.T) {
	open := OpenIn(t.TempDir())
	lib, err := open()
	if err != nil {
		t.Fatal(err)
	}
	const key = "sk-hidden-0123456789-abcdefghijklmnopqrstuvwxyz"
	var ids []string
	for range 2 {
		log := lib.Create(session.Info{})
		text := "my key " + key + " and" + strings.Repeat(" words", 26) + " " + key + " whales"
		if err := errors.Join(log.Put(session.Node{Seq: 1, Message: llm.UserText(text)}), log.Close()); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, log.Session().ID)
	}
	if err := lib.Close(); err != nil {
		t.Fatal(err)
	}
	for _, words := range [][]string{{"list"}, {"search", "whales"}, {"search", "words"}, {"show", "my"}, {"rm", "my"}, {"complete"}, {"rm", ids[0]}} {
		var out strings.Builder
		s := Options{
			Stored: cmdutil.Conversations{Open: open, Mask: func() func(string) string { return sanitize.NewMask([]string{key}, 4).Excerpt }}, Archive: archive.New(), Out: &out, Note: func(text string) { out.WriteString(text) }, Now: time.Now,
		}
		if words[0] == "complete" {
			found, _ := s.Stored.Complete(nil, nil, "")
			out.WriteString(strings.Join(found, "\n"))
		} else {
			cmd := s.Sessions()
			cmd.SetArgs(words)
			cmd.SilenceErrors, cmd.SilenceUsage = true, true
			if err := cmd.Execute(); err != nil {
				out.WriteString(err.Error())
			}
		}
		got := out.String()
		for n := 4; n <= len(key); n++ {
			if strings.Contains(got, key[:n]) || strings.Contains(got, key[len(key)-n:]) {
				t.Errorf("%q: %d bytes of the key in %s", words, n, got)
				break
			}
		}
		if !strings.Contains(got, sanitize.Redacted) {
			t.Errorf("%q: %s", words, got)
		}
	}
}
