package servers

import (
	"context"
	"slices"
	"strings"

	"parley/tools"
	"parley/ui/app"

	"parley/tools/mcp"
)

// A control manages one MCP server: shows it, grants it permissions, logs in to it.
type control struct {
	app  *app.App
	all  mcp.Servers
	name string
}

// show shows the server, with all tool text that the model would get, and lists actions.
func (c control) show(s mcp.State) app.Effect {
	text, unseen := serverDetails(s)
	if s.Status == mcp.StatusLogin {
		return &app.Confirm{Text: text, Yes: "Log in", No: "Close", Harmless: true, Accept: c.login}
	}
	if !unseen {
		return &app.Confirm{Text: text, Yes: "Options…", No: "Close", Harmless: true, Accept: func() app.Effect { return c.choices(s) }}
	}
	return &app.Confirm{Text: text, Yes: "Enable these tools", No: "Not now", Accept: func() app.Effect {
		return app.Do(func(context.Context) error { return c.approve(s) }, c.name+": tools enabled")
	}}
}

// approve offers the server's tools, as serverDetails showed them, to the model.
func (c control) approve(s mcp.State) error {
	if policy, ok := c.app.Session.Policy().(*tools.Policy); ok && s.Status == mcp.StatusChanged { // rules were made for the previous tools
		for _, r := range policy.Rules() {
			if strings.HasPrefix(r.Tool, mcp.ToolPrefix(s.Name)) {
				policy.Remove(r)
			}
		}
	}
	return c.all.Approve(s.Name, s.Fingerprint)
}

// choices lists the actions for the server.
func (c control) choices(s mcp.State) *app.List {
	choices := serverChoices(s)
	list := &app.List{Title: "MCP server " + s.Name, Noun: "choice"}
	for _, choice := range choices {
		list.Items = append(list.Items, app.Item{Title: choice.Name, Detail: choice.Detail, Value: choice.Name})
	}
	list.Choose = func(name string) app.Effect {
		at := slices.IndexFunc(choices, func(choice serverChoice) bool { return choice.Name == name })
		return app.Do(func(context.Context) error { return choices[at].Do(c.all) }, s.Name+": "+name)
	}
	return list
}

// login starts a login: it finds the login page and asks the user to open it.
func (c control) login() app.Effect {
	return app.Prepare(func(ctx context.Context) func() app.Effect {
		login, err := c.all.BeginLogin(ctx, c.name)
		return func() app.Effect {
			if err != nil {
				return app.Fail(err)
			}
			return &app.Confirm{Text: login.Question(), Yes: "Open in the browser", No: "Cancel",
				OnDismiss: func() { go login.Close() },
				Accept:    func() app.Effect { return c.awaitLogin(login) },
				Decline: func() app.Effect {
					go login.Close()
					return app.Toast("Not logged in to " + c.name)
				}}
		}
	})
}

// awaitLogin opens the login page and waits for the browser's redirect, or for its address typed by the user.
func (c control) awaitLogin(login mcp.Login) app.Effect {
	ask := &app.Secret{
		Title: "Log in to " + c.name, Text: "Waiting for your browser. If it runs on another computer, paste the address here that it ends on", Visible: true,
		Ready: login.Returned(), OnDismiss: func() { go login.Close() },
		Submit: func(ctx context.Context, line string) (func() app.Effect, error) {
			if line != "" {
				if err := login.Paste(line); err != nil {
					return nil, err
				}
			}
			defer login.Close()
			if err := login.Wait(ctx); err != nil {
				return func() app.Effect { return app.Refuse("MCP server %s: %w", c.name, err) }, nil
			}
			return func() app.Effect { return app.Toast("Logged in to " + c.name) }, nil
		},
	}
	return app.Prepare(func(ctx context.Context) func() app.Effect {
		if c.app.Machine.OpenURL == nil || c.app.Machine.OpenURL(ctx, login.URL()) != nil {
			ask.Text = "No browser here: open " + login.URL() + " elsewhere, and paste the address that it ends on"
		}
		return func() app.Effect { return ask }
	})
}

// logout deletes the login to the server.
func (c control) logout() app.Effect {
	return app.Do(func(ctx context.Context) error { return c.all.Logout(ctx, c.name) }, "Logged out of "+c.name)
}
