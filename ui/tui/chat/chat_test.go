package chat

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"parley/providers/llm"
	"parley/providers/llmtest"
	"parley/session"
	"parley/tools/act"
	"parley/ui/app"
	"parley/ui/app/blocks"
	"parley/ui/app/wording"
	"parley/ui/clip"
	"parley/ui/tui/common"
	"parley/ui/tui/transcript"
)

// A talk is a chat with a model that answers as scripted, a stopped clock, and the messages sent to the screen.
type talk struct {
	*Chat
	now  time.Time
	did  []string // effects
	mu   sync.Mutex
	sent []tea.Msg
}

func newTalk(t *testing.T, turns ...llmtest.Turn) *talk {
	t.Helper()
	k := &talk{now: time.Unix(1e9, 0).UTC()}
	clock := func() time.Time { return k.now }
	c := common.DefaultConfig()
	c.Images, c.Motion = "off", "off"
	s := common.New(c, func(string) string { return "" }, clock)
	s.Tick = func(time.Duration, tea.Msg) tea.Cmd { return func() tea.Msg { return nil } }
	s.KeyOf = func(action string) string { return "<" + action + ">" }
	s.Send = func(msg tea.Msg) {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.sent = append(k.sent, msg)
	}
	s.SetClipboard(common.Clipboard{
		Put:        func(text string) func(context.Context) clip.Result { k.did = append(k.did, "copied "+text); return nil },
		AbbrevPath: func(path string) string { return path },
	})
	a := app.New(app.Options{
		Session: session.New(session.Options{Model: llm.Endpoint{Model: llmtest.New(turns...), Name: "fake/one", Context: 100_000}, Now: clock}), Now: clock,
	})
	k.Chat = New(s, a)
	k.Perform = func(e app.Effect) tea.Cmd { k.did = append(k.did, fmt.Sprintf("%T", e)); return nil }
	k.OnEvent = func(e session.Event) tea.Cmd {
		k.Apply(e, nil)
		if _, ok := e.(session.Done); ok {
			k.Turn = nil
		}
		return nil
	}
	k.Transcript.SetSize(100, 30)
	t.Cleanup(k.Running.Wait)
	return k
}

// deliver waits for the goroutines of the screen and handles what they sent.
func (k *talk) deliver() {
	k.Running.Wait()
	for {
		k.mu.Lock()
		sent := k.sent
		k.sent = nil
		k.mu.Unlock()
		if len(sent) == 0 {
			return
		}
		for _, msg := range sent {
			cmd, _ := k.Update(msg)
			messages(cmd)
		}
	}
}

// text returns the transcript without blank lines, margins and the scroll bar.
func (k *talk) text() string {
	var rows []string
	for row := range strings.SplitSeq(ansi.Strip(k.Transcript.View()), "\n") {
		if row = strings.Join(strings.Fields(strings.TrimSuffix(row, "┃")), " "); row != "" {
			rows = append(rows, row)
		}
	}
	return strings.Join(rows, "\n")
}

func text(s string) llm.Part { return llm.Part{Kind: llm.Text, Text: s} }

