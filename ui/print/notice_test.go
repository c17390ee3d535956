package print

import (
	"bytes"
	"testing"

	"github.com/charmbracelet/colorprofile"

	"parley/providers/llm"
	"parley/session"
	"parley/ui/theme"
)

// What happens beside an answer is said in the words of the screen.
func TestNotices(t *testing.T) {
	for _, c := range []struct {
		event session.Event
		want  string
	}{
		{llm.Notice{Text: "the temperature is not sent"}, "Note: The temperature is not sent\n"},
		{llm.Retry{Fault: llm.RateLimit, Attempt: 1, Max: 3}, "Rate limited · retrying (1/3)\n"},
		{session.Fallback{From: "a/x", To: "b/y", Fault: llm.RateLimit}, "a/x: Rate limited · continuing with b/y\n"},
		{session.ModelSwitched{From: "a/x", To: "b/y"}, "Model: a/x → b/y\n"},
		{session.ModelSwitched{From: "a/x", To: "b/y", Changes: []llm.Change{{}, {}}}, "Model: a/x → b/y · " + llm.Change{}.String() + ", " + llm.Change{}.String() + "\n"},
	} {
		var out bytes.Buffer
		w := stderrWriter{o: Options{Err: &colorprofile.Writer{Forward: &out, Profile: colorprofile.NoTTY}, Theme: theme.Plain()}}
		w.event(c.event)
		if got := out.String(); got != c.want {
			t.Errorf("%#v: got %q, want %q", c.event, got, c.want)
		}
	}
}
