package print_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"

	"parley/providers/llm"
	"parley/providers/llmtest"
	"parley/session"
	"parley/session/settings"
	"parley/ui/app"
	"parley/ui/app/wording"
	"parley/ui/cli/cmdutil"
	"parley/ui/cli/exit"
	. "parley/ui/print"
)

// TestCompare prints the answers of several models in the order of their names,
// whichever arrives first.
func TestCompare(t *testing.T) {
	down := &llm.Error{Fault: llm.Server, Message: "down", Provider: "m"}
	tests := []struct {
		name   string
		o      cmdutil.PrintOptions
		turns  []llmtest.Turn
		want   string
		status int
	}{
		{"text", cmdutil.PrintOptions{Format: "text"}, []llmtest.Turn{llmtest.Say("one"), llmtest.Say("two")}, "## m/0\n\none\n\n## m/1\n\ntwo\n", 0},
		{"one fails", cmdutil.PrintOptions{Format: "text"}, []llmtest.Turn{llmtest.Fail(down), llmtest.Say("two")}, "## m/0\n\n\n## m/1\n\ntwo\n", exit.Failed},
		{"the last is cut", cmdutil.PrintOptions{Format: "text"}, []llmtest.Turn{llmtest.Say("one"), llmtest.Cut("tw")}, "## m/0\n\none\n\n## m/1\n\ntw\n", exit.Failed},
		{"code alone", cmdutil.PrintOptions{Format: "text", Code: true}, []llmtest.Turn{llmtest.Say("```\na\n```\n"), llmtest.Say("```\nb\n```\n")}, "a\nb\n", 0},
	}
	for _, test := range tests {
		var models []llm.Endpoint
		var names []string
		for i, turn := range test.turns {
			name := fmt.Sprintf("m/%d", i)
			names = append(names, name)
			models = append(models, llm.Endpoint{Model: llmtest.New(turn), Name: name, Origin: name, Strategy: "native"})
		}
		s := session.New(session.Options{Model: models[0]})
		ctx, cancel := context.WithCancelCause(t.Context())
		defer cancel(nil)
		var out, err bytes.Buffer
		test.o.Compared, test.o.Out, test.o.Err = names, &out, &err
		status := Run(s, s.Compare(ctx, models, nil, llm.Part{Kind: llm.Text, Text: "hi"}), cancel, test.o)
		if out.String() != test.want || status != test.status {
			t.Errorf("%s: got %q and %d, want %q and %d; said %s", test.name, out.String(), status, test.want, test.status, err.String())
		}
	}
}

// TestAnswers prints several answers of one model: numbered as text, and as one
// array in JSON, with and without failures.
func TestAnswers(t *testing.T) {
	down := &llm.Error{Fault: llm.Server, Message: "down", Provider: "m"}
	for _, test := range []struct {
		format string
		turns  []llmtest.Turn
		want   string
		status int
	}{
		{"text", []llmtest.Turn{llmtest.Say("same"), llmtest.Say("same")}, "## m/0 (1 of 2)\n\nsame\n\n## m/0 (2 of 2)\n\nsame\n", 0},
		{"json", []llmtest.Turn{llmtest.Say("same"), llmtest.Say("same")}, "m/0 1 of 2: same; m/0 2 of 2: same", 0},
		{"json", []llmtest.Turn{llmtest.Fail(down), llmtest.Fail(down)}, "m/0 1 of 2: ; m/0 2 of 2: ", exit.Failed},
		{"jsonl", []llmtest.Turn{llmtest.Say("same"), llmtest.Say("same")}, "m/0 1 of 2: same; m/0 2 of 2: same", 0},
	} {
		model := llm.Endpoint{Model: llmtest.New(test.turns...), Name: "m/0", Origin: "m/0", Strategy: "native"}
		s := session.New(session.Options{Model: model})
		ctx, cancel := context.WithCancelCause(t.Context())
		defer cancel(nil)
		var out, err bytes.Buffer
		o := cmdutil.PrintOptions{Compared: []string{"m/0", "m/0"}, Format: test.format, Answers: 2, Out: &out, Err: &err}
		status := Run(s, s.Compare(ctx, []llm.Endpoint{model, model}, nil, llm.Part{Kind: llm.Text, Text: "hi"}), cancel, o)
		if got := answers(t, test.format, out.Bytes()); got != test.want || status != test.status {
			t.Errorf("%s: got %q and %d, want %q and %d; said %s", test.format, got, status, test.want, test.status, err.String())
		}
		kept := 0
		for _, n := range s.Nodes() {
			if n.Parent == 1 && n.Message.Text() == "same" {
				kept++
			}
		}
		if test.status == 0 && kept != 2 {
			t.Errorf("%s: %d branches are kept, want 2", test.format, kept)
		}
	}
}

