package print_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"parley/providers/llm"
	"parley/providers/llmtest"
	"parley/session"
	. "parley/ui/print"
	"parley/ui/theme"
	"parley/ui/uitest"
)

// controls returns the findings of uitest.Foreign that a terminal acts on, which also
// JSON has to escape; text that turns around or hides is left in it.
func controls(found []string) (rest []string) {
	for _, f := range found {
		if !strings.HasPrefix(f, "U+") || strings.HasPrefix(f, "U+00") && !strings.HasPrefix(f, "U+00AD") {
			rest = append(rest, f)
		}
	}
	return rest
}

// TestHostileTexts: whatever a model, a tool or a server says, in no format does
// it more to a terminal than be read.
func TestHostileTexts(t *testing.T) {
	texts := uitest.Hostile(200)
	for _, o := range []Options{
		{}, {Render: true, Width: 80, Theme: theme.Terminal()}, {Render: true, Width: 20, Theme: theme.Dark()}, {Code: true},
		{Format: "json"}, {Format: "jsonl"}, {Schema: true},
	} {
		name := fmt.Sprintf("%s %v %v %v %d", o.Format, o.Render, o.Code, o.Schema, o.Width)
		said := func(_ context.Context, _ llm.Request, out *llm.Out) error {
			for i, text := range texts {
				block := fmt.Sprint(i / 10)
				out.Send(llm.Delta{Block: "t" + block, Part: llm.Part{Kind: llm.Thinking, Text: text}})
				out.Send(llm.Delta{Block: "a" + block, Part: llm.Part{Kind: llm.Text, Text: text[:len(text)/2]}})
				out.Send(llm.Delta{Block: "a" + block, Part: llm.Part{Kind: llm.Text, Text: text[len(text)/2:] + "\n\n"}})
				out.Send(llm.Notice{Text: text})
			}
			out.Send(llm.Delta{Block: "c", Part: llm.Part{Kind: llm.Call, ID: texts[1], Name: texts[2], Input: `{"a":"` + "\u009b4242m\u202e" + `"}`}})
			out.Send(llm.Finish{Reason: llm.Calls, Raw: texts[3], Model: texts[4]})
			return nil
		}
		failed := llmtest.Fail(&llm.Error{
			Fault: llm.InvalidRequest, Provider: texts[5], Message: strings.Join(texts, " "), URL: texts[6], Key: texts[7], Code: texts[8],
		})
		stdout, stderr, _ := playing(session.Options{Fallback: session.FallbackModels(texts[9]), OpenModel: func(string) (llm.Endpoint, error) {
			return llm.Endpoint{}, errors.New(texts[10])
		}}, o, said, failed)
		found := uitest.Foreign(stdout)
		if o.Format != "" {
			found = controls(found)
		}
		if found = append(found, uitest.Foreign(stderr)...); len(found) > 0 {
			t.Errorf("%s: %d violations, such as %q", name, len(found), found[:min(5, len(found))])
		}
		if len(stdout)+len(stderr) < 5000 {
			t.Errorf("%s: only %d bytes came", name, len(stdout)+len(stderr))
		}
		if (o.Format == "" && !o.Code && !o.Schema) && !strings.Contains(stdout, "199 ") {
			t.Errorf("%s: the end is missing", name)
		}
	}
}

// TestHostileShelf: nor do the titles, directories and texts of what is kept.
func TestHostileShelf(t *testing.T) {
	texts := uitest.Hostile(200)
	home := t.TempDir()
	open := func() (*session.Store, error) {
		return session.OpenStore(func(name string) string { return map[string]string{"XDG_DATA_HOME": home}[name] })
	}
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
	for _, text := range texts[:5] { // what was paid for here
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
		shelf := SessionCommands{
			Open: open, Out: &out, Note: func(text string) { notes.WriteString(text) },
			Render: true, Width: 100, Now: time.Now,
		}
		cmd, args := shelf.Sessions(), strings.Fields(command)
		if args[0] == "usage" {
			cmd, args = shelf.Usage(), args[1:]
		}
		cmd.SetArgs(args)
		cmd.SilenceErrors, cmd.SilenceUsage = true, true
		err := cmd.Execute()
		if (err == nil) == (command == "show needle") { // which is said with all the titles, by Failure
			t.Errorf("%s: %v", command, err)
		}
		if err != nil {
			Failure(&out, &out, "", err, 2)
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
