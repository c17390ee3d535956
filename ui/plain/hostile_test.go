package plain

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"parley/providers/llm"
	"parley/providers/llmtest"
	"parley/session"
	"parley/tools/act"
	"parley/ui/app"
	"parley/ui/uitest"
)

// TestHostileTexts: for any text of a model, a tool, a server, a directory or a
// file name, the terminal gets printable text without any escape.
func TestHostileTexts(t *testing.T) {
	texts := uitest.Hostile(120)
	said := func(_ context.Context, _ llm.Request, out *llm.Out) error {
		for i, text := range texts {
			block := fmt.Sprint(i / 10)
			out.Send(llm.Delta{Block: "t" + block, Part: llm.Part{Kind: llm.Thinking, Text: text}})
			out.Send(llm.Delta{Block: "a" + block, Part: llm.Part{Kind: llm.Text, Text: text[:len(text)/2]}})
			out.Send(llm.Delta{Block: "a" + block, Part: llm.Part{Kind: llm.Text, Text: text[len(text)/2:] + "\n\n```" + text + "\n" + text + "\n```\n|" + text + "|\n|-|\n|" + text + "|\n"}})
			out.Send(llm.Delta{Block: "s" + block, Part: llm.Part{Kind: llm.Source, Text: text, URL: text}})
			out.Send(llm.Notice{Text: text})
		}
		out.Send(llm.Delta{Block: "c", Part: llm.Part{Kind: llm.Call, ID: texts[1], Name: texts[2], Input: `{"a":"` + "\u009b4242m\u202e" + `"}`}})
		out.Send(llm.Finish{Reason: llm.Calls, Raw: texts[3], Model: texts[4]})
		return nil
	}
	turns := []llmtest.Turn{said}
	for _, text := range texts[:20] {
		turns = append(turns, asks("printf %s '"+strings.ReplaceAll(text, "'", "")+"'"))
	}
	turns = append(turns, llmtest.Fail(&llm.Error{Fault: llm.Quota, Provider: texts[5], Message: strings.Join(texts, " "), URL: texts[6], Key: texts[7], Code: texts[8]}))
	d := talk(t, func(o *app.Options, so *session.Options) {
		so.Fallback, so.OpenModel = func(session.FallbackNeed) []string { return []string{texts[9]} }, func(string) (llm.Endpoint, error) { return llm.Endpoint{}, errors.New(texts[10]) }
		o.FirstScreen.Notice, o.Machine.Sandbox.Missing, o.Workspace, o.Trust.Question = texts[11], texts[12], texts[13], strings.Join(texts, "\n")
		o.Trust.Decide = func(bool) (string, error) { return "", errors.New(texts[14]) }
		o.Models.Choices = func() []app.ModelChoice {
			return []app.ModelChoice{{Name: texts[15], Abilities: texts[16], Ready: true}, {Name: "z", Why: texts[17]}}
		}
		o.Models.Open = func(string) (llm.Endpoint, error) { return llm.Endpoint{}, errors.New(texts[18]) }
		o.Context = func() []app.ContextItem { return []app.ContextItem{{Name: texts[19], Note: texts[20]}} }
		o.Machine.Shell = func(_ context.Context, _, _ string, progress func(string)) act.Outcome {
			for _, text := range texts {
				progress(text + "\n")
			}
			return act.Outcome{Text: strings.Join(texts, "\n"), Failed: true, Duration: time.Second}
		}
	}, turns...)
	d.idle().enter("n", "hello")
	for range 20 {
		d.enter("?", "p", "", "y")
	}
	d.enter("/model", "1", "/model nothing", "/context", "!cat", "/output", "/read all", "/permissions", "", "/sessions", "", "/nothing")
	if found := uitest.Foreign(d.said()); len(found) > 0 {
		t.Errorf("%d are in what was told: %.20q", len(found), found)
	}
	if got := d.said(); strings.Count(got, "Number or letter (? for details): ") < 20 || !strings.Contains(got, "Error: ") {
		t.Errorf("too little was said:\n%s", got)
	}
}

// TestAddressesOfLines: an address after an @ is fetched only after a question, and never if it
// came with other lines, because somebody else may have written it. A line waiting for the answer
// is not lost.
func TestAddressesOfLines(t *testing.T) {
	tests := []struct {
		name    string
		do      func(d *drive)
		fetched string // fetched addresses
		sent    string // text of the prompt; "" if none was sent
		said    string
		draft   string
	}{
		{"agreed", func(d *drive) { d.enter("see @https://a.example/x.", "y") }, "https://a.example/x", "see @https://a.example/x.", "Fetch https://a.example/x?", ""},
		{"two agreed at once", func(d *drive) { d.enter("@https://a.example/x @http://b.example", "y") }, "https://a.example/x http://b.example", "@https://a.example/x @http://b.example", "Fetch https://a.example/x, http://b.example?", ""},
		{"denied", func(d *drive) { d.enter("see @https://a.example/x", "n") }, "", "see @https://a.example/x", "Fetch", ""},
		{"left", func(d *drive) { d.enter("see @https://a.example/x"); d.interrupt() }, "", "", "it is your draft now.", "see @https://a.example/x"},
		{"ended meanwhile", func(d *drive) { d.enter("see @https://a.example/x"); d.draftUnsent() }, "", "", "Fetch", "see @https://a.example/x"},
		{"pasted with its answer", func(d *drive) { d.paste("see @https://a.example/x", "y") }, "", "see @https://a.example/x\ny", "Not fetched, because it was pasted: https://a.example/x.", ""},
		{"behind another line", func(d *drive) { d.enter("look"); d.paste("see @https://a.example/x") }, "", "see @https://a.example/x", "Not fetched", ""},
		{"begun by a paste", func(d *drive) { d.paste("a", `see @https://a.example/x \`); d.pass(alone); d.paste("b") }, "", "a\nsee @https://a.example/x \nb", "Not fetched", ""},
		{"with a file", func(d *drive) { d.paste("see @https://a.example/x", "and @a.txt") }, "", "see @https://a.example/x\nand @a.txt", "Attached: a.txt", ""},
		{"no address", func(d *drive) { d.enter("write to me@https://a.example/x") }, "", "write to me@https://a.example/x", "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var fetched []string
			d := talk(t, func(o *app.Options, _ *session.Options) {
				o.Machine.FetchFile = func(_ context.Context, address string) (string, []byte, error) {
					fetched = append(fetched, address)
					return "x.txt", []byte("fetched " + address), nil
				}
			}, llmtest.Say("One."), llmtest.Say("Two."))
			t.Chdir(d.dir)
			tt.do(d)
			d.until(func() bool { return d.turns.current == nil && d.pending == 0 })
			if got := strings.Join(fetched, " "); got != tt.fetched {
				t.Errorf("fetched %q, want %q:\n%s", got, tt.fetched, d.said())
			}
			sent := ""
			for _, m := range d.app.Session.History() {
				if m.Role == llm.RoleUser {
					sent, _ = app.SplitPrompt(m)
				}
			}
			if sent != tt.sent || d.drafts.text != tt.draft || !strings.Contains(d.said(), tt.said) {
				t.Errorf("sent %q, want %q; draft %q, want %q:\n%s", sent, tt.sent, d.drafts.text, tt.draft, d.said())
			}
		})
	}
}
