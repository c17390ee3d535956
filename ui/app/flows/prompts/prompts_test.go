package prompts

import (
	"context"
	"testing"

	"parley/providers/llm"
	"parley/session/prompts"
	"parley/ui/app"
	"parley/ui/app/flows/conversation"
	"parley/ui/uitest/apptest"
)

// newApp returns an application whose prompt files are those of find.
func newApp(t *testing.T, find func() ([]prompts.Prompt, []error)) *app.App {
	t.Helper()
	return apptest.New(t, func(a *app.App) { conversation.Register(a); Register(a) }, func(o *app.Options) { o.Prompts = &Flow{Find: find} })
}

// Files attached while a prompt is read are sent with it, like those attached before.
func TestAttachedWhileAPromptIsRead(t *testing.T) {
	a := newApp(t, func() ([]prompts.Prompt, []error) { return []prompts.Prompt{{Name: "review", Body: "Review it."}}, nil })
	a.Prompts.Read()
	part := func(name string) llm.Part { return llm.Part{Kind: llm.Text, Name: name, Text: name} }
	a.Attached = []llm.Part{part("before")}
	e, _ := a.Prompts.Run("/review")
	read := apptest.See(e).Prepare(context.Background())
	a.Attached = append(a.Attached, part("meanwhile"))
	a.FrontEnd.Busy = func() bool { return true } // so that the sent message is queued and can be inspected
	read()
	queued, _ := a.Session.Queue.All()
	if len(queued) != 1 || len(queued[0].Parts) != 3 || queued[0].Parts[1].Name != "meanwhile" || len(a.Attached) > 0 {
		t.Errorf("queued %+v, attached %+v", queued, a.Attached)
	}
}

// A prompt with commands or settings is not queued without them if a turn begins while the prompt is read: its line
// returns to the draft.
func TestTurnBeginsWhileAPromptIsRead(t *testing.T) {
	for _, p := range []prompts.Prompt{
		{Name: "review", Body: "What is wrong here?\n!`git diff`"},
		{Name: "review", Body: "Review it.", Settings: prompts.Settings{Tools: []string{"read"}}},
	} {
		a := newApp(t, func() ([]prompts.Prompt, []error) { return []prompts.Prompt{p}, nil })
		a.Prompts.Read()
		a.Attached = []llm.Part{{Kind: llm.Text, Name: "before", Text: "before"}}
		e, _ := a.Prompts.Run("/review now")
		read := apptest.See(e).Prepare(context.Background())
		a.FrontEnd.Busy = func() bool { return true }
		e = read()
		if n := a.Session.Queue.Len(); n > 0 || apptest.See(e).Err == nil || apptest.See(e).Text != "/review now" || len(a.Attached) != 1 {
			t.Errorf("%q: %d queued, %d attached, %+v", p.Body, n, len(a.Attached), e)
		}
	}
}

// A prompt is sent only in the conversation in which it was typed. If another one is opened while it is read, its line
// returns to the draft.
func TestConversationChangesWhileAPromptIsRead(t *testing.T) {
	a := newApp(t, func() ([]prompts.Prompt, []error) { return []prompts.Prompt{{Name: "review", Body: "Review it."}}, nil })
	a.Prompts.Read()
	e, _ := a.Prompts.Run("/review now")
	read := apptest.See(e).Prepare(context.Background())
	a.Command("new").Run("")
	if e = read(); apptest.See(e).Turn != nil || apptest.See(e).Err == nil || apptest.See(e).Text != "/review now" {
		t.Errorf("%+v", e)
	}
}

// Prompts and personas are found even if they are typed before the prompt files are read, or while they are.
func TestPromptsBeforeTheyAreKnown(t *testing.T) {
	found := []prompts.Prompt{{Name: "greet", Body: "Hello"}, {Name: "critic", Settings: prompts.Settings{System: "Find faults."}}, {Name: "say", Program: prompts.Parley, Body: "Be {{tone:short|long}}"}}
	early := func() *app.App {
		return newApp(t, func() ([]prompts.Prompt, []error) { return found, nil })
	}
	a := early()
	if e := apptest.Run(t, a, "/persona critic"); apptest.See(e).Err != nil || a.Session.Personas.Current().Name != "critic" {
		t.Errorf("%+v: the persona is %q", e, a.Session.Personas.Current().Name)
	}
	if e := apptest.Run(t, early(), "/persona"); apptest.See(e).List == nil || len(apptest.See(e).List.Items) != 2 {
		t.Errorf("/persona: %+v", e)
	}
	a = early()
	a.Skills.List = func() ([]app.Skill, []error) { // called in the middle of the search
		a.Prompts.Read()
		return nil, nil
	}
	e, ok := a.Prompts.Run("/greet")
	for ok && apptest.See(e).Prepare != nil {
		e = apptest.See(e).Prepare(t.Context())()
	}
	if !ok || apptest.See(e).Err != nil || apptest.See(e).Turn == nil {
		t.Errorf("/greet: %v, %+v", ok, e)
	}
	for _, line := range []string{"/critic", "/say tone=rude"} {
		if e, _ := a.Prompts.Run(line); apptest.See(e).Err == nil || apptest.See(e).Text != line {
			t.Errorf("%s: %v, keeps %q", line, apptest.See(e).Err, apptest.See(e).Text)
		}
	}
}