// Every kind of change is shown.
func TestDraw(t *testing.T) {
	prompt := func(parts ...llm.Part) session.Event {
		return session.Prompt{Message: llm.Message{Role: llm.RoleUser, Parts: parts}}
	}
	retry := llm.Retry{Attempt: 1, Wait: 5 * time.Second, Fault: llm.RateLimit}
	remote := retry
	remote.Remote = true
	for _, tt := range []struct {
		name      string
		changes   []blocks.Change
		want, not string // parts of the text; not may be ""
	}{
		{"a prompt", []blocks.Change{{ID: "1", Kind: blocks.UserBlock, Event: prompt(text("hello"))}}, "hello", ""},
		{"an answer", []blocks.Change{{ID: "1", Kind: blocks.TextBlock, Text: "one "}, {ID: "1", Kind: blocks.TextBlock, Op: blocks.Grown, Text: "two"}, {ID: "1", Kind: blocks.TextBlock, Op: blocks.Closed}}, "one two", ""},
		{"a renamed answer", []blocks.Change{{ID: "1", Kind: blocks.ThinkingBlock, Text: "before"}, {ID: "2", Was: "1", Kind: blocks.TextBlock, Op: blocks.Renamed, Text: "after"}}, "after", "∴"},
		{"thinking", []blocks.Change{{ID: "1", Kind: blocks.ThinkingBlock, Text: "hm"}, {ID: "1", Kind: blocks.ThinkingBlock, Op: blocks.Closed, Duration: 3 * time.Second}}, "thought for 3 s", ""},
		{"a dropped block", []blocks.Change{{ID: "1", Kind: blocks.SilenceBlock, Duration: 2 * time.Minute}, {ID: "2", Kind: blocks.TextBlock, Text: "hi"}, {ID: "1", Kind: blocks.SilenceBlock, Op: blocks.Dropped}}, "hi", "No content"},
		{"silence", []blocks.Change{{ID: "1", Kind: blocks.SilenceBlock, Duration: 2 * time.Minute}}, "No content for 2 min, the server is still there · <wait> wait · <stop> stop", ""},
		{"an event", []blocks.Change{{ID: "1", Event: llm.Notice{Text: "take care"}}}, "take care", ""},
		{"a repeated event", []blocks.Change{{ID: "1", Event: llm.Notice{Text: "take care"}, Repeats: true}, {ID: "2", Kind: blocks.TextBlock, Text: "hi"}}, "hi", "care"},
		{"a source", []blocks.Change{{ID: "1", Kind: blocks.SourceBlock, Count: 2, Part: &llm.Part{Kind: llm.Source, URL: "https://example.com"}}}, "[2] https://example.com", ""},
		{"media", []blocks.Change{{ID: "1", Kind: blocks.MediaBlock, Part: &llm.Part{Kind: llm.Media, MIME: "audio/wav", Name: "a.wav", Data: []byte("x")}}}, "a.wav", ""},
		{"a summary", []blocks.Change{{ID: "1", Kind: blocks.SummaryBlock, Text: "in short", Count: 7}}, "7", ""},
		{"a retry", []blocks.Change{{ID: "1", Kind: blocks.RetryBlock, Event: retry, Duration: 5 * time.Second}}, "<now> now · <stop> stops", ""},
		{"a retry now", []blocks.Change{{ID: "1", Kind: blocks.RetryBlock, Event: retry}}, "<stop> stops", "<now>"},
		{"a retry of the server", []blocks.Change{{ID: "1", Kind: blocks.RetryBlock, Event: remote, Duration: 5 * time.Second}}, "<stop> stops", "<now>"},
		{"interrupted by the user", []blocks.Change{{ID: "1", Kind: blocks.InterruptedBlock}}, wording.Stopped, ""},
		{"interrupted by the end", []blocks.Change{{ID: "1", Kind: blocks.InterruptedBlock, Text: session.EndedText}}, wording.Interrupted, ""},
		{"interrupted by an error", []blocks.Change{{ID: "1", Kind: blocks.InterruptedBlock, Text: "server is gone"}}, "server is gone", ""},
		{"a call", []blocks.Change{{ID: "1", Kind: blocks.ToolBlock, Tool: &blocks.Tool{Name: "shell", Input: `{"command":"make"}`, Status: blocks.CallRunning, Stops: true}}, {ID: "1", Kind: blocks.ToolBlock, Op: blocks.Grown, Text: "compiling"}}, "compiling", ""},
		{"a call that can be stopped", []blocks.Change{{ID: "1", Kind: blocks.ToolBlock, Tool: &blocks.Tool{Name: "shell", Input: `{"command":"make"}`, Status: blocks.CallRunning, Stops: true}}}, "<stop> stops it", ""},
		{"a call that cannot", []blocks.Change{{ID: "1", Kind: blocks.ToolBlock, Tool: &blocks.Tool{Name: "shell", Input: `{"command":"make"}`, Status: blocks.CallRunning}}}, "make", "stops it"},
		{"totals", []blocks.Change{{ID: "1", Kind: blocks.FooterBlock, Totals: &blocks.Totals{Model: "a/b", Answered: true, Usage: llm.Usage{Input: 9}}}}, "b · 9 in", ""},
		{"totals of no answer", []blocks.Change{{ID: "1", Kind: blocks.FooterBlock, Totals: &blocks.Totals{Model: "a/b", Incomplete: "cut off"}}}, "cut off", "b"},
		{"an empty answer", []blocks.Change{{ID: "1", Kind: blocks.FooterBlock, Totals: &blocks.Totals{Answered: true, Empty: true}}}, blocks.EmptyAnswer + " · <retry> retry", ""},
		{"an empty answer that was stopped", []blocks.Change{{ID: "1", Kind: blocks.FooterBlock, Totals: &blocks.Totals{Model: "a/b", Answered: true, Empty: true, Incomplete: "cut off", Interrupted: true}}}, "b", blocks.EmptyAnswer},
	} {
		k := newTalk(t)
		k.drawAll(tt.changes)
		if got := k.text(); !strings.Contains(got, tt.want) || tt.not != "" && strings.Contains(got, tt.not) {
			t.Errorf("%s: want %q, not %q:\n%s", tt.name, tt.want, tt.not, got)
		}
	}
}

