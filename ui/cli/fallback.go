package cli

import (
	"cmp"
	"math"
	"os"
	"slices"
	"strings"
	"time"

	"parley/providers"
	"parley/providers/catalog"
	"parley/providers/llm"
	"parley/session"
	"parley/ui/app"
)

// autoFallback stands in a chain for models that are as close as possible to the one that
// failed, of other providers that are connected.
const autoFallback = "auto"

// maxAuto is how many models "auto" stands for at most.
const maxAuto = 3

// fallbacks returns the models to go on with when one fails: those of --fallback, or else
// the chain of the model, or else of its provider, or else the general one.
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

// connectedChoices returns all choices; ready are those of services alone that the user
// connected, or agreed to be answered by: what was merely found on this machine is not.
func connectedChoices(a *program) []providers.Choice {
	answers := app.LocalAnswers{}
	if a.library != nil {
		answers = app.ReadLocalAnswers(a.library)
	}
	choices := providers.Choices(a.local.services(), os.Getenv)
	for i, c := range choices {
		choices[i].Ready = c.Ready && (c.Connected || answers[c.Provider])
	}
	return choices
}

// largerModels returns models for a conversation that does not fit: those of the chain of its model,
// and others that are connected.
func largerModels(a *program) func(session.FallbackNeed) []string {
	chain := fallbacks(a)
	return func(need session.FallbackNeed) []string {
		return append(chain(need), alternatives(connectedChoices(a), need, time.Now())...)
	}
}

// alternatives returns the models that can do what the model of a need can, and whose window
// takes the request, as far as it is known; one of each provider, the nearest price first, and none that is retired now. For
// a context overflow they are those with a larger window, of all providers, else those of the
// others.
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
	slices.SortStableFunc(choices, func(a, b providers.Choice) int {
		return cmp.Compare(priceDistance(a.Price, like.Price), priceDistance(b.Price, like.Price))
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

// priceDistance returns how many times dearer or cheaper a is than b, as a logarithm; a price
// that is not known is farther than any.
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

// budgetLimits returns the limits of the configuration, and of --max-cost.
func budgetLimits(a *program) []session.Limit {
	budget := a.config.Budget
	budget.Session = cmp.Or(a.flags.maxCost, a.config.MaxCost, budget.Session)
	return budget.Limits()
}
