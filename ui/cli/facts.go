package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"parley/providers"
	"parley/providers/catalog"
	"parley/providers/llm"
	"parley/session"
	"parley/ui/app"
	"parley/ui/format"
	"parley/ui/report"
)

// fetchedFacts returns the facts that were fetched, beside the conversations; nil if there is no
// place for them.
func fetchedFacts() *catalog.FactsFile {
	library, err := session.StorePath(os.Getenv)
	if err != nil {
		return nil
	}
	return catalog.OpenFactsFile(catalog.FactsPath(library))
}

// updateFacts fetches what lists of models say, prints how that differs from what is known, and
// keeps it unless --dry-run is set.
func (c *modelsCommand) updateFacts(ctx context.Context, as string) error {
	kept := c.config.Facts
	if kept == nil {
		return errors.New("nowhere to keep model facts: set HOME or XDG_DATA_HOME to an absolute path")
	}
	if err := kept.Err(); err != nil {
		c.Note(format.ErrorText(err) + "; it is written again")
	}
	now := time.Now()
	lists, failed := providers.FetchFacts(ctx, c.config.Config, c.openOptions(), now)
	summary := report.FactsReport{Fetched: now.UTC().Truncate(time.Second), Providers: []report.FetchedFacts{}, Changes: []report.FactChange{}}
	for _, err := range failed {
		f := report.FailedSource{Error: app.ErrorText(err)}
		if e := (*llm.Error)(nil); errors.As(err, &e) {
			f.Provider = e.Provider
		}
		summary.Failed = append(summary.Failed, f)
		c.Note(f.Provider + " was not updated: " + f.Error)
	}
	if len(lists) == 0 {
		return errors.New("no list of models came: not changed")
	}
	update := kept.Compare(lists)
	for _, l := range lists {
		of := report.FetchedFacts{Provider: l.Provider, Models: len(l.Models)}
		if l.Partial {
			of.From = "openrouter"
		}
		summary.Providers = append(summary.Providers, of)
	}
	for _, change := range update.Changes {
		summary.Changes = append(summary.Changes, factChange(change))
	}
	if !c.dryRun {
		if err := update.Save(); err != nil {
			return fmt.Errorf("model facts were not kept: %w", err)
		}
		summary.Saved = kept.Path()
	}
	if err := report.Facts(c.Out, summary, as, c.all); err != nil {
		return err
	}
	if as == "text" {
		where := "nothing is kept: --dry-run"
		if summary.Saved != "" {
			where = "kept in " + abbrevPath(summary.Saved)
		}
		c.Note(where)
	}
	return nil
}

// factChange returns the row of a change.
func factChange(c catalog.Change) report.FactChange {
	return report.FactChange{
		Provider: c.Provider, Model: c.Model, Change: string(c.Kind), Why: c.Why,
		Context: c.New.Context, OldContext: c.Old.Context, Price: rates(c.New.Price), OldPrice: rates(c.Old.Price),
		Retires: c.New.Retires, OldRetires: c.Old.Retires,
	}
}

// rates returns a price for print; nil if it is not known.
func rates(p catalog.Price) *report.Rates {
	if !p.Known() {
		return nil
	}
	return &report.Rates{Free: p.Free, Input: p.Input, Output: p.Output, CacheRead: p.CacheRead}
}

// factsNotice tells once that the facts of models are old; "" if they are not, or that was told.
func factsNotice(a *program, now time.Time) string {
	if now.Sub(catalog.Revised()) <= catalog.StaleAfter {
		return "" // without a look at the disk
	}
	of, stale := a.config.Facts.Stale(now)
	day := of.Format(time.DateOnly)
	if notice, err := a.library.Get("facts told"); !stale || err != nil || notice == day {
		return ""
	}
	if err := a.library.Set("facts told", day); err != nil {
		return "" // it would be told each time
	}
	return "Prices and context windows of models are of " + day + ": parley models --update fetches new ones"
}

// facts checks of when the facts of models are.
func (d doctor) facts(now time.Time) app.Check {
	c := app.Check{Section: app.SectionConfiguration, Name: "model facts", Status: app.Works}
	of, stale := d.config.Facts.Stale(now)
	c.Detail = "of " + of.Format(time.DateOnly) + ", built in"
	if at := d.config.Facts.Fetched(); !at.IsZero() && at.Equal(of) {
		c.Detail = "fetched " + of.Format(time.DateOnly)
	}
	if stale {
		c.Status, c.Hint = app.Warns, "parley models --update fetches new prices and context windows"
	}
	if ends := d.retirements(now); len(ends) > 0 {
		c.Status, c.Hint = app.Warns, strings.Join(ends, ". ")
	}
	if err := d.config.Facts.Err(); err != nil {
		c.Status, c.Detail, c.Hint = app.Warns, format.ErrorText(err), "Those built in count: parley models --update writes it again"
	}
	return c
}

// retirements returns a sentence for each model of the configuration that retires soon.
func (d doctor) retirements(now time.Time) (texts []string) {
	names := append([]string{d.config.Model, d.config.Session.TitleModel, d.config.Session.SummaryModel}, d.config.Fallback...)
	for _, c := range providers.Choices(d.config.Config, os.Getenv) {
		if name := cmp.Or(c.Alias, c.Name); slices.Contains(names, name) { // those of the configuration are resolved
			if text := c.Lifecycle.Retirement(name, now); text != "" && !slices.Contains(texts, text) {
				texts = append(texts, text)
			}
		}
	}
	return texts
}
