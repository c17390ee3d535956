// Package doctor implements parley doctor, which checks everything that parley depends on.
package doctor

import (
	"cmp"
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
	"parley/ui/app/wording"
	"parley/ui/cli/cmdutil"
	"parley/ui/cli/exit"
	"parley/ui/clip"
	"parley/ui/crash"
	"parley/ui/format"
	"parley/ui/theme"
	"parley/ui/tui"
)

// Options gives access to the run of parley that is checked. The pointers are to what Open sets.
type Options struct {
	*cmdutil.Streams
	Open        func() (close func(), configErr error) // opens what a screen would have open; the defaults apply if the configuration cannot be read
	ConfigPath  *string
	Config      *providers.Config
	Discovers   *bool // whether servers on this machine are looked for
	Sandbox     *tools.SandboxConfig
	MCP         *map[string]mcp.Config
	Models      func() []string // configured models
	Dir         *string
	Services    func() providers.Config // returns the providers with the servers found on this machine
	Discover    func(context.Context)   // searches servers on this machine, if that is allowed
	OpenOptions func() providers.OpenOptions
	Servers     func() mcp.Servers
	AbbrevPath  func(string) string
}

// A Doctor checks everything that a run of parley depends on.
type Doctor struct {
	Options
	configErr error // why the configuration was not read
}

// New returns a doctor for the run that o gives access to.
func New(o Options) Doctor { return Doctor{Options: o} }

// Checkup runs all checks, and returns the results by section.
func (d Doctor) Checkup(ctx context.Context, terminal app.TerminalState) []format.Part {
	return sections(d.checkup(ctx, terminal))
}

// checkup runs all checks, concurrently, and returns the results.
func (d Doctor) checkup(ctx context.Context, terminal app.TerminalState) []Check {
	d.Discover(ctx)
	parts := []func(context.Context) []Check{
		d.services, d.mcpServers,
		func(ctx context.Context) []Check {
			return terminalChecks(terminal, os.Getenv, clip.New(os.Getenv, crash.StateDir(os.Getenv), *d.Dir, nil).Routes(ctx))
		},
		func(context.Context) []Check { return []Check{d.sandbox()} },
		func(context.Context) []Check { return d.store() },
		func(context.Context) []Check { return []Check{d.configuration(), d.facts(time.Now())} },
	}
	found := make([][]Check, len(parts))
	var wait sync.WaitGroup
	for i, check := range parts {
		wait.Go(func() { found[i] = check(ctx) })
	}
	wait.Wait()
	return slices.Concat(found...)
}

// services checks providers, agents' programs and servers on this machine.
func (d Doctor) services(ctx context.Context) (list []Check) {
	services := d.Services()
	programs, locals := providers.Programs(services, os.Getenv), services.Locals(os.Getenv)
	for _, h := range providers.Check(ctx, services, d.OpenOptions()) {
		c := checkOf(h)
		if slices.ContainsFunc(locals, func(l providers.Local) bool { return l.Provider == h.Provider }) {
			c.Section = sectionLocal
			if errors.Is(h.Err, llm.ErrNoKey) { // it was found, but the user has not chosen to use it
				c.Status = warns
			}
		}
		if h.IsProgram() {
			c.Section = sectionAgents
			i := slices.IndexFunc(programs, func(p providers.Program) bool { return p.Provider == h.Provider })
			if i >= 0 && c.Status == works {
				tellLogin(&c, programs[i])
				if programs[i].KeepsTools {
					c.Detail += " · its tools cannot be turned off: read at most, in an empty folder"
				}
			}
		}
		list = append(list, c)
	}
	nothing := func(section string, c Check) {
		if !slices.ContainsFunc(list, func(c Check) bool { return c.Section == section }) {
			c.Section = section
			list = append(list, c)
		}
	}
	nothing(sectionProviders, Check{Name: "none", Status: warns, Detail: "no provider has a key: the built-in demo answers", Hint: "parley connect adds one"})
	nothing(sectionAgents, Check{Name: "none", Status: works, Detail: "none of " + strings.Join(providers.ProgramNames(), ", ") + " is on PATH"})
	none := Check{Name: "none", Status: works, Detail: "no model server is running on this machine"}
	if !*d.Discovers {
		none.Detail = "not searched: discover = false under [ui]"
	}
	nothing(sectionLocal, none)
	return list
}

