package plain

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/providers/llm"
	"parley/providers/llmtest"
	"parley/session"
	"parley/ui/app"
	"parley/ui/uitest"
)

// comparing returns a front end with the models fake/m and fake/two, which answer with
// one and two. After that both have one more answer.
func comparing(t *testing.T, change func(*app.Options, *session.Options), one, two llmtest.Turn) (d *drive, models map[string]*llmtest.Fake) {
	t.Helper()
	models = map[string]*llmtest.Fake{"fake/m": llmtest.New(one, llmtest.Say("More of the first.")), "fake/two": llmtest.New(two, llmtest.Say("More of the second."))}
	d = talk(t, func(o *app.Options, so *session.Options) {
		so.Model = endpoint("fake/m", models["fake/m"])
		o.Models.Open = func(name string) (llm.Endpoint, error) {
			if models[name] == nil {
				return llm.Endpoint{}, &llm.Error{Fault: llm.Authentication, Provider: "openai", Message: "no key"}
			}
			return endpoint(name, models[name]), nil
		}
		if change != nil {
			change(o, so)
		}
	})
	return d, models
}

// TestCompare asks two models the same. Each answer is read completely, and the
// conversation continues with the chosen answer and its model.
func TestCompare(t *testing.T) {
	first := make(chan struct{})
	one := func(ctx context.Context, req llm.Request, out *llm.Out) error {
		<-first
		return llmtest.Think("hm", "The **first** answer. ", "It has two sentences.")(ctx, req, out)
	}
	d, models := comparing(t, nil, one, llmtest.Say("The second ", "answer."))
	d.enter("/compare fake/two")
	d.paste("which?")
	d.heard("Answer 2: done")
	for range 31 {
		d.pass(time.Second)
	}
	close(first)
	d.idle()
	d.enter("2", "and then?", "/tree", "")
	d.golden("compare")
	d.valid()
	if got := d.app.Session.Model().Name; got != "fake/two" {
		t.Errorf("the conversation continues with %s", got)
	}
	var sent []string
	for _, m := range models["fake/two"].Requests()[1].Messages {
		sent = append(sent, m.Text())
	}
	if want := []string{"which?", "The second answer.", "and then?"}; !slices.Equal(sent, want) {
		t.Errorf("the next request is %q, want %q", sent, want)
	}
	if n := len(models["fake/m"].Requests()); n != 1 {
		t.Errorf("the first model was asked %d times", n)
	}
}

// TestCompareAnswers: the line typed at the question decides how the conversation continues.
func TestCompareAnswers(t *testing.T) {
	fail := llmtest.Fail(&llm.Error{Fault: llm.Quota, Provider: "fake", Message: "no money left"})
	for _, tt := range []struct {
		name     string
		one, two llmtest.Turn
		lines    []string // "^C" is ctrl+c
		want     string   // the chosen answer
		model    string
		said     []string
	}{
		{"the second", llmtest.Say("one"), llmtest.Say("two"), []string{"2"}, "two", "fake/two", []string{"Continue with which answer? Number, or nothing to keep the first: 2", "Continuing with fake/two · other answers: /tree."}},
		{"the first by number", llmtest.Say("one"), llmtest.Say("two"), []string{"1"}, "one", "fake/m", []string{"Continuing with fake/m"}},
		{"nothing", llmtest.Say("one"), llmtest.Say("two"), []string{""}, "one", "fake/m", []string{"Keeping the first."}},
		{"ctrl+c at the question", llmtest.Say("one"), llmtest.Say("two"), []string{"^C"}, "one", "fake/m", []string{"Keeping the first."}},
		{"no number, then the second", llmtest.Say("one"), llmtest.Say("two"), []string{"3", "0", "the second", "2"}, "two", "fake/two", []string{"No answer 3.", "No answer 0.", "No answer the second."}},
		{"the first failed", fail, llmtest.Say("two"), []string{"1", "2"}, "two", "fake/two", []string{"no money left", "Answer 1 cannot be chosen: no answer.", "nothing to keep answer 2: 1"}},
		{"the first failed, and nothing", fail, llmtest.Say("two"), []string{""}, "two", "fake/m", []string{"Keeping answer 2."}},
		{"the second failed", llmtest.Say("one"), fail, nil, "one", "fake/m", []string{"no money left", "Answer 2: no answer"}},
		{"a call", llmtest.Say("one"), llmtest.Call(llm.Part{ID: "c", Name: "shell", Input: `{}`}), []string{""}, "one", "fake/m", []string{"A call to shell failed: This was not run: several models are asked at once, and they can only read."}},
		{"stopped, and the second", llmtest.Hang("half of it. "), llmtest.Hang("less of it. "), []string{"^C", "2"}, "less of it. ", "fake/two", []string{"Stopping.", "Answer 1: stopped", "Answer 2: stopped"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d, _ := comparing(t, nil, tt.one, tt.two)
			d.enter("/compare fake/two")
			d.paste("which?")
			if slices.Contains(tt.said, "Stopping.") {
				d.until(func() bool {
					c := d.turns.current
					return c != nil && c.compared != nil && len(c.compared.ready) == 1 && c.compared.speaking >= 0
				})
			} else {
				d.idle()
			}
			for _, line := range tt.lines {
				if line == "^C" {
					d.interrupt()
					d.idle()
					continue
				}
				d.enter(line)
			}
			for _, want := range tt.said {
				if got := strings.Join(strings.Fields(d.said()), " "); !strings.Contains(got, want) {
					t.Errorf("%q was not said:\n%s", want, d.said())
				}
			}
			path := d.app.Session.History()
			if len(path) < 2 || path[1].Text() != tt.want || d.app.Session.Model().Name != tt.model {
				t.Errorf("%s continues %+v, want %q with %s\n%s", d.app.Session.Model().Name, path, tt.want, tt.model, d.said())
			}
			if d.questions.first() != nil || len(d.app.Compared.Models) > 0 {
				t.Errorf("questions %v, and the next prompt goes to %q", d.questions.waiting, d.app.Compared.Models)
			}
			d.valid()
			d.enter("and more?") // in every case, the next prompt is answered
			d.heard("More of the ")
			d.valid()
		})
	}
}

