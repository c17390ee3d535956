package askuser

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"parley/providers/catalog"
	"parley/providers/llm"
	"parley/providers/llmtest"
	"parley/session"
	"parley/tools"
	"parley/tools/act"
	"parley/tools/permission"
	"parley/ui/app"
	"parley/ui/uitest/apptest"
)

func init() { permission.Register() }

// askingApp returns an application whose questions arrive in the channel, and its tools.
func askingApp(t *testing.T, turns ...llmtest.Turn) (*app.App, *tools.Set, <-chan *app.ModelQuestion) {
	var set *tools.Set
	a := apptest.New(t, Register, apptest.Tools(t), func(o *app.Options) {
		set = o.Machine.ToolSet("").(*tools.Set)
		o.Session.SetModel(llm.Endpoint{Name: "fake/m", Origin: "fake", Strategy: "native", Model: llmtest.New(turns...)})
	})
	asked := make(chan *app.ModelQuestion, 1)
	a.FrontEnd.AskUser = func(next func() app.Effect) {
		if q, ok := next().(*app.ModelQuestion); ok {
			asked <- q
		}
	}
	return a, set, asked
}

const one = `{"questions":[{"question":"Which?","choices":["A: first","B"]}]}`

// start starts a call, and returns its outcome later.
func start(t *testing.T, ctx context.Context, set act.Set, input string) <-chan act.Outcome {
	t.Helper()
	action, err := set.Plan(ctx, act.AskTool, input)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan act.Outcome, 1)
	go func() { done <- action.Run(ctx, nil) }()
	return done
}

// The tool costs at most 100 tokens in each request, and runs without approval in every mode. Compared models and others
// that only read do not have it.
func TestTool(t *testing.T) {
	_, set, _ := askingApp(t)
	if n := catalog.Estimate(act.AskTool + description + schema); n > 100 {
		t.Errorf("%d tokens", n)
	}
	for _, tool := range set.ReadOnly().Tools() {
		if tool.Name == act.AskTool {
			t.Error("it is offered to models that only read")
		}
	}
	action, err := set.Plan(t.Context(), act.AskTool, one)
	if err != nil {
		t.Fatal(err)
	}
	for _, mode := range append(act.Modes, act.ModeEdits, act.ModeYolo) {
		if got := tools.NewPolicy(mode).Decide(action); got != act.Allow {
			t.Errorf("%s: %s", mode, got)
		}
	}
}

func TestBadQuestions(t *testing.T) {
	_, set, _ := askingApp(t)
	forty := `{"questions":[` + strings.TrimSuffix(strings.Repeat(`{"question":"Why?","choices":["a","b"]},`, 40), ",") + `]}`
	for input, want := range map[string]string{
		forty:              "40 questions: a call asks 1 to 4",
		`{}`:               "0 questions: a call asks 1 to 4",
		`{"questions":[]}`: "0 questions: a call asks 1 to 4",
		`{"questions":[{"question":"Why?","choices":["a"]}]}`:                                   "question 1: 1 choices: a question has 2 to 4",
		`{"questions":[{"question":"Why?","choices":["a","b"]},{"question":" ","choices":[]}]}`: "question 2: it has no text",
		`{"questions":[{"question":"Why?","choices":["a","a: again"]}]}`:                        `question 1: choice "a" is empty or given twice`,
	} {
		if _, err := set.Plan(t.Context(), act.AskTool, input); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.80s: %v, want %s", input, err, want)
		}
	}
}

// Texts are sanitized and bounded: escapes, control characters, labels of 10 kB.
func TestHostileQuestion(t *testing.T) {
	_, set, asked := askingApp(t)
	long := strings.Repeat("long ", 2000)
	input, _ := json.Marshal(map[string]any{"questions": []any{map[string]any{
		"question": "\x1b]0;title\x07Which\x1b[31m?" + long, "choices": []string{"\x1b[2J" + long, "b\nc: \x1b[5m" + long},
	}}})
	start(t, t.Context(), set, string(input))
	q := <-asked
	if text := q.Text + q.Choices[0].Title + q.Choices[1].Title + q.Choices[1].Detail; strings.ContainsAny(text, "\x1b\x07\n") || len(text) > 1500 {
		t.Errorf("%d bytes: %.300q", len(text), text)
	}
}

