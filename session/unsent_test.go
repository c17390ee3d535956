package session_test

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"parley/providers/llm"
	"parley/providers/llmtest"
	. "parley/session"
	"parley/session/settings"
)

// A message that the user stops at a question about it is theirs again, with what they attached, and the
// conversation is as it was: the next message goes without it, also after a restart. So is the first.
func TestStoppedAtQuestion(t *testing.T) {
	for _, turns := range []int{0, 2} {
		t.Run(fmt.Sprint(turns), func(t *testing.T) {
			answers := llmtest.New(llmtest.Say("yes"), llmtest.Say("yes"), llmtest.Say("yes"))
			model := endpoint("a/a", answers)
			model.Context = 1200
			lib, _ := newTestStore(t)
			o := Options{Model: model, Attended: true, Log: lib.Create(Info{})}
			s := New(o)
			for range turns {
				replies(t, s, nil, say("hello"))
			}
			before, head := fmt.Sprint(s.History()), s.Head()
			file := llm.Part{Kind: llm.Text, Name: "a.txt", Text: "alpha"}
			for range 2 { // and again
				events, _ := replies(t, s, []Action{StopTurn}, file, long(1500))
				given := givenBack(t, events)
				if !reflect.DeepEqual(given.Message.Parts, []llm.Part{file, long(1500)}) {
					t.Fatalf("given back is %.200v", given)
				}
				if done := doneOf(t, events); !llm.Canceled(done.Err) || fmt.Sprint(s.History()) != before || s.Head() != head {
					t.Fatalf("%v, at %d of %.300v, not at %d", done.Err, s.Head(), s.History(), head)
				}
				if told := shownBehind(s); len(told) > 0 {
					t.Errorf("what was stopped stays in sight: %+v", told)
				}
			}
			s = reopen(t, lib, s, o)
			if fmt.Sprint(s.History()) != before || s.Head() != head {
				t.Fatalf("read again it is at %d of %.300v", s.Head(), s.History())
			}
			if _, asked := replies(t, s, nil, say("something short")); len(asked) > 0 {
				t.Errorf("asked %+v", asked)
			}
			all := answers.Requests()
			if sent := all[len(all)-1].Messages; len(all) != turns+1 || len(sent) != 2*turns+1 || sent[2*turns].Text() != "something short" {
				t.Errorf("%d requests, the last %.300v", len(all), sent)
			}
			title := map[int]string{0: "something short", 2: "hello"}[turns]
			if list, err := lib.List(Query{}); err != nil || list[0].Title != title {
				t.Errorf("the title is %q, %v", list[0].Title, err)
			}
		})
	}
}

// A message that was to replace an earlier one, and is stopped at a question about it, leaves the conversation
// as it was before the edit, also after a restart. After Rewind, which is no edit, the head stays.
func TestStoppedEdit(t *testing.T) {
	model := endpoint("a/a", llmtest.New(llmtest.Say("yes"), llmtest.Say("yes"), llmtest.Say("yes"), llmtest.Say("yes")))
	model.Context = 1200
	lib, _ := newTestStore(t)
	o := Options{Model: model, Attended: true, Log: lib.Create(Info{})}
	s := New(o)
	for _, text := range []string{"one", "two", "three"} {
		replies(t, s, nil, say(text))
	}
	for _, seq := range []int{1, 3} {
		before, head := fmt.Sprint(s.History()), s.Head()
		for range 2 { // and again
			if err := s.Branch.Edit(seq); err != nil {
				t.Fatal(err)
			}
			events, _ := replies(t, s, []Action{StopTurn}, long(1500))
			if given := givenBack(t, events); given.Edits != seq {
				t.Errorf("given back is %.200v, an edit of %d", given, given.Edits)
			}
			if fmt.Sprint(s.History()) != before || s.Head() != head {
				t.Fatalf("at %d of %.300v, not at %d", s.Head(), s.History(), head)
			}
		}
	}
	head := s.Head()
	if s = reopen(t, lib, s, o); s.Head() != head {
		t.Errorf("read again it is at %d, not at %d", s.Head(), head)
	}
	if err := s.Branch.Edit(5); err != nil {
		t.Fatal(err)
	}
	replies(t, s, nil, say("other"))
	if _, err := s.Branch.Rewind(5); err != nil { // not an edit: it stays so
		t.Fatal(err)
	}
	events, _ := replies(t, s, []Action{StopTurn}, long(1500))
	if given := givenBack(t, events); given.Edits != 0 || s.Head() != 4 {
		t.Errorf("at %d, given back is %.200v", s.Head(), given)
	}
}

// givenBack returns the message that events give back.
func givenBack(t *testing.T, events []Event) Unsent {
	t.Helper()
	given := eventsOf[Unsent](events)
	if len(given) != 1 || given[0].Seq == 0 || !doneOf(t, events).Unsent {
		t.Fatalf("given back is %.200v, done %+v", given, doneOf(t, events))
	}
	return given[0]
}

