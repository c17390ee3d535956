// Package mcp implements parley mcp, which adds, removes and lists MCP servers and logs in to them without a screen.
package mcp

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"os/signal"
	"slices"
	"strings"

	"github.com/charmbracelet/x/term"
	"github.com/spf13/cobra"

	"parley/tools/mcp"
	"parley/tools/process"
	"parley/tools/sanitize"
	"parley/ui/app"
	"parley/ui/cli/cmdutil"
	"parley/ui/format"
)

// Options configure the command.
type Options struct {
	*cmdutil.Streams
	Client  mcp.Client
	Load    func() (map[string]mcp.Config, func(name string) mcp.LoginStore, error) // returns the configured servers by name, and a function that opens the login of one
	OpenURL func(ctx context.Context, address string) error
	Command func() *app.Command // returns the command of the chat that adds and removes servers
}

// New returns the command parley mcp.
func New(o Options) *cobra.Command {
	root := &cobra.Command{
		Use:   "mcp",
		Short: "Add, list and log in to MCP servers, or serve MCP clients",
		Long: `Add, list, remove and log in to MCP servers.

Servers are configured under [mcp.NAME] in config.toml or in the .mcp.json of a
trusted folder. Keys and logins are stored in the system's keyring or, if there is
none, in a file that only you can read. parley doctor starts each server and shows its
state.`,
	}
	complete := cmdutil.Complete(func() []string {
		configs, _, _ := o.Load()
		return slices.Sorted(maps.Keys(configs))
	})
	root.AddCommand(o.add(), &cobra.Command{
		Use: "list", Short: "List the MCP servers", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return o.list() },
	}, &cobra.Command{
		Use: "remove NAME", Short: "Remove an MCP server from config.toml, with its stored keys", Args: cobra.ExactArgs(1), ValidArgsFunction: complete,
		RunE: func(_ *cobra.Command, args []string) error { return o.run("remove " + args[0]) },
	}, &cobra.Command{
		Use: "login NAME", Short: "Log in to an MCP server in the browser", Args: cobra.ExactArgs(1), ValidArgsFunction: complete,
		Long: `Log in to an MCP server in the browser.

It prints the address first. If the browser runs on another computer, paste the
address that it ends on.`,
		RunE: func(cmd *cobra.Command, args []string) error { return o.login(cmd.Context(), args[0]) },
	}, &cobra.Command{
		Use: "logout NAME", Short: "Forget the login to an MCP server", Args: cobra.ExactArgs(1), ValidArgsFunction: complete,
		RunE: func(cmd *cobra.Command, args []string) error {
			c, store, err := o.find(args[0])
			if err != nil {
				return cmdutil.Config(err)
			}
			if err := o.Client.Logout(cmd.Context(), args[0], c, store); err != nil {
				return err
			}
			fmt.Fprintln(o.Out, "Logged out of "+args[0])
			return nil
		},
	})
	return root
}

