package sessions

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"parley/providers/llm"
	"parley/session"
	"parley/session/archive"
	"parley/session/transfer"
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

// A long conversation, which is read page by page while it is written, is written as one that is read whole: with its
// results folded into calls, its models, and keys masked, which one note counts.
func TestLongConversationIsWrittenPageByPage(t *testing.T) {
	open := OpenIn(t.TempDir())
	lib, err := open()
	if err != nil {
		t.Fatal(err)
	}
	var nodes []session.Node
	for i := range 450 {
		id := fmt.Sprintf("c%d", i)
		result := llm.Message{Role: llm.RoleTool, Parts: []llm.Part{{Kind: llm.Result, ID: id, Name: "read", Text: "sk-hidden"}}}
		for _, m := range []llm.Message{
			llm.UserText(fmt.Sprintf("prompt %d", i)),
			{Role: llm.RoleAssistant, Model: fmt.Sprintf("mock/m%d", i%3), Parts: []llm.Part{{Kind: llm.Call, ID: id, Name: "read", Input: "{}"}}},
			result,
		} {
			nodes = append(nodes, session.Node{Seq: len(nodes) + 1, Parent: len(nodes), Message: m})
		}
	}
	id, err := lib.Import(session.Info{Title: "long", Head: len(nodes)}, nodes)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, pages, err := lib.Paged(id); pages == nil || err != nil {
		t.Fatalf("read whole: %v", err)
	}
	info, nodes, err := lib.Read(id)
	if err := errors.Join(err, lib.Close()); err != nil {
		t.Fatal(err)
	}
	mask := strings.NewReplacer("sk-hidden", "[redacted]").Replace
	for _, args := range []string{"show " + info.ID, "export " + info.ID, "export " + info.ID + " -o html"} {
		var want, got, notes strings.Builder
		write := archive.Markdown
		if strings.Contains(args, "html") {
			write = archive.HTML
		}
		if err := write(&want, transfer.Mask(transfer.Conversation{Session: info, Nodes: nodes}, mask)); err != nil {
			t.Fatal(err)
		}
		cmd := Options{Stored: cmdutil.Conversations{Open: open, Mask: func() func(string) string { return mask }}, Archive: archive.New(), Out: &got, Note: func(s string) { notes.WriteString(s) }, Now: time.Now}.Sessions()
		cmd.SetArgs(strings.Fields(args))
		if err := cmd.Execute(); err != nil {
			t.Fatal(err)
		}
		if got.String() != want.String() || !strings.Contains(want.String(), "mock/m0, mock/m1, mock/m2") || strings.Contains(got.String(), "sk-hidden") {
			t.Errorf("%s wrote %d bytes, want %d", args, got.Len(), want.Len())
		}
		if notes.String() != "Configured keys masked in 450 texts: --raw shows them" {
			t.Errorf("%s noted %q", args, notes.String())
		}
	}
}
