// testdata/*.golden and testdata/looks hold the screens. go test ./ui/tui -update rewrites
// them, and the parts of the manual that list keys and commands. With PARLEY_LONG=1 it
// compares every look at every size. Read the diff.

package tui

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"parley/providers/llm"
	"parley/providers/llmtest"
	"parley/session"
	"parley/tools"
	"parley/tools/act"
	"parley/ui/app"
	"parley/ui/app/flows"
	"parley/ui/tui/overlay"
	"parley/ui/tui/panels"
	"parley/ui/tui/terminal"
	"parley/ui/uitest"
)

// stage is a screen with a scripted model and the real tools in a directory.
type stage struct {
	*uitest.Driver
	m     *Model
	fake  *llmtest.Fake
	dir   string
	clock *clock
}

// clock stands still unless it is moved, so that screens are the same each time.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) Add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

func setUp(t *testing.T, w, h int, turns ...llmtest.Turn) *stage {
	t.Helper()
	return setUpWith(t, w, h, func(*Options) {}, turns...)
}

// band begins the composer at 80x24: an empty row, and the bar before the text. Prompts have no empty row.
const band = "▌\n▌ "

func setUpWith(t *testing.T, w, h int, change func(*Options), turns ...llmtest.Turn) *stage {
	t.Helper()
	t.Parallel()
	return newStage(t, w, h, change, turns...)
}

