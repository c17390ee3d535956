package models

import (
	"slices"
	"strings"
	"testing"

	"parley/providers/llm"
	"parley/providers/llmtest"
	"parley/session"
	"parley/ui/app"
	"parley/ui/app/wording"
	"parley/ui/uitest/apptest"
)

// newApp returns an application with this flow and an empty conversation.
func newApp(t *testing.T) *app.App { return apptest.New(t, Register) }

// TestFitWords checks the words about what would happen to the conversation with a model; they are the same in all
// lists and after a switch.
func TestFitWords(t *testing.T) {
	a := newApp(t)
	image := llm.Part{Kind: llm.Media, Name: "a.png", MIME: "image/png", Data: []byte("\x89PNG")}
	pdf := llm.Part{Kind: llm.Media, Name: "a.pdf", MIME: "application/pdf", Data: []byte("%PDF")}
	sound := llm.Part{Kind: llm.Media, Name: "a.mp3", MIME: "audio/mpeg", Data: []byte("ID3")}
	own := llm.Endpoint{Name: "own/m", Origin: "own", Known: true, Vision: true, Context: 200_000, Files: []string{"application/pdf", "audio/"}, Model: llmtest.New(llmtest.Script(
		llm.Delta{Block: "t", Part: llm.Part{Kind: llm.Thinking, Text: "hm"}}, llm.Delta{Block: "a", Part: llm.Part{Kind: llm.Text, Text: "an answer"}},
		llm.Usage{Input: 90_000, CacheRead: 84_000, Output: 2_000}, llm.Finish{Reason: llm.Stop}))}
	far := llm.Endpoint{Name: "far/m", Origin: "far", Known: true, Context: 149_000, Cost: func(u llm.Usage) (float64, bool) { return float64(u.Input) * 3e-6, true }}
	a.Session.SetModel(own)
	if got := wording.ModelFit(a.Session, far); got != nil {
		t.Errorf("of an empty conversation: %q", got)
	}
	for range a.Session.Turn(t.Context(), image, image, pdf, sound, llm.Part{Kind: llm.Text, Text: "what is this?"}) {
	}
	small, free := far, far
	small.Context, free.Cost, free.Vision, free.Files = 60_000, nil, true, own.Files
	for _, test := range []struct {
		model llm.Endpoint
		want  string
	}{
		{own, "context 46%"},
		{far, "context 62% · 2 images not sent · 1 PDF not sent · 1 audio file not sent · prompt cache lost (84k tokens) · thinking not sent"},
		{small, "context 153%: too long · 2 images not sent · 1 PDF not sent · 1 audio file not sent · prompt cache lost (84k tokens) · thinking not sent"},
		{free, "context 62% · prompt cache lost (84k tokens) · thinking not sent"},
	} {
		if got := strings.Join(wording.ModelFit(a.Session, test.model), " · "); got != test.want {
			t.Errorf("%s: %q, want %q", test.model.Name, got, test.want)
		}
	}
	a.Models.Open = func(string) (llm.Endpoint, error) { return far, nil }
	want := strings.TrimSuffix(strings.Join(wording.ModelFit(a.Session, far), " · "), " · thinking not sent") // the event says that itself
	if e := a.Models.Use("far/m"); apptest.See(e).Toast != want {
		t.Errorf("switching says %q, want %q", apptest.See(e).Toast, want)
	}
	if _, ok := apptest.See(apptest.Run(t, a, "/model far/m")).Event.(session.ModelSwitched); ok {
		t.Error("it switched twice")
	}
}

func TestSwitchOfModel(t *testing.T) {
	a := newApp(t)
	if e := a.Models.Use("fake/other"); apptest.See(e).Event != nil || apptest.See(e).Toast != "Model: fake/m → fake/other" {
		t.Errorf("in an empty conversation: %+v", e)
	}
	a.Models.Use("fake/m")
	own := a.Session.Model()
	own.Model = llmtest.New(llmtest.Say("an answer"))
	a.Session.SetModel(own)
	for range a.Session.Turn(t.Context(), llm.Part{Kind: llm.Text, Text: "hello"}) {
	}
	e := a.Models.Use("fake/other")
	if _, ok := apptest.See(e).Event.(session.ModelSwitched); !ok || apptest.See(e).Toast != "" || a.Session.Model().Name != "fake/other" || !slices.Equal(a.Models.Recent, []string{"fake/other", "fake/m"}) {
		t.Errorf("%+v; recent %q", e, a.Models.Recent)
	}
	if e := a.Models.Use("far/away"); apptest.See(e).Failed == nil || a.Session.Model().Name != "fake/other" {
		t.Errorf("%+v with %s", e, a.Session.Model().Name)
	}
	apptest.Run(t, a, "/next-model")
	if a.Session.Model().Name != "fake/m" || a.Models.Recent[0] != "fake/other" {
		t.Errorf("%s, recent %q: going round changes no order", a.Session.Model().Name, a.Models.Recent)
	}
}

// The next run starts with the model last cycled to, although cycling does not change the order of recent models.
func TestCycledModelIsKept(t *testing.T) {
	a := newApp(t)
	apptest.Run(t, a, "/model fake/b")
	apptest.Run(t, a, "/next-model")
	if kept, _ := a.Library.Get("models"); a.Session.Model().Name != "fake/m" || kept != "fake/m\nfake/b" {
		t.Errorf("the model is %s, kept is %q", a.Session.Model().Name, kept)
	}
	if apptest.Run(t, a, "/next-model"); a.Session.Model().Name != "fake/b" {
		t.Errorf("the next one is %s", a.Session.Model().Name)
	}
}

// An alias switches to its model, and the model is remembered.
func TestModelByAlias(t *testing.T) {
	a := newApp(t)
	a.Models.Resolve = func(name string) string {
		if name == "fast" {
			return "fake/b"
		}
		return name
	}
	apptest.Run(t, a, "/model fast")
	if kept, _ := a.Library.Get("models"); a.Session.Model().Name != "fake/b" || kept != "fake/b\nfake/m" {
		t.Errorf("the model is %s, kept is %q", a.Session.Model().Name, kept)
	}
	if e := a.Models.Use("fast"); !strings.Contains(apptest.See(e).Toast, "Already using fake/b") {
		t.Errorf("again: %+v", e)
	}
	if e := apptest.Run(t, a, "/model fas"); apptest.See(e).View.Panel != app.PanelModels || apptest.See(e).View.Query != "fas" {
		t.Errorf("a part of it: %+v", e)
	}
}

// Thinking can be turned on again with a model whose efforts differ from those of the model with which it was turned
// off.
func TestThinkingOnAnotherModel(t *testing.T) {
	a := newApp(t)
	for _, step := range []struct {
		do   func() app.Effect
		want llm.Effort
	}{
		{func() app.Effect { return apptest.Run(t, a, "/effort high") }, llm.EffortHigh},
		{func() app.Effect { return apptest.Run(t, a, "/thinking") }, llm.EffortOff},
		{func() app.Effect {
			a.Session.SetModel(llm.Endpoint{Name: "fake/other", Efforts: []llm.Effort{llm.EffortOff, llm.EffortLow}})
			return nil
		}, llm.EffortOff},
		{func() app.Effect { return apptest.Run(t, a, "/thinking") }, ""},
	} {
		if e := step.do(); a.Session.Next.Effort() != step.want {
			t.Errorf("effort %q, want %q: %+v", a.Session.Next.Effort(), step.want, e)
		}
	}
}
