package cli

import (
	"cmp"
	"os"
	"slices"
	"strings"
	"time"

	"parley/providers"
	"parley/providers/catalog"
	"parley/session"
	"parley/ui/format"
	"parley/ui/report"
)

// fetchedFacts returns the file of downloaded model facts, next to the conversations; nil if there is no place for it.
func fetchedFacts() *catalog.FactsFile {
	library, err := session.StorePath(os.Getenv)
	if err != nil {
		return nil
	}
	return catalog.OpenFactsFile(catalog.FactsPath(library))
}

// factsNotice reports once that the facts about models are old; "" if they are not, or it was reported before.
func factsNotice(a *program, now time.Time) string {
	if now.Sub(catalog.Revised()) <= catalog.StaleAfter {
		return "" // without reading the disk
	}
	of, stale := a.config.Facts.Stale(now)
	day := of.Format(time.DateOnly)
	if notice, err := a.library.Get("facts told"); !stale || err != nil || notice == day {
		return ""
	}
	if err := a.library.Set("facts told", day); err != nil {
		return "" // otherwise it would be reported at every start
	}
	return "Prices and context windows of models are of " + day + ": parley models --update fetches new ones"
}

// facts checks the age of the facts about models.
func (d doctor) facts(now time.Time) report.Check {
	c := report.Check{Section: report.SectionConfiguration, Name: "model facts", Status: report.Works}
	of, stale := d.config.Facts.Stale(now)
	c.Detail = "of " + of.Format(time.DateOnly) + ", built in"
	if at := d.config.Facts.Fetched(); !at.IsZero() && at.Equal(of) {
		c.Detail = "fetched " + of.Format(time.DateOnly)
	}
	if stale {
		c.Status, c.Hint = report.Warns, "parley models --update fetches new prices and context windows"
	}
	if ends := d.retirements(now); len(ends) > 0 {
		c.Status, c.Hint = report.Warns, strings.Join(ends, ". ")
	}
	if err := d.config.Facts.Err(); err != nil {
		c.Status, c.Detail, c.Hint = report.Warns, format.ErrorText(err), "Those built in count: parley models --update writes it again"
	}
	return c
}

// retirements returns a sentence for each configured model that retires soon.
func (d doctor) retirements(now time.Time) (texts []string) {
	names := append([]string{d.config.Model, d.config.Session.TitleModel, d.config.Session.SummaryModel}, d.config.Fallback...)
	for _, c := range providers.Choices(d.config.Config, os.Getenv) {
		if name := cmp.Or(c.Alias, c.Name); slices.Contains(names, name) { // names in the configuration are resolved
			if text := c.Lifecycle.Retirement(name, now); text != "" && !slices.Contains(texts, text) {
				texts = append(texts, text)
			}
		}
	}
	return texts
}

// modelNames returns the available models for shell completion.
func (a *program) modelNames() (names []string) {
	if a.load() == nil {
		for _, c := range providers.Choices(a.local.services(), os.Getenv) {
			if c.Ready && !c.Lifecycle.Retired(time.Now()) {
				names = append(names, c.Name)
			}
		}
	}
	return names
}
