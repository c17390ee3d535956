package print_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"parley/providers/llm"
	"parley/providers/llmtest"
	"parley/providers/schema/fit"
	"parley/session"
	"parley/tools"
	"parley/tools/act"
	"parley/tools/permission"
	"parley/ui/app/wording"
	"parley/ui/cli/cmdutil"
	"parley/ui/cli/exit"
	. "parley/ui/print"
)

func init() { permission.Register() }

// play prints one turn of a scripted model.
func play(o cmdutil.PrintOptions, turns ...llmtest.Turn) (stdout, stderr string, status int) {
	return playing(session.Options{}, o, turns...)
}

func playing(of session.Options, o cmdutil.PrintOptions, turns ...llmtest.Turn) (stdout, stderr string, status int) {
	var out, err bytes.Buffer
	if o.Out == nil {
		o.Out = &out
	}
	if o.Err == nil {
		o.Err = &err
	}
	of.Model = llm.Endpoint{Model: llmtest.New(turns...), Name: "fake/m", Origin: "fake", Strategy: "native"}
	s := session.New(of)
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	status = Run(s, s.Turn(ctx, llm.Part{Kind: llm.Text, Text: "hi"}), cancel, o)
	return out.String(), err.String(), status
}

// withProject is a set of tools in which a file of the directory makes commands that contain
// "project" ask.
type withProject struct{ act.Set }

func (w withProject) Snapshot() act.Set { return w }

func (w withProject) Plan(ctx context.Context, name, input string) (*act.Action, error) {
	a, err := w.Set.Plan(ctx, name, input)
	if err == nil && strings.Contains(input, "project") {
		a = act.FromProject(a, "prompt.md")
	}
	return a, err
}

// TestDeniedIsExplained: the options that would have allowed denied calls are listed, unless one
// of the calls asks each time.
func TestDeniedIsExplained(t *testing.T) {
	set, err := tools.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	for _, tt := range []struct {
		commands []string
		allow    bool
	}{{[]string{"mine"}, true}, {[]string{"project"}, false}, {[]string{"project", "mine"}, false}, {[]string{"mine", "project"}, false}} {
		var calls []llm.Part
		for i, command := range tt.commands {
			calls = append(calls, llm.Part{ID: strconv.Itoa(i), Name: "shell", Input: `{"command":"` + command + `"}`})
		}
		of := session.Options{Tools: withProject{set}, Policy: tools.NewPolicy(act.ModeAsk)}
		_, told, status := playing(of, cmdutil.PrintOptions{}, llmtest.Call(calls...), llmtest.Say("Done."))
		allow, each := strings.Contains(told, "let it run with --allow"), strings.Contains(told, "asks each time")
		if want := "parley: not allowed without a screen: shell:mine\n  let it run with --allow 'shell:mine', or everything with --yolo\n"; tt.allow && !strings.HasSuffix(told, want) {
			t.Errorf("%q: %q, want the end %q", tt.commands, told, want)
		}
		if status != exit.Denied || allow != tt.allow || each == tt.allow {
			t.Errorf("%q: status %d, %q", tt.commands, status, told)
		}
	}
}

// aroundRemoteTool returns an answer interrupted by a tool that the provider ran.
func aroundRemoteTool() []llmtest.Turn {
	delta := func(block string, p llm.Part) llm.Delta { return llm.Delta{Block: block, Part: p} }
	return []llmtest.Turn{llmtest.Script(
		delta("a", llm.Part{Kind: llm.Text, Text: "Let me "}), delta("a", llm.Part{Kind: llm.Text, Text: "look."}),
		delta("c", llm.Part{Kind: llm.Call, ID: "1", Name: "ls", Input: "{}", Remote: true}),
		delta("r", llm.Part{Kind: llm.Result, ID: "1", Name: "ls", Text: "none", Remote: true}),
		delta("b", llm.Part{Kind: llm.Text, Text: "It is *emp"}), delta("b", llm.Part{Kind: llm.Text, Text: "ty*."}), llm.Finish{Reason: llm.Stop})}
}

