// Package access describes what users connect: providers, with keys, and services on this machine.
package access

import (
	"context"
	"fmt"
	"strings"
)

// Connecting connects providers by giving them keys.
type Connecting struct {
	Connections func() []Connection                        // lists the providers; nil if keys cannot be given here
	Connection  func(provider string) (Connection, error)  // returns one provider, by any of its names
	Connect     func(context.Context, Key) (string, error) // checks and stores a key; returns lines about the models it unlocked

	Variable func(provider, name, text string) (string, error) // extracts the value of an address variable from typed text
}

// A Connection is a provider that can be given a key.
type Connection struct {
	Provider string // configured name, such as "anthropic"
	Name     string // display name, such as "Anthropic"
	From     string // source of its key, such as "OPENAI_API_KEY"; "" if it has none
	Default  string // first model, as provider/model; "" if it has none
	Keyless  bool   // needs no key: it runs on this machine or has its own login
	Local    bool   // runs on this machine
	Login    bool   // uses tokens of another program's login or of a command instead of a key

	Variables []Variable // variables of its address that the user is asked for
}

// State tells where the provider's key comes from, or why it needs none.
func (c Connection) State() string {
	switch {
	case c.From != "":
		return "connected: " + c.From
	case c.Local && c.Keyless:
		return "local server, needs no key"
	case c.Keyless:
		return "uses its own login"
	case c.Login:
		return "uses the login of another program"
	}
	return "no key yet"
}

// A Variable is a user-specific part of a provider's address, such as a region.
type Variable struct {
	Name  string
	Title string // display name
	Help  string // one sentence of explanation
	Value string // current value; "" if unset
}

// A Key is the user's input for connecting a provider.
type Key struct {
	Provider string
	Text     string // as typed or pasted; "" for a provider with a login

	Variables map[string]string // values of address variables
	Unchecked bool              // store it even if it cannot be checked
}

// An UncheckedKeyError reports that a provider could not be asked to check a key.
type UncheckedKeyError struct{ Name, Reason string }

func (e UncheckedKeyError) Error() string {
	return fmt.Sprintf("Could not check the %s key: %s", e.Name, strings.TrimRight(e.Reason, ". "))
}
