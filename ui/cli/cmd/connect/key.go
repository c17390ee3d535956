package connect

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"

	"github.com/charmbracelet/x/term"

	"parley/providers"
	"parley/tools/sanitize"
	"parley/ui/app/access"
	"parley/ui/tty"
)

// A rejectedError reports that a provider rejected a key.
type rejectedError struct{ name, reason string }

func (e rejectedError) Error() string {
	return fmt.Sprintf("%s rejected this key: %s", e.name, strings.TrimRight(e.reason, ". "))
}

// A givenKey is the user's input for connecting a provider.
type givenKey struct {
	providers.Secret                   // "" for a provider with a login, or to keep the existing key
	command          string            // command that printed the key; "" if the key was given directly
	variables        map[string]string // values of address variables
	unchecked        bool              // store it even if it cannot be checked
}

var errNoKeys = errors.New("this build stores no keys")

// connect checks the key of a provider and stores it, or the command that printed it. It returns a text about the
// unlocked models and the place of the key. It stores nothing if the key is rejected or, unless key.unchecked is set,
// could not be checked.
func (o Options) connect(ctx context.Context, about providers.Connection, key givenKey) (said string, err error) {
	keys := o.Keys()
	if keys == nil {
		return "", errNoKeys
	}
	config, err := o.Services().WithVariables(about.Provider, key.variables)
	if err != nil {
		return "", err
	}
	if about, err = config.Connection(about.Provider, os.Getenv); err != nil {
		return "", err
	}
	report, err := providers.VerifyKey(ctx, config, about.Provider, key.Secret, o.OpenOptions())
	switch {
	case err != nil:
		return "", err
	case ctx.Err() != nil:
		return "", context.Cause(ctx)
	case report.Verdict == providers.KeyRejected:
		return "", rejectedError{about.Name, report.Reason}
	case report.Verdict == providers.KeyUnchecked && !key.unchecked:
		return "", access.UncheckedKeyError{Name: about.Name, Reason: report.Reason}
	}
	where, kept := "", key.Secret == "" && key.command == ""
	switch {
	case about.Login, kept:
	case key.command != "":
		where, err = keys.PutCommand(ctx, about.Provider, about.Host, key.command)
	default:
		where, err = keys.Put(ctx, about.Provider, about.Host, key.Reveal())
	}
	if err == nil && (about.Login || len(key.variables) > 0) {
		err = keys.PutVariables(about.Provider, about.Host, key.variables)
	}
	if err != nil {
		return "", fmt.Errorf("the key of %s could not be stored: %w", about.Name, err)
	}
	switch {
	case about.Login:
		return report.String(), nil
	case kept:
		return fmt.Sprintf("%s\nThe key from %s is kept", report, about.From), nil
	}
	what := "Key"
	if key.command != "" {
		what = "Command"
	}
	said = fmt.Sprintf("%s\n%s stored in %s", report, what, o.AbbrevPath(where))
	if about.From != "" && !about.Stored {
		said += fmt.Sprintf("\n%s comes before it: unset that to use the stored key", about.From)
	}
	return said, nil
}

// Connecting returns the functions that front ends use to connect providers.
func (o Options) Connecting() access.Connecting {
	return access.Connecting{
		Connections: func() []access.Connection {
			var all []access.Connection
			for _, c := range providers.Connections(o.Services(), os.Getenv) {
				all = append(all, connectionRow(c))
			}
			return all
		},
		Connection: func(name string) (access.Connection, error) {
			c, err := o.Services().Connection(name, os.Getenv)
			return connectionRow(c), err
		},
		Connect: func(ctx context.Context, k access.Key) (string, error) {
			c, err := o.Services().Connection(k.Provider, os.Getenv)
			if err != nil {
				return "", err
			}
			key := givenKey{variables: k.Variables, unchecked: k.Unchecked}
			if !c.Login {
				if key.Secret, err = providers.ParseKey(k.Text); err != nil {
					return "", err
				}
			}
			return o.connect(ctx, c, key)
		},
		Variable: func(provider, name, text string) (string, error) { return o.Services().Variable(provider, name, text) },
	}
}

// connectionRow converts a provider for the front ends.
func connectionRow(c providers.Connection) access.Connection {
	row := access.Connection{Provider: c.Provider, Name: sanitize.Line(c.Name), From: c.From, Default: c.Model, Keyless: c.Keyless, Local: c.Local, Login: c.Login}
	for _, v := range c.Variables {
		row.Variables = append(row.Variables, access.Variable(v))
	}
	return row
}

// readHidden asks for a line on the terminal with echo off.
func readHidden(prompt string) (string, error) {
	fd := os.Stdin.Fd()
	before, err := term.GetState(fd)
	if err != nil {
		return "", err
	}
	interrupts := make(chan os.Signal, 1)
	signal.Notify(interrupts, os.Interrupt)
	ended := make(chan struct{})
	defer func() {
		signal.Stop(interrupts)
		close(ended)
	}()
	go func() {
		select {
		case <-interrupts:
			_ = term.Restore(fd, before)
			fmt.Fprintln(os.Stderr)
			os.Exit(130)
		case <-ended:
		}
	}()
	tty.Echo(fd, false) // before the prompt appears
	defer term.Restore(fd, before)
	fmt.Fprint(os.Stderr, prompt)
	line, err := term.ReadPassword(fd)
	return string(line), err
}