// TestTextsOfJSON: the text of such an answer in JSON equals the printed text.
func TestTextsOfJSON(t *testing.T) {
	for _, format := range []string{"json", "jsonl"} {
		out, _, _ := play(cmdutil.PrintOptions{Format: format}, aroundRemoteTool()...)
		text := ""
		for line := range strings.Lines(out) {
			var o map[string]any
			if err := json.Unmarshal([]byte(line), &o); err != nil {
				t.Fatal(err)
			}
			s, _ := o["text"].(string)
			text += s
		}
		if want := "Let me look.\n\nIt is *empty*."; text != want {
			t.Errorf("%s: %q, want %q", format, text, want)
		}
	}
}

func TestText(t *testing.T) {
	ended := func(reason llm.Reason) []llmtest.Turn {
		half := llm.Part{Kind: llm.Text, Text: "half"}
		return []llmtest.Turn{llmtest.Script(llm.Delta{Block: "a", Part: half}, llm.Finish{Reason: reason})}
	}
	steps := []llmtest.Turn{
		func(_ context.Context, _ llm.Request, out *llm.Out) error {
			out.Send(llm.Delta{Block: "a", Part: llm.Part{Kind: llm.Text, Text: "# Let me look\n"}})
			out.Send(llm.Delta{Block: "c", Part: llm.Part{Kind: llm.Call, ID: "1", Name: "read", Input: "{}"}})
			out.Send(llm.Finish{Reason: llm.Calls})
			return nil
		},
		llmtest.Say("It is ", "**empty**."),
	}
	again := func(first, second string) []llmtest.Turn { // the server broke off the first one
		return []llmtest.Turn{llmtest.Script(llm.Delta{Block: "a", Part: llm.Part{Kind: llm.Text, Text: first}}, llm.Retry{Attempt: 1, Fault: llm.Network, Remote: true, Discards: []string{"a"}},
			llm.Delta{Block: "a", Part: llm.Part{Kind: llm.Text, Text: second}}, llm.Finish{Reason: llm.Stop})}
	}
	remote := aroundRemoteTool()
	tests := []struct {
		name   string
		o      cmdutil.PrintOptions
		turns  []llmtest.Turn
		want   string
		status int
	}{
		{"as it comes, with one newline", cmdutil.PrintOptions{}, []llmtest.Turn{llmtest.Say("one ", "two")}, "one two\n", exit.OK},
		{"not a second newline", cmdutil.PrintOptions{}, []llmtest.Turn{llmtest.Say("one\n")}, "one\n", exit.OK},
		{"nothing is nothing", cmdutil.PrintOptions{}, []llmtest.Turn{llmtest.Say()}, "", exit.Incomplete},
		{"nor are blanks an answer", cmdutil.PrintOptions{}, []llmtest.Turn{llmtest.Think("hm", " \n")}, " \n", exit.Incomplete},
		{"cut at its length", cmdutil.PrintOptions{}, ended(llm.Length), "half\n", exit.Incomplete},
		{"refused", cmdutil.PrintOptions{}, ended(llm.Refused), "half\n", exit.Incomplete},
		{"broken off", cmdutil.PrintOptions{}, []llmtest.Turn{llmtest.Cut("half")}, "half\n", exit.Failed},
		{"answers around tools are kept apart", cmdutil.PrintOptions{}, steps, "# Let me look\n\nIt is **empty**.\n", exit.OK},
		{"texts around a tool of the provider's are kept apart", cmdutil.PrintOptions{}, remote, "Let me look.\n\nIt is *empty*.\n", exit.OK},
		{"the same, rendered", cmdutil.PrintOptions{Render: true, Width: 40}, remote, "Let me look.\n\nIt is empty.\n", exit.OK},
		{"made printable, split or not", cmdutil.PrintOptions{}, []llmtest.Turn{llmtest.Say("a\x1b", "[2J\xc2", "\x9bz")}, "a␛[2J<U+009B>z\n", exit.OK},
		{"raw", cmdutil.PrintOptions{Raw: true}, []llmtest.Turn{llmtest.Say("a\x1b[2J")}, "a\x1b[2J\n", exit.OK},
		{"the first code block", cmdutil.PrintOptions{Code: true}, []llmtest.Turn{llmtest.Say("x\n\n```sh\nls\n```\n\n```\nno\n```\n")}, "ls\n", exit.OK},
		{"no code block, no code", cmdutil.PrintOptions{Code: true}, []llmtest.Turn{llmtest.Say("It depends.")}, "", exit.Incomplete},
		{"begun again, kept apart", cmdutil.PrintOptions{}, again("It i", "It is empty."), "It i\n\nIt is empty.\n", exit.OK},
		{"begun again, rendered", cmdutil.PrintOptions{Render: true, Width: 40}, again("It *i", "It *is* empty."), "It *i\n\nIt is empty.\n", exit.OK},
		{"begun again before its code", cmdutil.PrintOptions{Code: true}, again("Use", "Use\n```\nls\n```\n"), "ls\n", exit.OK},
		{"begun again in its code", cmdutil.PrintOptions{Code: true}, again("```\nrm -r x\n", "```\nrm -r x/y\n```\n"), "rm -r x/y\n", exit.OK},
		{"rendered, lines as they settle", cmdutil.PrintOptions{Render: true, Width: 40}, []llmtest.Turn{llmtest.Say("# One\n\ntwo\n", "\n- three\n- four")}, "One\n────────────────────────────────────────\ntwo\n\n• three\n• four\n", exit.OK},
		{"rendered, answers around tools", cmdutil.PrintOptions{Render: true, Width: 40}, steps, "Let me look\n────────────────────────────────────────\n\nIt is empty.\n", exit.OK},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, _, status := play(tt.o, tt.turns...)
			if tt.o.Render {
				got = ansi.Strip(got) // styles are tested elsewhere
			}
			if got != tt.want || status != tt.status {
				t.Errorf("got %q, status %d; want %q, status %d", got, status, tt.want, tt.status)
			}
		})
	}
}