// tellLogin describes the login state of a working program.
func tellLogin(c *Check, p providers.Program) {
	switch {
	case p.LoggedIn:
		c.Detail += " · logged in"
	case p.LoginUnknown:
		c.Detail += fmt.Sprintf(" · login in the system's keyring, not checked (log in with %q)", p.Login)
	default:
		c.Status, c.Hint = warns, fmt.Sprintf("Not logged in: log in with %q", p.Login)
	}
}

// checkOf returns the check of a provider.
func checkOf(h providers.Health) Check {
	c := Check{Section: sectionProviders, Name: h.Provider, Status: works, Hint: h.Hint}
	if !h.OK() {
		c.Status, c.Detail = broken, wording.Error(h.Err)
		if h.Key != "" {
			c.Detail += " · key from " + h.Key
		}
		return c
	}
	c.Detail = format.Join(" · ", format.When(h.Key != "", "key from "+h.Key), h.URL, h.Version, format.Duration(h.Latency), format.When(h.Models > 0, format.Plural(h.Models, "model")),
		format.When(h.Model != "", "default "+strings.TrimPrefix(h.Model, h.Provider+"/")), format.When(h.Tools != "" && h.Tools != "native", "tools: "+h.Tools))
	if h.Hint != "" {
		c.Status = warns
	}
	return c
}

// mcpServers checks the MCP servers and starts them if no screen has.
func (d Doctor) mcpServers(ctx context.Context) (list []Check) {
	servers := d.Servers()
	if servers == nil {
		return []Check{{Section: sectionMCP, Name: "none", Status: works, Detail: "not configured"}}
	}
	for _, s := range servers.States() {
		c := Check{Section: sectionMCP, Name: s.Name, Status: works, Detail: string(s.Status)}
		switch s.Status {
		case mcp.StatusReady:
			c.Detail = "ready · " + format.Plural(len(s.Tools), "tool")
		case mcp.StatusStarting:
			c.Status, c.Hint = warns, "Not ready yet: check again"
		case mcp.StatusNew, mcp.StatusChanged:
			c.Status, c.Hint = warns, "Its tools are off until you review them: /mcp "+s.Name+", or set trusted = true for it"
		case mcp.StatusLogin:
			c.Status, c.Hint = warns, "Log in: /mcp login "+s.Name+", or parley mcp login "+s.Name+" in a shell"
		case mcp.StatusFailed:
			c.Status, c.Detail, c.Hint = broken, s.Reason, "Check its command under [mcp."+s.Name+"]; /mcp "+s.Name+" shows its output"
			if (*d.MCP)[s.Name].URL != "" {
				c.Hint = "Check its url under [mcp." + s.Name + "]"
			}
		}
		if refused := s.Refusal.String(); refused != "" {
			if !strings.Contains(c.Detail, refused) {
				c.Detail += " · " + refused
			}
			c.Hint = "/mcp " + s.Name + " can allow it"
			if c.Status == works {
				c.Status = warns
			}
		}
		list = append(list, c)
	}
	return list
}

// sandbox checks the sandbox for commands.
func (d Doctor) sandbox() Check {
	c := Check{Section: sectionSandbox, Name: "commands", Status: warns}
	b := process.Sandbox.Probe()
	switch {
	case d.Sandbox.Off:
		c.Detail, c.Hint = "off in the configuration", "Commands run with all your rights: remove off under [sandbox]"
	case b.Available():
		c.Status, c.Detail = works, strings.Join(append([]string{b.Name}, b.Details...), "; ")
	case d.Sandbox.Required:
		c.Status, c.Detail, c.Hint = broken, "none: "+b.Reason, "sandbox.required is set: no command runs"
	default:
		c.Detail, c.Hint = "none: "+b.Reason, "Each command asks before it runs"
		if shell := tools.ShellOnWindows(); shell != "" {
			c.Hint += ", in " + shell
		}
	}
	return c
}

