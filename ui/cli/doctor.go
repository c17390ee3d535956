package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"parley/providers"
	"parley/providers/llm"
	"parley/tools"
	"parley/tools/mcp"
	"parley/tools/process"
	"parley/ui/app"
	"parley/ui/cli/cmdutil"
	"parley/ui/cli/exit"
	"parley/ui/clip"
	"parley/ui/format"
	"parley/ui/report"
	"parley/ui/theme"
	"parley/ui/tui"
)

// A doctor checks everything that this run of parley depends on.
type doctor struct {
	*program
	configErr error // why the configuration was not read
}

// checkup runs all checks, concurrently, and returns the results.
func (d doctor) checkup(ctx context.Context, terminal app.TerminalState) []report.Check {
	d.local.discover(ctx)
	parts := []func(context.Context) []report.Check{
		d.services, d.mcpServers,
		func(ctx context.Context) []report.Check {
			o := app.Options{Directory: d.dir, Getenv: os.Getenv}
			return terminalChecks(terminal, os.Getenv, clip.New(os.Getenv, o.StateDir(), d.dir, nil).Routes(ctx))
		},
		func(context.Context) []report.Check { return []report.Check{d.sandbox()} },
		func(context.Context) []report.Check { return d.store() },
		func(context.Context) []report.Check { return []report.Check{d.configuration(), d.facts(time.Now())} },
	}
	found := make([][]report.Check, len(parts))
	var wait sync.WaitGroup
	for i, check := range parts {
		wait.Go(func() { found[i] = check(ctx) })
	}
	wait.Wait()
	return slices.Concat(found...)
}

// services checks providers, agents' programs and servers on this machine.
func (d doctor) services(ctx context.Context) (list []report.Check) {
	services := d.local.services()
	programs, locals := providers.Programs(services, os.Getenv), services.Locals(os.Getenv)
	for _, h := range providers.Check(ctx, services, d.openOptions()) {
		c := checkOf(h)
		if slices.ContainsFunc(locals, func(l providers.Local) bool { return l.Provider == h.Provider }) {
			c.Section = report.SectionLocal
			if errors.Is(h.Err, llm.ErrNoKey) { // it was found, but the user has not chosen to use it
				c.Status = report.Warns
			}
		}
		if h.IsProgram() {
			c.Section = report.SectionAgents
			i := slices.IndexFunc(programs, func(p providers.Program) bool { return p.Provider == h.Provider })
			if i >= 0 && c.Status == report.Works {
				tellLogin(&c, programs[i])
				if programs[i].KeepsTools {
					c.Detail += " · its tools cannot be turned off: read at most, in an empty folder"
				}
			}
		}
		list = append(list, c)
	}
	nothing := func(section string, c report.Check) {
		if !slices.ContainsFunc(list, func(c report.Check) bool { return c.Section == section }) {
			c.Section = section
			list = append(list, c)
		}
	}
	nothing(report.SectionProviders, report.Check{Name: "none", Status: report.Warns, Detail: "no provider has a key: the built-in demo answers", Hint: "parley connect adds one"})
	nothing(report.SectionAgents, report.Check{Name: "none", Status: report.Works, Detail: "none of " + strings.Join(providers.ProgramNames(), ", ") + " is on PATH"})
	none := report.Check{Name: "none", Status: report.Works, Detail: "no model server is running on this machine"}
	if !d.config.UI.Discover {
		none.Detail = "not searched: discover = false under [ui]"
	}
	nothing(report.SectionLocal, none)
	return list
}

// tellLogin describes the login state of a working program.
func tellLogin(c *report.Check, p providers.Program) {
	switch {
	case p.LoggedIn:
		c.Detail += " · logged in"
	case p.LoginUnknown:
		c.Detail += fmt.Sprintf(" · login in the system's keyring, not checked (log in with %q)", p.Login)
	default:
		c.Status, c.Hint = report.Warns, fmt.Sprintf("Not logged in: log in with %q", p.Login)
	}
}