// longCode returns code with blank lines, indented lines and a very long line.
func longCode(size int) string {
	var b strings.Builder
	for n := 0; b.Len() < size; n++ {
		fmt.Fprintf(&b, "\tx%d := f(%d)\n\n", n, n)
	}
	return b.String() + strings.Repeat("0123456789", 60<<10) + "\n  end\n"
}

// The first code block is written completely, however long it or the text around it is.
func TestLongFirstCode(t *testing.T) {
	prose := strings.Repeat(strings.Repeat("words ", 50)+"\n\n", 2000)
	code := longCode(1 << 20)
	for name, tt := range map[string]struct{ text, want string }{
		"short":      {"a\n\n```sh\nls\n```\n\n```\nno\n```\n", "ls\n"},
		"empty":      {"```\n```\n\n```\nno\n```\n", "\n"},
		"behind":     {prose + "```sh\nls\n```\n" + prose + "```\nno\n```\n", "ls\n"},
		"long":       {prose + "```go\n" + code + "```\n" + prose + "```\nno\n```\n", code},
		"unfinished": {prose + "~~~\n" + strings.TrimSuffix(code, "\n"), code},
		"none":       {prose, ""},
	} {
		t.Run(name, func(t *testing.T) {
			out, _, status := play(cmdutil.PrintOptions{Code: true}, llmtest.Say(tt.text))
			if status == exit.OK != (tt.want != "") || out != tt.want {
				t.Errorf("status %d, %d bytes, want %d", status, len(out), len(tt.want))
			}
		})
	}
}

// TestNoCode: -x reports why it printed nothing, even with -q.
func TestNoCode(t *testing.T) {
	for _, quiet := range []bool{false, true} {
		_, err, _ := play(cmdutil.PrintOptions{Code: true, Quiet: quiet}, llmtest.Say("It depends."))
		if want := "parley: the answer has no code block: run without -x to print it"; !strings.Contains(err, want) {
			t.Errorf("quiet %v: got %q, want %q", quiet, err, want)
		}
	}
}

// TestTornCode: if the server restarted an answer within its code, only the code of the second one
// is printed, completely.
func TestTornCode(t *testing.T) {
	code := func(line string) llm.Delta {
		return llm.Delta{Block: "a", Part: llm.Part{Kind: llm.Text, Text: "```\n" + strings.Repeat(line, 1<<14) + "```\n"}}
	}
	out, err, status := play(cmdutil.PrintOptions{Code: true}, llmtest.Script(code("one\n"), llm.Retry{Attempt: 1, Remote: true, Discards: []string{"a"}}, code("two\n"), llm.Finish{Reason: llm.Stop}))
	if out != strings.Repeat("two\n", 1<<14) || status != exit.OK {
		t.Errorf("%.20q…, %q, status %d", out, err, status)
	}
}

