package aside

import (
	"context"
	"strings"
	"testing"

	"parley/providers/llm"
	"parley/providers/llmtest"
	"parley/session"
	"parley/ui/app"
	"parley/ui/uitest/apptest"
)

// talk returns an app with a conversation of one turn, whose model continues with turns. Models opened by name answer
// "another".
func talk(t *testing.T, turns ...llmtest.Turn) (*app.App, *llmtest.Fake) {
	fake := llmtest.New(append([]llmtest.Turn{llmtest.Say("hello")}, turns...)...)
	a := apptest.New(t, Register, func(o *app.Options) {
		o.Session = session.New(session.Options{Model: llm.Endpoint{Name: "fake/m", Origin: "fake", Model: fake}})
		open := o.Models.Open
		o.Models.Open = func(name string) (llm.Endpoint, error) {
			e, err := open(name)
			e.Model = llmtest.New(llmtest.Say("another"), llmtest.Say("once more"))
			return e, err
		}
	})
	if e := apptest.Do(t, a, "/btw too early"); apptest.Toast(e) == "" {
		t.Errorf("asked about an empty conversation: %#v", e)
	}
	for range a.Session.Turn(t.Context(), llm.Part{Kind: llm.Text, Text: "hi"}) {
	}
	return a, fake
}

// ask asks a side question, and returns its title, state and answer.
func ask(t *testing.T, a *app.App, line string) (b app.Beside, shown string) {
	t.Helper()
	b, ok := apptest.Do(t, a, line).(app.Beside)
	if !ok {
		t.Fatalf("%s: %#v", line, apptest.Do(t, a, line))
	}
	b.Grow(t.Context())
	text := b.Read()
	state, _, _ := strings.Cut(text.State, " · ")
	return b, text.Title + " | " + state + " | " + strings.Join(text.Lines, "/")
}

func press(b app.Beside, key string) app.Effect {
	for _, a := range b.Actions() {
		if a.Key == key {
			return a.Do("")
		}
	}
	return nil
}

// keys returns the keys that are offered now.
func keys(b app.Beside) string {
	var all []string
	for _, a := range b.Actions() {
		all = append(all, a.Key)
	}
	return strings.Join(all, " ")
}

// A question asked while an earlier one is answered is named under that answer, which stays until it is complete. Keys
// are offered once they work.
func TestNext(t *testing.T) {
	a, _ := talk(t, llmtest.Script(llm.Delta{Block: "t", Part: llm.Part{Kind: llm.Text, Text: "I begin"}}, llm.Finish{Reason: llm.Stop}), llmtest.Fail(&llm.Error{Fault: llm.Server}))
	first := apptest.Do(t, a, "/btw why?").(app.Beside)
	if got := keys(first); got != "enter" {
		t.Errorf("before the answer, the keys are %q", got)
	}
	second := apptest.Do(t, a, "/btw how?").(app.Beside)
	seen := false
	second.Watch(func() {
		if text := second.Read(); text.Running && text.Lines[0] == "I begin" {
			seen = text.Title == "why?" && text.State == "m · answering · next: how?" && keys(second) == "y enter"
		}
	})
	first.Grow(t.Context())
	if text := second.Read(); !seen || text.Title != "how?" || keys(second) != "k enter" {
		t.Errorf("seen %t, then %+v with the keys %q", seen, text, keys(second))
	}
	second.Grow(t.Context())
	if got := keys(second); got != "k enter" {
		t.Errorf("after an error, the keys are %q", got)
	}
}

// Side questions continue each other until the aside is closed, with the last model. Failed ones are left out. The
// conversation has none of them, unless they are kept as a branch.
func TestAside(t *testing.T) {
	a, fake := talk(t, llmtest.Say("because"), llmtest.Fail(&llm.Error{Fault: llm.Server, Provider: "fake", Message: "on fire \x1b[31m"}), llmtest.Say("so"), llmtest.Say("anew"))
	b, shown := ask(t, a, "/btw why?\n\x1b[2Jreally")
	if want := "why? ␛[2Jreally | m | because"; shown != want {
		t.Errorf("shown %q, want %q", shown, want)
	}
	if _, shown := ask(t, a, "/side how?"); !strings.HasPrefix(shown, "how? | m | Server error (fake): on fire ") || strings.Contains(shown, "\x1b") {
		t.Errorf("failed: %q", shown)
	}
	_, shown = ask(t, a, "/btw and?")
	var asked []string
	for _, m := range fake.Requests()[3].Messages {
		asked = append(asked, strings.TrimPrefix(m.Text(), session.AsideNote))
	}
	if got, want := strings.Join(asked, " | "), "hi | hello | why?\n\x1b[2Jreally | because | and?"; got != want || shown != "and? | m | so" {
		t.Errorf("sent %q, shown %q", got, shown)
	}
	if page := apptest.See(press(b, "enter")).Page; page == nil || len(page.Parts) != 3 {
		t.Errorf("all of it: %+v", page)
	}
	if n := len(a.Session.Nodes()); n != 2 {
		t.Errorf("the conversation has %d messages", n)
	}
	if got, want := apptest.Toast(press(b, "k")), "Kept as a branch · /tree shows it"; got != want {
		t.Errorf("said %q, want %q", got, want)
	}
	if got, want := apptest.Toast(apptest.Do(t, a, "/btw keep")), "Kept already · /tree shows the branch"; got != want {
		t.Errorf("said %q, want %q", got, want)
	}
	if got := keys(b); got != "y enter" {
		t.Errorf("after keeping, the keys are %q", got)
	}
	if all := a.Session.Nodes(); len(all) != 6 || len(a.Session.Path()) != 2 || all[2].Parent != 2 || strings.Contains(all[2].Text(), session.AsideNote) {
		t.Errorf("kept %+v", all)
	}
	apptest.See(b.Closed()).Async(t.Context())
	if _, shown := ask(t, a, "/btw -m far/m why?"); shown != "why? | m | another" {
		t.Errorf("shown %q", shown)
	}
	if _, shown := ask(t, a, "/btw and?"); shown != "and? | m | once more" {
		t.Errorf("the model did not stay: %q", shown)
	}
}

