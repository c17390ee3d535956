package print_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

	"parley/providers/llm"
	"parley/session"
	"parley/tools/act"
	"parley/ui/app/wording"
	"parley/ui/cli/cmdutil"
	. "parley/ui/print"
)

func delta(block string, kind llm.Kind, text string) llm.Delta {
	return llm.Delta{Block: block, Part: llm.Part{Kind: kind, Text: text}}
}

func answered(u llm.Usage, parts ...llm.Part) session.Response {
	return session.Response{Message: llm.Message{Role: llm.RoleAssistant, Model: "a/b", Parts: parts}, Usage: u, UsageKnown: u != (llm.Usage{}), Duration: 1500 * time.Millisecond}
}

func interrupted(r session.Response) session.Response {
	r.Message.Interrupted = true
	return r
}

// turns are the events of turns of all kinds.
var turns = []struct {
	name   string
	events []session.Event
}{
	{"an answer", []session.Event{
		session.Step{Model: "a/b"}, delta("t", llm.Thinking, "hm, "), delta("t", llm.Thinking, "so"), delta("a", llm.Text, "It is "), delta("a", llm.Text, "blue."),
		answered(llm.Usage{Input: 10, Output: 3, CacheRead: 4, Thinking: 2, Cost: 0.5, Priced: true}, llm.Part{Kind: llm.Thinking, Text: "hm, so"}, llm.Part{Kind: llm.Text, Text: "It is blue."}),
		session.Done{Reason: llm.Stop, Usage: llm.Usage{Input: 10, Output: 3}},
	}},
	{"plain usage", []session.Event{delta("a", llm.Text, "x"), answered(llm.Usage{Input: 1, Output: 2, Estimated: true}, llm.Part{Kind: llm.Text, Text: "x"}), session.Done{Reason: llm.Stop}}},
	{"answers of equal blocks around a call", []session.Event{
		session.Step{}, delta("a", llm.Text, "One."), answered(llm.Usage{}, llm.Part{Kind: llm.Text, Text: "One."}),
		session.Call{Part: llm.Part{ID: "1", Name: "read", Input: "{\"path\":\n\"x\"}"}}, session.Decision{ID: "1", Verdict: act.Allow}, session.Result{Part: llm.Part{ID: "1", Name: "read", Text: "no\nfile", Failed: true}},
		session.Call{Part: llm.Part{ID: "2", Name: "read", Input: "{"}}, session.Result{Part: llm.Part{ID: "2", Name: "read", Text: "fine"}},
		session.Step{}, delta("a", llm.Text, "Two."), answered(llm.Usage{}, llm.Part{Kind: llm.Text, Text: "Two."}), session.Done{Reason: llm.Stop},
	}},
	{"notices", []session.Event{
		llm.Notice{Text: "a notice"}, llm.Notice{Text: "an urgent one", Urgent: true}, llm.Retry{Attempt: 1, Wait: 2 * time.Second, Fault: llm.Server}, session.Fallback{From: "a/b", To: "c/d", Fault: llm.Quota},
		session.ModelSwitched{From: "a/b", To: "c/d"}, session.Sandbox{Text: "it changed x\nundone"}, session.Compacted{Messages: 3, Before: 10, After: 4},
		delta("a", llm.Text, "x"), answered(llm.Usage{}, llm.Part{Kind: llm.Text, Text: "x"}), session.Done{Reason: llm.Stop},
	}},
	{"a notice within a line", []session.Event{delta("a", llm.Text, "one "), llm.Notice{Text: "a notice"}, delta("a", llm.Text, "two\n"), answered(llm.Usage{}, llm.Part{Kind: llm.Text, Text: "one two\n"}), session.Done{Reason: llm.Stop}}},
	{"an answer that begins again", []session.Event{
		delta("t", llm.Thinking, "hm"), delta("a", llm.Text, "one"), llm.Retry{Attempt: 2, Fault: llm.Network, Discards: []string{"t", "a"}}, delta("a", llm.Text, "two"),
		answered(llm.Usage{}, llm.Part{Kind: llm.Text, Text: "two"}), session.Done{Reason: llm.Stop},
	}},
	{"only thinking begins again", []session.Event{
		delta("t", llm.Thinking, "hm"), llm.Retry{Attempt: 1, Fault: llm.Network, Discards: []string{"t"}}, delta("a", llm.Text, "two"),
		answered(llm.Usage{}, llm.Part{Kind: llm.Text, Text: "two"}), session.Done{Reason: llm.Stop},
	}},
	{"text that turns out to be thinking", []session.Event{
		delta("a", llm.Text, "Hm."), delta("a", llm.Thinking, "hm"), delta("b", llm.Text, "Yes."),
		answered(llm.Usage{}, llm.Part{Kind: llm.Thinking, Text: "Hm.hm"}, llm.Part{Kind: llm.Text, Text: "Yes."}), session.Done{Reason: llm.Stop},
	}},
	{"sources", []session.Event{
		delta("a", llm.Text, "x"), answered(llm.Usage{}, llm.Part{Kind: llm.Text, Text: "x"}, llm.Part{Kind: llm.Source, Name: "A", URL: "https://a.example"}, llm.Part{Kind: llm.Source, URL: "https://b.example"}),
		session.Done{Reason: llm.Stop},
	}},
	{"files", []session.Event{answered(llm.Usage{}, llm.Part{Kind: llm.Media, MIME: "image/png", Data: []byte("x")}, llm.Part{Kind: llm.Media, MIME: "audio/mp3", Data: []byte("y"), Name: "full"}, llm.Part{Kind: llm.Media, MIME: "image/gif", URL: "https://a.example/x"}), session.Done{Reason: llm.Stop}}},
	{"broken off", []session.Event{
		delta("t", llm.Thinking, "hm"), delta("a", llm.Text, "hal"), interrupted(answered(llm.Usage{Input: 1, Output: 1}, llm.Part{Kind: llm.Text, Text: "hal"})), session.Done{Err: &llm.Error{Fault: llm.Network, Message: "reset"}},
	}},
	{"the reader is gone", []session.Event{delta("a", llm.Text, "hal"), interrupted(answered(llm.Usage{Input: 1, Output: 1}, llm.Part{Kind: llm.Text, Text: "hal"})), session.Done{Err: wording.ErrPipe}}},
	{"stopped", []session.Event{delta("t", llm.Thinking, "hm"), session.Done{Err: context.Canceled}}},
	{"no answer", []session.Event{answered(llm.Usage{}), session.Done{Reason: llm.Stop}}},
	{"too long", []session.Event{delta("a", llm.Text, "hal"), session.Response{Message: llm.Message{Model: "a/b", Parts: []llm.Part{{Kind: llm.Text, Text: "hal"}}}, Finish: llm.Finish{Reason: llm.Length}}, session.Done{Reason: llm.Length}}},
	{"calls at the end", []session.Event{answered(llm.Usage{}, llm.Part{Kind: llm.Call, ID: "1", Name: "read", Input: "{}"}), session.Done{Reason: llm.Calls}}},
}

