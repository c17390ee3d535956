package print

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/charmbracelet/colorprofile"

	"parley/providers/llm"
	"parley/session"
	"parley/ui/app/blocks"
	"parley/ui/app/wording"
	"parley/ui/cli/cmdutil"
	"parley/ui/cli/exit"
	"parley/ui/theme"
)

// Events besides the answer are reported with the words of the screen.
func TestNotices(t *testing.T) {
	for _, c := range []struct {
		event session.Event
		want  string
	}{
		{llm.Notice{Text: "the temperature is not sent"}, "Note: The temperature is not sent\n"},
		{llm.Retry{Fault: llm.RateLimit, Attempt: 1, Max: 3}, "Rate limited · retrying (1/3)\n"},
		{llm.Retry{Fault: llm.Network, Attempt: 2, Discards: []string{"a"}}, "Network error · retrying (attempt 2) · the answer begins again\n"},
		{session.Fallback{From: "a/x", To: "b/y", Fault: llm.RateLimit}, "a/x: Rate limited · continuing with b/y\n"},
		{session.Compacted{Messages: 4, Before: 9000, After: 300}, wording.Event(session.Compacted{Messages: 4, Before: 9000, After: 300}) + "\n"},
		{session.Sandbox{Text: "the sandbox undid changes of \x1b[2J.envrc\nCAUTION: b"}, "The sandbox undid changes of ␛[2J.envrc\nCAUTION: b\n"},
		{session.ModelSwitched{From: "a/x", To: "b/y"}, "Model: a/x → b/y\n"},
		{session.ModelSwitched{From: "a/x", To: "b/y", Changes: []llm.Change{{}, {}}}, "Model: a/x → b/y · " + llm.Change{}.String() + ", " + llm.Change{}.String() + "\n"},
	} {
		var out bytes.Buffer
		w := stderrWriter{o: cmdutil.PrintOptions{Err: &colorprofile.Writer{Forward: &out, Profile: colorprofile.NoTTY}, Theme: theme.Plain()}}
		w.event(c.event)
		if got := out.String(); got != c.want {
			t.Errorf("%#v: got %q, want %q", c.event, got, c.want)
		}
	}
}

// Events that text mode reports besides the answer are in JSON too: one event each, or all in one array.
func TestNoticesInJSON(t *testing.T) {
	told := []session.Event{
		llm.Notice{Text: "80% of the budget of a day used"},
		llm.Retry{Fault: llm.RateLimit, Attempt: 1, Max: 3},
		session.Fallback{From: "a/x", To: "b/y", Fault: llm.RateLimit},
		session.ModelSwitched{From: "a/x", To: "b/y"},
		session.Compacted{Messages: 4, Before: 9000, After: 300},
		session.Response{},
		session.Sandbox{Text: "CAUTION: it is new"},
	}
	want := []string{
		"notice: 80% of the budget of a day used", "retry: Rate limited · retrying (1/3)", "fallback: a/x: Rate limited · continuing with b/y",
		"switch: Model: a/x → b/y", "compacted: " + wording.Event(told[4].(session.Compacted)), "notice: " + blocks.EmptyAnswer,
		"sandbox: CAUTION: it is new",
	}
	type notice struct{ Type, Text string }
	words := func(list []notice) (all []string) {
		for _, n := range list {
			all = append(all, n.Type+": "+n.Text)
		}
		return all
	}

	var out bytes.Buffer
	lines := &jsonlWriter{o: cmdutil.PrintOptions{Out: &out}}
	for _, e := range told {
		if err := lines.event(e, exit.OK); err != nil {
			t.Fatal(err)
		}
	}
	var list []notice
	for line := range strings.Lines(out.String()) {
		var n notice
		if err := json.Unmarshal([]byte(line), &n); err != nil {
			t.Fatal(err)
		}
		list = append(list, n)
	}
	if got := words(list); !slices.Equal(got, want) {
		t.Errorf("as lines: %q\nwant %q", got, want)
	}

	out.Reset()
	whole := newJSONWriter(cmdutil.PrintOptions{Out: &out}, session.New(session.Options{Model: llm.Endpoint{Name: "a/x"}}))
	for _, e := range append(told, session.Done{Reason: llm.Stop}) {
		if err := whole.event(e, exit.OK); err != nil {
			t.Fatal(err)
		}
	}
	var object struct{ Notices []notice }
	if err := json.Unmarshal(out.Bytes(), &object); err != nil {
		t.Fatal(err)
	}
	if got := words(object.Notices); !slices.Equal(got, want) {
		t.Errorf("as one: %q\nwant %q", got, want)
	}
}

// The short form of a call or of an error is one line.
func TestShort(t *testing.T) {
	if got := short("bad arguments: {\nread takes path\n"); got != "bad arguments: { read takes path" {
		t.Errorf("in one line: %q", got)
	}
}
