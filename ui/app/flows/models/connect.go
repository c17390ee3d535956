package models

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"parley/providers/llm"
	"parley/ui/app"
	"parley/ui/app/access"
)

func (f *flow) cannotConnect() string {
	if f.app.Models.Connections == nil {
		return "Keys cannot be added here"
	}
	return ""
}

// providers lists the providers and marks those with a key.
func (f *flow) providers() []app.Item {
	if f.app.Models.Connections == nil {
		return nil
	}
	var items []app.Item
	for _, c := range f.app.Models.Connections() {
		items = append(items, app.Item{Title: c.Name, Detail: c.State(), Value: c.Provider, Current: c.From != ""})
	}
	return items
}

// connect asks for the key of a provider; without a name, it lists the providers.
func (f *flow) connect(arg string) app.Effect {
	if arg == "" {
		return app.Choose("Connect a provider", "provider", f.providers(), f.connect)
	}
	c, err := f.app.Models.Connection(arg)
	switch {
	case err != nil:
		return app.Fail(err)
	case c.Keyless:
		return f.connectKeyless(c)
	}
	return connection{flow: f, to: c, key: access.Key{Provider: c.Provider}}.ask()
}

// connectKeyless makes a service on this machine answer, now and at later starts that name no model.
func (f *flow) connectKeyless(c access.Connection) app.Effect {
	look := f.app.Models.Local.Discover
	if look == nil {
		return app.Toast(c.Name + " takes no key")
	}
	return app.Prepare(func(ctx context.Context) func() app.Effect {
		services := look(ctx)
		return func() app.Effect {
			at := slices.IndexFunc(services, func(s access.Service) bool { return s.Provider == c.Provider })
			switch {
			case at < 0 && c.Local:
				return app.Refuse("%s was not found on its usual port: /model lists the models of a server whose address is in config.toml", c.Name)
			case at < 0:
				return app.Refuse("%s was not found on this machine", c.Name)
			}
			s := services[at]
			if err := s.Err(); err != nil {
				return app.Fail(err)
			}
			kept := f.saveAnswer(s.Provider, true)
			return app.Then{app.Notes{s.ConnectedText()}, f.startWithModel(s.Model), kept}
		}
	})
}

// connectFor asks for the missing key of the model name, if that is the cause of err, and continues with that model. It
// returns false for other errors.
func (f *flow) connectFor(name string, err error) (app.Effect, bool) {
	var e *llm.Error
	if f.app.Models.Connections == nil || !errors.Is(err, llm.ErrNoKey) || !errors.As(err, &e) {
		return nil, false
	}
	c, err := f.app.Models.Connection(e.Provider)
	if err != nil || c.Keyless {
		return nil, false
	}
	return connection{flow: f, to: c, key: access.Key{Provider: c.Provider}, model: name}.ask(), true
}

// A connection is a provider being connected. It asks for the variables of its address, then for its key, and continues
// with a model.
type connection struct {
	flow  *flow
	to    access.Connection
	key   access.Key // input so far
	model string     // model to continue with; "": the current one or, if the demo answers, the first one of the provider
}

// ask asks for the first missing variable, then for the key, and then connects.
func (c connection) ask() app.Effect {
	at := len(c.key.Variables)
	if at == len(c.to.Variables) && c.to.Login {
		return c.connect()
	} else if at == len(c.to.Variables) {
		return c.askKey()
	}
	v, parse := c.to.Variables[at], c.flow.app.Models.Variable
	return &app.Secret{
		Title: c.to.Name + ": " + v.Title, Text: v.Help, Visible: true, Value: v.Value,
		Submit: func(_ context.Context, line string) (func() app.Effect, error) {
			value, err := parse(c.to.Provider, v.Name, line)
			if err != nil {
				return nil, err
			}
			next, values := c, map[string]string{v.Name: value}
			maps.Copy(values, c.key.Variables)
			next.key.Variables = values
			return next.ask, nil
		},
	}
}

// connect connects the provider with the key, or with the login of another program.
func (c connection) connect() app.Effect {
	give := c.flow.app.Models.Connect
	return app.Prepare(func(ctx context.Context) func() app.Effect {
		said, err := give(ctx, c.key)
		return func() app.Effect {
			if err != nil {
				return app.Fail(err)
			}
			return c.connected(said)
		}
	})
}

// askKey asks for the key.
func (c connection) askKey() app.Effect {
	give := c.flow.app.Models.Connect
	text := "It is checked for free, then stored on this machine."
	if c.to.From != "" {
		text = "Currently using the key from " + c.to.From + ". Paste a new one. " + text
	}
	return &app.Secret{
		Title: c.to.Name + " API key", Text: text,
		Submit: func(ctx context.Context, line string) (func() app.Effect, error) {
			c.key.Text = line
			said, err := give(ctx, c.key)
			if errors.As(err, new(access.UncheckedKeyError)) {
				return func() app.Effect { return c.storeUnchecked(err) }, nil
			}
			if err != nil {
				return nil, err
			}
			return func() app.Effect { return c.connected(said) }, nil
		},
	}
}

// storeUnchecked asks whether to store a key that could not be checked.
func (c connection) storeUnchecked(why error) app.Effect {
	c.key.Unchecked = true
	return &app.Confirm{
		Text: why.Error() + ". Store it anyway?", Yes: "Store it", No: "Do not store it", Harmless: true,
		Accept: c.connect, Decline: func() app.Effect { return app.Toast("Not stored") },
	}
}

// connected reports the models that the key unlocked and continues with one of the provider.
func (c connection) connected(said string) app.Effect {
	f, a, to, model := c.flow, c.flow.app, c.to, c.model
	note := strings.ReplaceAll(said, "\n", " · ")
	a.FirstScreen.NoKey = false
	if now, err := a.Models.Connection(to.Provider); err == nil { // its models may not have been known before
		to = now
	}
	a.Session.Next.RenewModels(to.Provider, a.Models.Open)
	now := a.Session.Model().Name
	demo := strings.HasPrefix(now, "demo/")
	if model == "" && demo {
		model = to.Default
	}
	if first := a.Models.Local.First; model == "" && demo && to.Local && first != nil { // the list of a local server needs the key
		return app.Then{app.Notes{note}, app.Prepare(func(ctx context.Context) func() app.Effect {
			name, err := first(ctx, to.Provider)
			return func() app.Effect {
				if err != nil {
					return app.Fail(err)
				}
				return f.startWithModel(name)
			}
		})}
	}
	if model == "" || model == now && !a.Session.Next.HasPromptModel() {
		return app.Notes{note}
	}
	e, switched := f.switchTo(model)
	if _, asks := e.(*app.Secret); asks { // another provider lacks a key, or a variable is set but empty
		return app.Notes{note}
	}
	if switched {
		return app.Then{e, app.Notes{note}, f.keepUsed()}
	}
	return app.Then{e, app.Notes{note}}
}
