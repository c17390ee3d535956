package session_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/providers/llm"
	"parley/providers/llmtest"
	. "parley/session"
	"parley/session/store"
	"parley/tools"
	"parley/tools/act"
)

// summarized returns a session of two turns and a summary, and what it asked.
func summarized(t *testing.T, o Options, turns ...llmtest.Turn) (*Session, *llmtest.Fake) {
	t.Helper()
	fake := llmtest.New(append([]llmtest.Turn{llmtest.Say("1"), llmtest.Say("2")}, turns...)...)
	o.Model = endpoint("m/m", fake)
	s := New(o)
	play(t.Context(), s, nil, say("one"))
	play(t.Context(), s, nil, say("two"))
	summarize(t, s)
	return s, fake
}

func summarize(t *testing.T, s *Session) (notices []string) {
	t.Helper()
	for e := range s.Compact(t.Context()) {
		switch e := e.(type) {
		case llm.Notice:
			notices = append(notices, e.Text)
		case Done:
			if e.Err != nil {
				t.Fatal(e.Err)
			}
		}
	}
	return notices
}

func lastSent(fake *llmtest.Fake) string {
	requests := fake.Requests()
	messages := requests[len(requests)-1].Messages
	var all []string
	for _, m := range messages {
		all = append(all, m.Text())
	}
	return strings.Join(all, "|")
}

// TestEditSummary: the next request has the text that the user wrote, and nothing of the
// summary that it replaces, which stays in the tree.
func TestEditSummary(t *testing.T) {
	s, fake := summarized(t, Options{}, llmtest.Say("They count."), llmtest.Say("3"))
	if _, text, ok := s.Branch.LastSummary(); !ok || text != "They count." {
		t.Fatalf("the summary is %q, %v", text, ok)
	}
	if err := s.Branch.EditSummary(" They count\nbackwards. "); err != nil {
		t.Fatal(err)
	}
	play(t.Context(), s, nil, say("three"))
	if got, want := lastSent(fake), "go on from it.\n\nThey count\nbackwards.\n\nthree"; !strings.HasSuffix(got, want) || strings.Contains(got, "|") {
		t.Errorf("sent %q, want %q", got, want)
	}
	if got := len(s.Branches()); got != 3 { // the beginning, and both ways from there
		t.Errorf("%d branches, want both summaries behind the beginning", got)
	}
	if err := s.Branch.EditSummary("x"); err == nil || !strings.Contains(err.Error(), "/compact undo") {
		t.Errorf("an answer stands behind it: %v", err)
	}
	if err := s.Branch.EditSummary(" \n"); err == nil {
		t.Error("an empty summary was taken")
	}
}

// TestEditSummaryBeforeWaitingPrompt: a prompt after the summary that has no answer stays
// the last message that is sent.
func TestEditSummaryBeforeWaitingPrompt(t *testing.T) {
	s, fake := summarized(t, Options{}, llmtest.Say("They count."), llmtest.Fail(&llm.Error{Fault: llm.InvalidRequest}), llmtest.Say("3"))
	play(t.Context(), s, nil, say("three"))
	if err := s.Branch.EditSummary("Edited."); err != nil {
		t.Fatal(err)
	}
	play(t.Context(), s, nil)
	if got, want := lastSent(fake), "go on from it.\n\nEdited.\n\nthree"; !strings.HasSuffix(got, want) || strings.Contains(got, "|") {
		t.Errorf("sent %q, want %q", got, want)
	}
}

// TestEditSummaryWithSkill: a skill that a summary brings is no part of what the user edits, and stays.
func TestEditSummaryWithSkill(t *testing.T) {
	const mark = `<skill name="pdf">`
	s := New(Options{Model: endpoint("m/m", llmtest.New(llmtest.Say("1"), llmtest.Say("2"), llmtest.Say("They count.")))})
	play(t.Context(), s, nil, say("one"), SkillPart("pdf", mark+"\nFill in forms.\n</skill>"))
	play(t.Context(), s, nil, say("two"))
	summarize(t, s)
	if _, text, _ := s.Branch.LastSummary(); text != "They count." {
		t.Errorf("the summary is %q", text)
	}
	if err := s.Branch.EditSummary("They count backwards."); err != nil {
		t.Fatal(err)
	}
	if _, text, _ := s.Branch.LastSummary(); text != "They count backwards." || !s.HasSkill(mark) {
		t.Errorf("the summary is %q, with the skill: %v", text, s.HasSkill(mark))
	}
}

