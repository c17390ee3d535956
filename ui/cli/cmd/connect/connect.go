// Package connect implements parley connect, which checks and stores keys of providers, and lets front ends do the same.
package connect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/charmbracelet/x/term"
	"github.com/spf13/cobra"

	"parley/providers"
	"parley/tools/sanitize"
	"parley/ui/app/access"
	"parley/ui/cli/ability"
	"parley/ui/cli/cmdutil"
	"parley/ui/format"
)

// Options configure the command.
type Options struct {
	*ability.Env
	Keys         func() ability.Keys                                                      // stored keys, once Load was called; nil in a build that stores none
	Look         func(ctx context.Context, server string)                                 // searches a server on this machine
	LocalService func(ctx context.Context, provider, name string) (access.Service, error) // finds a service on this machine that needs no key of parley's
}

// A command is parley connect with its flags.
type command struct {
	Options
	flags
	variables []string // NAME=VALUE, for the provider's address
}

type flags struct {
	fromEnv, command string
	list, remove     bool
}

// Command returns the command parley connect.
func (o Options) Command() *cobra.Command {
	c := command{Options: o}
	cmd := &cobra.Command{
		Use:   "connect [PROVIDER]",
		Short: "Check and store the API key of a provider",
		Long: `Add the API key of a provider.

parley asks for the key without showing it, or reads it from standard input if that is
a pipe. It checks the key with a request that costs nothing, and stores it in the
system's keyring or, if there is none, in credentials.toml beside config.toml, which
only you can read. Without PROVIDER you choose one from a list.

The address of a cloud has your own parts, such as a region: parley asks for them
before the key, or takes them from --set.`,
		Example: `  parley connect
  parley connect anthropic
  pass show openai | parley connect openai
  parley connect groq --from-env MY_GROQ_KEY
  parley connect mistral --command 'pass show mistral'
  parley connect azure --set resource=contoso --set deployment=gpt-6.1-sol
  parley connect --remove groq`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: cmdutil.Complete(c.providerNames),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := c.Load(); err != nil {
				return err
			}
			return c.run(cmd.Context(), strings.Join(args, ""))
		},
	}
	cmd.Flags().StringVar(&c.fromEnv, "from-env", "", "take the key from the environment variable `NAME`, and store it")
	cmd.Flags().StringVar(&c.command, "command", "", "store a `COMMAND` that prints the key, instead of the key")
	cmd.Flags().BoolVar(&c.list, "list", false, "list the providers that have a key, and where it is")
	cmd.Flags().BoolVar(&c.remove, "remove", false, "forget the stored key of PROVIDER")
	cmd.Flags().StringArrayVar(&c.variables, "set", nil, "`NAME=VALUE` of the provider's address, such as region=us-east-1; may be repeated")
	cmd.MarkFlagsMutuallyExclusive("from-env", "command", "list", "remove")
	return cmd
}

// providerNames returns the providers that take a key, for shell completion.
func (c *command) providerNames() (names []string) {
	if c.Load() == nil {
		for _, p := range providers.Connections(c.Services(), os.Getenv) {
			names = append(names, p.Provider)
		}
	}
	return names
}

// run lists keys, removes one, or adds one.
func (c *command) run(ctx context.Context, name string) error {
	if c.Keys() == nil {
		return errNoKeys
	}
	if c.list {
		return c.listKeys(name)
	}
	if name == "" {
		var err error
		if name, err = c.chooseProvider(); err != nil {
			return cmdutil.Usage(err)
		}
	}
	about, err := c.Services().Connection(name, os.Getenv)
	if err == nil && about.Local { // it may need a key
		c.Look(ctx, about.Provider)
		about, err = c.Services().Connection(name, os.Getenv)
	}
	if err != nil && !strings.HasSuffix(err.Error(), "?") { // otherwise the error suggests names
		err = fmt.Errorf("%w: parley connect lists them", err)
	}
	if err != nil {
		return cmdutil.Usage(err)
	}
	switch {
	case c.remove && about.Keyless:
		return c.disconnectKeyless(about)
	case c.remove:
		return c.removeKey(ctx, about)
	case about.Keyless:
		return c.connectKeyless(ctx, about)
	}
	return c.addKey(ctx, about)
}

// tell prints what was connected.
func (c *command) tell(said string, err error) error {
	if err == nil {
		fmt.Fprintln(c.Out, sanitize.Text(said))
	}
	return err
}

// listKeys prints the providers with a key, and where each key is stored.
func (c *command) listKeys(name string) error {
	if name != "" {
		return cmdutil.Usagef("--list lists all providers: give it no name")
	}
	stored, err := c.Keys().List()
	if err != nil {
		return err
	}
	row := func(provider, text string) {
		fmt.Fprintf(c.Out, "%-14s %s\n", sanitize.Line(provider), sanitize.Line(text))
	}
	used := map[string]bool{}
	found := len(stored) > 0
	for _, p := range providers.Connections(c.Services(), os.Getenv) {
		if p.From != "" {
			row(p.Provider, p.From)
			found = true
		}
		used[p.Provider] = p.Stored || p.Login
	}
	for _, provider := range stored {
		if where, host, ok := c.Keys().Find(provider); ok && !used[provider] {
			row(provider, fmt.Sprintf("%s, for %s (not used)", where, host))
		}
	}
	if !found {
		c.Note("no provider has a key: parley connect PROVIDER adds one")
	}
	return nil
}

// removeKey deletes a stored key.
func (c *command) removeKey(ctx context.Context, about providers.Connection) error {
	was, err := c.Keys().Remove(ctx, about.Provider)
	if err != nil {
		return fmt.Errorf("the key of %s: %w", about.Name, err)
	}
	if !was {
		from := ""
		if about.From != "" {
			from = ": its key comes from " + about.From
		}
		return fmt.Errorf("no key is stored for %s%s", about.Name, from)
	}
	fmt.Fprintln(c.Out, "Removed the key of "+sanitize.Line(about.Name))
	return nil
}