// newStage is like setUpWith, for a test that is not parallel, such as one in a bubble of synctest.
func newStage(t *testing.T, w, h int, change func(*Options), turns ...llmtest.Turn) *stage {
	t.Helper()
	s := &stage{fake: llmtest.New(turns...), dir: t.TempDir(), clock: &clock{now: time.Unix(1e9, 0).UTC()}}
	if err := os.WriteFile(filepath.Join(s.dir, "a.txt"), []byte("alpha\nbeta\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	set, err := tools.Open(s.dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { set.Close() })
	offered, err := set.Only("read", "list", "glob", "grep", "write", "edit", "shell")
	if err != nil {
		t.Fatal(err)
	}
	endpoint := func(name string, m llm.Model) llm.Endpoint {
		return llm.Endpoint{
			Model: m, Name: name, Origin: name, Strategy: "native", Known: true, Context: 100_000,
			Efforts: []llm.Effort{llm.EffortOff, llm.EffortLow, llm.EffortHigh},
		}
	}
	lib := session.MemoryStore()
	t.Cleanup(func() { lib.Close() })
	build := func(log *session.Log) *session.Session {
		return session.New(session.Options{Model: endpoint("fake/one", s.fake), Tools: offered, Policy: tools.NewPolicy(act.ModeAsk), Log: log, Now: s.clock.Now,
			EstimateTokens: func(string) int { return 0 }}) // these tests do not depend on the length of the tools' texts
	}
	opened := func(log *session.Log, err error) (*session.Session, string, error) {
		if log == nil {
			return nil, "", err
		}
		return build(log), "", nil
	}
	create := func() *session.Session { return build(lib.Create(session.Info{Dir: s.dir})) }
	o := Options{Config: Default(), Panels: panels.New, App: app.Options{
		Session: create(),
		Opening: app.Opening{
			New:    func() (*session.Session, error) { return create(), nil },
			Resume: func(id string) (*session.Session, string, error) { return opened(lib.Resume(id)) },
			Fork: func(id string, head int) (*session.Session, string, error) {
				log, _, err := lib.ForkInto(lib, id, head)
				return opened(log, err)
			},
		},
		Library: lib, Directory: s.dir, AbbrevPath: func(p string) string { return p }, Estimate: func(text string) int { return len(text) / 4 },
		Now: s.clock.Now, Workspace: "~/work",
		Models: app.Models{Open: func(name string) (llm.Endpoint, error) {
			if name != "fake/two" && name != "fake/one" {
				return llm.Endpoint{}, &llm.Error{Fault: llm.Authentication, Provider: "openai", Message: "no key", Key: "OPENAI_API_KEY", URL: "https://api.openai.com/v1"}
			}
			return endpoint(name, s.fake), nil
		}, Choices: func() []app.ModelChoice {
			return []app.ModelChoice{{Name: "fake/one", Ready: true}, {Name: "fake/two", Window: "128K", Ready: true}, {Name: "openai/gpt-x", Why: "set OPENAI_API_KEY"}}
		}},
	}}
	o.App.Flows = flows.Register
	change(&o)
	s.m = newModel(o)
	s.m.Tick = func(_ time.Duration, msg tea.Msg) tea.Cmd { // tests do not wait
		if _, ok := msg.(overlay.LoneMsg); ok { // keys come one by one, except those of a packet
			return func() tea.Msg { return msg }
		}
		return nil
	}
	s.Driver = uitest.New(t, s.m, w, h)
	s.m.Send = func(msg tea.Msg) { s.Driver.Deliver(msg) }
	t.Cleanup(func() { // before the driver is closed
		s.Send(terminal.SignalMsg{})
		s.m.Running.Wait()
	})
	s.m.Crash = func(p any, stack []byte) { t.Errorf("panic: %v\n%s", p, stack) }
	return s
}

// ask sends a prompt and waits for text of the answer, which must not be on the screen before.
func (s *stage) ask(prompt, text string) {
	s.Type(prompt).Press("enter").WaitForText(text)
}

func (s *stage) idle() { s.WaitFor(func() bool { return !s.busy() }) }

// busy reports whether a turn is running, according to the status line.
func (s *stage) busy() bool {
	lines := strings.Split(strings.TrimRight(s.Screen(), "\n"), "\n")
	last := lines[len(lines)-1]
	for _, state := range []string{"waiting", "thinking", "answering", "running", "calling", "stopping", "drawing"} {
		if strings.Contains(last, state) {
			return true
		}
	}
	return false
}

const markdownAnswer = "# Heading\n\nSome *text* with `code`.\n\n- one\n- two\n\n```go\nfmt.Println(\"hi\")\n```\n"

func TestScreens(t *testing.T) {
	t.Parallel()
	call := func(id, name, input string) llm.Part { return llm.Part{ID: id, Name: name, Input: input} }
	tests := []struct {
		name  string
		turns []llmtest.Turn
		play  func(*stage)
	}{
		{"empty", nil, func(s *stage) {}},
		{"answer", []llmtest.Turn{llmtest.Think("let me think", markdownAnswer)}, func(s *stage) {
			s.ask("show me", "Println")
			s.idle()
		}},
		{"streaming", []llmtest.Turn{llmtest.Hang("the first half of it")}, func(s *stage) {
			s.ask("go on", "first half")
		}},
		{"thinking", []llmtest.Turn{func(ctx context.Context, _ llm.Request, out *llm.Out) error {
			out.Send(llm.Delta{Block: "t", Part: llm.Part{Kind: llm.Thinking, Text: "first this\nthen that\n"}})
			<-ctx.Done()
			return ctx.Err()
		}}, func(s *stage) { s.ask("think", "then that") }},
		{"asking", []llmtest.Turn{llmtest.Call(call("1", "edit", `{"path":"a.txt","old":"beta","new":"gamma"}`))}, func(s *stage) {
			s.ask("change it", "Edit ")
		}},
		{"command", []llmtest.Turn{llmtest.Call(call("1", "shell", `{"command":"echo good\r\u001b[2Krm -rf ~"}`))}, func(s *stage) {
			s.ask("run it", "Run this command?")
		}},
		{"failed", []llmtest.Turn{llmtest.Fail(&llm.Error{
			Fault: llm.Authentication, Provider: "openai", Status: 401, Message: "Incorrect API key", Key: "OPENAI_API_KEY", URL: "https://api.openai.com/v1",
		})}, func(s *stage) { s.ask("hi", "Replace the key") }},
		{"models", nil, func(s *stage) { s.Press("ctrl+x", "m").WaitForText("fake/two") }},
		{"commands", nil, func(s *stage) { s.Type("/").Type("mod").WaitForText("Commands  mod") }},
		{"help", nil, func(s *stage) { s.Type("?").WaitForText("Input & messages") }},
		{"multiline", nil, func(s *stage) { s.Type("one").Press("ctrl+j").Type("two").Press("alt+enter").Type("three") }},
	}
	for _, size := range [][2]int{{80, 24}, {50, 15}, {120, 40}, {240, 80}} {
		if llmtest.Race && size[0] != 80 {
			continue
		}
		for _, tt := range tests {
			name := fmt.Sprintf("%s-%dx%d", tt.name, size[0], size[1])
			t.Run(name, func(t *testing.T) {
				s := setUp(t, size[0], size[1], tt.turns...)
				tt.play(s)
				s.Golden(name)
			})
		}
	}
}

func TestApproval(t *testing.T) {
	t.Parallel()
	write := llmtest.Call(llm.Part{ID: "1", Name: "write", Input: `{"path":"b.txt","content":"new\n"}`})
	wrote := func(s *stage) bool { _, err := os.Stat(filepath.Join(s.dir, "b.txt")); return err == nil }

	t.Run("keys typed before it was seen allow nothing", func(t *testing.T) {
		s := setUp(t, 80, 24, write, llmtest.Say("fine"))
		s.ask("do it", "Create ")
		s.Type("yyyaaa")
		if wrote(s) || !strings.Contains(s.Screen(), "Create ") {
			t.Error("a key that was typed blind allowed a write")
		}
		s.Send(overlay.DrawnMsg{})
		s.Press("esc").WaitForText("fine")
		if wrote(s) {
			t.Error("a denied write ran")
		}
	})
	t.Run("y allows once it was", func(t *testing.T) {
		s := setUp(t, 80, 24, write, llmtest.Say("fine"))
		s.ask("do it", "Create ")
		s.Send(overlay.DrawnMsg{})
		s.clock.Add(time.Second)
		s.Type("y").WaitForText("fine")
		if !wrote(s) {
			t.Error("an allowed write did not run")
		}
	})
	t.Run("a note goes to the model", func(t *testing.T) {
		s := setUp(t, 80, 24, write, llmtest.Say("fine"))
		s.ask("do it", "Create ")
		s.Send(overlay.DrawnMsg{})
		s.clock.Add(time.Second)
		s.Type("n").Type("use c.txt").Press("enter").WaitForText("fine")
		reqs := s.fake.Requests()
		if got := reqs[1].Messages[2].Parts[0].Text; !strings.Contains(got, "use c.txt") {
			t.Errorf("the model was told %q", got)
		}
	})
	t.Run("ctrl+c stops the turn", func(t *testing.T) {
		s := setUp(t, 80, 24, write)
		s.ask("do it", "Create ")
		s.Press("ctrl+c").WaitForText("stopped")
		if wrote(s) {
			t.Error("a canceled write ran")
		}
	})
}

func TestCancelKeepsWhatCame(t *testing.T) {
	s := setUp(t, 80, 24, llmtest.Hang("half an answer"), llmtest.Say("whole"))
	s.ask("hi", "half an answer")
	s.Type("a draft").Press("esc").WaitForText("Stopped")
	if screen := s.Screen(); !strings.Contains(screen, "half an answer") || !strings.Contains(screen, "a draft") {
		t.Errorf("something was lost:\n%s", screen)
	}
	s.Press("enter").WaitForText("whole")
	if got := len(s.fake.Requests()[1].Messages); got != 3 {
		t.Errorf("the next request has %d messages, want 3", got)
	}
}

// Some servers mark thinking only with the closing tag.
func TestLateThinking(t *testing.T) {
	s := setUp(t, 80, 24, llmtest.Script(
		llm.Delta{Block: "0", Part: llm.Part{Kind: llm.Text, Text: "hidden plan"}},
		llm.Delta{Block: "0", Part: llm.Part{Kind: llm.Thinking}},
		llm.Delta{Block: "0/answer", Part: llm.Part{Kind: llm.Text, Text: "the answer"}},
		llm.Finish{Reason: llm.Stop}))
	s.ask("hi", "the answer")
	s.WaitForScreen(func(screen string) bool {
		return strings.Contains(screen, "∴ thought") && !strings.Contains(screen, "hidden plan")
	})
}

// Tools that the provider runs are shown, and never run here.
func TestRemoteTools(t *testing.T) {
	s := setUp(t, 80, 24, llmtest.Script(
		llm.Delta{Block: "c", Part: llm.Part{Kind: llm.Call, ID: "r1", Name: "web_search", Input: `{"query":"sky"}`, Remote: true}},
		llm.Delta{Block: "r", Part: llm.Part{Kind: llm.Result, ID: "r1", Name: "web_search", Text: "three pages", Remote: true}},
		llm.Delta{Block: "s", Part: llm.Part{Kind: llm.Source, Text: "A page", URL: "https://example.com/sky"}},
		llm.Delta{Block: "a", Part: llm.Part{Kind: llm.Text, Text: "it is blue"}},
		llm.Finish{Reason: llm.Stop}))
	s.ask("why", "it is blue")
	for _, want := range []string{"✓ web_search", "three pages", "example.com/sky"} {
		s.WaitForText(want)
	}
}

// A slash opens the commands, but the text after it may still be a message.
func TestSlash(t *testing.T) {
	t.Parallel()
	t.Run("esc keeps what was typed", func(t *testing.T) {
		s := setUp(t, 80, 24)
		s.Type("/etc/fstab what is this").Press("esc").WaitForText(band + "/etc/fstab what is this")
	})
	t.Run("enter sends a path", func(t *testing.T) {
		s := setUp(t, 80, 24, llmtest.Say("understood"))
		s.Type("/etc/fstab").Press("enter").WaitForText("understood")
	})
	t.Run("commands take an argument", func(t *testing.T) {
		s := setUp(t, 80, 24)
		s.Type("/mode yolo").Press("enter").WaitForText("Approval mode: yolo")
		if got := s.m.App.Session.Policy().Mode(); got != act.ModeYolo {
			t.Errorf("mode %s, want yolo", got)
		}
	})
}

// Every action can be run by name at any time, and none breaks the screen.
func TestEveryAction(t *testing.T) {
	t.Parallel()
	for _, a := range actions(flows.Commands()) {
		if a.Name == "quit" || a.Name == "interrupt" || a.Name == "end" || a.Name == "suspend" || a.Name == "editor" {
			continue // these leave, or need a terminal
		}
		t.Run(a.Name, func(t *testing.T) {
			s := setUp(t, 80, 24, llmtest.Say("the answer came"), llmtest.Hang("two"))
			run := func() {
				s.Paste("/" + a.Name)
				s.clock.Add(time.Second) // enter right after a paste is part of it
				s.Press("enter").Press("esc")
			}
			run()
			s.WaitFor(func() (done bool) { // prompts wait for the clipboard
				s.Send(do(func() { done = s.m.pending.preparing == 0 }))
				return done
			})
			s.Press("esc").Press("ctrl+c")
			s.ask("hi", "the answer came")
			s.idle()
			run()
		})
	}
}

// Text typed while a question opens answers nothing, and is not lost.
func TestTypingIntoAnApproval(t *testing.T) {
	s := setUp(t, 80, 24, llmtest.Call(llm.Part{ID: "1", Name: "shell", Input: `{"command":"touch b"}`}), llmtest.Say("fine"))
	s.ask("do it", "Run this command?")
	s.Send(overlay.DrawnMsg{})
	for _, r := range "please stay" {
		s.clock.Add(160 * time.Millisecond)
		s.Type(string(r))
	}
	if !strings.Contains(s.Screen(), "Run this command?") {
		t.Fatalf("typing answered the question:\n%s", s.Screen())
	}
	s.Press("esc").WaitForText(band + "please stay")
	if _, err := os.Stat(filepath.Join(s.dir, "b")); err == nil {
		t.Error("typing allowed a command")
	}
}

// A prompt queued while nothing runs is sent, as in plain mode.
func TestQueueWhileIdle(t *testing.T) {
	s := setUp(t, 80, 24, llmtest.Say("an answer"))
	s.ask("/queue hello", "an answer")
	if got := s.fake.Requests(); len(got) != 1 || got[0].Messages[0].Text() != "hello" {
		t.Errorf("sent %+v", got)
	}
}

func TestQueueWhileBusy(t *testing.T) {
	release := make(chan struct{})
	slow := func(_ context.Context, _ llm.Request, out *llm.Out) error {
		out.Send(llm.Delta{Block: "a", Part: llm.Part{Kind: llm.Text, Text: "first answer"}})
		<-release
		out.Send(llm.Finish{Reason: llm.Stop})
		return nil
	}
	s := setUp(t, 80, 24, slow, llmtest.Say("second answer"))
	s.ask("one", "first answer")
	s.Type("two").Press("enter").WaitForText("queued")
	close(release)
	s.WaitForText("second answer")
	if got := len(s.fake.Requests()); got != 2 {
		t.Errorf("%d requests, want 2", got)
	}
}

// Prompts queued when the screen is left become the draft of the next start.
func TestQuitWithQueue(t *testing.T) {
	slow := func(ctx context.Context, _ llm.Request, out *llm.Out) error {
		out.Send(llm.Delta{Block: "a", Part: llm.Part{Kind: llm.Text, Text: "first answer"}})
		<-ctx.Done()
		return ctx.Err()
	}
	s := setUp(t, 80, 24, slow)
	s.ask("one", "first answer")
	s.Type("two").Press("enter").WaitForText("queued")
	s.Send(terminal.SignalMsg{}).WaitForScreen(func(screen string) bool { return s.Quit() && strings.Contains(screen, band+"two") })
}

func TestRetryAfterFailure(t *testing.T) {
	s := setUp(t, 80, 24, llmtest.Fail(&llm.Error{Fault: llm.Server, Message: "boom"}), llmtest.Say("recovered"))
	s.ask("hi", "boom")
	s.Press("ctrl+x", "r").WaitForText("recovered")
	if got := s.fake.Requests()[1].Messages; len(got) != 1 {
		t.Errorf("the prompt was sent twice: %+v", got)
	}
}

func TestSwitchModel(t *testing.T) {
	s := setUp(t, 80, 24, llmtest.Think("hm", "the answer"), llmtest.Say("another answer"))
	s.ask("hi", "the answer")
	s.idle()
	s.Press("ctrl+x", "m").Type("two").Press("enter").WaitForText("fake/one → fake/two")
	s.WaitForText("earlier models' thinking not sent")
	s.ask("more", "another answer")
	s.idle()
	s.Press("f2").WaitForText("fake/two → fake/one")
	s.Press("ctrl+x", "m").Type("gpt").Press("enter").WaitForText("OPENAI_API_KEY, which")
	if got := s.m.App.Session.Model().Name; got != "fake/one" {
		t.Errorf("a model that cannot be opened took over: %s", got)
	}
}

func TestEffort(t *testing.T) {
	s := setUp(t, 80, 24, llmtest.Say("ok"))
	s.Press("alt+.").Press("alt+.").WaitForText("high")
	s.Press("alt+t").WaitForText("off")
	s.ask("hi", "ok")
	if got := s.fake.Requests()[0].Effort; got != llm.EffortOff {
		t.Errorf("effort %q was asked for, want off", got)
	}
}

func TestRewind(t *testing.T) {
	s := setUp(t, 80, 24, llmtest.Say("answer one"), llmtest.Say("answer two"), llmtest.Say("another"))
	s.ask("first", "answer one")
	s.idle()
	s.ask("second", "answer two")
	s.idle()
	s.Press("esc", "esc").WaitForText("Edit which message")
	s.Press("enter").WaitForText("Editing an earlier message")
	s.Press("esc").WaitForScreen(func(screen string) bool { // nothing has changed
		return strings.Contains(screen, "answer two") && strings.Contains(screen, band+"Ask anything")
	})
	s.Press("esc", "esc").WaitForText("Edit which message")
	s.Press("enter").WaitForText("Editing an earlier message")
	s.Type(" try").Press("enter").WaitForText("another")
	s.WaitForScreen(func(screen string) bool { return !strings.Contains(screen, "answer two") })
	if got := s.fake.Requests()[2].Messages; len(got) != 3 || got[2].Text() != "second try" {
		t.Errorf("the branch holds %+v", got)
	}
}

func TestNew(t *testing.T) {
	s := setUp(t, 80, 24, llmtest.Say("the answer"), llmtest.Say("two"))
	s.ask("hi", "the answer")
	s.idle()
	s.Press("ctrl+x", "n").WaitForText("Try")
	s.ask("again", "two")
	if got := len(s.fake.Requests()[1].Messages); got != 1 {
		t.Errorf("a new conversation begins with %d messages, want 1", got)
	}
}

func TestQuit(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		play func(*stage)
		want bool
	}{
		{"ctrl+d on an empty line", func(s *stage) { s.Press("ctrl+d") }, true},
		{"ctrl+d deletes in a draft", func(s *stage) { s.Type("draft").Press("ctrl+d") }, false},
		{"ctrl+c once warns", func(s *stage) { s.Press("ctrl+c").WaitForText("again to quit") }, false},
		{"ctrl+c twice", func(s *stage) { s.Press("ctrl+c", "ctrl+c") }, true},
		{"ctrl+c clears a draft first", func(s *stage) { s.Type("draft").Press("ctrl+c").Press("ctrl+_").WaitForText("draft") }, false},
		{"a slash command", func(s *stage) { s.Type("/quit").Press("enter") }, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := setUp(t, 80, 24)
			tt.play(s)
			s.WaitFor(func() bool { return s.Quit() == tt.want })
		})
	}
}

