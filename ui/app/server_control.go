package app

import (
	"context"
	"fmt"
	"slices"

	"parley/tools/mcp"
)

// A serverControl is how a user deals with one MCP server: looks at it, allows it what it needs, logs in
// to it.
type serverControl struct {
	app  *App
	name string
}

// show shows the server, with everything the model would be told of its tools, and asks what to do
// with it.
func (c serverControl) show(s mcp.State) Effect {
	text, unseen := serverDetails(s)
	servers, policy := c.app.Servers(), c.app.Policy()
	if s.Status == mcp.StatusLogin {
		return &Confirm{Text: text, Yes: "Log in", No: "Close", Harmless: true, Accept: c.login}
	}
	if !unseen {
		return &Confirm{Text: text, Yes: "Restart, stop, allow…", No: "Close", Harmless: true, Accept: func() Effect { return c.choices(s) }}
	}
	return &Confirm{Text: text, Yes: "Enable these tools", No: "Not now", Accept: func() Effect {
		return Async(func(context.Context) Effect {
			did, err := approveServer(servers, s, policy)
			if err != nil {
				return Failure{Err: err}
			}
			return Toast(did)
		})
	}}
}

// choices lists what can be done about the server.
func (c serverControl) choices(s mcp.State) *List {
	servers, choices := c.app.Servers(), serverChoices(s)
	list := &List{Title: "MCP server " + s.Name, Noun: "choice"}
	for _, choice := range choices {
		list.Items = append(list.Items, Item{Title: choice.Name, Detail: choice.Detail, Value: choice.Name})
	}
	list.Choose = func(i Item, _ string) Effect {
		at := slices.IndexFunc(choices, func(choice serverChoice) bool { return choice.Name == i.Value })
		return Async(func(context.Context) Effect {
			if err := choices[at].Do(servers); err != nil {
				return Failure{Err: err}
			}
			return Toast(s.Name + ": " + choices[at].Name)
		})
	}
	return list
}

// LoginText asks whether to open the page where a user logs in to a server, shown whole.
func LoginText(server, host, address string) string {
	return fmt.Sprintf("Log in to MCP server %s at %s:\n\n%s", server, host, address)
}

// login logs in to the server: it finds out where, and has the user agree there.
func (c serverControl) login() Effect {
	servers := c.app.Servers()
	return Prepare(func(ctx context.Context) func() Effect {
		login, err := servers.BeginLogin(ctx, c.name)
		return func() Effect {
			if err != nil {
				return Failure{Err: err}
			}
			return &Confirm{Text: LoginText(c.name, login.Host, login.URL), Yes: "Open in the browser", No: "Cancel",
				OnDismiss: func() { go login.Close() },
				Accept:    func() Effect { return c.awaitLogin(login) },
				Decline: func() Effect {
					go login.Close()
					return Toast("Not logged in to " + c.name)
				}}
		}
	})
}

// awaitLogin opens the page of a login, and waits for the browser to come back or for the
// address that it was sent to.
func (c serverControl) awaitLogin(login *mcp.Login) Effect {
	ask := &Secret{
		Title: "Log in to " + c.name, Text: "Waiting for your browser. If it runs on another computer, paste the address here that it ends on", Visible: true,
		Ready: login.Returned(), OnDismiss: func() { go login.Close() },
		Submit: func(ctx context.Context, line string) (func() Effect, error) {
			if line != "" {
				if err := login.Paste(line); err != nil {
					return nil, err
				}
			}
			defer login.Close()
			if err := login.Wait(ctx); err != nil {
				return func() Effect { return Failure{Err: fmt.Errorf("MCP server %s: %w", c.name, err)} }, nil
			}
			return func() Effect { return Toast("Logged in to " + c.name) }, nil
		},
	}
	return Prepare(func(ctx context.Context) func() Effect {
		if c.app.OpenURL == nil || c.app.OpenURL(ctx, login.URL) != nil {
			ask.Text = "No browser here: open " + login.URL + " elsewhere, and paste the address that it ends on"
		}
		return func() Effect { return ask }
	})
}

// logout forgets the login to the server.
func (c serverControl) logout() Effect {
	servers := c.app.Servers()
	return Async(func(ctx context.Context) Effect {
		if err := servers.Logout(ctx, c.name); err != nil {
			return Failure{Err: err}
		}
		return Toast("Logged out of " + c.name)
	})
}
