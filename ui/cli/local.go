package cli

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"

	"parley/providers"
	"parley/providers/llm"
	"parley/session"
	"parley/tools/sanitize"
	"parley/ui/app/access"
)

// local finds models to use if none is named: servers and programs on this machine, and the provider that was set up
// without a model.
type local struct {
	*program
	found   atomic.Pointer[[]providers.LocalServer] // servers on this machine; nil until searched for
	unnamed string                                  // provider that was set up without a model, if no model is named; "" for none

	cooldowns session.Cooldowns // models that failed in this run
}

// services returns the providers of the configuration and the servers found on this machine so far.
func (a *local) services() providers.Config {
	c := a.config.Config
	if a.library != nil {
		used, _ := a.library.Get("models")
		c.Recent = strings.Fields(used)
	}
	if found := a.found.Load(); found != nil {
		return c.WithServers(*found, os.Getenv)
	}
	return c
}

// look searches model servers on this machine, for a quarter of a second at most. With only, it searches for that
// provider alone, if it was not found before. During a replay it finds none.
func (a *local) look(ctx context.Context, only string) {
	if a.recording.replay != nil {
		return
	}
	found := providers.Discover(ctx, a.config.Config, only, os.Getenv)
	if known := a.found.Load(); known != nil && only != "" {
		found = append(found, *known...)
	}
	a.found.Store(&found)
}

// discover calls look unless the configuration forbids it.
func (a *local) discover(ctx context.Context) {
	if a.config.UI.Discover {
		a.look(ctx, "")
	}
}

// find finds the provider of a model and calls open with the providers and the resolved name. All commands use it. It
// searches servers on this machine if the name needs one, and resolves a provider or a model given alone from the lists
// of the servers' models.
func (a *local) find(ctx context.Context, name string, open func(c providers.Config, name string) error) error {
	c := a.services()
	if provider := c.Unlocated(name, os.Getenv); provider != "" && a.config.UI.Discover {
		a.look(ctx, provider)
		c = a.services()
	}
	err := open(c, name)
	unknown := func() bool {
		return llm.FaultOf(err) == llm.ModelNotFound || name == "" && llm.FaultOf(err) == llm.Authentication
	}
	if unknown() && a.config.UI.Discover {
		a.look(ctx, "")
		c = a.services()
		err = open(c, name)
	}
	if unknown() && !strings.Contains(name, "/") {
		ask := providers.UnlistedProviders(c, os.Getenv)
		about, other := c.Connection(c.Resolve(name), os.Getenv)
		if other == nil {
			ask = []string{about.Provider}
		}
		listed, failed := c.WithLists(ctx, a.openOptions(), ask...)
		if err = open(listed, name); unknown() && failed != nil && other == nil {
			err = failed
		}
	}
	return err
}

// firstModel asks a provider's server for a model, for a provider given alone.
func (a *local) firstModel(ctx context.Context, provider string) (string, error) {
	model := ""
	err := a.find(ctx, provider, func(c providers.Config, name string) error {
		about, err := c.Connection(name, os.Getenv)
		if model = about.Model; err == nil && model == "" {
			err = &llm.Error{Fault: llm.ModelNotFound, Provider: provider, Message: "the server lists no models: load one there, or name one with -m " + provider + "/MODEL"}
		}
		return err
	})
	return model, err
}

// localServices searches services on this machine that answer without a key of parley's: servers first, then installed
// programs of other agents.
func (a *local) localServices(ctx context.Context) (list []access.Service) {
	a.look(ctx, "")
	for _, l := range a.services().Locals(os.Getenv) {
		list = append(list, access.Service{Provider: l.Provider, Name: sanitize.Line(l.Name), Model: l.Model, Models: l.Models, More: l.More, Problem: l.Problem, LacksKey: l.LacksKey})
	}
	for _, p := range providers.Programs(a.config.Config, os.Getenv) {
		s := access.Service{Provider: p.Provider, Name: sanitize.Line(p.Name), Program: true, Login: p.Login}
		if p.LoggedIn {
			s.Model = p.Provider
		}
		list = append(list, s)
	}
	return list
}

