package compare

import (
	"strings"
	"testing"
	"time"

	"parley/providers/llm"
	"parley/session"
	"parley/ui/app"
	"parley/ui/theme"
)

// An unchanged frame costs nothing.
func TestCompareCached(t *testing.T) {
	c := newDialog(&app.ComparedPrompt{Names: []string{"a/a", "b/b", "c/c"}}, theme.Dark(), true)
	c.SetSize(130, 40)
	for n := range 3 {
		c.Apply(session.CandidateEvent{N: n, Event: llm.Delta{Block: "a", Part: llm.Part{Kind: llm.Text, Text: strings.Repeat("some words\n\n", 50)}}}, time.Unix(0, 0))
	}
	c.View()
	if n := testing.AllocsPerRun(10, func() { c.View() }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
