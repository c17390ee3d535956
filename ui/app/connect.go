package app

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"parley/providers/llm"
)

// Connecting gives keys to providers.
type Connecting struct {
	Connections func() []Connection                        // the providers there are; nil: keys cannot be given here
	Connection  func(provider string) (Connection, error)  // one of them, by any of its names
	Connect     func(context.Context, Key) (string, error) // checks a key and stores it; returns what that unlocked, in lines

	Variable func(provider, name, text string) (string, error) // the value of a variable of a provider's address in what was typed
}

// A Connection is a provider as one that can be given a key.
type Connection struct {
	Provider string // as it is configured, such as "anthropic"
	Name     string // for people, such as "Anthropic"
	From     string // where its key is, such as "OPENAI_API_KEY"; "" if it has none
	Default  string // model to begin with, as provider/model; "" if it has none
	Keyless  bool   // it takes no key: it runs here, or has a login of its own
	Local    bool   // it runs here
	Login    bool   // it takes no key, but tokens of another program's login, or of a command

	Variables []Variable // of its address, that are asked for
}

// A Variable is a part of a provider's address that is the user's own, such as a region.
type Variable struct {
	Name  string
	Title string // for people
	Help  string // what it is, in a sentence
	Value string // that it has; "" if it has none
}

// A Key is what a user gave for a provider.
type Key struct {
	Provider string
	Text     string // as it was typed or pasted; "" for a provider with a login

	Variables map[string]string // of its address
	Unchecked bool              // stored although it could not be checked
}

// An UncheckedKeyError says that a provider could not be asked about a key.
type UncheckedKeyError struct{ Name, Reason string }

func (e UncheckedKeyError) Error() string {
	return fmt.Sprintf("The key of %s could not be checked: %s", e.Name, strings.TrimRight(e.Reason, ". "))
}

func cannotConnect(a *App) string {
	if a.Connections == nil {
		return "Keys cannot be added here"
	}
	return ""
}

