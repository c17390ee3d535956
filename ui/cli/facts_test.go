package cli

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"parley/providers/catalog"
	"parley/session"
)

// Old facts of models are reported once, sixty days after the newest of them, and again when facts downloaded since are
// as old.
func TestFactsNotice(t *testing.T) {
	a := newProgram()
	a.library = session.MemoryStore()
	path := filepath.Join(t.TempDir(), "models.json")
	a.config.Facts = catalog.OpenFactsFile(path)
	built := catalog.Revised()
	expect := func(now time.Time, want string) {
		t.Helper()
		if got := factsNotice(a, now); got != want {
			t.Errorf("on %s: %q, want %q", now.Format(time.DateOnly), got, want)
		}
	}
	old := func(of time.Time) string {
		return "Prices and context windows of models are of " + of.Format(time.DateOnly) + ": parley models --update fetches new ones"
	}
	expect(built.Add(catalog.StaleAfter), "")
	expect(built.Add(catalog.StaleAfter+time.Hour), old(built))
	expect(built.Add(catalog.StaleAfter+48*time.Hour), "")

	fetched := built.Add(catalog.StaleAfter + 72*time.Hour).UTC().Truncate(time.Second)
	update := a.config.Facts.Compare([]catalog.Fetched{{List: catalog.List{Provider: "openai", URL: "https://api.openai.com/v1", Fetched: fetched}}})
	if err := update.Save(); err != nil {
		t.Fatal(err)
	}
	a.config.Facts = catalog.OpenFactsFile(path) // as in the next run
	expect(fetched.Add(time.Hour), "")
	expect(fetched.Add(catalog.StaleAfter+time.Hour), old(fetched))
	expect(fetched.Add(catalog.StaleAfter+2*time.Hour), "")
	if c := (doctor{program: a}).facts(fetched.Add(catalog.StaleAfter + time.Hour)); c.Status != "warn" && !strings.Contains(c.Hint, "parley models --update") {
		t.Errorf("doctor says %+v", c)
	}
}

// TestDoctorNamesRetirements: doctor names the configured models that retire soon, and no others.
func TestDoctorNamesRetirements(t *testing.T) {
	a := newProgram()
	a.config.Model, a.config.Fallback = "openai/gpt-5", []string{"openai/gpt-4.1", "openai/gpt-6.1-sol"}
	for day, want := range map[string]string{
		"2026-11-01": "",
		"2026-12-01": "openai/gpt-5 retires on 2026-12-11; use gpt-6.1-sol instead",
		"2027-01-01": "openai/gpt-5 was retired on 2026-12-11; use gpt-6.1-sol instead. openai/gpt-4.1 retires on 2027-01-14; use gpt-6.1-sol instead",
	} {
		now, err := time.Parse(time.DateOnly, day)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join((doctor{program: a}).retirements(now), ". "); got != want {
			t.Errorf("on %s: %q, want %q", day, got, want)
		}
	}
}
