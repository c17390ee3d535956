package models

import (
	"context"
	"errors"
	"fmt"
	"time"

	"parley/providers"
	"parley/providers/catalog"
	"parley/providers/llm"
	"parley/ui/app/wording"
	"parley/ui/format"
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
	summary := factsReport{Fetched: now.UTC().Truncate(time.Second), Providers: []fetched{}, Changes: []change{}}
	for _, err := range failed {
		f := failedSource{Error: wording.Error(err)}
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
		of := fetched{Provider: l.Provider, Models: len(l.Models)}
		if l.Partial {
			of.From = "openrouter"
		}
		summary.Providers = append(summary.Providers, of)
	}
	for _, one := range update.Changes {
		summary.Changes = append(summary.Changes, changeOf(one))
	}
	if !c.dryRun {
		if err := update.Save(); err != nil {
			return fmt.Errorf("model data not saved: %w", err)
		}
		summary.Saved = kept.Path()
	}
	if err := summary.write(c.Out, c.Format, c.all); err != nil {
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

// changeOf returns the row of a change.
func changeOf(c catalog.Change) change {
	return change{
		Provider: c.Provider, Model: c.Model, Change: string(c.Kind), Why: c.Why,
		Context: c.New.Context, OldContext: c.Old.Context, Price: ratesOf(c.New.Price), OldPrice: ratesOf(c.Old.Price),
		Retires: c.New.Retires, OldRetires: c.Old.Retires,
	}
}

// ratesOf converts a price for printing; nil if it is unknown.
func ratesOf(p catalog.Price) *rates {
	if !p.Known() {
		return nil
	}
	return &rates{Free: p.Free, Input: p.Input, Output: p.Output, CacheRead: p.CacheRead}
}