// A message is given back at every question about a request with it that is not sent, wherever it came from.
func TestGivenBack(t *testing.T) {
	used := llmtest.Script(llm.Delta{Block: "t", Part: say("yes")}, llm.Usage{Input: 100, Output: 50}, llm.Finish{Reason: llm.Stop})
	for _, tt := range []struct {
		name   string
		change func(o *Options)
		turns  int // before, each answered
		image  bool
		queued llm.Part
		prompt llm.Part
		choose []Action
		left   int // messages in the conversation
	}{
		{name: "too long", change: func(o *Options) { o.Model.Context = 1200 }, turns: 1, prompt: long(1500), choose: []Action{StopTurn}, left: 2},
		{name: "at a limit", change: func(o *Options) { o.Limits = []Limit{{Period: settings.PerSession, Tokens: 100}} }, turns: 1, prompt: long(10), choose: []Action{StopTurn}, left: 2},
		{name: "for its cost", change: func(o *Options) { o.ConfirmCost = 4000 }, turns: 1, prompt: long(5000), choose: []Action{StopTurn}, left: 2},
		{name: "behind a summary", change: func(o *Options) { o.Model.Context, o.ConfirmCost = 3000, 2500 }, turns: 3, prompt: long(2750), choose: []Action{Summarize, StopTurn}, left: 6},
		{name: "for an image", change: func(o *Options) { o.ConfirmCost = 4000 }, turns: 1, image: true, prompt: long(5000), choose: []Action{StopTurn}, left: 2},
		{name: "queued", change: func(o *Options) { o.Model.Context = 1200 }, turns: 1, queued: long(1500), prompt: long(10), choose: []Action{StopTurn}, left: 4},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := Options{Model: endpoint("a/a", llmtest.New(used, used, used, used, used)), Attended: true}
			o.Model.Cost = func(u llm.Usage) (float64, bool) { return float64(u.Input), true }
			tt.change(&o)
			s := New(o)
			for range tt.turns {
				replies(t, s, nil, long(200))
			}
			want := tt.prompt
			if tt.queued.Text != "" {
				s.Queue.Add(tt.queued)
				want = tt.queued
			}
			turn := s.Turn(t.Context(), tt.prompt)
			if tt.image {
				turn = s.GenerateImage(t.Context(), o.Model, true, tt.prompt)
			}
			events, _ := repliesTo(t, turn, tt.choose)
			if given := givenBack(t, events); !reflect.DeepEqual(given.Message.Parts, []llm.Part{want}) {
				t.Errorf("given back is %.200v", given)
			}
			if n := len(s.History()); n != tt.left {
				t.Errorf("%d messages are left, want %d", n, tt.left)
			}
		})
	}
}

// A prompt that failed stays in the conversation if the user stops, and is tried again from there.
func TestNotGivenBack(t *testing.T) {
	failing := &llm.Error{Fault: llm.RateLimit, Message: "later", Wait: 100 * time.Hour}
	open := func(name string) (llm.Endpoint, error) { return endpoint(name, llmtest.New()), nil }
	s := New(Options{Model: endpoint("a/a", llmtest.New(llmtest.Fail(failing))), Attended: true, OpenModel: open, Alternatives: fallbackModels("b/b"), Fallback: fallbackModels("b/b")})
	events, asked := replies(t, s, []Action{StopTurn}, say("hello"))
	if len(asked) != 1 || len(eventsOf[Unsent](events)) != 0 || len(s.History()) != 1 || doneOf(t, events).Unsent {
		t.Errorf("asked %+v, given back %+v, left %+v", asked, eventsOf[Unsent](events), s.History())
	}
}

// A prompt for an image that changes the one above is given back without that one, which nobody attached.
func TestImagePromptGivenBack(t *testing.T) {
	drawn := llmtest.Script(llm.Delta{Block: "i", Part: llm.Part{Kind: llm.Media, Name: "fox.png", MIME: "image/png", Data: []byte("f")}}, llm.Finish{Reason: llm.Stop})
	o := Options{Model: endpoint("a/a", llmtest.New(drawn)), Attended: true, ConfirmCost: 4000}
	o.Model.Cost = func(u llm.Usage) (float64, bool) { return float64(u.Input), true }
	o.Model.Vision = true
	s := New(o)
	repliesTo(t, s.GenerateImage(t.Context(), o.Model, false, say("a fox")), nil)
	if n := len(s.History()); n != 2 {
		t.Fatalf("%d messages", n)
	}
	events, _ := repliesTo(t, s.GenerateImage(t.Context(), o.Model, false, long(5000)), []Action{StopTurn})
	if given := givenBack(t, events); !reflect.DeepEqual(given.Message.Parts, []llm.Part{long(5000)}) {
		t.Errorf("given back is %.200v", given)
	}
}