// checkOf returns the check of a provider.
func checkOf(h providers.Health) report.Check {
	c := report.Check{Section: report.SectionProviders, Name: h.Provider, Status: report.Works, Hint: h.Hint}
	if !h.OK() {
		c.Status, c.Detail = report.Broken, app.ErrorText(h.Err)
		if h.Key != "" {
			c.Detail += " · key from " + h.Key
		}
		return c
	}
	var facts []string
	add := func(ok bool, format string, args ...any) {
		if ok {
			facts = append(facts, fmt.Sprintf(format, args...))
		}
	}
	add(h.Key != "", "key from %s", h.Key)
	add(h.URL != "", "%s", h.URL)
	add(h.Version != "", "%s", h.Version)
	add(true, "%s", format.Duration(h.Latency))
	add(h.Models == 1, "1 model")
	add(h.Models > 1, "%d models", h.Models)
	add(h.Model != "", "default %s", strings.TrimPrefix(h.Model, h.Provider+"/"))
	add(h.Tools != "" && h.Tools != "native", "tools: %s", h.Tools)
	c.Detail = strings.Join(facts, " · ")
	if h.Hint != "" {
		c.Status = report.Warns
	}
	return c
}

// mcpServers checks the MCP servers and starts them if no screen has.
func (d doctor) mcpServers(ctx context.Context) (list []report.Check) {
	servers := d.mcp.running()
	if servers == nil {
		return []report.Check{{Section: report.SectionMCP, Name: "none", Status: report.Works, Detail: "not configured"}}
	}
	for _, s := range servers.States() {
		c := report.Check{Section: report.SectionMCP, Name: s.Name, Status: report.Works, Detail: string(s.Status)}
		switch s.Status {
		case mcp.StatusReady:
			c.Detail = "ready · " + format.Plural(len(s.Tools), "tool")
		case mcp.StatusStarting:
			c.Status, c.Hint = report.Warns, "Not ready yet: check again"
		case mcp.StatusNew, mcp.StatusChanged:
			c.Status, c.Hint = report.Warns, "Its tools are off until you review them: /mcp "+s.Name+", or set trusted = true for it"
		case mcp.StatusLogin:
			c.Status, c.Hint = report.Warns, "Log in: /mcp login "+s.Name+", or parley mcp login "+s.Name+" in a shell"
		case mcp.StatusFailed:
			c.Status, c.Detail, c.Hint = report.Broken, s.Reason, "Check its command under [mcp."+s.Name+"]; /mcp "+s.Name+" shows its output"
			if d.config.MCP[s.Name].URL != "" {
				c.Hint = "Check its url under [mcp." + s.Name + "]"
			}
		}
		if refused := s.Refusal.String(); refused != "" {
			c.Detail, c.Hint = c.Detail+" · the sandbox refused: "+refused, "/mcp "+s.Name+" can allow it"
			if c.Status == report.Works {
				c.Status = report.Warns
			}
		}
		list = append(list, c)
	}
	return list
}

// sandbox checks the sandbox for commands.
func (d doctor) sandbox() report.Check {
	c := report.Check{Section: report.SectionSandbox, Name: "commands", Status: report.Warns}
	b := process.Sandbox.Probe()
	switch {
	case d.config.Sandbox.Off:
		c.Detail, c.Hint = "off in the configuration", "Commands run with all your rights: remove off under [sandbox]"
	case b.Available():
		c.Status, c.Detail = report.Works, strings.Join(append([]string{b.Name}, b.Details...), "; ")
	case d.config.Sandbox.Required:
		c.Status, c.Detail, c.Hint = report.Broken, "none: "+b.Reason, "sandbox.required is set: no command runs"
	default:
		c.Detail, c.Hint = "none: "+b.Reason, "Each command asks before it runs"
	}
	return c
}