// Events between messages are shown. Several switches of the model are one, and none if they lead back.
func TestShow(t *testing.T) {
	gone := &llm.Error{Fault: llm.RateLimit, Message: "too much"}
	for _, tt := range []struct {
		name   string
		events []session.Event
		want   string
		not    string
	}{
		{"a notice", []session.Event{llm.Notice{Text: "take care"}}, "take care", ""},
		{"a fallback", []session.Event{session.Fallback{From: "a/one", To: "a/two"}}, "a/two", ""},
		{"a switch", []session.Event{session.ModelSwitched{From: "a", To: "b"}}, "Model: a → b", ""},
		{"two switches", []session.Event{session.ModelSwitched{From: "a", To: "b"}, session.ModelSwitched{From: "b", To: "c"}}, "Model: a → c", "b"},
		{"back", []session.Event{session.ModelSwitched{From: "a", To: "b"}, session.ModelSwitched{From: "b", To: "a"}}, "", "Model"},
		{"two switches with something between", []session.Event{session.ModelSwitched{From: "a", To: "b"}, llm.Notice{Text: "asked"}, session.ModelSwitched{From: "b", To: "c"}}, "Model: a → b\n· asked\n⇄ Model: b → c", ""},
		{"switches that do not join", []session.Event{session.ModelSwitched{From: "a", To: "b"}, session.ModelSwitched{From: "x", To: "c"}}, "Model: x → c", ""},
		{"a persona", []session.Event{session.Persona{Name: "tester"}}, "tester", ""},
		{"a setting", []session.Event{session.Settings{Changed: "temperature 0.2"}}, "Set: temperature 0.2", ""},
		{"a verdict", []session.Event{session.Verdict{Judge: "j", Model: "m", Reason: "short"}}, "Judge j: A, m · short", ""},
		{"folders", []session.Event{session.AddedDirectories{Dirs: []string{"/a", "/b"}}}, "Added folders: /a, /b", ""},
		{"a summary", []session.Event{session.Compacted{Before: 10, After: 4}}, "10 → 4 tokens", ""},
		{"the sandbox", []session.Event{session.Sandbox{Text: "it changed x"}}, "It changed x", ""},
		{"a command", []session.Event{session.ShellCommand{Command: "make", Output: "fine", Ended: true}}, "make", ""},
		{"an error", []session.Event{session.Done{Err: gone}}, "<retry> retry", ""},
		{"an error after the answer", []session.Event{session.Done{Err: gone, AnswerComplete: true}}, "too much", "<retry>"},
		{"stopped", []session.Event{session.Done{Err: context.Canceled}}, wording.Stopped, "<retry>"},
		{"stopped after the answer", []session.Event{llm.Notice{Text: "before"}, session.Done{Err: context.Canceled, AnswerComplete: true}}, "before", wording.Stopped},
	} {
		k := newTalk(t)
		for _, e := range tt.events {
			k.Show(e)
		}
		if got := k.text(); !strings.Contains(got, tt.want) || tt.not != "" && strings.Contains(got, tt.not) || !k.HasContent {
			t.Errorf("%s: want %q, not %q:\n%s", tt.name, tt.want, tt.not, got)
		}
	}
	k := newTalk(t)
	k.Note("a note")
	if notes := k.App.Session.Annotations(nil); len(notes) != 1 || !strings.Contains(k.text(), "a note") {
		t.Errorf("the note is not stored: %v", notes)
	}
}