// answers summarizes the printed answers in one line.
func answers(t *testing.T, format string, out []byte) string {
	type one struct {
		Type, Model, Text string
		Answer, Answers   int
	}
	var all []one
	switch format {
	case "text":
		return string(out)
	case "json":
		if err := json.Unmarshal(out, &all); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	default:
		for line := range bytes.Lines(out) {
			var e one
			if err := json.Unmarshal(line, &e); err != nil {
				t.Fatalf("%v: %s", err, line)
			}
			switch e.Type {
			case "start":
				all = append(all, e)
			case "text":
				all[len(all)-1].Text += e.Text
			}
		}
	}
	var said []string
	for _, a := range all {
		said = append(said, fmt.Sprintf("%s %d of %d: %s", a.Model, a.Answer, a.Answers, a.Text))
	}
	return strings.Join(said, "; ")
}

// TestLabels numbers repeated names.
func TestLabels(t *testing.T) {
	got := strings.Join(app.CandidateLabels([]string{"a", "b", "a"}), ", ")
	if want := "a (1 of 2), b, a (2 of 2)"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// The end of a turn before any model was asked is reported once.
func TestCompareNotAsked(t *testing.T) {
	dear := llmtest.Script(llm.Usage{Cost: 2, Priced: true}, llm.Finish{Reason: llm.Stop})
	model := llm.Endpoint{Model: llmtest.New(dear), Name: "m/0", Origin: "m/0", Strategy: "native"}
	s := session.New(session.Options{Model: model, Limits: []session.Limit{{Period: settings.PerSession, Cost: 1}}})
	for range s.Turn(t.Context(), llm.Part{Kind: llm.Text, Text: "spend"}) {
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	var out, err bytes.Buffer
	status := Run(s, s.Compare(ctx, []llm.Endpoint{model, model}, nil, llm.Part{Kind: llm.Text, Text: "hi"}), cancel,
		cmdutil.PrintOptions{Compared: []string{"m/0", "m/1"}, Format: "text", Out: &out, Err: &err})
	if strings.TrimSpace(out.String()) != "" || strings.Count(err.String(), "session limit of $1.00 reached") != 1 || status != exit.Limit {
		t.Errorf("printed %q and %q, status %d", out.String(), err.String(), status)
	}
}

// A closed reader ends all models.
func TestCompareClosed(t *testing.T) {
	models := []llm.Endpoint{
		{Model: llmtest.New(llmtest.Hang("half")), Name: "m/0", Origin: "m/0", Strategy: "native"},
		{Model: llmtest.New(llmtest.Hang("less")), Name: "m/1", Origin: "m/1", Strategy: "native"},
	}
	s := session.New(session.Options{Model: models[0]})
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	var err bytes.Buffer
	status := Run(s, s.Compare(ctx, models, nil, llm.Part{Kind: llm.Text, Text: "hi"}), cancel,
		cmdutil.PrintOptions{Compared: []string{"m/0", "m/1"}, Format: "jsonl", Out: &isBrokenPipe{room: 40, err: syscall.EPIPE}, Err: &err})
	if status != 128+13 {
		t.Errorf("status %d, want that of SIGPIPE", status)
	}
}

// A verdict follows the answers: as text, or as its own object in JSON.
func TestCompareJudged(t *testing.T) {
	for format, want := range map[string]string{
		"text":  "## m/0\n\none\n\n## m/1\n\ntwo\n\nJudge j/judge: B, m/1 · It is short.\n",
		"jsonl": `{"type":"verdict","judge":"j/judge","reason":"It is short.","answer":2,"model":"m/1"}` + "\n",
		"json":  `,{"type":"verdict","judge":"j/judge","reason":"It is short.","answer":2,"model":"m/1"}` + "\n]\n",
	} {
		var models []llm.Endpoint
		for name, text := range map[string]string{"m/0": "one", "m/1": "two"} {
			models = append(models, llm.Endpoint{Model: llmtest.New(llmtest.Say(text)), Name: name, Origin: name, Strategy: "native"})
		}
		slices.SortFunc(models, func(a, b llm.Endpoint) int { return strings.Compare(a.Name, b.Name) })
		judge := llm.Endpoint{Model: llmtest.New(llmtest.Say(`{"winner":"B","reason":"It is short."}`)), Name: "j/judge", Origin: "j"}
		s := session.New(session.Options{Model: models[0]})
		ctx, cancel := context.WithCancelCause(t.Context())
		var out, told strings.Builder
		status := Run(s, s.Compare(ctx, models, &judge, llm.Part{Kind: llm.Text, Text: "hi"}), cancel, cmdutil.PrintOptions{Compared: []string{"m/0", "m/1"}, Format: format, Out: &out, Err: &told})
		if status != exit.OK || !strings.HasSuffix(out.String(), want) {
			t.Errorf("%s: %d\n%s\nwant the end\n%s", format, status, out.String(), want)
		}
	}
}

// The reason for a missing verdict is reported, and an error that ends the judging determines the
// exit status.
func TestCompareNotJudged(t *testing.T) {
	down := llmtest.Fail(&llm.Error{Fault: llm.Authentication, Message: "bad key", Provider: "j"})
	for _, test := range []struct {
		format    string
		stop      error // error that ends the judging; nil if the judge itself fails
		out, told string
		status    int
	}{
		{"text", nil, "", "Note: The judge j/judge gave no verdict: ", exit.OK},
		{"jsonl", nil, `{"type":"notice","text":"the judge j/judge gave no verdict: `, "", exit.OK},
		{"json", nil, `,{"type":"notice","text":"the judge j/judge gave no verdict: `, "", exit.OK},
		{"text", wording.ErrTimeout, "", "parley: the time limit was reached", exit.Limit},
		{"jsonl", wording.ErrTimeout, `{"type":"error","category":"timeout","message":`, "", exit.Limit},
		{"json", wording.ErrTimeout, `,{"type":"error","category":"timeout","message":`, "", exit.Limit},
		{"text", exit.Interrupted{Signal: syscall.SIGINT}, "", "", 128 + int(syscall.SIGINT)},
	} {
		models := []llm.Endpoint{
			{Model: llmtest.New(llmtest.Say("one")), Name: "m/0", Origin: "m/0", Strategy: "native"},
			{Model: llmtest.New(llmtest.Say("two")), Name: "m/1", Origin: "m/1", Strategy: "native"},
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		judging := down
		if test.stop != nil {
			judging = func(ctx context.Context, _ llm.Request, _ *llm.Out) error {
				cancel(test.stop)
				<-ctx.Done()
				return context.Cause(ctx)
			}
		}
		judge := llm.Endpoint{Model: llmtest.New(judging), Name: "j/judge", Origin: "j"}
		s := session.New(session.Options{Model: models[0]})
		var out, told strings.Builder
		status := Run(s, s.Compare(ctx, models, &judge, llm.Part{Kind: llm.Text, Text: "hi"}), cancel, cmdutil.PrintOptions{Compared: []string{"m/0", "m/1"}, Format: test.format, Out: &out, Err: &told})
		cancel(nil)
		if status != test.status || !strings.Contains(out.String(), test.out) || !strings.Contains(told.String(), test.told) {
			t.Errorf("%s, %v: status %d, want %d\n%s\n%s", test.format, test.stop, status, test.status, out.String(), told.String())
		}
		if test.format == "json" && !json.Valid([]byte(out.String())) {
			t.Errorf("not JSON: %s", out.String())
		}
	}
}
