package models

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"parley/providers/llm"
	"parley/ui/app"
)

func (f *flow) cannotConnect() string {
	if f.app.Connections == nil {
		return "Keys cannot be added here"
	}
	return ""
}

// providers returns the providers, those with a key marked.
func (f *flow) providers() []app.Item {
	if f.app.Connections == nil {
		return nil
	}
	var items []app.Item
	for _, c := range f.app.Connections() {
		item := app.Item{Title: c.Name, Value: c.Provider, Current: c.From != ""}
		switch {
		case c.From != "":
			item.Detail = "connected: " + c.From
		case c.Local && c.Keyless:
			item.Detail = "local server, needs no key"
		case c.Keyless:
			item.Detail = "uses its own login"
		case c.Login:
			item.Detail = "uses the login of another program"
		default:
			item.Detail = "no key yet"
		}
		items = append(items, item)
	}
	return items
}

// connect asks for the key of a provider; without a name, which one.
func (f *flow) connect(arg string) app.Effect {
	if arg == "" {
		return app.Choose("Connect a provider", "provider", f.providers(), f.connect)
	}
	c, err := f.app.Connection(arg)
	switch {
	case err != nil:
		return app.Fail(err)
	case c.Keyless:
		return f.connectKeyless(c)
	}
	return connection{flow: f, to: c, key: app.Key{Provider: c.Provider}}.ask()
}

// connectKeyless has what runs on this machine answer, from now on and where nothing names a
// model.
func (f *flow) connectKeyless(c app.Connection) app.Effect {
	look := f.app.Local.Discover
	if look == nil {
		return app.Toast(c.Name + " takes no key")
	}
	return app.Prepare(func(ctx context.Context) func() app.Effect {
		services := look(ctx)
		return func() app.Effect {
			at := slices.IndexFunc(services, func(s app.Service) bool { return s.Provider == c.Provider })
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
			kept := f.app.SaveLocalAnswer(s.Provider, true)
			return app.Then{app.Notes{s.ConnectedText()}, f.startWithModel(s.Model), kept}
		}
	})
}

// connectFor asks for the key that a model called name lacks, as the error says that came of
// opening it, and goes on with that model. It is false if that is not what is wrong.
func (f *flow) connectFor(name string, err error) (app.Effect, bool) {
	var e *llm.Error
	if f.app.Connections == nil || !errors.Is(err, llm.ErrNoKey) || !errors.As(err, &e) {
		return nil, false
	}
	c, err := f.app.Connection(e.Provider)
	if err != nil || c.Keyless {
		return nil, false
	}
	return connection{flow: f, to: c, key: app.Key{Provider: c.Provider}, model: name}.ask(), true
}

// A connection is a provider being connected: it asks for the variables of its address, then
// for its key, and continues with a model.
type connection struct {
	flow  *flow
	to    app.Connection
	key   app.Key // what was given so far
	model string  // to go on with; "": the one in use, or the first of the provider where the demo answers
}

// ask asks for the first variable that the key has no value of, then for the key, and then goes on.
func (c connection) ask() app.Effect {
	at := len(c.key.Variables)
	if at == len(c.to.Variables) && c.to.Login {
		return c.connect()
	} else if at == len(c.to.Variables) {
		return c.askKey()
	}
	v, parse := c.to.Variables[at], c.flow.app.Variable
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

// connect connects the provider with the key, or with another program's login, which has tokens.
func (c connection) connect() app.Effect {
	give := c.flow.app.Connect
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
	give := c.flow.app.Connect
	text := "It is checked with a request that costs nothing, then stored for you alone."
	if c.to.From != "" {
		text = "The key from " + c.to.From + " is in use. " + text
	}
	return &app.Secret{
		Title: c.to.Name + " API key", Text: text,
		Submit: func(ctx context.Context, line string) (func() app.Effect, error) {
			c.key.Text = line
			said, err := give(ctx, c.key)
			if errors.As(err, new(app.UncheckedKeyError)) {
				return func() app.Effect { return c.storeUnchecked(err) }, nil
			}
			if err != nil {
				return nil, err
			}
			return func() app.Effect { return c.connected(said) }, nil
		},
	}
}

// storeUnchecked asks whether the key is stored although it could not be checked.
func (c connection) storeUnchecked(why error) app.Effect {
	c.key.Unchecked = true
	return &app.Confirm{
		Text: why.Error() + ". Store it anyway?", Yes: "Store it", No: "Do not store it", Harmless: true,
		Accept: c.connect, Decline: func() app.Effect { return app.Toast("Not stored") },
	}
}

// connected says what the key unlocked and goes on with a model of the provider.
func (c connection) connected(said string) app.Effect {
	f, a, to, model := c.flow, c.flow.app, c.to, c.model
	note := strings.ReplaceAll(said, "\n", " · ")
	a.NoKey = false
	if now, err := a.Connection(to.Provider); err == nil { // its models may be known only now
		to = now
	}
	a.Session.RenewModels(to.Provider, a.Open)
	now := a.Session.Model().Name
	demo := strings.HasPrefix(now, "demo/")
	if model == "" && demo {
		model = to.Default
	}
	if first := a.Local.First; model == "" && demo && to.Local && first != nil { // whose list takes the key
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
	if model == "" || model == now && !a.Session.HasPromptModel() {
		return app.Notes{note}
	}
	e, switched := f.switchTo(model)
	if _, asks := e.(*app.Secret); asks { // of another provider, or a variable that is set and empty
		return app.Notes{note}
	}
	if switched {
		a.Recent = f.recent()
		return app.Then{e, app.Notes{note}, f.keep(a.Recent)}
	}
	return app.Then{e, app.Notes{note}}
}