// TestDiscardsOfThinking: restarted thinking discards neither text nor earlier code, in the same
// response or an earlier one.
func TestDiscardsOfThinking(t *testing.T) {
	text := func(block, s string) llm.Delta {
		return llm.Delta{Block: block, Part: llm.Part{Kind: llm.Text, Text: s}}
	}
	thought := llm.Delta{Block: "b", Part: llm.Part{Kind: llm.Thinking, Text: "hm"}}
	again := llm.Retry{Attempt: 1, Fault: llm.Server, Discards: []string{"b"}}
	stop := llm.Finish{Reason: llm.Stop}
	code := text("a", "```sh\necho one\n```\n")
	for _, tt := range []struct {
		name string
		o    cmdutil.PrintOptions
		turn []llmtest.Turn
		want string
	}{
		{"code", cmdutil.PrintOptions{Code: true}, []llmtest.Turn{llmtest.Script(code, thought, again, text("c", "done"), stop)}, "echo one\n"},
		{"code of the response before", cmdutil.PrintOptions{Code: true}, []llmtest.Turn{
			llmtest.Script(code, llm.Delta{Block: "c", Part: llm.Part{Kind: llm.Call, ID: "1", Name: "read", Input: "{}"}}, llm.Finish{Reason: llm.Calls}),
			llmtest.Script(thought, text("d", "x"), llm.Retry{Attempt: 1, Discards: []string{"b", "d"}}, text("d", "done"), stop),
		}, "echo one\n"},
		{"code of a message before", cmdutil.PrintOptions{Code: true}, []llmtest.Turn{llmtest.Script(code, text("d", "```\nno"), llm.Retry{Attempt: 1, Discards: []string{"d"}}, text("d", "done"), stop)}, "echo one\n"},
		{"text", cmdutil.PrintOptions{}, []llmtest.Turn{llmtest.Script(text("a", "half a sen"), thought, again, text("a", "tence"), stop)}, "half a sentence\n"},
	} {
		if got, _, status := play(tt.o, tt.turn...); got != tt.want || status != exit.OK {
			t.Errorf("%s: got %q, status %d; want %q", tt.name, got, status, tt.want)
		}
	}
}

// TestDiscardsInLines: JSON lines report how much of the written text is discarded.
func TestDiscardsInLines(t *testing.T) {
	delta := func(block string, kind llm.Kind, s string) llm.Delta {
		return llm.Delta{Block: block, Part: llm.Part{Kind: kind, Text: s}}
	}
	out, _, _ := play(cmdutil.PrintOptions{Format: "jsonl"}, llmtest.Script(delta("a", llm.Text, "Let me look."), delta("t", llm.Thinking, "hm"), delta("b", llm.Text, "Hél"), delta("b", llm.Text, "lo"),
		llm.Retry{Attempt: 1, Discards: []string{"t", "b"}}, delta("b", llm.Text, "Hello"), llm.Retry{Attempt: 2, Discards: []string{"b"}}, delta("b", llm.Text, "Good"), llm.Finish{Reason: llm.Stop}))
	said, thought := "", ""
	for line := range strings.Lines(out) {
		var e struct {
			Type, Text string
			CutText    int `json:"discards_text"`
			CutThought int `json:"discards_thinking"`
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		switch e.Type {
		case "text":
			said += e.Text
		case "thinking":
			thought += e.Text
		case "retry":
			said, thought = said[:len(said)-e.CutText], thought[:len(thought)-e.CutThought]
		}
	}
	if said != "Let me look.\n\nGood" || thought != "" {
		t.Errorf("said %q, thought %q:\n%s", said, thought, out)
	}
}

// TestSchema: standard output is the JSON or nothing.
func TestSchema(t *testing.T) {
	want := &llm.Schema{Name: "answer", JSON: []byte(`{"type":"array","items":{"type":"string"}}`)}
	wrong := llmtest.Say("no ", "list\x1b[2J")
	tests := []struct {
		name   string
		o      cmdutil.PrintOptions
		turns  []llmtest.Turn
		out    string
		err    string // part of standard error
		status int
	}{
		{"right", cmdutil.PrintOptions{Thinking: true}, []llmtest.Turn{llmtest.Think("hm", "[", ` "a" ]`)}, `["a"]` + "\n", "Thinking: hm\n", exit.OK},
		{"wrong, then right", cmdutil.PrintOptions{}, []llmtest.Turn{wrong, llmtest.Say(`["a"]`)}, `["a"]` + "\n", "asking again (1 of 2)", exit.OK},
		{"always wrong", cmdutil.PrintOptions{}, []llmtest.Turn{wrong, wrong, wrong}, "", "no list␛[2J\n", exit.Schema},
		{"always wrong, quiet", cmdutil.PrintOptions{Quiet: true}, []llmtest.Turn{wrong, wrong, wrong}, "", "no list␛[2J\nparley: the answer does not fit", exit.Schema},
		{"broken off", cmdutil.PrintOptions{}, []llmtest.Turn{llmtest.Cut(`["a"]`)}, "", `["a"]` + "\n", exit.Failed},
		{"control characters", cmdutil.PrintOptions{}, []llmtest.Turn{llmtest.Say("[\"a\\u001b\u009b31m\"]")}, `["a\u001b\u009b31m"]` + "\n", "", exit.OK},
		{"raw", cmdutil.PrintOptions{Raw: true}, []llmtest.Turn{llmtest.Say("[\"\u009b31m\"]")}, "[\"\u009b31m\"]\n", "", exit.OK},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.o.Schema = true
			out, err, status := playing(session.Options{AnswerSchema: want, Schemas: fit.Repairer{}}, tt.o, tt.turns...)
			err = ansi.Strip(err) // styles are tested elsewhere
			if out != tt.out || !strings.Contains(err, tt.err) || status != tt.status {
				t.Errorf("got %q, %q, status %d; want %q, %q, %d", out, err, status, tt.out, tt.err, tt.status)
			}
		})
	}
}

