package app

import (
	"context"
	"fmt"
	"strings"
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
