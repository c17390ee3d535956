package cli

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync/atomic"

	"parley/session/trust"
	"parley/tools"
	"parley/tools/mcp"
	"parley/tools/process"
	"parley/ui/cli/ability"
	"parley/ui/cli/cmdutil"
)

// mcpServers holds the MCP servers of this run.
type mcpServers struct {
	client   mcp.Client                   // nil if this build has none
	servers  atomic.Pointer[mcp.Servers]  // nil if none is configured, or none may run yet
	onChange atomic.Pointer[func(string)] // called with the name of a server that changed; nil for none
	logins   ability.Keys                 // logins to servers
	answers  bool                         // a user can answer questions of servers
	editor   map[string]bool              // servers added by an editor, which are in no configuration
}

// running returns the servers; nil if none is configured, or none may run yet.
func (m *mcpServers) running() mcp.Servers {
	if all := m.servers.Load(); all != nil {
		return *all
	}
	return nil
}

// mcpConfigs returns the MCP servers of the configuration and of a trusted project by name. Project holds the names of
// the latter.
func mcpConfigs(a *program) (configs map[string]mcp.Config, project map[string]bool, err error) {
	configs, project = map[string]mcp.Config{}, map[string]bool{}
	for name, c := range a.config.MCP {
		if !a.mcp.editor[name] {
			c.Stored = func(ref string) (string, bool) { return storedSecret(a.mcp.logins, name, ref) }
		}
		configs[name] = c
	}
	if !a.project.trusted {
		return configs, project, nil
	}
	for _, f := range a.project.offer.FilesOfKind(trust.Servers) {
		found, err := mcp.ParseProject([]byte(f.Text))
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", f.Name, err)
		}
		for name, c := range found {
			if _, own := configs[name]; !own { // the user's own server takes precedence
				configs[name], project[name] = c, true
			}
		}
	}
	return configs, project, nil
}

// mcpEntry returns the store key of a server; own holds the servers of the project.
func (p *project) mcpEntry(server string, own map[string]bool) string {
	if own[server] {
		return "mcp:" + p.offer.Dir + ":" + server // the same name in another project is another server
	}
	return "mcp:" + server
}

// startMCPServers starts the MCP servers of the configuration and of a trusted project, once, and does not wait for
// them.
func (a *program) startMCPServers() error {
	configs, project, err := mcpConfigs(a)
	if err != nil {
		return err
	}
	if len(configs) == 0 || a.mcp.client == nil || a.toolSet == nil || a.flags.toolNames != "" || a.mcp.running() != nil {
		return nil // --tools lists all tools to use
	}
	for name := range project {
		c := configs[name]
		c.Cwd = a.toolSet.Root()
		configs[name] = c
	}
	confine := mcpConfinement{a.toolSet, a.config.Sandbox}
	agreement := func(server string) string { return a.project.mcpEntry(server, project) }
	servers := a.mcp.client.Open(context.Background(), configs, mcp.Options{
		Dir: string(filepath.Separator), Version: cmdutil.Version(), Confine: confine.confine,
		Approved: func(server string) string {
			seal, _ := a.library.Get(agreement(server))
			return seal
		},
		Approve: func(server, seal string) error { return a.library.Set(agreement(server), seal) },
		GrantablePath: func(server string, c mcp.Config, path string, write bool) string {
			p, err := confine.policy(server, c, nil)
			if err != nil {
				return ""
			}
			return tools.GrantablePath(p, path, write)
		},
		LoadState: func(server string) string {
			text, _ := a.library.Get("memory of " + agreement(server))
			return text
		},
		SaveState: func(server, memory string) error { return a.library.Set("memory of "+agreement(server), memory) },
		Roots:     append([]string{a.toolSet.Root()}, a.toolSet.Directories()...), Interactive: a.mcp.answers,
		Logins: func(server string) mcp.LoginStore { return loginStore(a.mcp.logins, agreement(server)) },
		OnChange: func(server string) {
			a.mcp.sync(a.toolSet)
			if f := a.mcp.onChange.Load(); f != nil {
				(*f)(server)
			}
		},
	})
	a.mcp.servers.Store(&servers)
	a.toolSet.OnPrompt(servers.Wake)
	a.mcp.sync(a.toolSet) // servers may have become ready before the callback was installed
	return nil
}

// sync offers the tools of the servers from the next turn on. The servers' states report invalid names.
func (m *mcpServers) sync(set *tools.Set) {
	if servers := m.running(); servers != nil {
		_ = set.ReplaceExternal("mcp__", servers.Tools())
	}
}

// mcpConfinement sandboxes the programs of MCP servers.
type mcpConfinement struct {
	set    *tools.Set
	config tools.SandboxConfig
}

// confine returns the sandbox policy for a server's program; nil if it runs without a sandbox.
func (m mcpConfinement) confine(server string, c mcp.Config, env []string) (*process.SandboxPolicy, error) {
	backend := m.set.Sandbox()
	if m.set.WorkspaceProblem() != "" && !m.config.Off { // servers are confined even without a usable workspace, where commands cannot be
		backend = process.Sandbox.Probe()
	}
	switch {
	case c.Unsandboxed:
		return nil, nil
	case !backend.Available() && m.config.Required:
		return nil, fmt.Errorf("sandbox.required is set, and there is no sandbox: %s", backend.Reason)
	case !backend.Available():
		return nil, nil
	}
	p, err := m.policy(server, c, env)
	return &p, err
}

// policy returns the sandbox policy for a server's program.
func (m mcpConfinement) policy(server string, c mcp.Config, env []string) (process.SandboxPolicy, error) {
	key := server + "\x00" + strings.Join(c.Command.Words, "\x00") + "\x00" + strings.Join(c.Args, "\x00")
	p, err := m.set.ServerPolicy(key, c.Network, env, func(name string) bool {
		_, own := c.Env[name]
		return own
	})
	p.ReadPaths, p.WritePaths = append(p.ReadPaths, tools.AbsolutePaths(c.Read)...), append(p.WritePaths, tools.AbsolutePaths(c.Write)...)
	return p, err
}

// wait waits for the servers if no front end shows their start, and notes those that failed.
func (m *mcpServers) wait(ctx context.Context, set *tools.Set, note func(string)) {
	servers := m.running()
	if servers == nil {
		return
	}
	for _, s := range servers.States() {
		if s.Status == mcp.StatusStarting && s.FirstStart {
			note(fmt.Sprintf("MCP server %s starts for the first time; a download may take a minute", s.Name))
		}
	}
	servers.Wait(ctx)
	m.sync(set)
	for _, s := range servers.States() {
		switch s.Status {
		case mcp.StatusNew, mcp.StatusChanged:
			note(fmt.Sprintf("the tools of MCP server %s are %s: open parley here once to review them, or set trusted = true for it", s.Name, s.Status))
		case mcp.StatusLogin:
			note(fmt.Sprintf("MCP server %s needs login: parley mcp login %[1]s", s.Name))
		case mcp.StatusFailed:
			note(fmt.Sprintf("MCP server %s: %s", s.Name, s.Reason))
			switch {
			case s.Refusal.String() == "":
			case m.editor[s.Name]:
				note(fmt.Sprintf("to allow that, add [mcp.%s] to config.toml, with its command, args and read, write or network (refused: %s)", s.Name, strings.Join(s.Refusal.Reasons, ", ")))
			default:
				note("open parley here once: /mcp shows what was refused and can allow it")
			}
		}
	}
}

// stop ends the servers and everything they have started.
func (m *mcpServers) stop() {
	if servers := m.running(); servers != nil {
		servers.Close()
	}
}
