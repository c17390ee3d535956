package connect

import (
	"context"
	"fmt"

	"parley/providers"
	"parley/session"
	"parley/tools/sanitize"
	"parley/ui/app/access"
	"parley/ui/cli/cmdutil"
)

// connectKeyless makes a server on this machine, or another agent's program, answer when no model is named. It asks the
// user nothing.
func (c *command) connectKeyless(ctx context.Context, about providers.Connection) error {
	if c.flags != (flags{}) {
		return cmdutil.Usagef("%s takes no key", about.Name)
	}
	found, err := c.LocalService(ctx, about.Provider, about.Name)
	if err != nil {
		return err
	}
	return c.tell(found.ConnectedText(), saveLocalAnswer(found.Provider, found.Model, true))
}

// disconnectKeyless reverses connectKeyless.
func (c *command) disconnectKeyless(about providers.Connection) error {
	if err := saveLocalAnswer(about.Provider, "", false); err != nil {
		return err
	}
	fmt.Fprintln(c.Out, "Removed "+sanitize.Line(about.Name))
	return nil
}

// saveLocalAnswer stores whether a service on this machine may answer, and its model; "" leaves the model open.
func saveLocalAnswer(provider, model string, yes bool) error {
	return cmdutil.Conversations{}.With(func(lib *session.Store) error {
		err := access.SaveAnswer(lib, provider, yes)
		if err == nil && model != "" {
			err = access.SaveRecent(lib, model)
		}
		return err
	})
}