// A model that only calls tools, an empty answer, one that is cut off, and a question that is closed are reported.
func TestWithoutAnswer(t *testing.T) {
	call := llmtest.Call(llm.Part{ID: "1", Name: "read", Input: `{}`})
	cut := llmtest.Script(llm.Delta{Block: "t", Part: llm.Part{Kind: llm.Text, Text: "It is"}}, llm.Finish{Reason: llm.Length})
	for want, turns := range map[string][]llmtest.Turn{
		"The model called tools instead of answering. A side question runs none": {call, call, call},
		"Empty answer from the model":                                            {llmtest.Say()},
		"It is//Answer cut off at the output limit":                              {cut},
		"at last": {call, llmtest.Say("at last")},
	} {
		a, _ := talk(t, turns...)
		b, shown := ask(t, a, "/btw why?")
		if shown != "why? | m | "+want {
			t.Errorf("shown %q, want %q", shown, want)
		}
		offered := strings.Contains(keys(b), "k")
		if kept := apptest.Toast(apptest.Do(t, a, "/btw keep")); offered == (kept == "There is no answer to keep yet") || offered == (strings.HasPrefix(want, "The") || strings.HasPrefix(want, "Empty")) {
			t.Errorf("%s: %q", want, kept)
		}
	}
	a, _ := talk(t, llmtest.Hang("I begin"), llmtest.Say("next"))
	b := apptest.Do(t, a, "/btw why?").(app.Beside)
	ctx, cancel := context.WithCancel(t.Context())
	b.Watch(func() {
		if text := b.Read(); text.Lines[0] == "I begin" && text.Running {
			cancel()
		}
	})
	b.Grow(ctx)
	if text := b.Read(); strings.Join(text.Lines, "/") != "I begin//Stopped" || text.Running {
		t.Errorf("stopped: %+v", text)
	}
}

// A command without a question is refused, with its use.
func TestNoQuestion(t *testing.T) {
	a, _ := talk(t)
	for line, want := range map[string]string{
		"/btw": "No question: use /btw QUESTION, or /btw -m MODEL QUESTION", "/btw -m": "No question: use /btw QUESTION, or /btw -m MODEL QUESTION",
		"/btw -m a/b": "No question: use /btw QUESTION, or /btw -m MODEL QUESTION", "/btw -m far/away why?": "Set FAR_API_KEY",
	} {
		if got := apptest.Toast(apptest.Do(t, a, line)); got != want {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
	a.FrontEnd.KeyOf = func(string) string { return "ctrl+x /" }
	if got := apptest.See(apptest.Do(t, a, "/btw")); got.Text != "/btw " || !got.IsCommand {
		t.Errorf("the key inserts %q", got.Text)
	}
}

// Answers that were neither kept nor closed are shown again when the conversation is opened, and continue.
func TestReopened(t *testing.T) {
	a, fake := talk(t, llmtest.Say("because"), llmtest.Fail(&llm.Error{Fault: llm.Server}), llmtest.Say("so"), llmtest.Say("then"))
	reopen := func() (app.Beside, bool) {
		b, ok := app.New(a.Options).Started().(app.Beside)
		return b, ok
	}
	if _, ok := reopen(); ok {
		t.Error("shown before anything was asked")
	}
	ask(t, a, "/btw why?")
	ask(t, a, "/btw how?")
	a = app.New(a.Options)
	b, ok := a.Started().(app.Beside)
	if !ok {
		t.Fatal("not shown again")
	}
	if b.Grow(t.Context()); len(fake.Requests()) != 3 {
		t.Errorf("asked again: %d requests", len(fake.Requests()))
	}
	if text := b.Read(); text.Running || text.Title != "why?" || !strings.HasPrefix(text.State, "m · ") || strings.Join(text.Lines, "/") != "because" || keys(b) != "k y enter" {
		t.Errorf("shown again: %+v with the keys %q", text, keys(b))
	}
	if _, shown := ask(t, a, "/btw and?"); shown != "and? | m | so" || len(fake.Requests()[3].Messages) != 5 {
		t.Errorf("continued: %q", shown)
	}
	apptest.See(press(b, "k")).Async(t.Context())
	if _, ok := reopen(); ok || len(a.Session.Nodes()) != 6 {
		t.Errorf("shown after it was kept: %t, %d messages", ok, len(a.Session.Nodes()))
	}
	ask(t, a, "/btw still?")
	if _, ok := reopen(); !ok {
		t.Error("what came after it is not shown")
	}
	apptest.See(apptest.Do(t, a, "/btw close")).Async(t.Context())
	if _, ok := reopen(); ok {
		t.Error("shown after it was closed")
	}
	if got := apptest.Toast(apptest.Do(t, a, "/btw close")); got != "No aside is open" {
		t.Errorf("closed again: %q", got)
	}
}