// Nothing is drawn outside of the terminal, however small it is and however
// often it is resized. The driver fails on a view that does not fit.
func TestAnySize(t *testing.T) {
	s := setUp(t, 80, 24, llmtest.Think("hm\nhm", markdownAnswer), llmtest.Call(llm.Part{ID: "1", Name: "edit", Input: `{"path":"a.txt","old":"beta","new":"gamma"}`}))
	sizes := [][2]int{{1, 1}, {2, 1}, {1, 40}, {10, 3}, {500, 200}, {16, 5}, {80, 24}}
	round := func() {
		for _, size := range sizes {
			s.Resize(size[0], size[1])
		}
	}
	round()
	s.ask("hi", "Println")
	round()
	s.Press("ctrl+x", "m")
	round()
	s.Press("esc").Type("?")
	round()
	s.Press("esc")
	s.idle()
	s.ask("edit", "Edit ")
	round()
}

// The first frame has colors for any background. The terminal's answer changes them
// once, if it arrives before the user reads.
func TestBackground(t *testing.T) {
	white := tea.BackgroundColorMsg{Color: rgb{0xffff, 0xffff, 0xffff}}
	s := setUp(t, 80, 24)
	before := s.Styled()
	s.clock.Add(200 * time.Millisecond)
	s.Send(white)
	if s.Styled() == before || s.m.Theme.Name != "light" {
		t.Errorf("on a light background the theme is %s", s.m.Theme.Name)
	}
}