// items returns the providers, those with a key marked.
func (k Connecting) items() []Item {
	if k.Connections == nil {
		return nil
	}
	var items []Item
	for _, c := range k.Connections() {
		item := Item{Title: c.Name, Value: c.Provider, Current: c.From != ""}
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
func connect(a *App, arg string) Effect {
	if arg == "" {
		return &List{Title: "Connect a provider", Noun: "provider", Items: a.Connecting.items(), Choose: func(i Item, _ string) Effect { return connect(a, i.Value) }}
	}
	c, err := a.Connection(arg)
	switch {
	case err != nil:
		return Failure{Err: err}
	case c.Keyless:
		return connectKeyless(a, c)
	}
	return newConnectFlow(a, c, "").ask()
}

// connectKeyless has what runs on this machine answer, from now on and where nothing names a
// model.
func connectKeyless(a *App, c Connection) Effect {
	look := a.Local.Discover
	if look == nil {
		return Toast(c.Name + " takes no key")
	}
	return Prepare(func(ctx context.Context) func() Effect {
		services := look(ctx)
		return func() Effect {
			at := slices.IndexFunc(services, func(s Service) bool { return s.Provider == c.Provider })
			switch {
			case at < 0 && c.Local:
				return Failure{Err: fmt.Errorf("%s was not found on its usual port: /model lists the models of a server whose address is in config.toml", c.Name)}
			case at < 0:
				return Failure{Err: fmt.Errorf("%s was not found on this machine", c.Name)}
			}
			s := services[at]
			if err := s.Err(); err != nil {
				return Failure{Err: err}
			}
			kept := a.SaveLocalAnswer(s.Provider, true)
			return Then{Notes{s.ConnectedText()}, startWithModel(a, s.Model), kept}
		}
	})
}

// connectFor asks for the key that a model called name lacks, as the error says that came of
// opening it, and goes on with that model. It is false if that is not what is wrong.
func connectFor(a *App, name string, err error) (Effect, bool) {
	var e *llm.Error
	if a.Connections == nil || !errors.Is(err, llm.ErrNoKey) || !errors.As(err, &e) {
		return nil, false
	}
	c, err := a.Connection(e.Provider)
	if err != nil || c.Keyless {
		return nil, false
	}
	return newConnectFlow(a, c, name).ask(), true
}

// A connectFlow connects a provider: it asks for the variables of its address, then
// for its key, and continues with a model.
type connectFlow struct {
	app   *App
	to    Connection
	key   Key    // what was given so far
	model string // to go on with; "": the one in use, or the first of the provider where the demo answers
}

func newConnectFlow(a *App, to Connection, model string) connectFlow {
	return connectFlow{app: a, to: to, key: Key{Provider: to.Provider}, model: model}
}

// ask asks for the first variable that the key has no value of, then for the key, and then goes on.
func (f connectFlow) ask() Effect {
	at := len(f.key.Variables)
	if at == len(f.to.Variables) && f.to.Login {
		return f.connect()
	} else if at == len(f.to.Variables) {
		return f.askKey()
	}
	v, parse := f.to.Variables[at], f.app.Variable
	return &Secret{
		Title: f.to.Name + ": " + v.Title, Text: v.Help, Visible: true, Value: v.Value,
		Submit: func(_ context.Context, line string) (func() Effect, error) {
			value, err := parse(f.to.Provider, v.Name, line)
			if err != nil {
				return nil, err
			}
			next, values := f, map[string]string{v.Name: value}
			maps.Copy(values, f.key.Variables)
			next.key.Variables = values
			return next.ask, nil
		},
	}
}

// connect connects the provider with the key, or with another program's login, which has tokens.
func (f connectFlow) connect() Effect {
	give := f.app.Connect
	return Prepare(func(ctx context.Context) func() Effect {
		said, err := give(ctx, f.key)
		return func() Effect {
			if err != nil {
				return Failure{Err: err}
			}
			return f.connected(said)
		}
	})
}

// askKey asks for the key.
func (f connectFlow) askKey() Effect {
	give := f.app.Connect
	text := "It is checked with a request that costs nothing, then stored for you alone."
	if f.to.From != "" {
		text = "The key from " + f.to.From + " is in use. " + text
	}
	return &Secret{
		Title: f.to.Name + " API key", Text: text,
		Submit: func(ctx context.Context, line string) (func() Effect, error) {
			f.key.Text = line
			said, err := give(ctx, f.key)
			if errors.As(err, new(UncheckedKeyError)) {
				return func() Effect { return f.storeUnchecked(err) }, nil
			}
			if err != nil {
				return nil, err
			}
			return func() Effect { return f.connected(said) }, nil
		},
	}
}

// storeUnchecked asks whether the key is stored although it could not be checked.
func (f connectFlow) storeUnchecked(why error) Effect {
	f.key.Unchecked = true
	return &Confirm{
		Text: why.Error() + ". Store it anyway?", Yes: "Store it", No: "Do not store it", Harmless: true,
		Accept: f.connect, Decline: func() Effect { return Toast("Not stored") },
	}
}

// connected says what the key unlocked and goes on with a model of the provider.
func (f connectFlow) connected(said string) Effect {
	a, c, model := f.app, f.to, f.model
	a.NoKey = false
	if now, err := a.Connection(c.Provider); err == nil { // its models may be known only now
		c = now
	}
	a.Session.RenewModels(c.Provider, a.Open)
	now := a.Session.Model().Name
	demo := strings.HasPrefix(now, "demo/")
	if model == "" && demo {
		model = c.Default
	}
	if first := a.Local.First; model == "" && demo && c.Local && first != nil { // whose list takes the key
		return Then{Notes{strings.ReplaceAll(said, "\n", " · ")}, Prepare(func(ctx context.Context) func() Effect {
			name, err := first(ctx, c.Provider)
			return func() Effect {
				if err != nil {
					return Failure{Err: err}
				}
				return startWithModel(a, name)
			}
		})}
	}
	note := strings.ReplaceAll(said, "\n", " · ")
	if model == "" || model == now && !a.Session.HasPromptModel() {
		return Notes{note}
	}
	e, switched := a.use(model)
	if _, asks := e.(*Secret); asks { // of another provider, or a variable that is set and empty
		return Notes{note}
	}
	if switched {
		a.rememberModel(a.Session.Model().Name)
		return Then{e, Notes{note}, a.keepModels(a.Recent)}
	}
	return Then{e, Notes{note}}
}
