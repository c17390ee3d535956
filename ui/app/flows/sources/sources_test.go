package sources

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"parley/providers/llm"
	"parley/providers/llmtest"
	"parley/ui/app/blocks"
	"parley/ui/uitest/apptest"
)

// TestSources numbers sources under their answer, live and replayed, and opens one only after its complete address was
// shown.
func TestSources(t *testing.T) {
	a := apptest.New(t, Register)
	source := func(block, title, url string) llm.Event {
		return llm.Delta{Block: block, Part: llm.Part{Kind: llm.Source, Name: title, URL: url}}
	}
	fake := llmtest.New(llmtest.Script(llm.Delta{Block: "b", Part: llm.Part{Kind: llm.Text, Text: "Out."}},
		source("s1", "Go\x1b[31m", "https://go.dev/blog"), source("s2", "Bad", "javascript:alert(1)"), source("s3", "", "https://go.dev/a\u202eb"), llm.Finish{Reason: llm.Stop}))
	a.Session.SetModel(llm.Endpoint{Name: "fake/m", Origin: "fake", Model: fake})
	if e := apptest.Run(t, a, "/sources"); apptest.See(e).Toast != "No sources yet" {
		t.Errorf("said %q", apptest.See(e).Toast)
	}
	var live blocks.Turn
	var shown []string
	for e := range a.Session.Turn(t.Context(), llm.Part{Kind: llm.Text, Text: "Hi"}) {
		for _, c := range live.Apply(e, time.Now()) {
			if c.Kind == blocks.SourceBlock {
				shown = append(shown, blocks.SourceText(c))
			}
		}
	}
	if len(shown) != 3 || !strings.HasPrefix(shown[0], "[1] Go") || !strings.HasSuffix(shown[0], " https://go.dev/blog") || shown[1] != "[2] Bad javascript:alert(1)" || strings.ContainsAny(strings.Join(shown, ""), "\x1b\u202e") {
		t.Errorf("shown %q", shown)
	}
	opened := ""
	a.Machine.OpenURL = func(_ context.Context, address string) error { opened = address; return errors.New("no browser") }
	list := apptest.See(apptest.Run(t, a, "/sources")).List
	if list == nil || len(list.Items) != 3 || list.Items[0].Disabled || !list.Items[1].Disabled || !list.Items[2].Disabled {
		t.Fatalf("asked %+v", list)
	}
	ask := apptest.See(list.Choose(list.Items[0].Value)).Confirm
	if ask == nil || !strings.Contains(ask.Text, "https://go.dev/blog") || ask.Harmless || opened != "" {
		t.Fatalf("asked %+v, opened %q", ask, opened)
	}
	if e := ask.Answer(false); apptest.See(e).Async != nil || opened != "" {
		t.Error("opened in spite of a no")
	}
	if e := apptest.See(ask.Answer(true)).Async(t.Context()); opened != "https://go.dev/blog" || apptest.See(e).Err == nil {
		t.Errorf("opened %q, %v", opened, apptest.See(e).Err)
	}
	for line, want := range map[string]string{"/sources 2": "Not an address of the web: javascript:alert(1)", "/sources 4": `No source "4": use a number from 1 to 3`} {
		if got := apptest.Toast(apptest.Run(t, a, line)); got != want {
			t.Errorf("%s: %q", line, got)
		}
	}
}