// TestCompareNobody: unavailable models are reported at once, and /compare alone turns
// comparing off or lists the models.
func TestCompareNobody(t *testing.T) {
	d, _ := comparing(t, nil, llmtest.Say("one"), llmtest.Say("two"))
	d.enter("/compare nobody/else", "/compare", "2", "/compare fake/two", "/compare")
	for _, want := range []string{"no key", "Compare fake/m with:", "Compare off."} {
		if !strings.Contains(d.said(), want) {
			t.Errorf("%q was not said:\n%s", want, d.said())
		}
	}
}

// TestCompareOutOfReach: a message is not lost if a model is unreachable when it is sent.
func TestCompareOutOfReach(t *testing.T) {
	d, models := comparing(t, nil, llmtest.Say("one"), llmtest.Say("two"))
	d.enter("/compare fake/two")
	delete(models, "fake/two")
	d.enter("which one?")
	if d.drafts.text != "which one?" || len(models["fake/m"].Requests()) > 0 {
		t.Errorf("the draft is %q:\n%s", d.drafts.text, d.said())
	}
	d.enter("/send")
	d.heard("one")
}

// TestCompareQueue: a message typed while several models answer goes to the chosen one.
func TestCompareQueue(t *testing.T) {
	gate := make(chan struct{})
	slow := func(ctx context.Context, req llm.Request, out *llm.Out) error {
		<-gate
		return llmtest.Say("two")(ctx, req, out)
	}
	d, models := comparing(t, nil, llmtest.Say("one"), slow)
	d.enter("/compare fake/two")
	d.paste("which?")
	d.heard("Answer 1: done")
	d.paste("and why?")
	close(gate)
	d.idle()
	d.enter("2")
	d.heard("More of the second.")
	if asked := models["fake/two"].Requests(); len(asked) != 2 || len(models["fake/m"].Requests()) != 1 {
		t.Errorf("the second was asked %d times:\n%s", len(asked), d.said())
	}
}

// TestCompareFromTheCommandLine: the models of the command line answer its prompt, or
// only the first one does.
func TestCompareFromTheCommandLine(t *testing.T) {
	for _, prompt := range [][]llm.Part{nil, llm.UserText("which?").Parts} {
		d, _ := comparing(t, func(o *app.Options, _ *session.Options) {
			o.Compared.Models, o.Start.Prompt = []string{"fake/m", "fake/two"}, prompt
		}, llmtest.Say("one"), llmtest.Say("two"))
		d.heard("Next prompt goes to fake/m and fake/two")
		if prompt == nil {
			d.enter("which?")
		}
		d.idle().heard("Continue with which answer?")
	}
}

// TestCompareHostile: two models at once produce no more escapes than one.
func TestCompareHostile(t *testing.T) {
	texts := uitest.Hostile(60)
	said := func(_ context.Context, _ llm.Request, out *llm.Out) error {
		for _, text := range texts {
			out.Send(llm.Delta{Block: "t", Part: llm.Part{Kind: llm.Text, Text: text}})
			out.Send(llm.Notice{Text: text})
		}
		out.Send(llm.Delta{Block: "c", Part: llm.Part{Kind: llm.Call, ID: texts[1], Name: texts[2], Input: "{}"}})
		return &llm.Error{Fault: llm.Server, Provider: texts[3], Message: texts[4]}
	}
	d, _ := comparing(t, nil, said, said)
	d.enter("/compare fake/two", "which?", "2")
	if found := uitest.Foreign(d.said()); len(found) > 0 {
		t.Errorf("%d are in what was told: %.20q", len(found), found)
	}
	d.valid()
}