// The activity is told in a word or two, and how long it lasts from one second on.
func TestTurnState(t *testing.T) {
	k := newTalk(t)
	for _, tt := range []struct {
		turn          Turn
		after         time.Duration
		want, elapsed string
	}{
		{Turn{}, 0, "waiting", ""}, {Turn{}, time.Second - 1, "waiting", ""}, {Turn{}, time.Second, "waiting", " 1 s"},
		{Turn{}, 15 * time.Second, "waiting", " 15 s"}, {Turn{}, 15*time.Second + 1, "no answer yet", " 15 s"}, {Turn{Stopped: true}, time.Minute, "stopping", " 1 min 00 s"},
		{Turn{Turn: blocks.Turn{Activity: blocks.Activity{Kind: blocks.Running, Tool: "shell"}}}, 0, "running shell", ""},
		{Turn{Turn: blocks.Turn{Activity: blocks.Activity{Kind: blocks.Reasoning}}}, 0, "thinking", ""}, {Turn{Turn: blocks.Turn{Activity: blocks.Activity{Kind: blocks.MakingImage}}}, 0, "drawing", ""},
	} {
		tt.turn.Begin(k.now, k.App.Session)
		now := k.now.Add(tt.after)
		if got, elapsed := tt.turn.State(now), tt.turn.Elapsed(now); got != tt.want || elapsed != tt.elapsed {
			t.Errorf("after %s: %q, %q; want %q, %q", tt.after, got, elapsed, tt.want, tt.elapsed)
		}
	}
	turn := Turn{}
	turn.Begin(k.now, k.App.Session)
	turn.Turn.Apply(llm.Retry{Wait: time.Hour}, k.now)
	if got := turn.State(k.now.Add(time.Minute)); got != "waiting" {
		t.Errorf("before a retry: %q", got)
	}
}

// A prompt is sent, its answer is shown, and only one turn runs at a time.
func TestPlay(t *testing.T) {
	k := newTalk(t, llmtest.Say("fine"), llmtest.Say("again"))
	if k.SendPrompt(text("hello")) == nil || k.Turn == nil {
		t.Fatal("no turn runs")
	}
	turn := k.Turn
	if k.Play(func(context.Context) iter.Seq[session.Event] { return nil }); k.ToastText() != "Stop the running turn first" || k.Turn != turn {
		t.Errorf("a second turn: said %q", k.ToastText())
	}
	if cmd, _ := k.Update(TickMsg{turn}); cmd == nil {
		t.Error("the clock of the turn stops")
	}
	if cmd, _ := k.Update(TickMsg{&Turn{}}); cmd != nil {
		t.Error("the clock of another turn still runs")
	}
	old := k.pump
	k.deliver()
	if got := k.text(); !strings.Contains(got, "hello\nfine") || k.Turn != nil || !k.HasContent {
		t.Errorf("shown:\n%s", got)
	}
	if cmd, _ := k.Update(TickMsg{turn}); cmd != nil {
		t.Error("the clock still runs after the turn")
	}
	k.App.Session.Queue.Add(text("more"))
	if k.Next(); k.Turn == nil {
		t.Fatal("the next prompt is not sent")
	}
	k.Running.Wait()
	old.put(llm.Notice{Text: "late"})
	if k.deliver(); !strings.Contains(k.text(), "more\nagain") || strings.Contains(k.text(), "late") {
		t.Errorf("shown:\n%s", k.text())
	}
	if k.Stop() != nil {
		t.Error("a turn is stopped, and none runs")
	}
	k.Cancel()
	if cmd, ok := k.Update(transcript.StopMsg("x")); cmd != nil || !ok {
		t.Error("a call is stopped, and none runs")
	}
}

// A turn ends when it is stopped, or when the screen closes.
func TestStop(t *testing.T) {
	for _, tt := range []struct {
		name string
		stop func(*talk)
		want error
	}{
		{"stop", func(k *talk) { k.Stop() }, context.Canceled}, {"esc", func(k *talk) { k.StopCallOrTurn() }, context.Canceled}, {"the screen closes", func(k *talk) { k.Cancel() }, session.ErrProgramEnded},
	} {
		k := newTalk(t)
		var got error
		k.Play(func(ctx context.Context) iter.Seq[session.Event] {
			return func(func(session.Event) bool) {
				<-ctx.Done()
				got = context.Cause(ctx)
			}
		})
		stopped := tt.name != "the screen closes"
		if tt.stop(k); k.Turn.Stopped != stopped {
			t.Errorf("%s: stopped %t", tt.name, k.Turn.Stopped)
		}
		if k.Running.Wait(); !errors.Is(got, tt.want) {
			t.Errorf("%s: ended by %v", tt.name, got)
		}
		if k.Close(); !k.pump.closed {
			t.Errorf("%s: the pump is open", tt.name)
		}
	}
}