// isBrokenPipe fails after a few bytes, as a pipe or a disk may.
type isBrokenPipe struct {
	room int
	err  error
}

func (b *isBrokenPipe) Write(p []byte) (int, error) {
	if b.room -= len(p); b.room < 0 {
		return 0, &os.PathError{Op: "write", Path: "/dev/stdout", Err: b.err}
	}
	return len(p), nil
}

func TestBrokenOutput(t *testing.T) {
	tests := []struct {
		name   string
		err    error
		status int
		says   string
	}{
		{"the reader left", syscall.EPIPE, 141, ""},
		{"the disk is full", syscall.ENOSPC, exit.Failed, "no space left"},
	}
	for _, format := range []string{"text", "json", "jsonl"} {
		for _, tt := range tests {
			t.Run(format+": "+tt.name, func(t *testing.T) {
				answer := llmtest.Hang("one", "two", "three")
				if format == "json" { // writes at the end
					answer = llmtest.Say("one")
				}
				_, stderr, status := play(cmdutil.PrintOptions{Format: format, Quiet: true, Out: &isBrokenPipe{room: 4, err: tt.err}}, answer)
				if status != tt.status || !strings.Contains(stderr, tt.says) || tt.says == "" && stderr != "" {
					t.Errorf("status %d, %q; want %d, %q", status, stderr, tt.status, tt.says)
				}
			})
		}
	}
}

func TestHint(t *testing.T) {
	for _, err := range []error{session.ErrSteps, session.ErrBudget, session.ErrSchema, wording.ErrTimeout, &llm.Error{Fault: llm.Quota}} {
		if wording.Hint(err) == "" {
			t.Errorf("%v has no hint", err)
		}
	}
}

// BenchmarkText measures one piece of text from the model to the writer.
func BenchmarkText(b *testing.B) {
	pieces := make([]string, 1000)
	for i := range pieces {
		pieces[i] = "token "
	}
	b.ReportAllocs()
	for b.Loop() {
		play(cmdutil.PrintOptions{Quiet: true}, llmtest.Say(pieces...))
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1000, "ns/piece")
}

// TestErrorOfTwoLines: no line is padded to the width of the longest.
func TestErrorOfTwoLines(t *testing.T) {
	_, stderr, _ := play(cmdutil.PrintOptions{Format: "text"}, llmtest.Fail(&llm.Error{Fault: llm.InvalidRequest, Message: "no\nThe field top_p is too large, and there is more to say"}))
	for line := range strings.Lines(stderr) {
		if text := ansi.Strip(line); strings.HasSuffix(text, " \n") {
			t.Errorf("%q ends in blanks", text)
		}
	}
	if !strings.Contains(ansi.Strip(stderr), "no\nThe field") {
		t.Errorf("%q", stderr)
	}
}