// testdata/events.txt holds the output of each turn in all formats; -update, a flag of package uitest, writes it anew.
func TestEvents(t *testing.T) {
	var got strings.Builder
	for _, turn := range turns {
		fmt.Fprintf(&got, "==== %s\n", turn.name)
		for _, form := range []struct {
			name string
			o    cmdutil.PrintOptions
		}{{"text", cmdutil.PrintOptions{Thinking: true}}, {"text, quiet", cmdutil.PrintOptions{Quiet: true}}, {"json, quiet", cmdutil.PrintOptions{Format: "json", Quiet: true}}, {"jsonl", cmdutil.PrintOptions{Format: "jsonl"}}} {
			if form.o.Format == "" {
				form.o.Format = "text"
			}
			var out, told bytes.Buffer
			o := form.o
			o.Out, o.Err, o.Session, o.Model = &out, &told, "id", "m/n"
			o.Save = func(p llm.Part) (string, error) {
				if p.Name == "full" {
					return "", errors.New("disk full")
				}
				return "saved." + strings.TrimPrefix(p.MIME, "image/"), nil
			}
			s := session.New(session.Options{})
			status := Run(s, slices.Values(turn.events), func(error) {}, o)
			fmt.Fprintf(&got, "---- %s: %d\n%s", form.name, status, out.String())
			for line := range strings.Lines(ansi.Strip(told.String())) {
				got.WriteString("  ! " + line)
			}
		}
	}
	file := filepath.Join("testdata", "events.txt")
	if flag.Lookup("update").Value.String() == "true" {
		if err := os.WriteFile(file, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	want, have := strings.Split(string(b), "\n"), strings.Split(got.String(), "\n")
	for i, line := range have {
		if i >= len(want) || line != want[i] {
			t.Fatalf("line %d is\n%s\nwant\n%s", i+1, line, strings.Join(want[i:min(i+1, len(want))], ""))
		}
	}
	if len(have) != len(want) {
		t.Errorf("%d lines, want %d", len(have), len(want))
	}
}