// unnamedModel returns the model to start with if none is named. Notice holds news for the user.
func (a *local) unnamedModel(screen bool) (name, notice string, err error) {
	name = providers.DefaultModel(a.config.Config, os.Getenv)
	if !providers.IsDemo(a.config.Config, name) || a.recording.replay != nil {
		return name, "", nil
	}
	if provider := providers.ProviderWithoutModel(a.config.Config, os.Getenv); provider != "" {
		if a.unnamed = provider; screen { // the screen does not wait for the network
			return name, "", nil
		}
		name, err = a.firstModel(context.Background(), provider)
		return name, "", err
	}
	why := providers.ExplainNoDefault(a.config.Config, os.Getenv)
	switch {
	case why != "" && !screen:
		return "", "", &llm.Error{Fault: llm.Authentication, Message: why + ". The built-in demo answers with -m " + name}
	case why != "":
		return name, why + ". The built-in demo model answers, offline.", nil
	case screen:
		return name, demoNotice, nil
	}
	accepted, running, err := a.acceptedModel()
	if accepted != "" || err != nil {
		return accepted, "", err
	}
	return name, joinNotices(demoNotice, running), nil
}

// acceptedModel returns the model of a service on this machine that the user agreed to use: the last used one, without
// a search, or one that is found. If there is none, notice names the services found.
func (a *local) acceptedModel() (name, notice string, err error) {
	answers := access.ReadAnswers(a.library)
	used, _ := a.library.Get("models")
	for name := range strings.FieldsSeq(used) {
		if provider, _, _ := strings.Cut(name, "/"); answers[provider] {
			return name, "", nil
		}
	}
	accepted := ""
	for provider, yes := range answers {
		if yes {
			accepted = max(accepted, provider) // any one, but the same each time
		}
	}
	switch {
	case !a.config.UI.Discover && accepted == "":
		return "", "", nil
	case !a.config.UI.Discover:
		name, err = a.firstModel(context.Background(), accepted)
		return name, "", err
	}
	services := a.localServices(context.Background())
	for _, s := range services {
		if answers[s.Provider] && (s.Model != "" || s.LacksKey) {
			return s.Model, "", s.Err()
		}
	}
	if accepted != "" {
		return "", "", notRunning(accepted, accepted)
	}
	for _, s := range services {
		if _, asked := answers[s.Provider]; !asked && !s.Program && (s.Model != "" || s.LacksKey) {
			return "", fmt.Sprintf("%s is running on this machine: parley connect %s uses it", s.Name, s.Provider), nil
		}
	}
	return "", "", nil
}

// notRunning returns the error for a server that was not found.
func notRunning(provider, name string) error {
	return &llm.Error{Fault: llm.Network, Provider: provider, Message: name + " does not run on this machine: start it"}
}

// service returns the service on this machine that provider names. Its error explains why it cannot answer.
func (a *local) service(ctx context.Context, provider, name string) (access.Service, error) {
	for _, s := range a.localServices(ctx) {
		if s.Provider == provider {
			return s, s.Err()
		}
	}
	if a.config.Providers[provider].BaseURL != "" {
		return access.Service{}, fmt.Errorf("%s needs no connecting: config.toml has its address, and has its key in api_key_env or api_key_command if it needs one", name)
	}
	return access.Service{}, cmp.Or(providers.MissingProgram(a.config.Config, provider, os.Getenv), notRunning(provider, name))
}

// options returns the functions that front ends use to find local models.
func (a *local) options() access.Local {
	var l access.Local
	if a.config.UI.Discover && a.recording.replay == nil {
		l.Discover = a.localServices
	}
	if provider := a.unnamed; provider != "" {
		l.Unnamed = func(ctx context.Context) (string, error) { return a.firstModel(ctx, provider) }
	}
	l.First = a.firstModel
	l.Learn = a.learner()
	return l
}

// learner returns a function that asks servers about a model, once per model: a server that told nothing will not tell
// more later.
func (a *local) learner() func(context.Context, string) (llm.Endpoint, bool) {
	if a.recording.replay != nil {
		return nil
	}
	var asked sync.Map // model names
	return func(ctx context.Context, name string) (llm.Endpoint, bool) {
		if _, again := asked.LoadOrStore(name, true); again {
			return llm.Endpoint{}, false
		}
		if err := providers.LearnModel(ctx, a.services(), name, a.openOptions()); err != nil {
			return llm.Endpoint{}, false // prompts to it report the problem
		}
		model, err := a.openModel(name, false)
		return model, err == nil && model.Context > 0
	}
}
