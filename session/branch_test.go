package session_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"parley/providers/llm"
	"parley/providers/llmtest"
	. "parley/session"
	"parley/tools"
	"parley/tools/act"
)

// texts returns what the current branch says.
func texts(s *Session) []string {
	var out []string
	for _, m := range s.History() {
		out = append(out, m.Text())
	}
	return out
}

// branches draws the tree: depth, label, length, and a star for the current one.
func branches(s *Session) []string {
	var out []string
	for _, b := range s.Branches() {
		mark := ""
		if b.Active {
			mark = "*"
		}
		out = append(out, fmt.Sprintf("%s%s%s+%d→%d", strings.Repeat(" ", b.Depth), mark, b.Node.Text(), b.Length-1, b.Tip))
	}
	return out
}

// TestBranchPaths: the figure of a branch is what can be counted on the screen where it is opened,
// and on the current path never more than that has.
func TestBranchPaths(t *testing.T) {
	fake := llmtest.New(llmtest.Say("1"), llmtest.Say("2"), llmtest.Say("3"), llmtest.Say("4"), llmtest.Say("5"))
	s := New(Options{Model: endpoint("a/a", fake)})
	steps := []struct {
		name string
		do   func() error
		want []string
	}{
		{"one way", func() error {
			play(t.Context(), s, nil, say("one"))
			play(t.Context(), s, nil, say("two"))
			play(t.Context(), s, nil, say("three"))
			return nil
		}, []string{"one 6"}},
		{"a short branch beside a long one", func() error {
			_, err := s.Branch.Rewind(3)
			play(t.Context(), s, nil, say("other"))
			return err
		}, []string{"one 4", "two 4", "other 2"}},
		{"the long one again", func() error { return s.Branch.Switch(3) }, []string{"one 6", "two 4", "other 2"}},
		{"a branch that was left counts the way that grew last", func() error {
			err := s.Branch.Regenerate(8)
			play(t.Context(), s, nil)
			return errors.Join(err, s.Branch.Switch(3))
		}, []string{"one 6", "two 4", "other 2", "4 1", "5 1"}},
		{"the current path ends where it parts", func() error { _, err := s.Branch.Rewind(3); return err }, []string{"one 2", "two 4", "other 2", "4 1", "5 1"}},
	}
	for _, tt := range steps {
		if err := tt.do(); err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		var got []string
		for _, b := range s.Branches() {
			got = append(got, fmt.Sprint(b.Node.Text(), " ", b.Path))
			if b.Active && b.Path > len(s.Path()) {
				t.Errorf("%s: %q has %d messages, and the path %d", tt.name, b.Node.Text(), b.Path, len(s.Path()))
			}
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestBranches(t *testing.T) {
	fake := llmtest.New(llmtest.Say("1"), llmtest.Say("2"), llmtest.Say("3"), llmtest.Say("4"))
	s := New(Options{Model: endpoint("a/a", fake)})
	play(t.Context(), s, nil, say("one"))
	play(t.Context(), s, nil, say("two"))

	steps := []struct {
		name     string
		do       func() error
		path     []string
		branches []string
	}{
		{"as it was said", func() error { return nil },
			[]string{"one", "1", "two", "2"}, []string{"*one+3→4"}},
		{"an edited message is a branch", func() error {
			m, err := s.Branch.Rewind(3)
			if err == nil && m.Text() != "two" {
				err = fmt.Errorf("got %q back", m.Text())
			}
			play(t.Context(), s, nil, say("other"))
			return err
		}, []string{"one", "1", "other", "3"}, []string{"*one+1→2", " two+1→4", " *other+1→6"}},
		{"another answer is a branch", func() error {
			err := s.Branch.Regenerate(6)
			play(t.Context(), s, nil)
			return err
		}, []string{"one", "1", "other", "4"}, []string{"*one+1→2", " two+1→4", " *other+0→5", "  3+0→6", "  *4+0→7"}},
		{"switching goes to the end of the branch", func() error { return s.Branch.Switch(3) },
			[]string{"one", "1", "two", "2"}, []string{"*one+1→2", " *two+1→4", " other+0→5", "  3+0→6", "  4+0→7"}},
		{"the first message can be edited too", func() error { return s.Branch.Edit(1) },
			nil, []string{"one+1→2", " two+1→4", " other+0→5", "  3+0→6", "  4+0→7"}},
	}
	for _, tt := range steps {
		if err := tt.do(); err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		if got := texts(s); !slices.Equal(got, tt.path) {
			t.Errorf("%s: the conversation is %q, want %q", tt.name, got, tt.path)
		}
		if got := branches(s); !slices.Equal(got, tt.branches) {
			t.Errorf("%s: the tree is\n%s\nwant\n%s", tt.name, strings.Join(got, "\n"), strings.Join(tt.branches, "\n"))
		}
	}
	if err := s.Branch.Edit(2); err == nil {
		t.Error("an answer cannot be edited")
	}
	if err := s.Branch.Edit(8); err == nil {
		t.Error("there are seven messages")
	}
}

func TestWindow(t *testing.T) {
	// A word is a token here, and a message ten more.
	count := func(text string) int { return len(strings.Fields(text)) }
	long := strings.Repeat("word ", 30)
	tests := []struct {
		name   string
		mode   HistoryMode
		window int
		want   []string // what the request for "third" holds
		notice string
	}{
		{"everything", HistoryFull, 200, []string{"first", "a1", "second", "a2", "third"}, ""},
		{"nothing of before", HistoryStateless, 200, []string{"third"}, ""},
		{"whole turns that fit", HistoryDynamic, 200, []string{"second", "a2", "third"}, "the oldest turn is not sent: the context window of m/m is 200 tokens"},
		{"all of it fits", HistoryDynamic, 2000, []string{"first", "a1", "second", "a2", "third"}, ""},
		{"what is asked always goes out", HistoryDynamic, 10, []string{"third"}, "the oldest 2 turns are not sent: the context window of m/m is 10 tokens"},
		{"an unknown window leaves nothing out", HistoryDynamic, 0, []string{"first", "a1", "second", "a2", "third"}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			fake := llmtest.New(llmtest.Say("a1 "+long), llmtest.Say("a2"), llmtest.Say("a3"))
			model := endpoint("m/m", fake)
			model.Context = tt.window
			s := New(Options{Model: model, Config: Config{History: string(tt.mode)}, EstimateTokens: count})
			play(t.Context(), s, nil, say("first "+long))
			play(t.Context(), s, nil, say("second "+long))
			events := play(t.Context(), s, nil, say("third"))
			var got []string
			for _, m := range fake.Requests()[2].Messages {
				got = append(got, strings.Fields(m.Text())[0])
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("the request holds %q, want %q", got, tt.want)
			}
			notice := ""
			for _, e := range events {
				if n, ok := e.(llm.Notice); ok {
					notice = n.Text
				}
			}
			if notice != tt.notice {
				t.Errorf("told %q, want %q", notice, tt.notice)
			}
		})
	}
}

// Messages that a summary replaces are not left out, and a summary is no turn.
func TestWindowWithSummary(t *testing.T) {
	count := func(text string) int { return len(strings.Fields(text)) }
	long := strings.Repeat("word ", 30)
	tests := []struct {
		window int
		want   []string // what the request for "fourth" holds, the summary as "sum"
		notice string
	}{
		{2000, []string{"sum", "third", "a3", "fourth"}, ""},
		{450, []string{"third", "a3", "fourth"}, "the summary of the messages before is not sent: the context window of m/m is 450 tokens"},
		{10, []string{"fourth"}, "the summary and the oldest turn are not sent: the context window of m/m is 10 tokens"},
	}
	for _, tt := range tests {
		fake := llmtest.New(llmtest.Say("a1 "+strings.Repeat(long, 30)), llmtest.Say("a2"), llmtest.Say("sum "+strings.Repeat(long, 10)), llmtest.Say("a3"), llmtest.Say("a4"))
		model := endpoint("m/m", fake)
		s := New(Options{Model: model, Config: Config{History: string(HistoryDynamic)}, EstimateTokens: count})
		play(t.Context(), s, nil, say("first"))
		play(t.Context(), s, nil, say("second"))
		for range s.Compact(t.Context()) {
		}
		play(t.Context(), s, nil, say("third "+long))
		model.Context = tt.window
		s.SetModel(model)
		notice := ""
		for _, e := range play(t.Context(), s, nil, say("fourth")) {
			if n, ok := e.(llm.Notice); ok {
				notice = n.Text
			}
		}
		var got []string
		for _, m := range fake.Requests()[4].Messages {
			for _, p := range m.Parts {
				word := strings.Fields(p.Text)[0]
				if strings.Contains(p.Text, "sum ") {
					word = "sum"
				}
				got = append(got, word)
			}
		}
		if !slices.Equal(got, tt.want) || notice != tt.notice {
			t.Errorf("window of %d: sent %q and told %q, want %q and %q", tt.window, got, notice, tt.want, tt.notice)
		}
	}
}

func TestCompact(t *testing.T) {
	fake := llmtest.New(llmtest.Say("1"), llmtest.Say("2"), llmtest.Say("They count."), llmtest.Say("3"), llmtest.Say("On."))
	s := New(Options{Model: endpoint("m/m", fake)})
	play(t.Context(), s, nil, say("one"))
	play(t.Context(), s, nil, say("two"))
	var got Compacted
	for e := range s.Compact(t.Context()) {
		switch e := e.(type) {
		case Compacted:
			got = e
		case Done:
			if e.Err != nil {
				t.Fatal(e.Err)
			}
		}
	}
	if got.Text != "They count." || got.Messages != 4 || got.Seq != 5 {
		t.Errorf("got %+v", got)
	}
	asked := fake.Requests()[2]
	if text := asked.Messages[0].Text(); !strings.Contains(text, "Person:\ntwo") || len(asked.Tools) != 0 {
		t.Errorf("the summary was asked for with %q and %d tools", text, len(asked.Tools))
	}
	play(t.Context(), s, nil, say("three"))
	sent := fake.Requests()[3].Messages
	if len(sent) != 1 || !strings.HasSuffix(sent[0].Text(), "go on from it.\n\nThey count.\n\nthree") {
		t.Errorf("the next request holds %+v", sent)
	}
	if got := texts(s); !slices.Equal(got, []string{"one", "1", "two", "2", "three", "3"}) {
		t.Errorf("the conversation is %q: it stays whole", got)
	}
	for e := range s.Compact(t.Context()) { // once more, from the first summary on
		if d, ok := e.(Done); ok && d.Err != nil {
			t.Fatal(d.Err)
		}
	}
	if again := fake.Requests()[4].Messages[0].Text(); !strings.Contains(again, "They count.") || strings.Contains(again, "two") {
		t.Errorf("the second summary was asked for with %q", again)
	}
}

// A summary that fails is not paid for again with each step of a turn, but once there is more to
// summarize.
func TestCompactByItselfFails(t *testing.T) {
	set, _ := workspace(t)
	list := func(tokens int) llmtest.Turn {
		return llmtest.Script(llm.Delta{Block: "c", Part: llm.Part{Kind: llm.Call, ID: "1", Name: "list", Input: "{}"}}, llm.Usage{Input: tokens, Output: 10}, llm.Finish{Reason: llm.Calls})
	}
	no := llmtest.Script(llm.Delta{Block: "1", Part: say("I cannot.")}, llm.Finish{Reason: llm.Refused})
	fake := llmtest.New(list(8500), no, list(8500), list(8500), list(9600), no, llmtest.Say("done"))
	model := endpoint("m/m", fake)
	model.Context = 10_000
	s := New(Options{Model: model, Tools: set, Policy: tools.NewPolicy(act.ModeYolo), Config: Config{CompactAt: 0.8}})
	if err := doneOf(t, play(t.Context(), s, nil, say("go"))).Err; err != nil {
		t.Fatal(err)
	}
	var summaries []int
	for i, r := range fake.Requests() {
		if len(r.Tools) == 0 {
			summaries = append(summaries, i)
		}
	}
	if !slices.Equal(summaries, []int{1, 5}) {
		t.Errorf("of %d requests %v were for a summary", len(fake.Requests()), summaries)
	}
}

func TestCompactByItself(t *testing.T) {
	overflow := llmtest.Fail(&llm.Error{Fault: llm.ContextOverflow, Message: "too long"})
	tests := []struct {
		name  string
		share float64
		used  int // tokens the second answer reports
		turns []llmtest.Turn
		want  []string // last text of each request
		err   bool
	}{
		{"off", 0, 900, []llmtest.Turn{llmtest.Say("3")}, []string{"one", "two", "three"}, false},
		{"not full yet", 0.8, 100, []llmtest.Turn{llmtest.Say("3")}, []string{"one", "two", "three"}, false},
		{"full: what waits for an answer is not summarized", 0.8, 900, []llmtest.Turn{llmtest.Say("sum"), llmtest.Say("3")},
			[]string{"one", "two", "Summarize this conversation.", "three"}, false},
		{"it does not fit: once more with a summary", 0.8, 100, []llmtest.Turn{overflow, llmtest.Say("sum"), llmtest.Say("3")},
			[]string{"one", "two", "three", "Summarize this conversation.", "three"}, false},
		{"it still does not fit", 0.8, 100, []llmtest.Turn{overflow, llmtest.Say("sum"), overflow},
			[]string{"one", "two", "three", "Summarize this conversation.", "three"}, true},
		{"it does not fit, and nobody wants a summary", 0, 100, []llmtest.Turn{overflow}, []string{"one", "two", "three"}, true},
		{"there is no summary: the prompt goes out all the same", 0.8, 900,
			[]llmtest.Turn{llmtest.Fail(&llm.Error{Fault: llm.Server}), llmtest.Say("3")}, []string{"one", "two", "Summarize this conversation.", "three"}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			second := llmtest.Script(llm.Delta{Block: "a", Part: say("2")}, llm.Usage{Input: tt.used - 10, Output: 10}, llm.Finish{Reason: llm.Stop})
			fake := llmtest.New(append([]llmtest.Turn{llmtest.Say("1"), second}, tt.turns...)...)
			model := endpoint("m/m", fake)
			model.Context = 1000
			s := New(Options{Model: model, Config: Config{CompactAt: tt.share}})
			play(t.Context(), s, nil, say("one"))
			play(t.Context(), s, nil, say("two"))
			done := doneOf(t, play(t.Context(), s, nil, say("three")))
			if (done.Err != nil) != tt.err {
				t.Errorf("ended with %v", done.Err)
			}
			var got []string
			for _, r := range fake.Requests() {
				lines := strings.Split(r.Messages[len(r.Messages)-1].Text(), "\n")
				got = append(got, lines[len(lines)-1])
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("asked %q, want %q", got, tt.want)
			}
			if got := texts(s); len(got) < 5 || got[4] != "three" {
				t.Errorf("the conversation is %q", got)
			}
		})
	}
}

// TestRetryEmptyAnswer: an answer that says nothing is asked for again, from the results of tools
// before it on, and stays on a branch. The session of an agent's program is nothing that it says.
func TestRetryEmptyAnswer(t *testing.T) {
	set, _ := workspace(t)
	blank := llmtest.Script(llm.Delta{Block: "t", Part: llm.Part{Kind: llm.Thinking, Text: "hm"}},
		llm.Delta{Block: "s", Part: llm.Part{Kind: llm.Opaque, State: []byte(`{"session":"s-1"}`)}}, llm.Usage{Input: 5, Output: 1}, llm.Finish{Reason: llm.Stop})
	fake := llmtest.New(llmtest.Call(call("1", "read", `{"path":"a.txt"}`)), blank, llmtest.Say("alpha"))
	s := New(Options{Model: endpoint("fake/a", fake), Tools: set, Policy: tools.NewPolicy(act.ModeAsk)})
	if done := doneOf(t, play(t.Context(), s, nil, say("what is in it?"))); done.Err != nil || done.AnswerComplete || !s.Unanswered() {
		t.Fatalf("an answer of thinking alone ends the turn with %+v", done)
	}
	if !s.Branch.DropEmptyAnswer() || s.Branch.DropEmptyAnswer() {
		t.Error("one answer says nothing, and what is in front of it does")
	}
	if done := doneOf(t, play(t.Context(), s, nil)); done.Err != nil || !done.AnswerComplete {
		t.Fatalf("asked again: %+v", done)
	}
	requests := fake.Requests()
	if got, want := spoken(requests[len(requests)-1].Messages), []string{"user: what is in it?", "call", "result"}; !slices.Equal(got, want) {
		t.Errorf("the last request has %q, want %q", got, want)
	}
	if got := texts(s); got[len(got)-1] != "alpha" || len(s.Branches()) != 3 {
		t.Errorf("the conversation is %q, %d branches", got, len(s.Branches()))
	}
}

// TestRewriteUsage: what is shown to fill the window is that of the branch which an answer is
// rewritten on.
func TestRewriteUsage(t *testing.T) {
	used := func(input int) llmtest.Turn {
		return llmtest.Script(llm.Delta{Block: "a", Part: say("ok")}, llm.Usage{Input: input, Output: 1}, llm.Finish{Reason: llm.Stop})
	}
	s := New(Options{Model: endpoint("fake/a", llmtest.New(used(10), used(20), used(90000)))})
	for _, text := range []string{"one", "two", "three"} {
		play(t.Context(), s, nil, say(text))
	}
	if err := s.Branch.Rewrite(4, "better"); err != nil {
		t.Fatal(err)
	}
	if _, last := s.Spending.Usage(); last.Input != 10 {
		t.Errorf("the last response of the branch had %d tokens, want 10", last.Input)
	}
}