// Waiting can be ended, or extended while a model is silent.
func TestWaiting(t *testing.T) {
	k := newTalk(t)
	k.Play(func(context.Context) iter.Seq[session.Event] { return func(func(session.Event) bool) {} })
	if k.ExtendSilence(); k.ToastText() != "Waiting" {
		t.Errorf("said %q", k.ToastText())
	}
	k.Apply(llm.Retry{Attempt: 1, Wait: time.Minute, Fault: llm.RateLimit}, nil)
	if k.ExtendSilence(); k.ToastText() != "Waiting, 1 min 0 s left" || !strings.Contains(k.text(), "<now> now") {
		t.Errorf("said %q:\n%s", k.ToastText(), k.text())
	}
	if k.RetryNow(); strings.Contains(k.text(), "<now> now") {
		t.Errorf("the countdown stays:\n%s", k.text())
	}
	k.Apply(session.Prompt{Message: llm.Message{Parts: []llm.Part{text("left out")}}}, func(c blocks.Change) bool { return c.Kind == blocks.UserBlock })
	if strings.Contains(k.text(), "left out") {
		t.Error("a change is shown that was to be left out")
	}
}

// A stored conversation is shown from its last page on; earlier pages come as the user scrolls.
func TestReplay(t *testing.T) {
	const turns = 400
	var says []llmtest.Turn
	for i := range turns {
		says = append(says, llmtest.Say(fmt.Sprintf("answer %03d", i)))
	}
	k := newTalk(t, says...)
	for i := range turns {
		for range k.App.Session.Turn(t.Context(), text(fmt.Sprintf("prompt %03d", i))) {
		}
	}
	k.Show(llm.Notice{Text: "of another conversation"})
	k.SaveErr = errors.New("disk")
	if k.ShowSession(); k.SaveErr != nil || !k.HasContent || !strings.Contains(k.text(), "answer 399") || strings.Contains(k.text(), "another") {
		t.Errorf("shown:\n%s", k.text())
	}
	for range 100 {
		if k.Transcript.Top(); strings.Contains(k.text(), "prompt 000\nanswer 000") {
			break
		}
	}
	if got := k.text(); !strings.Contains(got, "prompt 000\nanswer 000") {
		t.Errorf("at the top:\n%s", got)
	}
	seen := map[string]int{}
	for range 10 * turns {
		for row := range strings.SplitSeq(k.text(), "\n") {
			seen[row]++
		}
		if k.Transcript.AtBottom() {
			break
		}
		k.Transcript.Scroll(20)
	}
	for i := range turns {
		if want := fmt.Sprintf("answer %03d", i); seen[want] == 0 {
			t.Fatalf("%s is never shown", want)
		}
	}
	empty := newTalk(t)
	if empty.ShowSession(); empty.HasContent {
		t.Error("an empty conversation has content")
	}
}

// A command of the user's own is shown while it runs. Its output goes with the next prompt.
func TestShell(t *testing.T) {
	k := newTalk(t)
	if k.Shell("make", "", func() {}); k.ToastText() != "No shell here" || k.HasContent {
		t.Errorf("said %q", k.ToastText())
	}
	forgot, remembered, reported, wait := false, 0, make(chan struct{}), make(chan struct{})
	k.App.Machine.Shell = func(ctx context.Context, _, command string, progress func(string)) act.Outcome {
		progress("part of " + command + "\n")
		close(reported)
		select {
		case <-wait:
		case <-ctx.Done():
		}
		return act.Outcome{Text: "part of " + command + "\nall of it\n"}
	}
	if k.Shell(" \n", "", func() {}); k.HasContent || k.StopShells() {
		t.Error("an empty command runs")
	}
	k.Shell(" make ", "draft", func() { forgot, remembered = true, len(k.App.Drafts().Shells("draft")) })
	<-reported
	k.mu.Lock()
	first := k.sent[0]
	k.sent = k.sent[1:]
	k.mu.Unlock()
	k.Update(first)
	if got := k.text(); !strings.Contains(got, "make") || !strings.Contains(got, "part of make") || !strings.Contains(got, "esc stops it") || !k.HasContent {
		t.Errorf("while it runs:\n%s", got)
	}
	if k.ShowSession(); !strings.Contains(k.text(), "esc stops it") {
		t.Errorf("shown again while it runs:\n%s", k.text())
	}
	close(wait)
	k.deliver()
	if got := k.text(); strings.Contains(got, "stops it") || !strings.Contains(got, "all of it") || !forgot || remembered != 1 {
		t.Errorf("after it ended (forgot %t, %d records):\n%s", forgot, remembered, got)
	}
	if k.StopShells() || len(k.App.Attached) != 1 || strings.Join(k.did, " ") != "app.Attached" {
		t.Errorf("attached %v, did %q", k.App.Attached, k.did)
	}
	k.OnDraftStored(func() { k.did = append(k.did, "stored") })
	end := k.TakeEndedCommands()
	if len(k.App.Drafts().Shells("draft")) != 1 {
		t.Error("the record is removed before the output is stored")
	}
	if end(); len(k.App.Drafts().Shells("draft")) != 0 || k.did[len(k.did)-1] != "stored" {
		t.Error("the record stays")
	}
	if k.TakeEndedCommands()(); len(k.did) != 2 {
		t.Errorf("ended twice: %q", k.did)
	}
}

