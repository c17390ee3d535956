package app

import (
	"context"
	"errors"
	"testing"

	"parley/providers/llm"
	"parley/session/prompts"
)

// If the end of a conversation could not be saved, closing it reports that, because it is lost then.
func TestCloseTellsWhatIsLost(t *testing.T) {
	for name, tt := range map[string]struct {
		err  error
		told string
	}{
		"saved":     {nil, ""},
		"not saved": {errors.New("the disk is full"), "The end of the previous conversation could not be saved: the disk is full"},
	} {
		t.Run(name, func(t *testing.T) {
			opened := *see(newApp(t).newSession("")).SessionOpened
			opened.close = func() error { return tt.err }
			if got := opened.Close(); got != tt.told {
				t.Errorf("told %q, want %q", got, tt.told)
			}
			<-opened.closed
		})
	}
}

// Files attached while a prompt is read are sent with it, like those attached before.
func TestAttachedWhileAPromptIsRead(t *testing.T) {
	a := newApp(t)
	a.FindPrompts = func() ([]prompts.Prompt, []error) { return []prompts.Prompt{{Name: "review", Body: "Review it."}}, nil }
	ReadPrompts(a)()
	part := func(name string) llm.Part { return llm.Part{Kind: llm.Text, Name: name, Text: name} }
	a.Attached = []llm.Part{part("before")}
	e, _ := RunPromptCommand(a, "/review")
	read := see(e).Prepare(context.Background())
	a.Attached = append(a.Attached, part("meanwhile"))
	a.Busy = func() bool { return true } // so that the sent message is queued and can be inspected
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
		a := newApp(t)
		a.FindPrompts = func() ([]prompts.Prompt, []error) { return []prompts.Prompt{p}, nil }
		ReadPrompts(a)()
		a.Attached = []llm.Part{{Kind: llm.Text, Name: "before", Text: "before"}}
		e, _ := RunPromptCommand(a, "/review now")
		read := see(e).Prepare(context.Background())
		a.Busy = func() bool { return true }
		e = read()
		if n := a.Session.Queue.Len(); n > 0 || see(e).Err == nil || see(e).Text != "/review now" || len(a.Attached) != 1 {
			t.Errorf("%q: %d queued, %d attached, %+v", p.Body, n, len(a.Attached), e)
		}
	}
}

// A prompt is sent only in the conversation in which it was typed. If another one is opened while it is read, its line
// returns to the draft.
func TestConversationChangesWhileAPromptIsRead(t *testing.T) {
	a := newApp(t)
	a.FindPrompts = func() ([]prompts.Prompt, []error) { return []prompts.Prompt{{Name: "review", Body: "Review it."}}, nil }
	ReadPrompts(a)()
	e, _ := RunPromptCommand(a, "/review now")
	read := see(e).Prepare(context.Background())
	a.newSession("")
	if e = read(); see(e).Turn != nil || see(e).Err == nil || see(e).Text != "/review now" {
		t.Errorf("%+v", e)
	}
}
