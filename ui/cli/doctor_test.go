package cli

import (
	"parley/ui/app"
	"parley/ui/report"
	"testing"
)

// TestTerminalChecks: unknown properties are reported as such, and a terminal without a route to the clipboard gets a
// warning.
func TestTerminalChecks(t *testing.T) {
	getenv := func(string) string { return "" }
	checks := terminalChecks(app.TerminalState{Colors: "256"}, getenv, nil)
	got := map[string]report.Check{}
	for _, c := range checks {
		got[c.Name] = c
	}
	if c := got["colors"]; c.Status != report.Works || c.Detail != "256" {
		t.Errorf("%+v", c)
	}
	for _, name := range []string{"TERM", "clipboard"} {
		if c := got[name]; c.Status != report.Warns || c.Hint == "" {
			t.Errorf("%+v", c)
		}
	}
}
