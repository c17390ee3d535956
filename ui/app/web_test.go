package app

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"parley/providers/llm"
	"parley/providers/llmtest"
)

// TestSources numbers sources under their answer, live and replayed, and opens one only after its complete address was
// shown.
func TestSources(t *testing.T) {
	a := newApp(t)
	source := func(block, title, url string) llm.Event {
		return llm.Delta{Block: block, Part: llm.Part{Kind: llm.Source, Name: title, URL: url}}
	}
	fake := llmtest.New(llmtest.Script(llm.Delta{Block: "b", Part: llm.Part{Kind: llm.Text, Text: "Out."}},
		source("s1", "Go\x1b[31m", "https://go.dev/blog"), source("s2", "Bad", "javascript:alert(1)"), source("s3", "", "https://go.dev/a\u202eb"), llm.Finish{Reason: llm.Stop}))
	a.Session.SetModel(llm.Endpoint{Name: "fake/m", Origin: "fake", Model: fake})
	if e := run(t, a, "/sources"); see(e).Toast != "No sources yet" {
		t.Errorf("said %q", see(e).Toast)
	}
	var live Turn
	var shown []string
	for e := range a.Session.Turn(t.Context(), llm.Part{Kind: llm.Text, Text: "Hi"}) {
		for _, c := range live.Apply(e, time.Now()) {
			if c.Kind == SourceBlock {
				shown = append(shown, SourceText(c))
			}
		}
	}
	if len(shown) != 3 || !strings.HasPrefix(shown[0], "[1] Go") || !strings.HasSuffix(shown[0], " https://go.dev/blog") || shown[1] != "[2] Bad javascript:alert(1)" || strings.ContainsAny(strings.Join(shown, ""), "\x1b\u202e") {
		t.Errorf("shown %q", shown)
	}
	opened := ""
	a.OpenURL = func(_ context.Context, address string) error { opened = address; return errors.New("no browser") }
	list := see(run(t, a, "/sources")).List
	if list == nil || len(list.Items) != 3 || list.Items[0].Disabled || !list.Items[1].Disabled || !list.Items[2].Disabled {
		t.Fatalf("asked %+v", list)
	}
	ask := see(list.Choose(list.Items[0].Value)).Confirm
	if ask == nil || !strings.Contains(ask.Text, "https://go.dev/blog") || ask.Harmless || opened != "" {
		t.Fatalf("asked %+v, opened %q", ask, opened)
	}
	if e := ask.Answer(false); see(e).Async != nil || opened != "" {
		t.Error("opened in spite of a no")
	}
	if e := see(ask.Answer(true)).Async(t.Context()); opened != "https://go.dev/blog" || see(e).Err == nil {
		t.Errorf("opened %q, %v", opened, see(e).Err)
	}
	for line, want := range map[string]string{"/sources 2": "Not an address of the web: javascript:alert(1)", "/sources 4": `No source "4": use a number from 1 to 3`} {
		if got := toastOf(run(t, a, line)); got != want {
			t.Errorf("%s: %q", line, got)
		}
	}
}
