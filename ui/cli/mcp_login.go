package cli

import (
	"context"
	"errors"
	"os"
	"strings"

	"parley/tools/mcp"
	"parley/tools/sanitize"
	"parley/ui/app"
	"parley/ui/cli/ability"
)

// loginStore stores the login of one server under entry.
func loginStore(store ability.Keys, entry string) mcp.LoginStore {
	if store == nil { // a login lasts as long as this run
		return mcp.LoginStore{
			Load: func(context.Context) (string, error) { return "", nil },
			Save: func(context.Context, string) error { return nil },
			Lock: func(context.Context) (func(), error) { return func() {}, nil },
		}
	}
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

// secretEntry returns the entry of a server's secrets in the store of logins.
func secretEntry(server string) string { return "secret:" + server + ":" }

// storedSecret returns a secret that is stored for a server.
func storedSecret(store ability.Keys, server, name string) (value string, ok bool) {
	if store == nil {
		return "", false
	}
	if _, _, ok := store.Find(secretEntry(server) + name); !ok {
		return "", false
	}
	value, _, err := store.Key(context.Background(), secretEntry(server)+name)
	return value, err == nil
}

// options returns the servers for the flow that manages them.
func (m *mcpServers) options() app.MCP {
	o := app.MCP{Servers: func() app.Servers { return m.running() }, OnServerChange: func(f func(string)) { m.onChange.Store(&f) }}
	store := m.logins
	if store == nil {
		return o
	}
	o.Secrets = func(server string) (map[string]string, error) {
		values := map[string]string{}
		entries, err := store.List()
		for _, entry := range entries {
			if name, ok := strings.CutPrefix(entry, secretEntry(server)); ok {
				value, _, unread := store.Key(context.Background(), entry)
				values[name], err = value, errors.Join(err, unread)
			}
		}
		return values, err
	}
	o.SaveSecret = func(server, name, value string) (err error) {
		if value == "" {
			_, err = store.Remove(context.Background(), secretEntry(server)+name)
		} else {
			_, err = store.Put(context.Background(), secretEntry(server)+name, "", value)
		}
		return err
	}
	return o
}

// maskSecrets returns a function that masks secrets in text: configured keys, those of MCP servers, and login tokens.
// The error names the secrets it cannot mask.
func maskSecrets(a *program) (func(string) string, error) {
	keys, err := a.config.MaskKeys(os.Getenv)
	if a.mcp.logins == nil { // the configuration could not be read
		return keys, err
	}
	texts, _, unread := a.mcp.logins.Known()
	var secrets []string
	if a.mcp.client != nil {
		for _, text := range texts {
			secrets = append(secrets, a.mcp.client.LoginSecrets(text)...)
		}
	}
	configs, _, _ := mcpConfigs(a) // an invalid project file starts no server
	for _, server := range configs {
		secrets = append(secrets, mcp.ConfigSecrets(server)...)
	}
	servers := sanitize.NewMask(secrets, 1)
	return func(text string) string { return keys(servers.Excerpt(text)) }, errors.Join(err, unread)
}

// loadMCP returns the configured servers by name, and a function that opens the login of one.
func (a *program) loadMCP() (configs map[string]mcp.Config, login func(name string) mcp.LoginStore, err error) {
	if err := a.load(); err != nil {
		return nil, nil, err
	}
	var project map[string]bool
	err = a.withProject(func() (err error) {
		configs, project, err = mcpConfigs(a)
		return err
	})
	return configs, func(name string) mcp.LoginStore { return loginStore(a.mcp.logins, a.project.mcpEntry(name, project)) }, err
}