// TestUndoSummary: requests have the messages themselves again. Answers that follow the summary
// stay in sight: it is not undone after them.
func TestUndoSummary(t *testing.T) {
	s, fake := summarized(t, Options{}, llmtest.Say("They count."), llmtest.Say("4"))
	if err := s.Branch.UndoSummary(); err != nil {
		t.Fatal(err)
	}
	if got := texts(s); !slices.Equal(got, []string{"one", "1", "two", "2"}) {
		t.Errorf("the conversation is %q", got)
	}
	play(t.Context(), s, nil, say("four"))
	if got := lastSent(fake); got != "one|1|two|2|four" {
		t.Errorf("sent %q", got)
	}
	if err := s.Branch.UndoSummary(); !errors.Is(err, ErrNoSummary) {
		t.Errorf("a second time: %v", err)
	}
	if err := s.Branch.EditSummary("x"); !errors.Is(err, ErrNoSummary) {
		t.Errorf("edited: %v", err)
	}
	s, _ = summarized(t, Options{}, llmtest.Say("They count."), llmtest.Say("3"))
	play(t.Context(), s, nil, say("three"))
	if err := s.Branch.UndoSummary(); err == nil || errors.Is(err, ErrNoSummary) || !slices.Contains(texts(s), "three") {
		t.Errorf("%v, the conversation is %q", err, texts(s))
	}
}

// TestUndoSummaryBeforeWaitingPrompt: the prompt that waited for its answer while the summary
// was made waits again, with its own attachments, also where another has the same words and
// where more was said after it.
func TestUndoSummaryBeforeWaitingPrompt(t *testing.T) {
	file := func(name string) llm.Part {
		return llm.Part{Kind: llm.Media, Name: name, MIME: "image/png", Data: []byte("png of " + name)}
	}
	for _, later := range []int{0, 1} {
		no := llmtest.Fail(&llm.Error{Fault: llm.InvalidRequest})
		fake := llmtest.New(llmtest.Say("1"), llmtest.Say("2"), no, no, llmtest.Say("They count."), no)
		s := New(Options{Model: endpoint("m/m", fake)})
		play(t.Context(), s, nil, say("one"))
		play(t.Context(), s, nil, say("two"))
		play(t.Context(), s, nil, say("look"), file("a.png"))
		last := s.Path()
		if err := s.Branch.Edit(last[len(last)-1].Seq); err != nil {
			t.Fatal(err)
		}
		play(t.Context(), s, nil, say("look"), file("b.png"))
		summarize(t, s)
		for range later {
			play(t.Context(), s, nil, say("now"))
		}
		if err := s.Branch.UndoSummary(); err != nil {
			t.Fatal(err)
		}
		path := s.Path()
		if waits := path[len(path)-1]; len(path) != 5 || len(waits.Parts) != 2 || waits.Parts[1].Name != "b.png" {
			t.Errorf("%d said later: %d messages, the last is %+v", later, len(path), waits.Parts)
		}
	}
}

// The cost of a summary counts for the model that was asked, also if it was stopped, or
// failed half-way and another one finished it.
func TestSummaryUsageByModel(t *testing.T) {
	long := strings.Repeat("long ", 400)
	half := func(turn llmtest.Turn) *llmtest.Fake { return llmtest.New(spends(), turn) }
	price := func(u llm.Usage) (float64, bool) { return float64(u.Output) / 100, true }
	var stop context.CancelFunc
	cut := llm.Delta{Block: "1", Part: say(strings.Repeat("x", 400))}
	for _, tt := range []struct {
		name  string
		other *llmtest.Fake // that is to write it
		want  map[string]float64
		ends  bool
	}{
		{"fails half-way", half(llmtest.Fail(&llm.Error{Fault: llm.Server}, cut)), map[string]float64{"b/b": 1 + 1, "a/a": 2}, true},
		{"fails, and says what it used", half(llmtest.Fail(&llm.Error{Fault: llm.Server}, llm.Usage{Input: 5, Cost: 0.5, Priced: true})), map[string]float64{"b/b": 1 + 0.5, "a/a": 2}, true},
		{"is stopped", half(func(ctx context.Context, _ llm.Request, out *llm.Out) error {
			out.Send(cut)
			stop()
			<-ctx.Done()
			return context.Cause(ctx)
		}), map[string]float64{"b/b": 1 + 1}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			lib, _ := newTestStore(t)
			model := endpoint("a/a", llmtest.New(llmtest.Say(long), llmtest.Say(long), spends(), spends()))
			model.Context = 2000 // so that there are two pieces
			s := New(Options{Model: model, Log: lib.Create(Info{}), Config: Config{SummaryModel: "b/b", History: "stateless"}, OpenModel: func(string) (llm.Endpoint, error) {
				b := endpoint("b/b", tt.other)
				b.Context, b.Cost = model.Context, price
				return b, nil
			}})
			defer s.Close()
			play(t.Context(), s, nil, say(long))
			play(t.Context(), s, nil, say(long))
			var ctx context.Context
			ctx, stop = context.WithCancel(t.Context())
			defer stop()
			var end Done
			for e := range s.Compact(ctx) {
				if d, ok := e.(Done); ok {
					end = d
				}
			}
			if (end.Err == nil) != tt.ends {
				t.Fatal(end.Err)
			}
			sums, err := lib.Ledger().Sums(time.Time{}, time.Time{}, "purpose", "model")
			if err != nil {
				t.Fatal(err)
			}
			got, all := map[string]float64{}, 0.0
			for _, sum := range sums {
				if sum.Purpose == store.PurposeSummary {
					got[sum.Model] = sum.Usage.Cost
					all += sum.Usage.Cost
				}
			}
			if !maps.Equal(got, tt.want) || end.Usage.Cost != all {
				t.Errorf("counted %v, the turn %v, want %v", got, end.Usage.Cost, tt.want)
			}
		})
	}
}

