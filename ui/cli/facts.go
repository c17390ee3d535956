package cli

import (
	"context"
	"os"
	"slices"
	"time"

	"parley/providers"
	"parley/providers/catalog"
	"parley/session"
	"parley/tools"
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

// openCheckup reads the configuration, and opens what a screen would have open: the store and, if any are configured, the
// MCP servers. It returns a function that closes them. The defaults apply if the configuration cannot be read.
func (a *program) openCheckup() (closeAll func(), configErr error) {
	if configErr = a.load(); configErr != nil {
		a.config = defaultConfig(a.credentials)
	}
	var err error
	if a.dir, err = os.Getwd(); err != nil {
		return func() {}, configErr
	}
	a.library, err = a.openLibrary()
	closing := []func(){a.closeLibrary}
	_ = a.loadProjectTrust(false)
	if a.library != nil && err == nil && (len(a.config.MCP) > 0 || a.project.trusted) {
		if a.toolSet, err = tools.Open(a.dir); err == nil {
			closing = append(closing, func() { a.toolSet.Close() })
			a.toolSet.EnableSandbox(a.config.Sandbox)
			if a.startMCPServers() == nil && a.mcp.running() != nil {
				a.mcp.running().Wait(context.Background())
				closing = append(closing, a.mcp.stop)
			}
		}
	}
	return func() {
		for _, f := range slices.Backward(closing) {
			f()
		}
	}, configErr
}

// configuredModels returns the models named in the configuration.
func (c *Config) configuredModels() []string {
	return append([]string{c.Model, c.Session.TitleModel, c.Session.SummaryModel}, c.Fallback...)
}