// configuration checks config.toml.
func (d Doctor) configuration() Check {
	c := Check{Section: sectionConfiguration, Name: "config.toml", Status: works, Detail: "no file: the defaults apply"}
	if *d.ConfigPath != "" {
		c.Detail = d.AbbrevPath(*d.ConfigPath)
	}
	if d.configErr != nil {
		c.Status, c.Detail, c.Hint = broken, d.configErr.Error(), "Correct it, or move it away: the other checks used the defaults"
		return c
	}
	info, err := os.Stat(*d.ConfigPath)
	holdsKey := false
	for _, p := range d.Config.Providers {
		holdsKey = holdsKey || p.APIKey != ""
	}
	if *d.ConfigPath != "" && err == nil && holdsKey && info.Mode().Perm()&0o077 != 0 && runtime.GOOS != "windows" {
		c.Status, c.Hint = warns, fmt.Sprintf("It contains a key and can be read by others (mode %04o): chmod 600 %s", info.Mode().Perm(), *d.ConfigPath)
	}
	return c
}

// Command returns the command that runs all checks.
func (d Doctor) Command() *cobra.Command {
	var as string
	cmd := &cobra.Command{
		Use: "doctor", Short: "Check keys, servers, terminal, sandbox, store and configuration",
		Long: `Check providers and their keys, agent CLIs, model servers on
this machine, MCP servers, the terminal, the sandbox, the store of conversations and
the configuration. It exits with 3 if something is broken.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			closeAll, err := d.Open()
			defer closeAll()
			d.configErr = err
			checks := d.checkup(cmd.Context(), tui.TerminalState(os.Getenv))
			out := cmdutil.Styled(d.Out) // removes colors that the terminal does not support
			if err := write(out, checks, theme.Terminal(), as); err != nil || !hasBroken(checks) {
				return err
			}
			return cmdutil.Exit(exit.Config)
		},
	}
	cmdutil.FormatFlags(cmd, &as, "one JSON object per line")
	return cmd
}

// terminalChecks returns the checks of a terminal: the front end's knowledge of it, and the routes to the clipboard.
func terminalChecks(t app.TerminalState, getenv func(string) string, routes []string) []Check {
	line := func(name, detail, hint string) Check {
		c := Check{Section: sectionTerminal, Name: name, Status: works, Detail: cmp.Or(detail, "unknown")}
		if hint != "" {
			c.Status, c.Hint = warns, hint
		}
		return c
	}
	term := getenv("TERM")
	clipboard := cmp.Or(strings.Join(routes, ", "), "none")
	return []Check{
		line("TERM", term, format.When(term == "" || term == "dumb", "Set TERM to your terminal, such as xterm-256color; with dumb parley prints plain lines")),
		line("colors", t.Colors, ""),
		line("background", t.Background, ""),
		line("keyboard", t.Keyboard, ""),
		line("clipboard", clipboard, format.When(len(routes) == 0, "Copies go to a file: install wl-clipboard or xclip, or use a terminal with OSC 52")),
		line("images", t.Images, ""),
	}
}

// facts checks the age of the facts about models.
func (d Doctor) facts(now time.Time) Check {
	c := Check{Section: sectionConfiguration, Name: "model facts", Status: works}
	of, stale := d.Config.Facts.Stale(now)
	c.Detail = "of " + of.Format(time.DateOnly) + ", built in"
	if at := d.Config.Facts.Fetched(); !at.IsZero() && at.Equal(of) {
		c.Detail = "fetched " + of.Format(time.DateOnly)
	}
	if stale {
		c.Status, c.Hint = warns, "parley models --update fetches new prices and context windows"
	}
	if ends := d.retirements(now); len(ends) > 0 {
		c.Status, c.Hint = warns, strings.Join(ends, ". ")
	}
	if err := d.Config.Facts.Err(); err != nil {
		c.Status, c.Detail, c.Hint = warns, format.ErrorText(err), "Those built in count: parley models --update writes it again"
	}
	return c
}

// retirements returns a sentence for each configured model that retires soon.
func (d Doctor) retirements(now time.Time) (texts []string) {
	names := d.Models()
	for _, c := range providers.Choices(*d.Config, os.Getenv) {
		if name := cmp.Or(c.Alias, c.Name); slices.Contains(names, name) { // names in the configuration are resolved
			if text := c.Lifecycle.Retirement(name, now); text != "" && !slices.Contains(texts, text) {
				texts = append(texts, text)
			}
		}
	}
	return texts
}
