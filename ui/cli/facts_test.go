package cli

import (
	"path/filepath"
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
}