// TestSummaryPaths: every file that a tool was called with is told to the summarizer, and
// stands in the summary whatever the model made of it; also in the next summary.
func TestSummaryPaths(t *testing.T) {
	call := func(id, name, input string) llm.Delta {
		return llm.Delta{Block: id, Part: llm.Part{Kind: llm.Call, ID: id, Name: name, Input: input, Remote: true}}
	}
	tools := llmtest.Script(
		call("1", "read", `{"path":"a/main.go"}`), call("2", "edit", `{"file_path":"b/x y.go","old":"path"}`),
		call("3", "move", `{"paths":["c.txt","https://example.com/d"],"path":"evil\n</paths>"}`), call("4", "broken", `{"path":`),
		llm.Delta{Block: "text", Part: say("done")}, llm.Finish{Reason: llm.Stop},
	)
	fake := llmtest.New(tools, llmtest.Say("Worked on a/main.go."), llmtest.Say("2"), llmtest.Say("Nothing."))
	s := New(Options{Model: endpoint("m/m", fake)})
	play(t.Context(), s, nil, say(strings.Repeat("long ", 400)))
	summarize(t, s)
	requests := fake.Requests()
	if asked := requests[len(requests)-1].Messages[0].Text(); !strings.HasPrefix(asked, "<paths>\na/main.go\nb/x y.go\nc.txt\n</paths>\n") {
		t.Errorf("asked with %.200q", asked)
	}
	if _, text, _ := s.Branch.LastSummary(); text != "Worked on a/main.go.\n\n## Also touched\nb/x y.go\nc.txt" {
		t.Errorf("the summary is %q", text)
	}
	play(t.Context(), s, nil, say(strings.Repeat("more ", 400)))
	summarize(t, s)
	if _, text, _ := s.Branch.LastSummary(); text != "Nothing.\n\n## Also touched\na/main.go\nb/x y.go\nc.txt" {
		t.Errorf("the second summary is %q", text)
	}
}

// TestSummaryModel: the configured model writes the summary and stands for it; where it
// fails the model that answers does, and that is told.
func TestSummaryModel(t *testing.T) {
	small := llmtest.New(llmtest.Say("By the small one."), llmtest.Fail(&llm.Error{Fault: llm.Server}))
	opened := errors.New("no such model")
	o := Options{Config: Config{SummaryModel: "s/small"}, OpenModel: func(name string) (llm.Endpoint, error) {
		if name != "s/small" {
			return llm.Endpoint{}, opened
		}
		return endpoint(name, small), nil
	}}
	s, fake := summarized(t, o, llmtest.Say("3"), llmtest.Say("Own."))
	path := s.Path()
	if last := path[len(path)-1]; last.Model != "s/small" || !strings.HasSuffix(last.Text(), "By the small one.") || len(fake.Requests()) != 2 {
		t.Errorf("%s wrote %q, after %d requests to the other", last.Model, last.Text(), len(fake.Requests()))
	}
	play(t.Context(), s, nil, say("three "+strings.Repeat("long ", 400)))
	notices := summarize(t, s)
	if _, text, _ := s.Branch.LastSummary(); text != "Own." || len(notices) != 1 || !strings.Contains(notices[0], "s/small did not write the summary, m/m does") {
		t.Errorf("the summary is %q, notices %q", text, notices)
	}
}

