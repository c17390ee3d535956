package tui

import (
	"context"
	"strings"
	"testing"
)

// TestStatusCommand: the output of the user's own command is in the status line; its
// failure is reported.
func TestStatusCommand(t *testing.T) {
	s := setUpWith(t, 80, 24, func(o *Options) {
		o.Config.StatusCommand = "prompt"
		o.App.Machine.Filter = func(_ context.Context, _ string, input []byte) (string, error) {
			if strings.Contains(string(input), `"display_name":"one"`) {
				return "on branch main\n", nil
			}
			return "", context.Canceled
		}
	})
	s.WaitForText("fake/one · work · on branch main")
}

// TestStatusSegments: the configuration selects the segments of the status line.
func TestStatusSegments(t *testing.T) {
	s := setUpWith(t, 80, 24, func(o *Options) { o.Config.Status = []string{"mode", "context"} })
	s.WaitForText("ask · 0% of 100k")
	if line := s.status(); strings.Contains(line, "fake/one") {
		t.Errorf("the model is in the status line %q", line)
	}
}