// add returns the command that adds servers.
func (o Options) add() *cobra.Command {
	var address string
	var env, headers []string
	cmd := &cobra.Command{
		Use: "add NAME -- COMMAND…", Short: "Add an MCP server to config.toml", Args: cobra.MinimumNArgs(1),
		Long: `Add an MCP server to config.toml; comments and order stay.

The server is a program on this machine, given as a command after --, or a service at
--url. With -, parley reads the JSON block of a server's README from standard input.
Keys in it, in --env and in --header are stored with your other keys; config.toml has
${NAME} instead.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			block := args[0] == "-" || cmd.ArgsLenAtDash() < 0 && len(args) <= 2 && strings.HasPrefix(args[len(args)-1], "{")
			switch {
			case block && len(env)+len(headers)+len(address) > 0:
				return cmdutil.Usagef("--url, --env and --header go with a command or an address: write them into the JSON block")
			case args[0] == "-":
				text, err := io.ReadAll(io.LimitReader(os.Stdin, 1<<20))
				if err != nil {
					return err
				}
				return o.run("add " + string(text))
			case block:
				return o.run("add " + strings.Join(args, " "))
			}
			var words []string
			for option, values := range map[string][]string{"--env": env, "--header": headers, "--url": {address}} {
				for _, value := range values {
					if value != "" {
						words = append(words, option, process.Quote(value))
					}
				}
			}
			words = append(words, args[0])
			for i, word := range args[1:] {
				if i == 0 && !strings.Contains(word, "://") {
					words = append(words, "--")
				}
				words = append(words, process.Quote(word))
			}
			return o.run("add " + strings.Join(words, " "))
		},
	}
	cmd.Flags().StringVar(&address, "url", "", "the server is a service at `URL`")
	cmd.Flags().StringArrayVar(&env, "env", nil, "variable of the program, as `NAME=VALUE`; may be repeated")
	cmd.Flags().StringArrayVar(&headers, "header", nil, "header of each request to the service, as `NAME=VALUE`; may be repeated")
	return cmd
}

// run runs the command of the chat and prints its result.
func (o Options) run(arg string) error {
	if _, _, err := o.Load(); err != nil {
		return err
	}
	return o.Perform(o.Command().Do(arg))
}

// list lists the configured servers.
func (o Options) list() error {
	configs, _, err := o.Load()
	if err != nil {
		return cmdutil.Config(err)
	}
	if len(configs) == 0 {
		o.Note("No MCP servers. Add one with parley mcp add")
	}
	return cmdutil.WriteTable(o.Out, cmdutil.OutputWidth(), func(yield func([]string) bool) {
		for _, name := range slices.Sorted(maps.Keys(configs)) {
			about := ""
			switch c := configs[name]; {
			case c.OfProject:
				about = "from .mcp.json"
			case c.Disabled:
				about = "disabled"
			}
			if !yield([]string{name, about, sanitize.Line(configs[name].Location())}) {
				return
			}
		}
	})
}

// find returns a server by name, with its login store.
func (o Options) find(name string) (mcp.Config, mcp.LoginStore, error) {
	configs, logins, err := o.Load()
	if err != nil {
		return mcp.Config{}, mcp.LoginStore{}, err
	}
	c, ok := configs[name]
	if !ok {
		known := "there are none; parley mcp add adds one"
		if len(configs) > 0 {
			known = "there are " + strings.Join(slices.Sorted(maps.Keys(configs)), ", ")
		}
		return c, mcp.LoginStore{}, fmt.Errorf("no MCP server %s: %s", sanitize.Line(name), known)
	}
	return c, logins(name), nil
}

// login logs in to a server. It also accepts the browser's final address from the terminal.
func (o Options) login(ctx context.Context, name string) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt)
	defer stop()
	c, store, err := o.find(name)
	if err != nil {
		return cmdutil.Config(err)
	}
	login, err := o.Client.BeginLogin(ctx, name, c, store)
	if err != nil {
		return err
	}
	defer login.Close()
	fmt.Fprintln(o.Out, login.Question()+"\n")
	if err := o.OpenURL(ctx, login.URL()); err != nil {
		o.Note(format.ErrorText(err))
	}
	if term.IsTerminal(os.Stdin.Fd()) {
		fmt.Fprintln(o.Out, "Waiting for your browser. If it runs on another computer, paste the address here that it ends on:")
		go pasteLogin(login)
	}
	if err := login.Wait(ctx); err != nil {
		return fmt.Errorf("MCP server %s: %w", name, err)
	}
	fmt.Fprintln(o.Out, "Logged in to "+name)
	return nil
}

// pasteLogin reads addresses from the terminal until one completes the login. It runs as long as the program.
func pasteLogin(login mcp.Login) {
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		if lines.Text() == "" {
			continue
		}
		err := login.Paste(lines.Text())
		if err == nil {
			return
		}
		cmdutil.Warn(format.ErrorText(err))
	}
}
