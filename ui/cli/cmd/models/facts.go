package models

import (
	"context"
	"errors"
	"fmt"
	"time"

	"parley/providers"
	"parley/providers/catalog"
	"parley/providers/llm"
	"parley/ui/app"
	"parley/ui/format"
	"parley/ui/report"
)

// updateFacts downloads facts about models, prints the changes and, unless --dry-run is set, stores them.
func (c *Options) updateFacts(ctx context.Context) error {
	kept := c.Services().Facts
	if kept == nil {
		return errors.New("no folder for model data: set HOME or XDG_DATA_HOME to an absolute path")
	}
	if err := kept.Err(); err != nil {
		c.Note(format.ErrorText(err) + "; it is written again")
	}
	now := time.Now()
	lists, failed := providers.FetchFacts(ctx, c.Services(), c.OpenOptions(), now)
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
		return errors.New("received no list of models: nothing changed")
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
			return fmt.Errorf("model data not saved: %w", err)
		}
		summary.Saved = kept.Path()
	}
	if err := report.Facts(c.Out, summary, c.Format, c.all); err != nil {
		return err
	}
	if c.Format == "text" {
		where := "nothing saved: --dry-run"
		if summary.Saved != "" {
			where = "kept in " + c.AbbrevPath(summary.Saved)
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

// rates converts a price for printing; nil if it is unknown.
func rates(p catalog.Price) *report.Rates {
	if !p.Known() {
		return nil
	}
	return &report.Rates{Free: p.Free, Input: p.Input, Output: p.Output, CacheRead: p.CacheRead}
}