// The end of a command is told by its sign and its color.
func TestShellTool(t *testing.T) {
	for _, tt := range []struct {
		e    session.ShellCommand
		want transcript.Status
	}{
		{session.ShellCommand{}, transcript.Lost}, {session.ShellCommand{Failed: true}, transcript.Lost}, {session.ShellCommand{Ended: true}, transcript.Done},
		{session.ShellCommand{Ended: true, Failed: true}, transcript.Failed}, {session.ShellCommand{Ended: true, Failed: true, Stopped: true}, transcript.Canceled},
	} {
		if got := shellTool(tt.e).Status; got != tt.want {
			t.Errorf("%+v: status %v, want %v", tt.e, got, tt.want)
		}
	}
	if tool := shellTool(session.ShellCommand{Command: "make", Output: "a", Notes: "b"}); tool.Title != "make" || tool.Output != "ab" || tool.Notes != "b" {
		t.Errorf("%+v", tool)
	}
}

// Commands end with the screen. A command of another conversation is not shown in this one, and its output is attached there.
func TestShellOfAnotherConversation(t *testing.T) {
	k := newTalk(t)
	k.App.Machine.Shell = func(ctx context.Context, _, _ string, progress func(string)) act.Outcome {
		<-ctx.Done()
		progress("late words")
		return act.Outcome{Text: "late words"}
	}
	k.Shell("make", "draft", func() {})
	k.App.Session = newTalk(t).App.Session
	k.ShowSession()
	k.Cancel()
	if k.deliver(); strings.Contains(k.text(), "late words") || strings.Contains(k.text(), "make") {
		t.Errorf("shown:\n%s", k.text())
	}
}

// The screen tells that messages cannot be stored, once, and that they are again.
func TestSaved(t *testing.T) {
	k := newTalk(t)
	of := func(err error) { k.Update(SavedMsg{k.App.Session, err}) }
	k.Update(SavedMsg{newTalk(t).App.Session, errors.New("disk is full")})
	if k.text() != "" || k.SaveErr != nil {
		t.Errorf("another conversation:\n%s", k.text())
	}
	of(errors.New("disk is full"))
	of(errors.New("disk is full"))
	if got := k.text(); strings.Count(got, "Not saved (disk is full)") != 1 || k.SaveErr == nil {
		t.Errorf("%v:\n%s", k.SaveErr, got)
	}
	if of(nil); k.ToastText() != wording.SavedAgain || k.SaveErr != nil || strings.Contains(k.text(), wording.SavedAgain) {
		t.Errorf("said %q", k.ToastText())
	}
}

// Messages of the transcript are passed on.
func TestUpdate(t *testing.T) {
	k := newTalk(t)
	k.Update(transcript.CopyMsg{Text: "some text", What: "answer"})
	if _, ok := k.Update(transcript.ToastMsg("nothing here")); !ok || k.ToastText() != "Nothing here" || strings.Join(k.did, " ") != "copied some text" {
		t.Errorf("said %q, did %q", k.ToastText(), k.did)
	}
	c := common.DefaultConfig()
	c.Images = "blocks"
	if _, ok := k.Update(app.Reconfigured{UI: c}); ok || k.images.setting != "blocks" {
		t.Errorf("images %q", k.images.setting)
	}
	if _, ok := k.Update(nil); ok {
		t.Error("an unknown message is known")
	}
}