// maxAttempts limits how often a key or a variable is asked for while it is rejected.
const maxAttempts = 3

// addKey checks a key and stores it.
func (c *command) addKey(ctx context.Context, about providers.Connection) error {
	terminal := term.IsTerminal(os.Stdin.Fd())
	typed := c.fromEnv == "" && c.command == "" && terminal
	variables, err := c.readVariables(about, terminal)
	if err != nil {
		return cmdutil.Usage(err)
	}
	if err := c.Services().AddressError(about.Provider, variables, os.Getenv); err != nil {
		return cmdutil.Usage(err)
	}
	if about.Login {
		return c.tell(c.connect(ctx, about, givenKey{variables: variables}))
	}
	if config, err := c.Services().WithVariables(about.Provider, variables); err == nil {
		if now, err := config.Connection(about.Provider, os.Getenv); err == nil {
			about = now // the key belongs to this address
		}
	}
	for attempt := 1; ; attempt++ {
		key, err := c.readKey(ctx, about, typed)
		if err != nil {
			return cmdutil.Usage(err)
		}
		given := givenKey{Secret: key, command: c.command, variables: variables}
		said, err := c.connect(ctx, about, given)
		var unchecked access.UncheckedKeyError
		if errors.As(err, &unchecked) {
			if !typed {
				cmdutil.Warn(unchecked.Error() + ". Stored anyway")
			} else {
				cmdutil.Warn(unchecked.Error())
				if yes, _ := cmdutil.Confirm("Store it anyway?"); !yes {
					return errors.New("not stored")
				}
			}
			given.unchecked = true
			said, err = c.connect(ctx, about, given)
		}
		switch rejected := errors.As(err, new(rejectedError)); {
		case !rejected:
			return c.tell(said, err)
		case !typed || attempt == maxAttempts:
			return cmdutil.Config(fmt.Errorf("%w. Not stored", err))
		}
		cmdutil.Warn(format.ErrorText(err))
	}
}

// readVariables returns the variables of the provider's address, from --set or typed. Without a terminal, missing ones
// keep their values.
func (c *command) readVariables(about providers.Connection, typed bool) (map[string]string, error) {
	values := map[string]string{}
	for _, text := range c.variables {
		name, value, ok := strings.Cut(text, "=")
		if !ok {
			return nil, fmt.Errorf("--set: %q is not NAME=VALUE", text)
		}
		value, err := c.Services().Variable(about.Provider, name, value)
		if err != nil {
			return nil, fmt.Errorf("--set: %w", err)
		}
		values[name] = value
	}
	for _, v := range about.Variables {
		if values[v.Name] != "" {
			continue
		}
		value := v.Value
		for attempt := 1; typed; attempt++ {
			line, err := askVariable(v)
			if err == nil {
				value, err = c.Services().Variable(about.Provider, v.Name, line)
			}
			if err == nil {
				break
			}
			if lacking := c.Services().AddressError(about.Provider, values, os.Getenv); attempt == maxAttempts && lacking != nil {
				return nil, cmdutil.Usage(lacking)
			} else if attempt == maxAttempts {
				return nil, err
			}
			cmdutil.Warn(format.Capital(format.ErrorText(err)))
		}
		if value != "" {
			values[v.Name] = value
		}
	}
	return values, nil
}

// askVariable asks for a variable on the terminal.
func askVariable(v providers.ConnectionVariable) (string, error) {
	prompt := v.Title + ": "
	if v.Value != "" {
		prompt = fmt.Sprintf("%s [%s]: ", v.Title, sanitize.Line(v.Value))
	}
	fmt.Fprintln(os.Stderr, v.Help+".")
	line, err := cmdutil.AskLine(prompt)
	return cmp.Or(line, v.Value), err
}

// readKey reads the key from the place given by the flags: a variable, a command, a pipe, or the terminal with echo
// off. "" keeps the existing key.
func (c *command) readKey(ctx context.Context, about providers.Connection, typed bool) (providers.Secret, error) {
	switch {
	case c.fromEnv != "":
		if strings.TrimSpace(os.Getenv(c.fromEnv)) == "" {
			return "", fmt.Errorf("--from-env: %s is not set", c.fromEnv)
		}
		return providers.ParseKey(os.Getenv(c.fromEnv))
	case c.command != "":
		key, err := providers.KeyFromCommand(ctx, c.command)
		if err != nil {
			return "", fmt.Errorf("--command: %w", err)
		}
		return key, nil
	case !typed:
		text, err := io.ReadAll(io.LimitReader(os.Stdin, 64<<10))
		if err != nil {
			return "", fmt.Errorf("standard input: %w", err)
		}
		return parseKey(about, string(text))
	}
	hint := "not shown"
	if about.From != "" {
		hint += "; enter keeps the one from " + about.From
	}
	text, err := readHidden(about.Name + " API key (" + hint + "): ")
	if err != nil {
		return "", err
	}
	return parseKey(about, text)
}

// parseKey returns the key in text; "" if text is blank and the provider has a key.
func parseKey(about providers.Connection, text string) (providers.Secret, error) {
	if strings.TrimSpace(text) == "" && about.From != "" {
		return "", nil
	}
	key, err := providers.ParseKey(text)
	if err != nil && strings.TrimSpace(text) == "" {
		err = fmt.Errorf("the key is empty: paste one, or pipe it, as in echo $KEY | parley connect %s", about.Provider)
	}
	return key, err
}