// A late answer changes nothing, unless the user asked again.
func TestLateBackground(t *testing.T) {
	white := tea.BackgroundColorMsg{Color: rgb{0xffff, 0xffff, 0xffff}}
	late := setUp(t, 80, 24)
	before := late.Styled()
	late.clock.Add(time.Second)
	late.Send(white)
	if late.Styled() != before {
		t.Error("a late answer changes what is being read")
	}
	late.Type("/theme auto").Press("enter").Send(white)
	if late.m.Theme.Name != "light" {
		t.Errorf("asked again, the theme is %s", late.m.Theme.Name)
	}
}

type rgb [3]uint32

func (c rgb) RGBA() (r, g, b, a uint32) { return c[0], c[1], c[2], 0xffff }

func TestKeysAreUnique(t *testing.T) {
	seen := map[string]string{}
	names := map[string]bool{}
	for _, a := range actions(flows.Commands()) {
		if names[a.Name] {
			t.Errorf("two actions are called %q", a.Name)
		}
		names[a.Name] = true
		if a.Help == "" {
			t.Errorf("%q has no help", a.Name)
		}
		for _, k := range a.Keys {
			if seen[k] != "" {
				t.Errorf("%s is bound to %s and %s", k, seen[k], a.Name)
			}
			seen[k] = a.Name
			for _, taken := range []string{"ctrl+b", "ctrl+a", "ctrl+s", "ctrl+q", "ctrl+h", "ctrl+i", "ctrl+m"} {
				if k == taken {
					t.Errorf("%s: %s belongs to tmux, screen, flow control or the terminal", a.Name, k)
				}
			}
		}
	}
}

// options returns the options of m, to create an identical screen.
func (m *Model) options() Options {
	return Options{App: m.App.Options, Config: m.Config, Panels: panels.New}
}

// long tries many more hostile texts, sizes and seeds.
var long = os.Getenv("PARLEY_LONG") == "1"
