package providers

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"parley/providers/catalog"
	"parley/providers/llm"
	"parley/providers/wire"
)

// FetchFacts fetches the model lists of all ready providers and of OpenRouter, whose list is
// public. It skips servers on this machine, since their models change. Each of errs names its
// provider; lists are in picker order.
func FetchFacts(ctx context.Context, c Config, o OpenOptions, now time.Time) (lists []catalog.Fetched, errs []error) {
	o = o.withDefaults()
	names := slices.DeleteFunc(c.servers(o.Getenv), func(name string) bool {
		s, _ := c.service(name, o.Getenv)
		return s.closestBuiltin().Local || name == openRouter
	})
	names = append(names, openRouter)
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	services, offers, failed := make([]service, len(names)), make([][]listedModel, len(names)), make([]error, len(names))
	var wait sync.WaitGroup
	for i, name := range names {
		wait.Go(func() {
			s, _ := c.service(name, o.Getenv)
			if s.key.hint != "" {
				s.key = key{}
			}
			services[i] = s
			offers[i], failed[i] = s.listModels(ctx, o)
		})
	}
	var besides json.RawMessage
	var missed []error
	wait.Go(func() { besides, missed = c.fetchMedia(ctx, o) })
	wait.Wait()
	public := pricesByName(offers[len(names)-1])
	for i, s := range services {
		if failed[i] != nil {
			errs = append(errs, failed[i])
			continue
		}
		lists = append(lists, fetchedList(s, offers[i], public, now))
		if s.name == openRouter {
			lists[len(lists)-1].Media, errs = besides, append(errs, missed...)
		}
	}
	return append(lists, c.vendorFacts(o.Getenv, public, lists, now)...), errs
}

// openRouter is the provider whose model list is public and has the prices of many vendors.
const openRouter = "openrouter"

// FetchMedia fetches OpenRouter's lists of embedding, image and video models. errs has the
// failures.
func FetchMedia(ctx context.Context, c Config, o OpenOptions, now time.Time) (lists []catalog.Fetched, errs []error) {
	o = o.withDefaults()
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	found, errs := c.fetchMedia(ctx, o)
	if s, ok := c.service(openRouter, o.Getenv); ok && len(found) > 0 {
		f := catalog.Fetched{List: emptyList(s, now), Builtin: s.builtin.ID, Partial: true}
		f.Media = found
		lists = append(lists, f)
	}
	return lists, errs
}

// fetchMedia reads OpenRouter's lists of models for other uses than chat. It is no error if a
// server in OpenRouter's place lacks them, or if they require a key.
func (c Config) fetchMedia(ctx context.Context, o OpenOptions) (json.RawMessage, []error) {
	s, ok := c.service(openRouter, o.Getenv)
	if !ok {
		return nil, nil
	}
	open := s.key.hint == ""
	if !open {
		s.key = key{}
	}
	l, err := s.lister(ctx, o)
	if err != nil {
		return nil, []error{s.listError(err)}
	}
	defer l.HTTP.CloseIdleConnections()
	var found catalog.Media
	var errs []error
	for _, list := range catalog.MediaLists {
		page, err := l.fetchPage(ctx, list.Path, nil)
		var e *llm.Error
		switch {
		case errors.As(err, &e) && (e.Status == http.StatusNotFound || !open && (e.Status == http.StatusUnauthorized || e.Status == http.StatusForbidden)):
		case err != nil:
			err = s.listError(err)
			if errors.As(err, &e) {
				e.Message = "the list of " + list.What + ": " + e.Message
			}
			errs = append(errs, err)
		default:
			rows, _ := page["data"].([]any)
			list.Read(&found, rows)
		}
	}
	return catalog.EncodeMedia(found), errs
}

// vendorNames maps vendors to their names at OpenRouter, which passes on their prices: their models
// run only there, or cost the same elsewhere.
var vendorNames = map[string]string{"openai": "openai", "anthropic": "anthropic", "gemini": "google", "xai": "x-ai"}

// pricesByName returns OpenRouter's models by name, without variants such as :free, whose prices
// differ.
func pricesByName(offers []listedModel) map[string]listedModel {
	byName := map[string]listedModel{}
	for _, o := range offers {
		if !strings.Contains(o.ID, ":") {
			byName[vendorID(o.ID)] = o
		}
	}
	return byName
}

// vendorID returns id with its versions in one spelling: OpenRouter writes dots for Anthropic's
// dashes.
func vendorID(id string) string { return strings.ReplaceAll(strings.ToLower(id), ".", "-") }

// publicFacts returns the facts in OpenRouter's list about a model of a vendor's own service.
func publicFacts(s service, public map[string]listedModel, id string) (catalog.Facts, bool) {
	vendor, ok := vendorNames[s.name]
	if !ok || s.url != s.builtin.BaseURL {
		return catalog.Facts{}, false
	}
	o, ok := public[vendorID(vendor+"/"+id)]
	f := o.Facts
	f.ID, f.Name = id, ""
	return f, ok
}

// fetchedList returns a fetched list in the form that catalogs are compared in.
func fetchedList(s service, offers []listedModel, public map[string]listedModel, now time.Time) catalog.Fetched {
	f := catalog.Fetched{List: emptyList(s, now), Builtin: s.builtin.ID}
	for _, o := range offers {
		facts := o.Facts
		if more, ok := publicFacts(s, public, o.ID); ok {
			facts = facts.WithDefaults(more)
		}
		f.Models = append(f.Models, facts)
		if o.refused != "" {
			f.Refused = append(f.Refused, catalog.Change{Provider: s.name, Model: catalog.ShownID(o.ID), Kind: catalog.ChangeRefused, Why: o.refused})
		}
	}
	return f
}

// emptyList returns a list of s, fetched now, without models.
func emptyList(s service, now time.Time) catalog.List {
	return catalog.List{Provider: s.name, URL: wire.Public(s.url), Fetched: now.UTC().Truncate(time.Second)}
}

// vendorFacts returns the facts in OpenRouter's list about the models of vendors missing in have.
func (c Config) vendorFacts(getenv func(string) string, public map[string]listedModel, have []catalog.Fetched, now time.Time) (lists []catalog.Fetched) {
	for _, name := range slices.Sorted(maps.Keys(vendorNames)) {
		s, ok := c.service(name, getenv)
		if !ok || slices.ContainsFunc(have, func(f catalog.Fetched) bool { return f.Provider == name }) {
			continue
		}
		f := catalog.Fetched{List: emptyList(s, now), Builtin: s.builtin.ID, Partial: true}
		for _, id := range catalog.IDs(s.builtin.ID) {
			if facts, ok := publicFacts(s, public, id); ok {
				f.Models = append(f.Models, facts)
			}
		}
		if len(f.Models) > 0 {
			lists = append(lists, f)
		}
	}
	return lists
}