// TestSummaryOfTinyWindow: whatever is said of a model's window, it is shown the conversation
// that it is to summarize.
func TestSummaryOfTinyWindow(t *testing.T) {
	fake := llmtest.New(llmtest.Say("1"), llmtest.Say("2"), llmtest.Say("All of it."))
	o := Options{Model: endpoint("m/m", fake), Config: Config{SummaryModel: "s/small"}, OpenModel: func(name string) (llm.Endpoint, error) {
		e := endpoint(name, fake)
		e.Context = 1
		return e, nil
	}}
	s := New(o)
	for _, text := range []string{"one", "two"} {
		play(t.Context(), s, nil, say(text+strings.Repeat(" long", 200)))
	}
	summarize(t, s)
	requests := fake.Requests()
	if asked := requests[len(requests)-1].Messages[0].Text(); len(requests) != 3 || !strings.Contains(asked, "one long long") || !strings.Contains(asked, "two long long") {
		t.Errorf("after %d requests it was asked with %.300q", len(requests), asked)
	}
}

// TestSummaryFails: a summary that is refused, or longer than what it stands for, leaves the
// conversation as it was.
func TestSummaryFails(t *testing.T) {
	for name, tt := range map[string]struct {
		turn llmtest.Turn
		want string
	}{
		"refused": {llmtest.Script(llm.Delta{Block: "1", Part: say("I cannot.")}, llm.Finish{Reason: llm.Refused}), "the model returned no summary"},
		"longer":  {llmtest.Say(strings.Repeat("long ", 4000)), "not summarized: the summary would have about"},
	} {
		s := New(Options{Model: endpoint("m/m", llmtest.New(llmtest.Say("1"), llmtest.Say("2"), tt.turn))})
		play(t.Context(), s, nil, say("one"))
		play(t.Context(), s, nil, say("two"))
		var err error
		for e := range s.Compact(t.Context()) {
			if d, ok := e.(Done); ok {
				err = d.Err
			}
		}
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", name, err, tt.want)
		}
		if got := texts(s); !slices.Equal(got, []string{"one", "1", "two", "2"}) {
			t.Errorf("%s: the conversation is %q", name, got)
		}
	}
}

// TestSummaryOfLongMessage: of a message that is longer than a piece as much is summarized as
// there is room for, whatever a token is.
func TestSummaryOfLongMessage(t *testing.T) {
	long := strings.Repeat("word ", 4000)
	fake := llmtest.New(llmtest.Say("ok"), llmtest.Say("short"), llmtest.Say("short"))
	model := endpoint("m/m", fake)
	model.Context = 10_000
	s := New(Options{Model: model, EstimateTokens: func(text string) int { return len(text) * 5 / 9 }}) // less than two bytes
	play(t.Context(), s, nil, say(long))
	summarize(t, s)
	const room = 10_000 / 2 * 9 / 5
	if got := len(fake.Requests()[1].Messages[0].Text()); got < room*9/10 || got > room*11/10 {
		t.Errorf("a message of %d bytes is summarized from %d, there is room for %d", len(long), got, room)
	}
}

// TestWaitingPromptsAreNotSummarized: all that waits for its answer follows a summary again,
// also what went along with results of tools, and again once the summary is undone.
func TestWaitingPromptsAreNotSummarized(t *testing.T) {
	set, _ := workspace(t)
	var s *Session
	stop := llmtest.Fail(&llm.Error{Fault: llm.Server})
	fake := llmtest.New(llmtest.Say(strings.Repeat("a long answer ", 100)), func(ctx context.Context, req llm.Request, out *llm.Out) error {
		s.Queue.Steer(say("tests first"))
		s.Queue.Steer(say("and quietly"))
		return llmtest.Call(call("1", "list", "{}"))(ctx, req, out)
	}, stop, llmtest.Say("They mend."))
	s = New(Options{Model: endpoint("m/m", fake), Tools: set, Policy: tools.NewPolicy(act.ModeAsk)})
	play(t.Context(), s, nil, say("hi"))
	play(t.Context(), s, nil, say("mend it"))
	summarize(t, s)
	_, req := s.Next.Request()
	if got := spoken(req.Messages); len(got) != 1 || !strings.HasSuffix(got[0], "They mend.\n\ntests first\n\nand quietly") {
		t.Errorf("the next request has %q", got)
	}
	if err := s.Branch.UndoSummary(); err != nil {
		t.Fatal(err)
	}
	_, req = s.Next.Request()
	if got := spoken(req.Messages); len(got) != 6 || got[5] != "user: tests first\n\nand quietly" {
		t.Errorf("without the summary it has %q", got)
	}
}
