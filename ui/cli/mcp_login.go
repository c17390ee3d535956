package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"

	"github.com/charmbracelet/x/term"
	"github.com/spf13/cobra"

	"parley/providers/credentials"
	"parley/tools/mcp"
	"parley/tools/sanitize"
	"parley/ui/cli/cmdutil"
	"parley/ui/format"
)

// openLogins opens where the logins to MCP servers are kept: apart from keys, for servers are
// no providers.
func openLogins(dir string) *credentials.Store {
	if dir != "" {
		dir = filepath.Join(dir, "mcp")
	}
	return credentials.OpenLogins(dir, os.Getenv)
}

// loginStore keeps the login of one server in a store.
func loginStore(store *credentials.Store, entry string) mcp.LoginStore {
	return mcp.LoginStore{
		Load: func(ctx context.Context) (string, error) {
			if _, _, ok := store.Find(entry); !ok {
				return "", nil
			}
			text, _, err := store.Key(ctx, entry)
			return text, err
		},
		Save: func(ctx context.Context, text string) error {
			if text == "" {
				_, err := store.Remove(ctx, entry)
				return err
			}
			_, err := store.Put(ctx, entry, "", text)
			return err
		},
		Lock: func(ctx context.Context) (func(), error) { return store.LockRefresh(ctx, entry) },
	}
}

// maskSecrets returns what takes the keys that are configured, those of MCP servers too, and the tokens
// of logins out of text;
// the error names those it cannot know.
func maskSecrets(a *program) (func(string) string, error) {
	keys, err := a.config.MaskKeys(os.Getenv)
	if a.mcp.logins == nil { // the configuration could not be read
		return keys, err
	}
	texts, _, unread := a.mcp.logins.Known()
	var secrets []string
	for _, text := range texts {
		secrets = append(secrets, mcp.LoginSecrets(text)...)
	}
	configs, _, _ := mcpConfigs(a) // a file of a project that is wrong starts no server
	for _, server := range configs {
		secrets = append(secrets, mcp.ConfigSecrets(server)...)
	}
	servers := sanitize.NewMask(secrets, 1)
	return func(text string) string { return keys(servers.Excerpt(text)) }, errors.Join(err, unread)
}

// newMCPCommand returns the command that logs in to MCP servers without a screen.
func newMCPCommand(a *program) *cobra.Command {
	root := &cobra.Command{
		Use:   "mcp",
		Short: "Log in to MCP servers",
		Long: `Log in to MCP servers that are reached over the network and ask for it.

Servers are configured under [mcp.NAME] in config.toml or in the .mcp.json of a trusted
folder. The login is kept in the keyring of the system or, where there is none, in a file
that only you can read.`,
	}
	complete := cmdutil.Complete(func() []string {
		configs, _, _ := loadMCP(a)
		return slices.Sorted(maps.Keys(configs))
	})
	root.AddCommand(&cobra.Command{
		Use: "login NAME", Short: "Log in to an MCP server in the browser", Args: cobra.ExactArgs(1), ValidArgsFunction: complete,
		Long: `Log in to an MCP server in the browser.

The address is printed first. Where the browser runs on another computer, paste the address
that it ends on.`,
		RunE: func(cmd *cobra.Command, args []string) error { return loginServer(cmd.Context(), a, args[0]) },
	}, &cobra.Command{
		Use: "logout NAME", Short: "Forget the login to an MCP server", Args: cobra.ExactArgs(1), ValidArgsFunction: complete,
		RunE: func(cmd *cobra.Command, args []string) error {
			c, store, err := findServer(a, args[0])
			if err != nil {
				return cmdutil.Config(err)
			}
			if err := mcp.Logout(cmd.Context(), args[0], c, store); err != nil {
				return err
			}
			fmt.Fprintln(a.Out, "Logged out of "+args[0])
			return nil
		},
	})
	return root
}

// loadMCP returns the servers that are configured here, as mcpConfigs does.
func loadMCP(a *program) (map[string]mcp.Config, map[string]bool, error) {
	err := a.load()
	if err == nil {
		a.dir, err = os.Getwd()
	}
	if err != nil {
		return nil, nil, err
	}
	if a.library, err = a.openLibrary(); err != nil { // which knows what folders are trusted
		a.Note(format.ErrorText(err))
	}
	defer a.closeLibrary()
	if err := a.loadProjectTrust(false); err != nil {
		a.Note(format.ErrorText(err))
	}
	return mcpConfigs(a)
}

// findServer returns a server by its name, and where its login is kept.
func findServer(a *program, name string) (mcp.Config, mcp.LoginStore, error) {
	configs, project, err := loadMCP(a)
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
	return c, loginStore(a.mcp.logins, a.project.mcpEntry(name, project)), nil
}

// loginServer logs in to a server, and takes the address that the browser ended on from the
// terminal as well.
func loginServer(ctx context.Context, a *program, name string) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt)
	defer stop()
	c, store, err := findServer(a, name)
	if err != nil {
		return cmdutil.Config(err)
	}
	login, err := mcp.BeginLogin(ctx, name, c, store)
	if err != nil {
		return err
	}
	defer login.Close()
	fmt.Fprintln(a.Out, login.Question()+"\n")
	if err := openURL(ctx, a.dir, login.URL); err != nil {
		a.Note(format.ErrorText(err))
	}
	if term.IsTerminal(os.Stdin.Fd()) {
		fmt.Fprintln(a.Out, "Waiting for your browser. If it runs on another computer, paste the address here that it ends on:")
		go pasteLogin(login)
	}
	if err := login.Wait(ctx); err != nil {
		return fmt.Errorf("MCP server %s: %w", name, err)
	}
	fmt.Fprintln(a.Out, "Logged in to "+name)
	return nil
}

// pasteLogin reads addresses from the terminal until one is of the login. It ends with the
// program.
func pasteLogin(login *mcp.Login) {
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
