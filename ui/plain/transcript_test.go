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
	"parley/ui/app/blocks"
)

// Events between the messages are read back in the same words.
func TestAnnotationsAreReadBack(t *testing.T) {
	said := func(text string) llm.Delta {
		return llm.Delta{Block: "a", Part: llm.Part{Kind: llm.Text, Text: text}}
	}
	other := llmtest.New(llmtest.Say("Here I am."), llmtest.Fail(&llm.Error{Fault: llm.Authentication, Provider: "fake", Message: "no\x1b[2J", Key: "FAKE_KEY", Status: 401}))
	d := talk(t, func(o *app.Options, so *session.Options) {
		so.Fallback, so.OpenModel = func(session.FallbackNeed) []string { return []string{"fake/other"} }, func(name string) (llm.Endpoint, error) {
			return endpoint(name, other), nil
		}
		o.Models.Open = so.OpenModel
	},
		llmtest.Script(llm.Retry{Attempt: 1, Wait: 5 * time.Second, Fault: llm.RateLimit}, llm.Notice{Text: "temperature was left out"}, said("Ok."), llm.Finish{Reason: llm.Stop}),
		func(_ context.Context, _ llm.Request, out *llm.Out) error {
			out.Send(said("Half an answer."))
			return &llm.Error{Fault: llm.Server, Provider: "fake", Message: "gone"}
		})
	d.enter("one", "!count", "two", "three", "four", "/model fake/other")
	lines := func(text string) []string {
		rows := strings.Split(text, "\n")
		return slices.DeleteFunc(rows, func(row string) bool { // typed text, or text about the whole turn
			return row == "" || strings.HasPrefix(row, "Answer finished") || strings.HasPrefix(row, "The output is sent along") || strings.HasPrefix(row, "Attached: ") || strings.HasPrefix(row, "You: /")
		})
	}
	_, live, _ := strings.Cut(d.said(), "ctrl+d quits.\n")
	live = strings.TrimSuffix(live, "You: ")
	for _, want := range []string{"Rate limited. Retrying in 5 seconds, attempt 1.", "Note: temperature was left out.", "Half an answer.", "Error: Server error (fake): gone.", "fake/m: Server error, paused until ", ". Continuing with fake/other.",
		"Done in 2 seconds: exit status 0.", "Error: Authentication failed (401, fake): no", "Replace the key in FAKE_KEY", "Model: fake/other, was fake/m"} {
		if !strings.Contains(live, want) {
			t.Fatalf("live it does not say %q:\n%s", want, live)
		}
	}
	id := d.app.Session.ID()
	if err := d.app.Session.Close(); err != nil { // before it is opened again
		t.Fatal(err)
	}
	d.enter("/new")
	d.apply(d.app.OpenSession(id, 0))
	d.idle()
	from := len(d.said())
	d.enter("/read all")
	stored := strings.TrimSuffix(strings.TrimPrefix(d.said()[from:], "/read all\n"), "You: ")
	if got, want := lines(stored), lines(live); !slices.Equal(got, want) {
		t.Errorf("read back:\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestDrawing: the drawing of an image is reported at once, and with reminders like any long activity.
func TestDrawing(t *testing.T) {
	drawing := make(chan struct{})
	painter := llmtest.New(func(ctx context.Context, _ llm.Request, out *llm.Out) error {
		<-drawing
		out.Send(llm.Delta{Block: "i", Part: llm.Part{Kind: llm.Media, Name: "fox.png", MIME: "image/png", Data: []byte("f")}})
		out.Send(llm.Finish{Reason: llm.Stop})
		return nil
	})
	d := talk(t, func(o *app.Options, _ *session.Options) {
		o.Models.Images.Open = func(context.Context, string) (llm.Endpoint, error) {
			return llm.Endpoint{Model: painter, Name: "i/draw", Origin: llm.OriginImages}, nil
		}
	})
	d.input.lastLine = time.Time{}
	d.paste("/image a fox")
	d.heard("Drawing with i/draw.")
	d.pass(10 * time.Second)
	close(drawing)
	d.heard("fox.png, 1 byte.").idle()
	if !strings.Contains(d.said(), "Still drawing with i/draw, 10 seconds.") {
		t.Errorf("said\n%s", d.said())
	}
}

// TestEmptyAnswer: an empty answer is reported, not only its end.
func TestEmptyAnswer(t *testing.T) {
	d := talk(t, nil, llmtest.Say("one"), llmtest.Say())
	d.enter("hi")
	from := len(d.said())
	d.enter("hi")
	if got := d.said()[from:]; !strings.Contains(got, blocks.EmptyAnswer+". /retry sends the last message again.\n") {
		t.Errorf("%q", got)
	}
}
