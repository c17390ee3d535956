package cli

import (
	"cmp"
	"math"
	"os"
	"slices"
	"sort"
	"strings"
	"time"

	"parley/providers"
	"parley/providers/catalog"
	"parley/providers/llm"
	"parley/session"
	"parley/ui/app/access"
)

// autoFallback in a chain stands for the most similar models of other connected providers.
const autoFallback = "auto"

// maxAuto is the greatest number of models that "auto" stands for.
const maxAuto = 3

// fallbacks returns a function that lists fallback models: those of --fallback, or the chain of the model, or that of
// its provider, or the general one.
func fallbacks(a *program) func(session.FallbackNeed) []string {
	return func(need session.FallbackNeed) []string {
		if a.flags.noFallback {
			return nil
		}
		provider, _, _ := strings.Cut(need.Model, "/")
		chain := a.config.Fallback
		for _, name := range []string{provider, need.Model} {
			if own, ok := a.config.Fallbacks[name]; ok {
				chain = own
			}
		}
		var names []string
		if len(a.flags.fallback) > 0 {
			chain = a.flags.fallback
		}
		for _, name := range chain {
			if name == autoFallback {
				names = append(names, alternatives(connectedChoices(a), need, time.Now())...)
				continue
			}
			names = append(names, name)
		}
		return names
	}
}

// connectedChoices returns all choices. Ready is set only for services that the user connected or agreed to use, not
// for those merely found on this machine.
func connectedChoices(a *program) []providers.Choice {
	answers := map[string]bool{}
	if a.library != nil {
		answers = access.ReadAnswers(a.library)
	}
	choices := providers.Choices(a.local.services(), os.Getenv)
	for i, c := range choices {
		choices[i].Ready = c.Ready && (c.Connected || answers[c.Provider])
	}
	return choices
}

// largerModels returns a function that lists models for a conversation that does not fit: the chain of its model, and
// other connected models.
func largerModels(a *program) func(session.FallbackNeed) []string {
	chain := fallbacks(a)
	return func(need session.FallbackNeed) []string {
		return append(chain(need), alternatives(connectedChoices(a), need, time.Now())...)
	}
}

// alternatives returns models with the abilities of need.Model whose context window, if known, fits the request: at
// most one per provider and none that is retired, the nearest price first. For a context overflow they have a larger
// window and may be of the same provider; otherwise they are of other providers.
func alternatives(choices []providers.Choice, need session.FallbackNeed, now time.Time) (names []string) {
	i := slices.IndexFunc(choices, func(c providers.Choice) bool { return c.Name == need.Model })
	if i < 0 {
		i = slices.IndexFunc(choices, func(c providers.Choice) bool { return strings.HasPrefix(need.Model, c.Provider+"/") })
	}
	if i < 0 {
		return nil
	}
	like := choices[i]
	choices = slices.DeleteFunc(slices.Clone(choices), func(c providers.Choice) bool {
		switch {
		case !c.Ready, c.Lifecycle.Retired(now), c.Provider == "demo", like.Tools && !c.Tools, like.Vision && !c.Vision, !session.FitsWindow(need.Tokens, c.Context):
			return true
		case need.Fault == llm.ContextOverflow:
			return c.Name == need.Model || c.Context == 0 || c.Context <= like.Context
		}
		return c.Provider == like.Provider
	})
	sort.SliceStable(choices, func(i, j int) bool {
		return priceDistance(choices[i].Price, like.Price) < priceDistance(choices[j].Price, like.Price)
	})
	taken := map[string]bool{}
	for _, c := range choices {
		if !taken[c.Provider] && len(names) < maxAuto {
			taken[c.Provider] = true
			names = append(names, c.Name)
		}
	}
	return names
}

// priceDistance returns the ratio of the prices, in either direction, as a logarithm. Unknown prices are farther away
// than any other.
func priceDistance(a, b catalog.Price) float64 {
	typical := func(p catalog.Price) float64 { return 3*p.Input + p.Output }
	switch {
	case !a.Known():
		return math.Inf(1)
	case typical(a) == 0 || typical(b) == 0:
		return math.Abs(typical(a) - typical(b))
	}
	return math.Abs(math.Log(typical(a) / typical(b)))
}

// limits returns the spending limits of the configuration, and of --max-cost, which is 0 if it was not given.
func (c *Config) limits(maxCost float64) []session.Limit {
	budget := c.Budget
	budget.Session = cmp.Or(maxCost, c.MaxCost, budget.Session)
	return budget.Limits()
}
