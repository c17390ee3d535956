package doctor

import (
	"parley/providers"
	"parley/providers/catalog"
	"parley/ui/app"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestTerminalChecks: unknown properties are reported as such, and a terminal without a route to the clipboard gets a
// warning.
func TestTerminalChecks(t *testing.T) {
	getenv := func(string) string { return "" }
	checks := terminalChecks(app.TerminalState{Colors: "256"}, getenv, nil)
	got := map[string]Check{}
	for _, c := range checks {
		got[c.Name] = c
	}
	if c := got["colors"]; c.Status != works || c.Detail != "256" {
		t.Errorf("%+v", c)
	}
	for _, name := range []string{"TERM", "clipboard"} {
		if c := got[name]; c.Status != warns || c.Hint == "" {
			t.Errorf("%+v", c)
		}
	}
}

// TestDoctorNamesRetirements: doctor names the configured models that retire soon, and no others.
func TestDoctorNamesRetirements(t *testing.T) {
	d := New(Options{Config: &providers.Config{}, Models: func() []string { return []string{"openai/gpt-5", "openai/gpt-4.1", "openai/gpt-6.1-sol"} }})
	for day, want := range map[string]string{
		"2026-11-01": "",
		"2026-12-01": "openai/gpt-5 retires on 2026-12-11; use gpt-6.1-sol instead",
		"2027-01-01": "openai/gpt-5 was retired on 2026-12-11; use gpt-6.1-sol instead. openai/gpt-4.1 retires on 2027-01-14; use gpt-6.1-sol instead",
	} {
		now, err := time.Parse(time.DateOnly, day)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(d.retirements(now), ". "); got != want {
			t.Errorf("on %s: %q, want %q", day, got, want)
		}
	}
}

// TestOldFacts checks that doctor asks for new facts about models if the newest are old.
func TestOldFacts(t *testing.T) {
	d := New(Options{Config: &providers.Config{}, Models: func() []string { return nil }})
	d.Config.Facts = catalog.OpenFactsFile(filepath.Join(t.TempDir(), "models.json"))
	if c := d.facts(catalog.Revised().Add(catalog.StaleAfter + time.Hour)); c.Status != warns || !strings.Contains(c.Hint, "parley models --update") {
		t.Errorf("doctor says %+v", c)
	}
}
