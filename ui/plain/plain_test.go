package plain

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"parley/providers/llm"
	"parley/providers/llmtest"
	"parley/session"
	"parley/tools"
	"parley/tools/act"
	"parley/tools/permission"
	"parley/ui/app"
	"parley/ui/app/access"
	"parley/ui/app/flows"
	"parley/ui/app/flows/prompts"
	"parley/ui/clip/routes"
	"parley/ui/plain/console"
)

func init() {
	permission.Register()
	routes.Register()
}

// TestDialogues compares whole dialogues of output and input.
func TestDialogues(t *testing.T) {
	questions := llmtest.Call(llm.Part{ID: "1", Name: act.AskTool, Input: `{"questions":[{"question":"Which database?","choices":["SQLite: one file","Postgres"]},{"question":"Which tests?","several":true,"choices":["unit","fuzz","integration: ten minutes"]}]}`})
	priced := llmtest.Script(
		llm.Delta{Block: "t", Part: llm.Part{Kind: llm.Text, Text: "Whales are mammals. They breathe air."}},
		llm.Usage{Input: 100, Output: 512, Cost: 0.003, Priced: true}, llm.Finish{Reason: llm.Stop})
	tests := []struct {
		name   string
		change func(*app.Options, *session.Options)
		turns  []llmtest.Turn
		do     func(d *drive)
	}{
		{name: "answer", turns: []llmtest.Turn{priced, llmtest.Say("## Fish\n\n", "See [the list](https://fish.example/list).\n\n| name | legs |\n|---|---|\n| cod | 0 |\n| **crab** | 10 |\n\n```go\n", "func main() {\n\tswim()\n}\n```\nDone.")},
			do: func(d *drive) { d.enter("what are whales?", "and fish?", "/usage") }},
		{name: "prompt files", turns: []llmtest.Turn{llmtest.Say("Hello."), llmtest.Say("One."), llmtest.Say("Two."), llmtest.Say("Three.")}, change: func(o *app.Options, so *session.Options) {
			o.Prompts = &prompts.Flow{Find: promptFiles(t, so), Dir: filepath.Join(o.Directory, "prompts")}
		}, do: func(d *drive) {
			d.enter("/greet Ann", "/tone", "2", "/named", "Bob", "/tone tone=rude", "/runs", "n", "/runs", "y", "/nope", "/save-prompt again", "/save-prompt again", "/prompt nope")
		}},
		{name: "message of several lines", turns: []llmtest.Turn{llmtest.Say("One."), llmtest.Say("Two.")}, do: func(d *drive) {
			d.enter(`first line\`, "second line")
			d.paste("pasted one", `pasted two \`, "pasted three")
			d.idle()
		}},
		{name: "thinking", turns: []llmtest.Turn{llmtest.Think("hm", "Well.")}, do: func(d *drive) { d.enter("think") }},
		{name: "approval", turns: []llmtest.Turn{asks("echo one\necho two"), llmtest.Say("I ran it.")}, do: func(d *drive) { d.enter("run it", "", "yes", "y", "/output") }},
		{name: "approval with details and a note", turns: []llmtest.Turn{asks("rm -rf /"), llmtest.Say("Sorry.")}, do: func(d *drive) { d.enter("run it", "?", "d", "never do that") }},
		{name: "approval edited", turns: []llmtest.Turn{asks("rm -rf /"), llmtest.Say("Fine.")}, do: func(d *drive) { d.enter("run it", "e", "", "e", "echo hello", "y") }},
		{name: "approval for good", turns: []llmtest.Turn{asks("echo one two"), llmtest.Say("Fine."), asks("echo one two"), llmtest.Say("Again.")},
			do: func(d *drive) {
				d.enter("run it", "p", "", "p", "9", "1", "again", "/permissions", "1", "y", "/permissions")
			}},
		{name: "question", change: func(o *app.Options, so *session.Options) {
			o.Machine.ToolSet = func(string) act.Set { return so.Tools }
		},
			turns: []llmtest.Turn{questions, llmtest.Say("Good."), questions, llmtest.Say("Well."), questions, llmtest.Say("I decided.")},
			do: func(d *drive) {
				d.enter("ask me", "9", "2", "1, 9", "1, 3", "ask again", "neither", "only the fast ones", "and again", "1", "")
			}},
		{name: "a change", turns: []llmtest.Turn{llmtest.Call(llm.Part{ID: "1", Name: "edit", Input: `{"path":"a.txt","old":"beta","new":"gamma\ndelta"}`}), llmtest.Say("Changed.")},
			do: func(d *drive) { d.enter("change it", "y") }},
		{name: "unasked tools", change: func(_ *app.Options, so *session.Options) { so.Policy.SetMode(act.ModeYolo) },
			turns: []llmtest.Turn{
				llmtest.Call(llm.Part{ID: "1", Name: "read", Input: `{"path":"a.txt"}`}), llmtest.Call(llm.Part{ID: "2", Name: "list", Input: `{}`}),
				llmtest.Call(llm.Part{ID: "3", Name: "edit", Input: `{"path":"a.txt","old":"beta","new":"gamma"}`}), llmtest.Call(llm.Part{ID: "4", Name: "nothing", Input: `{}`}), llmtest.Say("Done."),
			}, do: func(d *drive) { d.enter("go") }},
		{name: "read only", change: func(_ *app.Options, so *session.Options) { so.Policy.SetMode(act.ModeReadOnly) },
			turns: []llmtest.Turn{asks("ls"), llmtest.Say("I may not.")}, do: func(d *drive) { d.enter("go") }},
		{name: "error and retry", turns: []llmtest.Turn{llmtest.Fail(&llm.Error{Fault: llm.Quota, Provider: "fake", Message: "you have no money left"}), llmtest.Say("Now it works.")},
			do: func(d *drive) { d.enter("hello", "/retry", "/retry") }},
		{name: "fallback", change: func(o *app.Options, so *session.Options) {
			so.Fallback, so.OpenModel = func(session.FallbackNeed) []string { return []string{"fake/other"} }, func(name string) (llm.Endpoint, error) {
				return endpoint(name, llmtest.New(llmtest.Say("Here I am."))), nil
			}
		}, turns: []llmtest.Turn{llmtest.Fail(&llm.Error{Fault: llm.Quota, Provider: "fake", Message: "no money"})}, do: func(d *drive) { d.enter("hello") }},
		{name: "limit", change: func(_ *app.Options, so *session.Options) { so.Attended = true }, turns: []llmtest.Turn{llmtest.Fail(&llm.Error{Fault: llm.Quota, Provider: "fake", Message: "resets 3pm", Wait: 2 * time.Hour}), llmtest.Say("Hello again.")}, do: func(d *drive) {
			d.enter("hello", "")
			for range 2 {
				d.input.lastLine = time.Time{}
				d.paste("/wait")
				d.until(func() bool { return strings.Contains(d.said(), "/stop stops") })
			}
			d.pass(2 * time.Hour) // as if the machine slept: timers stand still
			d.idle()
		}},
		{name: "retries", turns: []llmtest.Turn{llmtest.Script(llm.Retry{Attempt: 2, Wait: 5 * time.Second, Fault: llm.RateLimit}, llm.Notice{Text: "temperature was left out"},
			llm.Delta{Block: "t", Part: llm.Part{Kind: llm.Text, Text: "It broke o"}}, llm.Retry{Attempt: 3, Wait: time.Minute, Fault: llm.Network, Remote: true, Discards: []string{"t"}},
			llm.Delta{Block: "t", Part: llm.Part{Kind: llm.Text, Text: "Ok."}}, llm.Finish{Reason: llm.Length})}, do: func(d *drive) { d.enter("hello") }},
		{name: "models", turns: []llmtest.Turn{llmtest.Say("One."), llmtest.Say("Two.")}, do: func(d *drive) {
			d.enter("hello", "/model", "", "/model", "4", "away", "a", "other", "/model fake/m", "/effort", "/effort", "high", "/mode auto", "/mode nonsense", "hello again", "/context")
		}},
		{name: "conversations", turns: []llmtest.Turn{llmtest.Say("About whales."), llmtest.Say("About ships.")}, do: func(d *drive) {
			d.enter("whales", "/new", "ships", "/sessions", "whales", "/read all", "/rename Of whales", "/export md whales.md", "/fork")
		}},
		{name: "commands", turns: []llmtest.Turn{llmtest.Say("It is a folder.")}, do: func(d *drive) {
			d.enter("/help", "/modle", "/etc/passwd is what?", "/output", "/retry", "/exit foo", "/mode loud", "/draft foo", "/draft", "/unqueue", "/mcp", "/permissions", "/edit", "/attach", "/attach "+filepath.Join(d.dir, "a.txt"), "/detach", "/detach", "/attach nothing.txt", "/quit")
		}},
		{name: "folder", change: func(o *app.Options, _ *session.Options) { o.Restart = func(_, _, _ string) {} }, do: func(d *drive) {
			d.out.Width = func() int { return 1000 } // the path of the test's directory does not wrap
			d.enter("/cd", "/cd nowhere", "/cd a.txt", "/cd "+d.dir)
		}},
		{name: "shell line", turns: []llmtest.Turn{llmtest.Say("Two lines.")}, do: func(d *drive) { d.enter("!count", "what did it say?") }},
		{name: "trust", change: func(o *app.Options, _ *session.Options) {
			o.Trust.Question, o.Trust.Decide = "This folder brings along:\n  AGENTS.md, 3 lines\nDo you trust it?", func(yes bool) (string, error) { return "system", nil }
			o.Start.Prompt = []llm.Part{{Kind: llm.Text, Text: "from the command line"}}
			o.FirstScreen.Notice, o.Machine.Sandbox.Missing, o.Ephemeral = "no key is set", "this kernel is old", true
		}, turns: []llmtest.Turn{llmtest.Say("Trusted.")}, do: func(d *drive) { d.idle().enter("", "maybe", "y") }},
		{name: "aside", turns: []llmtest.Turn{
			priced, llmtest.Say("Because they *have* to:\n\n- lungs"), llmtest.Fail(&llm.Error{Fault: llm.Quota, Provider: "fake", Message: "no money"}),
		}, do: func(d *drive) {
			d.enter("/btw too early", "what are whales?", "/btw why do they breathe?", "/side", "/side and why that?", "/btw keep", "/tree", "")
		}},
		{name: "long line", do: func(d *drive) {
			d.heap.WriteString("…\n")
			d.line(console.Line{Text: "a long line", At: d.clock(), Cut: true})
			d.pass(together)
			d.enter("/draft")
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { // calls take no time, and no countdown ends during a step
				d := talk(t, tt.change, tt.turns...)
				tt.do(d)
				d.golden(strings.ReplaceAll(tt.name, " ", "-"))
				d.valid()
			})
		})
	}
}

// TestTypedAhead: a line typed or begun before a question could be heard does not
// answer it, nor does a pasted line. Only the word itself means yes.
func TestTypedAhead(t *testing.T) {
	tests := []struct {
		name string
		do   func(d *drive)
		ran  bool
	}{
		{"before the question", func(d *drive) {
			d.line(console.Line{Text: "y", At: d.questions.first().opened.Add(-time.Millisecond)})
			d.pass(together)
		}, false},
		{"begun before it, and entered later", func(d *drive) {
			at := d.questions.first().opened.Add(-time.Second)
			d.pass(time.Minute)
			d.line(console.Line{Text: "y", At: at})
			d.pass(together)
		}, false},
		{"too early", func(d *drive) { d.enterSoon("y", answerDelay-time.Millisecond) }, false},
		{"too early, twice", func(d *drive) { d.enterSoon("y", answerDelay/2); d.enterSoon("y", answerDelay/2) }, false},
		{"pasted", func(d *drive) { d.pass(answerDelay); d.paste("y", "y") }, false},
		{"an empty line", func(d *drive) { d.pass(answerDelay); d.paste("") }, false},
		{"a sentence", func(d *drive) { d.pass(answerDelay); d.paste("y, but why?") }, false},
		{"yes", func(d *drive) { d.pass(answerDelay); d.paste("yes") }, false},
		{"y too early, and y when it counts", func(d *drive) { d.enterSoon("y", answerDelay/2); d.pass(answerDelay); d.paste("y") }, true},
		{"y", func(d *drive) { d.pass(answerDelay); d.paste("y") }, true},
		{"Y with spaces", func(d *drive) { d.pass(answerDelay); d.paste(" Y ") }, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := talk(t, nil, asks("touch ran"), llmtest.Say("Done."))
			d.paste("run it")
			d.until(func() bool { return d.questions.open() != nil })
			tt.do(d)
			if !tt.ran {
				if d.questions.first() == nil {
					t.Fatalf("it was answered:\n%s", d.said())
				}
				d.pass(answerDelay)
				d.paste("n")
			}
			d.until(func() bool { return d.turns.current == nil && d.app.Session.Queue.Len() == 0 })
			if _, err := os.Stat(filepath.Join(d.dir, "ran")); (err == nil) != tt.ran {
				t.Errorf("ran: %v, want %v:\n%s", err == nil, tt.ran, d.said())
			}
		})
	}
}

// TestFastCommands: a command that follows too fast is neither run nor sent.
func TestFastCommands(t *testing.T) {
	d := talk(t, nil, llmtest.Say("One."))
	d.paste("hello")
	d.paste("/mode plan")
	d.paste("/send")
	d.idle()
	if d.drafts.text != "/mode plan" || d.app.Session.Policy().Mode() == act.ModePlan || len(d.fake.Requests()) != 1 {
		t.Errorf("draft %q, mode %v, %d requests", d.drafts.text, d.app.Session.Policy().Mode(), len(d.fake.Requests()))
	}
	if heard := strings.Join(strings.Fields(d.heap.String()), " "); !strings.Contains(heard, "Not run: /mode plan followed too fast to be a command. /send sends it as a message; type it again to run it.") {
		t.Errorf("heard %s", heard)
	}
}

// TestPastedCommands: pasted text runs no command, at once or in pieces. After a
// pause, a typed line does.
func TestPastedCommands(t *testing.T) {
	tests := []struct {
		name string
		do   func(d *drive)
		ran  bool // the command after the !
		mode act.Mode
	}{
		{"alone", func(d *drive) { d.paste("!touch ran") }, true, act.ModeAsk},
		{"several lines", func(d *drive) { d.paste("!touch ran", "please") }, false, act.ModeAsk},
		{"the last of several", func(d *drive) { d.paste("look:", "!touch ran") }, false, act.ModeAsk},
		{"written over several", func(d *drive) { d.enter(`!touch \`, "ran") }, false, act.ModeAsk},
		{"in two pieces", func(d *drive) { d.paste("look at", "this"); d.paste("!touch ran") }, false, act.ModeAsk},
		{"in many pieces", func(d *drive) {
			for range 30 { // more than a second in total
				d.paste("look")
			}
			d.paste("!touch ran")
		}, false, act.ModeAsk},
		{"behind one line", func(d *drive) { d.paste("look"); d.pass(alone - together - 1); d.paste("!touch ran") }, false, act.ModeAsk},
		{"after a pause", func(d *drive) { d.paste("look", "there"); d.pass(alone); d.paste("!touch ran") }, true, act.ModeAsk},
		{"a mode in two pieces", func(d *drive) { d.paste("look"); d.pass(90 * time.Millisecond); d.paste("/mode yolo") }, false, act.ModeAsk},
		{"a mode and its answer", func(d *drive) { d.paste("/mode yolo", "y") }, false, act.ModeAsk},
		{"a mode and its answer in pieces", func(d *drive) { d.paste("/mode yolo"); d.pass(90 * time.Millisecond); d.paste("y") }, false, act.ModeAsk},
		{"a mode that is not confirmed", func(d *drive) { d.paste("/mode yolo"); d.pass(answerDelay); d.paste("n") }, false, act.ModeAsk},
		{"a mode that is", func(d *drive) { d.paste("/mode yolo"); d.pass(answerDelay); d.paste("y") }, false, act.ModeYolo},
		{"auto in a sandbox", func(d *drive) { d.paste("/mode auto") }, false, act.ModeAuto},
		{"auto without one", func(d *drive) { d.app.Machine.Sandbox.Missing = "this kernel is old"; d.paste("/mode auto") }, false, act.ModeAsk},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ran := false
			d := talk(t, func(o *app.Options, _ *session.Options) {
				o.Machine.Shell = func(_ context.Context, _, command string, _ func(string)) act.Outcome {
					ran = true
					return act.Outcome{}
				}
			}, llmtest.Say("One."), llmtest.Say("Two."))
			tt.do(d)
			if got := d.app.Session.Policy().Mode(); got != tt.mode {
				t.Errorf("mode %s, want %s:\n%s", got, tt.mode, d.said())
			}
			if q := d.questions.first(); q != nil {
				q.leave()
				d.questions.close()
			}
			d.until(func() bool {
				return d.turns.current == nil && d.pending == 0 && len(d.shells.running) == 0 && d.app.Session.Queue.Len() == 0
			})
			if ran != tt.ran {
				t.Errorf("ran: %v, want %v:\n%s", ran, tt.ran, d.said())
			}
		})
	}
}

// enterSoon types a line after the given delay since the question.
func (d *drive) enterSoon(text string, after time.Duration) {
	d.heap.WriteString(text + "\n")
	d.line(console.Line{Text: text, At: d.questions.first().opened.Add(after)})
	for d.time.Add(int64(together)); len(d.input.pending) > 0; d.time.Add(int64(together)) {
		d.tick()
	}
	d.settle()
}

// TestStop: ctrl+c in the middle of a reply stops it, waiting messages become
// the draft, and the next prompt is answered.
func TestStop(t *testing.T) {
	d := talk(t, nil, llmtest.Hang("It begins. And"), llmtest.Say("Both."))
	d.paste("hello")
	d.heard("It begins.")
	d.paste("and another")
	d.paste("and a third")
	d.interrupt()
	d.idle()
	d.enter("/draft", "/send")
	d.golden("stop")
	d.valid()
	last := d.fake.Requests()[1].Messages
	if got := last[len(last)-1].Text(); got != "and another\n\nand a third" {
		t.Errorf("sent %q", got)
	}
}

// TestSteersBehindTurn: messages still waiting at the end of a turn begin the next one. Messages
// that steer go with its results.
func TestSteersBehindTurn(t *testing.T) {
	list := llmtest.Call(llm.Part{Kind: llm.Call, ID: "1", Name: "list", Input: "{}"})
	d := talk(t, func(_ *app.Options, so *session.Options) { so.Policy = tools.NewPolicy(act.ModeYolo) }, list, llmtest.Say("Done."), llmtest.Say("Bye."))
	s := d.app.Session
	s.Queue.Add(llm.Part{Kind: llm.Text, Text: "third"})
	s.Queue.Steer(llm.Part{Kind: llm.Text, Text: "first"})
	s.Queue.Steer(llm.Part{Kind: llm.Text, Text: "second"})
	d.turns.follow(session.Done{})
	d.idle()
	var last []string
	for _, req := range d.fake.Requests() {
		last = append(last, req.Messages[len(req.Messages)-1].Text())
	}
	if want := []string{"first", "second", "third"}; !slices.Equal(last, want) {
		t.Errorf("the requests end with %q, want %q", last, want)
	}
	d.valid()
}

// TestQueue: a prompt typed while a reply is running is sent after it.
func TestQueue(t *testing.T) {
	gate := make(chan struct{})
	first := func(ctx context.Context, req llm.Request, out *llm.Out) error {
		<-gate
		return llmtest.Say("One.")(ctx, req, out)
	}
	d := talk(t, nil, first, llmtest.Say("Two."))
	d.paste("first")
	d.paste("second")
	close(gate)
	d.idle()
	d.golden("queue")
	d.valid()
}

// TestWaiting: a long activity is reported from time to time.
func TestWaiting(t *testing.T) {
	gate := make(chan struct{})
	slow := func(ctx context.Context, req llm.Request, out *llm.Out) error {
		<-gate
		out.Send(llm.Delta{Block: "h", Part: llm.Part{Kind: llm.Thinking, Text: "hm"}})
		<-gate
		out.Send(llm.Delta{Block: "t", Part: llm.Part{Kind: llm.Text, Text: "A sentence that is not over"}})
		<-gate
		out.Send(llm.Delta{Block: "t", Part: llm.Part{Kind: llm.Text, Text: " yet. Now it is."}})
		out.Send(llm.Finish{Reason: llm.Stop})
		return nil
	}
	d := talk(t, nil, slow)
	d.paste("hello")
	d.until(func() bool { return d.turns.current.what != "" })
	for range 130 {
		d.pass(time.Second)
	}
	gate <- struct{}{}
	d.heard("Thinking…")
	for range 12 {
		d.pass(time.Second)
	}
	gate <- struct{}{}
	d.heard("Thought for")
	d.until(func() bool { return d.turns.current.growing })
	d.pass(console.SentenceWait)
	gate <- struct{}{}
	d.idle()
	d.golden("waiting")
}

// TestQuit: ctrl+c twice quits, once does not, and ctrl+d quits immediately.
func TestQuit(t *testing.T) {
	d := talk(t, nil, llmtest.Say("One."))
	d.interrupt()
	d.settle()
	d.enter("hello")
	d.interrupt()
	d.pass(quitWithin)
	d.interrupt()
	d.settle()
	if d.isOver {
		t.Errorf("ctrl+c quits although something was typed, or long after:\n%s", d.said())
	}
	d.interrupt()
	if !d.isOver || d.status != 130 {
		t.Errorf("over %v, status %d after ctrl+c twice", d.isOver, d.status)
	}
	d.golden("quit")

	d = talk(t, nil)
	d.paste(`a line that goes on\`)
	d.line(console.Line{EOF: true, At: d.clock()})
	if !d.isOver || d.status != 0 || d.drafts.text != "a line that goes on" {
		t.Errorf("over %v, status %d, draft %q after ctrl+d", d.isOver, d.status, d.drafts.text)
	}
}

// TestStoppedWhenReopened: a conversation that ends without an answer mentions /retry, with the
// same words as an answer stopped while it ran.
func TestStoppedWhenReopened(t *testing.T) {
	d := talk(t, func(_ *app.Options, so *session.Options) {
		if err := so.Log.Put(session.Node{Seq: 1, At: so.Now(), Message: llm.UserText("whales?")}); err != nil {
			t.Fatal(err)
		}
	}, llmtest.Say("Whales."))
	d.heard("Stopped. /retry starts it again.")
	d.enter("/retry")
	d.heard("Whales.")
	d.idle()
}

// TestInterruptOfAQuestion: ctrl+c stops the turn that asks, and leaves a list.
func TestInterruptOfAQuestion(t *testing.T) {
	d := talk(t, nil, asks("touch ran"))
	d.enter("run it")
	d.interrupt()
	d.idle()
	d.enter("/effort")
	d.interrupt()
	d.settle()
	d.golden("interrupt")
	d.valid()
	if d.questions.first() != nil || d.isOver {
		t.Errorf("questions %v, over %v", d.questions.waiting, d.isOver)
	}
}

// TestMention: files that a message mentions are attached.
func TestMention(t *testing.T) {
	d := talk(t, nil, llmtest.Say("Seen."))
	t.Chdir(d.dir)
	d.enter("look at @a.txt")
	sent := d.fake.Requests()[0].Messages
	if got := sent[len(sent)-1].Text(); !strings.Contains(got, "alpha") || !strings.HasSuffix(got, "look at @a.txt") {
		t.Errorf("sent %q", got)
	}
	if !strings.Contains(d.said(), "Attached: a.txt") {
		t.Errorf("said\n%s", d.said())
	}
}

// TestCopy: the source of the answer, or of its code, is copied, and the route is reported.
func TestCopy(t *testing.T) {
	state := t.TempDir()
	d := talk(t, func(o *app.Options, _ *session.Options) {
		o.Getenv = func(name string) string { return map[string]string{"XDG_STATE_HOME": state}[name] }
	}, llmtest.Say("Look, **bold**:\n```go\nx :=\u200b 1\x1b[201~\u202e\n```\n"), llmtest.Say("No code."))
	d.enter("/copy", "hello", "and now?", "/copy", "/copy code")
	if got := d.said(); !strings.Contains(got, "No answer to copy.") || strings.Count(got, "parley") < 3 {
		t.Errorf("said\n%s", got)
	}
	files, _ := filepath.Glob(filepath.Join(state, "parley", "*"))
	if len(files) != 1 {
		t.Fatalf("files %v:\n%s", files, d.said())
	}
	if b, _ := os.ReadFile(files[0]); strings.TrimSpace(string(b)) != "x := 1[201~" || !strings.Contains(strings.Join(strings.Fields(d.said()), " "), "3 hidden characters removed") {
		t.Errorf("copied %q", b)
	}
}

// TestEditor: the text saved in the editor is sent; an empty one is not.
func TestEditor(t *testing.T) {
	for _, tt := range []struct{ name, editor, sent string }{
		{"written", `printf 'one\ntwo\n' >`, "one\ntwo"}, {"nothing", `: >`, ""}, {"failed", "false", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := talk(t, func(o *app.Options, _ *session.Options) {
				o.Getenv = func(name string) string { return map[string]string{"EDITOR": tt.editor}[name] }
			}, llmtest.Say("Read."))
			d.enter("/edit")
			got := ""
			if asked := d.fake.Requests(); len(asked) > 0 {
				got = asked[0].Messages[0].Text()
			}
			if got != tt.sent {
				t.Errorf("sent %q, want %q:\n%s", got, tt.sent, d.said())
			}
		})
	}
}

// TestDraftIsKept: an unsent message is restored at the next start.
func TestDraftIsKept(t *testing.T) {
	d := talk(t, nil, llmtest.Hang("Well"))
	d.paste("hello")
	d.until(func() bool { return d.turns.current.answered })
	d.paste("later")
	d.interrupt()
	d.idle()
	if err := d.drafts.store(); err != nil {
		t.Fatal(err)
	}
	again := talk(t, func(o *app.Options, so *session.Options) { o.Library, o.Session = d.app.Library, d.app.Session })
	if again.drafts.text != "later" || !strings.Contains(again.said(), "Draft of 1 line, beginning: later.") {
		t.Errorf("draft %q:\n%s", again.drafts.text, again.said())
	}
	past, err := d.app.Library.Prompts(0)
	if err != nil || len(past) != 2 || past[1].Text != "later" {
		t.Errorf("remembered %v, %v", past, err)
	}
}

// TestUnsaved: a failing disk is reported once, and so is its recovery.
func TestUnsaved(t *testing.T) {
	d := talk(t, nil)
	d.conversation.reportSave(errors.New("disk full"))
	d.conversation.reportSave(errors.New("disk full"))
	d.conversation.reportSave(nil)
	d.conversation.reportSave(nil)
	if got := d.said(); strings.Count(got, "Not saved (disk full).") != 1 || strings.Count(got, "Saved:") != 1 {
		t.Errorf("said\n%s", got)
	}
}

// TestTypedWhilePreparing: a line typed while a conversation is being opened goes to that
// conversation, and a line typed while a file is being read is sent after it. If that is
// impossible, it becomes the draft.
func TestTypedWhilePreparing(t *testing.T) {
	for name, opens := range map[string]bool{"opened": true, "not opened": false} {
		t.Run(name, func(t *testing.T) {
			gate := make(chan struct{})
			d := talk(t, nil, llmtest.Say("About whales."), llmtest.Say("About ships."), llmtest.Say("About krill."))
			resume := d.app.Opening.Resume
			d.app.Opening.Resume = func(id string) (*session.Session, string, error) {
				<-gate
				if !opens {
					return nil, "", errors.New("the disk is gone")
				}
				return resume(id)
			}
			d.enter("whales", "/new", "ships", "/sessions")
			left := d.app.Session
			d.paste("whales")
			d.paste("what do they eat?")
			d.pass(time.Minute)
			close(gate)
			d.idle()
			d.pass(time.Minute)
			d.idle()
			if n := len(left.History()); n != 2 {
				t.Errorf("the conversation that was left has %d messages", n)
			}
			if opens && (d.app.Session == left || len(d.app.Session.History()) != 4) {
				t.Errorf("it was not said in the conversation that was chosen:\n%s", d.said())
			}
			if !opens && d.drafts.text != "what do they eat?" {
				t.Errorf("the draft is %q", d.drafts.text)
			}
		})
	}
	t.Run("attached", func(t *testing.T) {
		d := talk(t, nil, llmtest.Say("It is short."))
		d.paste("/attach " + filepath.Join(d.dir, "a.txt"))
		d.input.lastLine = time.Time{}
		d.paste("how long is it?")
		d.pass(time.Minute).idle().pass(time.Minute).idle()
		if req := d.fake.Requests(); len(req) != 1 || !strings.Contains(req[0].Messages[0].Text(), "alpha") {
			t.Errorf("the file did not go along:\n%s", d.said())
		}
	})
}

// TestLeftWhilePreparing: lines not handled when the front end ends become the draft.
func TestLeftWhilePreparing(t *testing.T) {
	gate := make(chan struct{})
	d := talk(t, nil, llmtest.Say("About whales."), llmtest.Say("About ships."))
	defer close(gate)
	resume := d.app.Opening.Resume
	d.app.Opening.Resume = func(id string) (*session.Session, string, error) {
		<-gate
		return resume(id)
	}
	d.enter("whales", "/new", "ships", "/sessions")
	d.paste("whales")
	d.paste("what do they eat?")
	d.pendingToDraft()
	_ = d.drafts.store()
	if kept, ok, err := d.app.Library.Drafts().Take(d.app.DraftKey()); err != nil || !ok || kept.Text != "what do they eat?" {
		t.Errorf("kept %q, %v, %v", kept.Text, ok, err)
	}
}

// A key is asked for until it is accepted or canceled, and is never a message, a draft or a command.
func TestConnect(t *testing.T) {
	const canary = "sk-CANARY-0123456789"
	var given []string
	d := talk(t, func(o *app.Options, _ *session.Options) {
		far := access.Connection{Provider: "far", Name: "Far"}
		o.Models.Connections = func() []access.Connection { return []access.Connection{far} }
		o.Models.Connection = func(string) (access.Connection, error) { return far, nil }
		o.Models.Connect = func(_ context.Context, k access.Key) (string, error) {
			if given = append(given, k.Text); k.Text != canary {
				return "", errors.New("Far rejected this key: no")
			}
			return "Far connected", nil
		}
	})
	d.enter("/connect", "far", "/wrong", canary, "/draft")
	said := d.heap.String()
	for _, want := range []string{"1 provider:\n1. Far, no key yet\n", "What you type is not shown. An empty line cancels.\nFar API key: ", "Error: Far rejected this key: no.\nFar API key: ", "Note: Far connected.", "No draft"} {
		if !strings.Contains(strings.ReplaceAll(said, "\n", " "), strings.ReplaceAll(want, "\n", " ")) {
			t.Errorf("%q was not said:\n%s", want, said)
		}
	}
	d.enter("/connect far", "")
	if len(given) != 2 || given[0] != "/wrong" || given[1] != canary || !strings.Contains(d.heap.String(), "Canceled.") || d.questions.isHidden() {
		t.Errorf("given %q\n%s", given, d.heap.String())
	}
	if len(d.fake.Requests()) > 0 {
		t.Errorf("a model was asked: %v", d.fake.Requests())
	}
	d.enter("/connect far")
	d.line(console.Line{Text: canary, At: d.clock()}) // the terminal is gone before it is accepted
	if d.pendingToDraft() || strings.Contains(d.drafts.text, "CANARY") {
		t.Error("the key is a draft")
	}
}

// The parts of a cloud's address are echoed. An empty line uses the default.
func TestConnectCloud(t *testing.T) {
	var given []access.Key
	d := talk(t, func(o *app.Options, _ *session.Options) {
		far := access.Connection{Provider: "far", Name: "Far", Login: true, Variables: []access.Variable{{Name: "project", Title: "Project ID", Help: "What is billed"}, {Name: "location", Title: "Location", Help: "Where", Value: "global"}}}
		o.Models.Connections = func() []access.Connection { return []access.Connection{far} }
		o.Models.Connection = func(string) (access.Connection, error) { return far, nil }
		o.Models.Variable = func(_, name, text string) (string, error) {
			if strings.Contains(text, "/") {
				return "", errors.New(name + ": it must be letters, digits and hyphens")
			}
			return text, nil
		}
		o.Models.Connect = func(_ context.Context, k access.Key) (string, error) {
			given = append(given, k)
			return "Far connected", nil
		}
	})
	d.enter("/connect far", "a/b", "my-project", "")
	said := strings.ReplaceAll(d.heap.String(), "\n", " ")
	for _, want := range []string{"What is billed. An empty line cancels. Far: Project ID: ", "Error: project: it must be letters", "Where. An empty line is global. Far: Location: ", "Note: Far connected."} {
		if !strings.Contains(said, want) {
			t.Errorf("%q was not said:\n%s", want, d.heap.String())
		}
	}
	if len(given) != 1 || given[0].Variables["project"] != "my-project" || given[0].Variables["location"] != "global" || given[0].Text != "" {
		t.Errorf("given %+v", given)
	}
}

// TestCommandsAreKnownOnce: no two commands have the same name, and the shared commands
// come from app.Commands.
func TestCommandsAreKnownOnce(t *testing.T) {
	names := map[string]bool{}
	for _, c := range commands(flows.Commands()) {
		for _, name := range c.Names() {
			if names[name] {
				t.Errorf("/%s is the name of two", name)
			}
			names[name] = true
		}
	}
	for _, c := range flows.Commands() {
		for _, name := range c.Names() {
			if !names[name] {
				t.Errorf("there is no /%s", name)
			}
		}
	}
}

// A question that needs no answer any more is withdrawn, and a late answer is ignored.
func TestQuestionNotNeeded(t *testing.T) {
	d := talk(t, nil)
	over := make(chan struct{})
	d.apply(&app.Confirm{
		Text: "Done?", Yes: "Done", No: "Cancel", Accept: func() app.Effect { return app.Toast("answered") },
		Lapse: app.Lapse{Done: over, OnDone: func() app.Effect { return app.Toast("MCP server s says that the page is done") }},
	})
	d.settle()
	d.heard("Type y (done) or n (cancel):")
	close(over)
	d.heard("MCP server s says that the page is done.")
	d.enter("y")
	if said := d.said(); d.questions.first() != nil || strings.Contains(said, "answered") || !strings.Contains(said, "Not sent: y.") {
		t.Errorf("got %s", said)
	}
}

// So are lists and lines; the text being typed must not go to the model.
func TestFieldNotNeeded(t *testing.T) {
	for name, ask := range map[string]func(app.Lapse) app.Effect{
		"list": func(l app.Lapse) app.Effect {
			return &app.List{Title: "Tea", Noun: "tea", Items: []app.Item{{Title: "green"}}, Lapse: l}
		},
		"line": func(l app.Lapse) app.Effect {
			return &app.Secret{Title: "Name", Text: "As friends say it", Visible: true, Lapse: l}
		},
		"secret": func(l app.Lapse) app.Effect {
			return &app.Secret{Title: "Key", Text: "Of the account", Lapse: l}
		},
	} {
		d := talk(t, nil)
		over := make(chan struct{})
		d.apply(ask(app.Lapse{Done: over, OnDone: func() app.Effect { return app.Toast("nobody waits any more") }}))
		d.settle()
		close(over)
		d.heard("Nobody waits any more.")
		late := map[string]string{"list": "1", "line": "Ada Lovelace", "secret": "sk-canary-1"}[name]
		d.enter(late)
		said := d.said()
		want := map[string]string{"list": "Not sent: 1.", "line": "Not sent: Ada Lovelace.", "secret": "Not sent."}[name]
		if d.questions.first() != nil || !strings.Contains(said, want) || strings.Contains(said, "Not sent: sk") {
			t.Errorf("%s: got %s", name, said)
		}
	}
}

// However long a server's text is, no row of it looks like parley's own.
func TestQuotedQuestion(t *testing.T) {
	d := talk(t, nil)
	hostile := strings.Repeat("x", 76) + " " + strings.Repeat("Allowed by parley. ", 20)
	d.apply(&app.Confirm{Text: "MCP server s asks:\n\n" + "> " + hostile, Yes: "Agree", No: "Decline", Accept: func() app.Effect { return nil }})
	d.settle()
	_, asked, _ := strings.Cut(d.said(), "MCP server s asks:\n\n")
	quoted, _, _ := strings.Cut(asked, "Type y")
	for row := range strings.Lines(quoted) {
		if !strings.HasPrefix(row, "> ") || len(row) > 80+1 {
			t.Errorf("a row is %q", row)
		}
	}
	if strings.Count(quoted, "Allowed") != 20 {
		t.Errorf("got %s", quoted)
	}
}

// /stop right after a prompt stops the answer, although so fast a line is usually not a command.
func TestStopAtOnce(t *testing.T) {
	d := talk(t, nil, llmtest.Hang("Well"))
	d.paste("hello")
	d.pass(90 * time.Millisecond)
	d.paste("/stop")
	d.until(func() bool { return d.turns.current == nil && d.pending == 0 })
	if said := d.said(); !strings.Contains(said, "Stopp") || strings.Contains(said, "not a command") || d.app.Session.Queue.Len() > 0 {
		t.Errorf("it said\n%s", said)
	}
}

// Side questions are stopped as answers are, and the program is not quit.
func TestStopAside(t *testing.T) {
	d := talk(t, nil, llmtest.Say("Yes."), llmtest.Hang("Well"), llmtest.Hang("Well"))
	d.enter("hello")
	for _, stop := range []func(){d.interrupt, func() { d.command("/stop") }} {
		d.command("/btw why?")
		stop()
		d.idle()
	}
	if got := d.said(); strings.Count(got, "Stopping.") != 2 || strings.Count(got, "End of the aside") != 2 || strings.Contains(got, "quit.\nYou") {
		t.Error(got)
	}
}

// A side question that follows /stop at once is answered. One that waits when another conversation is opened is not asked.
func TestAsideAfterStop(t *testing.T) {
	asked := make(chan bool, 2)
	hang := func(ctx context.Context, r llm.Request, out *llm.Out) error {
		asked <- true
		return llmtest.Hang("Well")(ctx, r, out)
	}
	d := talk(t, nil, llmtest.Say("Yes."), hang, llmtest.Say("Two."), hang, llmtest.Say("Too late."))
	d.enter("hello")
	d.command("/btw one?")
	<-asked
	d.command("/stop")
	d.command("/btw two?")
	if d.idle(); !strings.Contains(d.said(), "Two.") {
		t.Fatal(d.said())
	}
	d.command("/btw three?")
	<-asked
	d.command("/btw four?")
	if d.command("/new"); d.asideCtx.Err() == nil {
		t.Error("side questions go on after the switch")
	}
	if d.idle(); len(d.fake.Requests()) != 4 || strings.Contains(d.said(), "Too late") {
		t.Errorf("%d requests:\n%s", len(d.fake.Requests()), d.said())
	}
}
