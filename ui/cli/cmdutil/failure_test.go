package cmdutil

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"parley/providers/llm"
	"parley/ui/cli/exit"
)

// TestLongJSON: a long text is preserved.
func TestLongJSON(t *testing.T) {
	text := strings.Repeat("a\"\\\n\u009b€😀\u202e", 1<<17)
	var b bytes.Buffer
	if err := (Object{"type", "done", "text", text, "empty", "", "exit", 8}.Write(&b)); err != nil {
		t.Fatal(err)
	}
	var back struct{ Text string }
	if err := json.Unmarshal(b.Bytes(), &back); err != nil || back.Text != text {
		t.Errorf("the text did not come back: %v", err)
	}
}

// TestFailureCategory: errors in the command line and the configuration have the documented categories.
func TestFailureCategory(t *testing.T) {
	for _, c := range []struct {
		err    error
		status int
		want   string
	}{
		{errors.New("unknown flag"), exit.Usage, "input"},
		{errors.New("no such key"), exit.Config, "config"},
		{&llm.Error{Fault: llm.ModelNotFound}, exit.Config, "model_not_found"},
		{errors.New("odd"), exit.Failed, "unknown"},
	} {
		for _, format := range []string{"json", "jsonl"} {
			var out, told strings.Builder
			Failure(&out, &told, format, c.err, c.status)
			if want := `"category":"` + c.want + `"`; !strings.Contains(out.String(), want) {
				t.Errorf("%s: got %s, want %s", format, out.String(), want)
			}
		}
	}
}
