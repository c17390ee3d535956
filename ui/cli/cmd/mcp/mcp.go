// Package mcp implements parley mcp, which logs in to MCP servers without a screen.
package mcp

import (
	"bufio"
	"context"
	"fmt"
	"maps"
	"os"
	"os/signal"
	"slices"
	"strings"

	"github.com/charmbracelet/x/term"
	"github.com/spf13/cobra"

	"parley/tools/mcp"
	"parley/tools/sanitize"
	"parley/ui/cli/cmdutil"
	"parley/ui/format"
)

// Options configure the command.
type Options struct {
	*cmdutil.Streams
	Client  mcp.Client
	Load    func() (map[string]mcp.Config, func(name string) mcp.LoginStore, error) // returns the configured servers by name, and a function that opens the login of one
	OpenURL func(ctx context.Context, address string) error
}

// New returns the command that logs in to MCP servers without a screen.
func New(o Options) *cobra.Command {
	root := &cobra.Command{
		Use:   "mcp",
		Short: "Log in to MCP servers",
		Long: `Log in to MCP servers that are reached over the network and ask for it.

Servers are configured under [mcp.NAME] in config.toml or in the .mcp.json of a trusted
folder. The login is kept in the keyring of the system or, where there is none, in a file
that only you can read.`,
	}
	complete := cmdutil.Complete(func() []string {
		configs, _, _ := o.Load()
		return slices.Sorted(maps.Keys(configs))
	})
	root.AddCommand(&cobra.Command{
		Use: "login NAME", Short: "Log in to an MCP server in the browser", Args: cobra.ExactArgs(1), ValidArgsFunction: complete,
		Long: `Log in to an MCP server in the browser.

The address is printed first. Where the browser runs on another computer, paste the address
that it ends on.`,
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

// find returns a server by name, with its login store.
func (o Options) find(name string) (mcp.Config, mcp.LoginStore, error) {
	configs, logins, err := o.Load()
	if err != nil {
		return mcp.Config{}, mcp.LoginStore{}, err
	}
	c, ok := configs[name]
	if !ok {
		known := "there are none; add one under [mcp.NAME] in config.toml"
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
