package tui

import (
	"context"
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"time"

	"parley/providers/llm"
	"parley/providers/llmtest"
	"parley/session"
	"parley/tools"
	"parley/tools/act"
)

// The line of a running tool is right about esc: it stops the tool, not the turn.
func TestStopTheTool(t *testing.T) {
	t.Parallel()
	run := llmtest.Call(llm.Part{ID: "1", Name: "shell", Input: `{"command":"printf be%s gun; sleep 60"}`})
	begin := func(t *testing.T, then ...llmtest.Turn) *stage {
		s := setUp(t, 80, 24, append([]llmtest.Turn{run}, then...)...)
		s.m.App.Session.Policy().SetMode(act.ModeYolo)
		s.ask("do it", "begun")
		if screen := s.Screen(); !strings.Contains(screen, "esc stops it") {
			t.Errorf("the tool does not say how to stop it:\n%s", screen)
		}
		return s
	}
	t.Run("esc", func(t *testing.T) {
		s := begin(t, llmtest.Say("I see"))
		s.Press("esc").WaitForText("I see")
		s.idle()
		if screen := s.Screen(); !strings.Contains(screen, "⊘ shell") || strings.Contains(screen, "the model goes on") {
			t.Errorf("the stopped call does not look like one:\n%s", screen)
		}
	})
	t.Run("esc again", func(t *testing.T) {
		s := begin(t, llmtest.Hang("half an answer"))
		s.Press("esc").WaitForText("half an answer").WaitForText("Tool stopped; the model continues")
		s.Press("esc")
		s.idle()
		s.WaitForText("· Stopped").Shows("half an answer")
	})
	t.Run("esc again shortly after, and another tool runs", func(t *testing.T) {
		s := begin(t, llmtest.Call(llm.Part{ID: "2", Name: "shell", Input: `{"command":"printf ano%s ther; sleep 60"}`}), llmtest.Say("wrong"))
		s.Press("esc").WaitForText("another")
		s.Press("esc")
		s.idle()
		if strings.Contains(s.Screen(), "wrong") {
			t.Errorf("the turn went on:\n%s", s.Screen())
		}
	})
	t.Run("later esc is for the tool that runs then", func(t *testing.T) {
		s := begin(t, llmtest.Call(llm.Part{ID: "2", Name: "shell", Input: `{"command":"printf ano%s ther; sleep 60"}`}), llmtest.Say("still here"))
		s.Press("esc").WaitForText("another")
		s.clock.Add(2 * time.Second)
		s.Press("esc").WaitForText("still here")
	})
	t.Run("ctrl+c is for the turn", func(t *testing.T) {
		s := begin(t, llmtest.Say("wrong"))
		s.Press("ctrl+c")
		s.idle()
		if strings.Contains(s.Screen(), "wrong") {
			t.Errorf("the turn went on:\n%s", s.Screen())
		}
	})
}

// Of calls that run at once, esc stops the last one, whose line says so, and x the selected one.
func TestStopOneTool(t *testing.T) {
	began := make(chan struct{})
	look := func(id string) llm.Part { return llm.Part{ID: id, Name: "look", Input: `{"path":"` + id + `"}`} }
	s := setUpWith(t, 80, 24, func(o *Options) {
		set, err := tools.Open(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { set.Close() })
		err = set.AddExternal(tools.External{Name: "look", Schema: json.RawMessage(`{"type":"object"}`), Plan: func(context.Context, json.RawMessage) (*act.Action, error) {
			return &act.Action{Access: act.AccessRead, Do: func(ctx context.Context, _ func(string)) act.Outcome {
				began <- struct{}{}
				<-ctx.Done()
				return act.Outcome{Text: "over", Failed: true}
			}}, nil
		}})
		if err != nil {
			t.Fatal(err)
		}
		model := o.App.Session.Model()
		o.App.Session.Close()
		o.App.Session = session.New(session.Options{Model: model, Tools: set, Policy: tools.NewPolicy(act.ModeYolo), Now: o.App.Now})
	}, llmtest.Call(look("first"), look("second"), look("third")), llmtest.Say("I see"))
	hinted := func(want string) {
		t.Helper()
		s.WaitForScreen(func(screen string) bool {
			return strings.Count(screen, "esc stops it") == 1 && regexp.MustCompile(want+".*esc stops it").MatchString(screen)
		})
	}
	s.ask("look around", "third")
	for range 3 {
		<-began
	}
	hinted("third")
	s.Press("esc").WaitForText("Tool stopped, 2 still running · esc stops the next, ctrl+c all")
	hinted("second")
	s.Press("tab").Press("g", "j").WaitForText("x stop it").Press("x").WaitForText("⊘▎look first")
	s.Press("x").WaitForText("This is no running tool")
	s.Press("esc").Shows("second  running · esc stops it").Press("esc").WaitForText("I see")
	s.idle()
}