// configuration checks config.toml.
func (d doctor) configuration() report.Check {
	c := report.Check{Section: report.SectionConfiguration, Name: "config.toml", Status: report.Works, Detail: "no file: the defaults apply"}
	if d.configPath != "" {
		c.Detail = abbrevPath(d.configPath)
	}
	if d.configErr != nil {
		c.Status, c.Detail, c.Hint = report.Broken, d.configErr.Error(), "Correct it, or move it away: the other checks used the defaults"
		return c
	}
	info, err := os.Stat(d.configPath)
	holdsKey := false
	for _, p := range d.config.Providers {
		holdsKey = holdsKey || p.APIKey != ""
	}
	if d.configPath != "" && err == nil && holdsKey && info.Mode().Perm()&0o077 != 0 && runtime.GOOS != "windows" {
		c.Status, c.Hint = report.Warns, fmt.Sprintf("It contains a key and can be read by others (mode %04o): chmod 600 %s", info.Mode().Perm(), d.configPath)
	}
	return c
}

// doctorCommand returns the command that runs all checks.
func (a *program) doctorCommand() *cobra.Command {
	var as string
	cmd := &cobra.Command{
		Use: "doctor", Short: "Check keys, servers, terminal, sandbox, store and configuration",
		Long: `Check what parley works with: providers and their keys, agent CLIs, model servers on
this machine, MCP servers, the terminal, the sandbox, the store of conversations and
the configuration. It exits with 3 if something is broken.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			d := doctor{program: a}
			if d.configErr = a.load(); d.configErr != nil {
				a.config = defaultConfig(a.credentials)
			}
			defer d.prepare()()
			checks := d.checkup(cmd.Context(), tui.TerminalState(os.Getenv))
			out := cmdutil.Styled(a.Out) // removes colors that the terminal does not support
			if err := report.Doctor(out, checks, theme.Terminal(), as); err != nil || !report.HasBrokenCheck(checks) {
				return err
			}
			return cmdutil.Exit(exit.Config)
		},
	}
	cmdutil.FormatFlags(cmd, &as, "one JSON object per line")
	return cmd
}

// prepare opens what a screen would have open: the store and, if any are configured, the MCP servers. It returns a
// function that closes them.
func (d doctor) prepare() func() {
	var err error
	if d.dir, err = os.Getwd(); err != nil {
		return func() {}
	}
	d.library, err = d.openLibrary()
	closing := []func(){d.closeLibrary}
	_ = d.loadProjectTrust(false)
	if d.library != nil && err == nil && (len(d.config.MCP) > 0 || d.project.trusted) {
		if d.toolSet, err = tools.Open(d.dir); err == nil {
			closing = append(closing, func() { d.toolSet.Close() })
			d.toolSet.EnableSandbox(d.config.Sandbox)
			if d.startMCPServers() == nil && d.mcp.running() != nil {
				d.mcp.running().Wait(context.Background())
				closing = append(closing, d.mcp.stop)
			}
		}
	}
	return func() {
		for _, f := range slices.Backward(closing) {
			f()
		}
	}
}

// terminalChecks returns the checks of a terminal: the front end's knowledge of it, and the routes to the clipboard.
func terminalChecks(t app.TerminalState, getenv func(string) string, routes []string) []report.Check {
	line := func(name, detail, hint string) report.Check {
		c := report.Check{Section: report.SectionTerminal, Name: name, Status: report.Works, Detail: detail}
		if detail == "" {
			c.Detail = "unknown"
		}
		if hint != "" {
			c.Status, c.Hint = report.Warns, hint
		}
		return c
	}
	hint := func(when bool, text string) string {
		if when {
			return text
		}
		return ""
	}
	term := getenv("TERM")
	clipboard := strings.Join(routes, ", ")
	if clipboard == "" {
		clipboard = "none"
	}
	return []report.Check{
		line("TERM", term, hint(term == "" || term == "dumb", "Set TERM to your terminal, such as xterm-256color; with dumb parley prints plain lines")),
		line("colors", t.Colors, ""),
		line("background", t.Background, ""),
		line("keyboard", t.Keyboard, ""),
		line("clipboard", clipboard, hint(len(routes) == 0, "Copies go to a file: install wl-clipboard or xclip, or use a terminal with OSC 52")),
		line("images", t.Images, ""),
	}
}
