package app

import (
	"strings"
	"testing"

	"parley/providers/llm"
	"parley/providers/llmtest"
	"parley/session"
)

// TestFitWords says of a model what would happen to the conversation there, in the same
// words in every list of models, and when it is switched to.
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
	if got := ModelFitWords(a, far); got != nil {
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
		{far, "context 62% · 2 images not sent · 1 PDF not sent · 1 audio file not sent · cache of 84k lost ≈ $0.25 · thinking not sent"},
		{small, "context 153%: too long · 2 images not sent · 1 PDF not sent · 1 audio file not sent · cache of 84k lost ≈ $0.25 · thinking not sent"},
		{free, "context 62% · cache of 84k lost · thinking not sent"},
	} {
		if got := strings.Join(ModelFitWords(a, test.model), " · "); got != test.want {
			t.Errorf("%s: %q, want %q", test.model.Name, got, test.want)
		}
	}
	a.Open = func(string) (llm.Endpoint, error) { return far, nil }
	want := strings.TrimSuffix(strings.Join(ModelFitWords(a, far), " · "), " · thinking not sent") // its line says that
	if e := a.UseModel("far/m"); see(e).Toast != want {
		t.Errorf("switching says %q, want %q", see(e).Toast, want)
	}
	if _, ok := see(run(t, a, "/model far/m")).Event.(session.ModelSwitched); ok {
		t.Error("it switched twice")
	}
}