// Answers reach the model in order: choices, several of them, and texts of the user's own. Leaving a question ends the
// call.
func TestAnswers(t *testing.T) {
	const two = `{"questions":[{"question":"Which?","choices":["A: first","B"]},{"question":"And?","choices":["c","d"],"several":true}]}`
	for name, tt := range map[string]struct {
		answers []func(q *app.ModelQuestion) app.Effect
		want    string
	}{
		"choices":     {[]func(*app.ModelQuestion) app.Effect{choose(0), choose(0, 1)}, "Which?\n→ A\n\nAnd?\n→ c\n→ d"},
		"text":        {[]func(*app.ModelQuestion) app.Effect{write("neither"), choose(1)}, "Which?\n→ neither\n\nAnd?\n→ d"},
		"no answer":   {[]func(*app.ModelQuestion) app.Effect{choose()}, unanswered},
		"half of all": {[]func(*app.ModelQuestion) app.Effect{choose(1), choose()}, "Which?\n→ B\n\n" + unanswered},
	} {
		t.Run(name, func(t *testing.T) {
			_, set, asked := askingApp(t)
			done := start(t, t.Context(), set, two)
			q := <-asked
			if q.Count != "1 of 2" || q.Choices[0].Title != "A" || q.Choices[0].Detail != "first" || q.Several {
				t.Errorf("got %+v", q)
			}
			for _, answer := range tt.answers {
				q, _ = answer(q).(*app.ModelQuestion)
			}
			if got := <-done; q != nil || got.Text != tt.want || got.Failed {
				t.Errorf("got %+v, then %v", got, q)
			}
		})
	}
}

func choose(n ...int) func(*app.ModelQuestion) app.Effect {
	return func(q *app.ModelQuestion) app.Effect { return q.Answer(n, "") }
}

func write(text string) func(*app.ModelQuestion) app.Effect {
	return func(q *app.ModelQuestion) app.Effect { return q.Answer(nil, text) }
}

// A call that is stopped withdraws its question, and needs no answer.
func TestWithdrawn(t *testing.T) {
	_, set, asked := askingApp(t)
	ctx, cancel := context.WithCancel(t.Context())
	done := start(t, ctx, set, one)
	q := <-asked
	cancel()
	if out := <-done; !out.Failed || !strings.Contains(out.Text, "withdrawn") {
		t.Errorf("got %+v", out)
	}
	<-q.Done
	q.Answer([]int{0}, "")
}

// A model that asks the same question for ever is told the answer from the fourth time on, until the user writes again.
// The sixth time ends the turn.
func TestSameQuestion(t *testing.T) {
	again := llmtest.Call(llm.Part{ID: "1", Name: act.AskTool, Input: one})
	a, _, _ := askingApp(t, again, again, again, again, llmtest.Say("Fine."), again, again, again, again, again, again, llmtest.Say("Fine."))
	n := 0
	a.FrontEnd.AskUser = func(next func() app.Effect) {
		if q, ok := next().(*app.ModelQuestion); ok {
			n++
			q.Answer(nil, fmt.Sprint("answer ", n))
		}
	}
	for _, want := range []string{"<nil>", "the model asked the same question 6 times: the turn ends here"} {
		for e := range a.Session.Turn(t.Context(), llm.Part{Kind: llm.Text, Text: "go"}) {
			if d, ok := e.(session.Done); ok && fmt.Sprint(d.Err) != want {
				t.Errorf("the turn ends with %v, want %s", d.Err, want)
			}
		}
	}
	var results []string
	for _, m := range a.Session.Path() {
		for _, p := range m.Parts {
			if p.Kind == llm.Result {
				results = append(results, strings.ReplaceAll(p.Text, "\n", " "))
			}
		}
	}
	const told = "|You asked this 3 times already, and it is not asked again. The last answer:  Which? → "
	want := "Which? → answer 1|Which? → answer 2|Which? → answer 3" + told + "answer 3|Which? → answer 4|Which? → answer 5|Which? → answer 6" + strings.Repeat(told+"answer 6", 3)
	if got := strings.Join(results, "|"); got != want {
		t.Errorf("got %s", got)
	}
}
