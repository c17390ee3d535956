package sessions_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"parley/providers/llm"
	"parley/providers/llmtest"
	"parley/session"
	"parley/session/archive"
	. "parley/ui/cli/cmd/sessions"
	"parley/ui/cli/cmdutil"
	"parley/ui/cli/exit"
	"parley/ui/uitest"
)

// controls returns the findings of uitest.Foreign that a terminal interprets, which JSON has to escape too. It omits
// text that only changes direction or is invisible.
func controls(found []string) (rest []string) {
	for _, f := range found {
		if !strings.HasPrefix(f, "U+") || strings.HasPrefix(f, "U+00") && !strings.HasPrefix(f, "U+00AD") {
			rest = append(rest, f)
		}
	}
	return rest
}

// TestHostileShelf checks that titles, directories and texts of stored conversations are sanitized.
func TestHostileShelf(t *testing.T) {
	n := 200
	if llmtest.Race {
		n = 50
	}
	texts := uitest.Hostile(n)
	home := t.TempDir()
	open := OpenIn(home)
	lib, err := open()
	if err != nil {
		t.Fatal(err)
	}
	var nodes []session.Node
	for i, text := range texts {
		nodes = append(nodes,
			session.Node{Seq: 2*i + 1, Parent: 2 * i, Message: llm.UserText("needle " + text)},
			session.Node{Seq: 2*i + 2, Parent: 2*i + 1, Usage: &llm.Usage{Input: 1, Output: 1}, Message: llm.Message{Role: llm.RoleAssistant, Model: "m/" + text, Parts: []llm.Part{
				{Kind: llm.Thinking, Text: text}, {Kind: llm.Text, Text: text}, {Kind: llm.Call, ID: text, Name: text, Input: `{"a":"` + text + `"}`},
			}}})
	}
	for _, text := range texts[:50] {
		if _, err := lib.Import(session.Info{Title: "needle " + text, Dir: "/" + text, Model: text, Head: 2}, nodes[:2]); err != nil {
			t.Fatal(err)
		}
	}
	id, err := lib.Import(session.Info{Title: texts[0], Head: len(nodes)}, nodes)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range texts[:5] { // the paid requests of this store
		s := session.New(session.Options{Model: llm.Endpoint{Model: llmtest.New(llmtest.Say(text)), Name: text}, Log: lib.Create(session.Info{})})
		for range s.Turn(t.Context(), llm.Part{Kind: llm.Text, Text: text}) {
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := lib.Close(); err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{
		"list", "list --json", "search needle", "search needle --json", "show " + id, "show --json " + id,
		"export -o md " + id, "export -o html " + id, "export -o jsonl " + id, "show needle", "usage", "usage --by model", "usage --by session --json",
	} {
		var out, notes bytes.Buffer
		shelf := Options{
			Stored: cmdutil.Conversations{Open: open}, Archive: archive.New(), Out: &out, Note: func(text string) { notes.WriteString(text) },
			Render: true, Width: 100, Now: time.Now,
		}
		cmd, args := shelf.Sessions(), strings.Fields(command)
		if args[0] == "usage" {
			cmd, args = shelf.Usage(), args[1:]
		}
		cmd.SetArgs(args)
		cmd.SilenceErrors, cmd.SilenceUsage = true, true
		err := cmd.Execute()
		if (err == nil) == (command == "show needle") { // Failure reports it with all titles
			t.Errorf("%s: %v", command, err)
		}
		if err != nil {
			cmdutil.Failure(&out, &out, "", err, exit.Usage)
		}
		found := uitest.Foreign(out.String())
		if strings.Contains(command, "json") {
			found = controls(found)
		}
		if len(found) > 0 {
			t.Errorf("%s: %d violations, such as %q", command, len(found), found[:min(5, len(found))])
		}
		if out.Len() == 0 {
			t.Errorf("%s: nothing came", command)
		}
	}
}
