package mcp

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"time"

	"parley/tools/lazy"
	"parley/tools/process"
	"parley/tools/sanitize"
)

// A Config is one server, the section [mcp.NAME] of the configuration: either a
// program or a service. In Env and Headers ${NAME} is replaced by a secret that is
// stored for the server or a variable of parley's environment, so that the file need not contain secrets.
type Config struct {
	Command process.CommandLine `toml:"command"` // the program, as a text or with its arguments
	Args    []string            `toml:"args"`    // more arguments of it
	Env     map[string]string   `toml:"env"`     // more variables of its environment
	Cwd     string              `toml:"cwd"`     // absolute directory to start in; "": the root directory, not the workspace, whose files are untrusted
	URL     string              `toml:"url"`     // of the service, by streamable HTTP
	Headers map[string]string   `toml:"headers"` // sent to the service with each request

	// For a login to the service, if it needs one: see tools/mcp/oauth.
	ClientID     string   `toml:"client_id" json:",omitempty"`     // issued by its authorization server; "": parley registers itself
	ClientSecret string   `toml:"client_secret" json:",omitempty"` // secret for ClientID
	Scopes       []string `toml:"scopes" json:",omitempty"`        // scopes to request; none: those that the service names
	RedirectPort int      `toml:"redirect_port" json:",omitempty"` // port of the redirect address, if ClientID requires one; 0: any

	Disabled bool `toml:"disabled"`
	// Time limit of the start, such as "90s", at most "600s"; "" is 30s, or 60s for a program that
	// was never ready and may have to be downloaded.
	StartTimeout string `toml:"start_timeout" json:",omitempty"`

	Timeout string `toml:"timeout"` // of a call, such as "90s"; "" is "60s"; at most "600s"
	Trusted bool   `toml:"trusted"` // its tools are offered without approval, also after changes; calls still need approval

	Sampling string `toml:"sampling" json:",omitempty"` // "ask": the server may use the model if the user approves each time; "off" or "": it may not

	// The sandbox of the program.
	Network     bool     `toml:"network"`          // it may reach the network
	Read        []string `toml:"read"`             // more files and directories it may read
	Write       []string `toml:"write"`            // more files and directories it may change
	Unsandboxed bool     `toml:"free" json:"Free"` // it runs without the sandbox

	OfProject bool `toml:"-" json:"-"` // it is from a project's .mcp.json, which others may change

	// Stored returns a secret that parley stores for this server; nil if none are. It precedes the environment.
	Stored func(name string) (value string, ok bool) `toml:"-" json:"-"`
}

// SamplingAsk lets a server use the model if the user approves.
const SamplingAsk = "ask"

// String returns c without values that may be secret.
func (c Config) String() string {
	return fmt.Sprintf("{%s disabled=%v timeout=%q trusted=%v}", c.Location(), c.Disabled, c.Timeout, c.Trusted)
}

// GoString returns String: %#v shows no secrets either.
func (c Config) GoString() string { return c.String() }

// Location returns the command line, or the address, with likely keys masked. It never hides a part of
// a command line that could run, because the user approves the text shown.
func (c Config) Location() string {
	if c.URL == "" {
		p := c.CommandLine()
		if p.Shell {
			return strings.Join(sanitize.RedactCommand(p.Words, nil), " ")
		}
		return strings.Join(sanitize.RedactCommand(p.Words, process.Quote), " ")
	}
	u, err := url.Parse(c.URL)
	if err != nil {
		return "a URL that is not valid"
	}
	u.User, u.RawQuery, u.Fragment = nil, "", ""
	return sanitize.NewMask(c.Secrets(), MinSecretLength).Text(u.String())
}

// CommandLine returns the command with all its arguments.
func (c Config) CommandLine() process.CommandLine { return c.Command.WithArgs(c.Args...) }

// serverName matches valid server names, which keep the parts of
// mcp__NAME__TOOL apart.
var serverName = lazy.NewRegexp(`^[a-zA-Z0-9-]+(_[a-zA-Z0-9-]+)*$`)

// Validate checks the servers of a configuration by name. Errors name the key,
// and no value that may be secret.
func Validate(configs map[string]Config) error {
	var errs []error
	for name, c := range configs {
		if !serverName.MatchString(name) || len(name) > 32 {
			errs = append(errs, fmt.Errorf("mcp.%q: a name is up to 32 letters, digits, - and single _ between them", name))
			continue
		}
		if err := c.validate(); err != nil {
			errs = append(errs, fmt.Errorf("mcp.%s.%w", name, err))
		}
	}
	sort.Slice(errs, func(i, j int) bool { return errs[i].Error() < errs[j].Error() })
	return errors.Join(errs...)
}

func (c Config) validate() error {
	switch {
	case c.Command.IsZero() == (c.URL == ""):
		return errors.New("command: a server has either a command or a url")
	case c.URL != "" && (len(c.Args) > 0 || len(c.Env) > 0 || c.Network || c.Unsandboxed || len(c.Read) > 0 || len(c.Write) > 0):
		return errors.New("url: args, env, network, read, write and free are for servers with a command")
	case !c.Command.IsZero() && len(c.Headers) > 0:
		return errors.New("headers: they are for servers with a url")
	case !c.Command.IsZero() && (c.ClientID != "" || c.ClientSecret != "" || len(c.Scopes) > 0 || c.RedirectPort != 0):
		return errors.New("client_id: client_id, client_secret, scopes and redirect_port are for servers with a url")
	case c.ClientID == "" && c.ClientSecret != "":
		return errors.New("client_secret: it needs a client_id")
	case !slices.Contains([]string{"", "off", SamplingAsk}, c.Sampling):
		return fmt.Errorf("sampling = %q: it is \"ask\" or \"off\"", c.Sampling)
	case c.RedirectPort < 0 || c.RedirectPort > 65535:
		return fmt.Errorf("redirect_port = %d: a port is between 1 and 65535", c.RedirectPort)
	}
	if !c.Command.IsZero() {
		if err := c.Command.Validate(); err != nil {
			return fmt.Errorf("command: %w", err)
		}
	}
	if c.Cwd != "" && !filepath.IsAbs(c.Cwd) {
		return fmt.Errorf("cwd = %q: it must be absolute", c.Cwd)
	}
	for name := range c.Env {
		if name == "" || strings.ContainsAny(name, "=\x00") {
			return fmt.Errorf("env: %q is no name of a variable", name)
		}
	}
	if _, err := ParseTimeout("timeout", c.Timeout, 0); err != nil {
		return err
	}
	if _, err := ParseTimeout("start_timeout", c.StartTimeout, 0); err != nil {
		return err
	}
	if c.URL == "" {
		return nil
	}
	return c.validateURL()
}

var headerName = lazy.NewRegexp(`^[a-zA-Z0-9-]+$`)

// reservedHeaders are headers set by the protocol.
var reservedHeaders = []string{"host", "content-type", "content-length", "accept", "connection", "transfer-encoding", "mcp-session-id", "mcp-protocol-version", "last-event-id"}

func (c Config) validateURL() error {
	u, err := url.Parse(c.URL)
	switch {
	case err != nil: // the parse error would quote the address
		return errors.New("url: it is not valid")
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return errors.New("url: it must begin with https:// or http:// and name a host")
	case u.User != nil:
		return errors.New("url: it must not contain a password; use headers")
	case u.Scheme == "http" && len(c.Headers) > 0 && !IsLoopback(u.Hostname()):
		return errors.New("url: headers go to this computer or over https only")
	}
	for name := range c.Headers {
		if !headerName.MatchString(name) || slices.Contains(reservedHeaders, strings.ToLower(name)) {
			return fmt.Errorf("headers: %q cannot be set", name)
		}
	}
	return nil
}

// IsLoopback reports whether a host is this computer.
func IsLoopback(host string) bool {
	addr, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && addr.IsLoopback()
}

// ParseTimeout parses the value of a setting; it returns otherwise for "".
func ParseTimeout(setting, value string, otherwise time.Duration) (time.Duration, error) {
	if value == "" {
		return otherwise, nil
	}
	d, err := time.ParseDuration(value)
	if err != nil || d <= 0 || d > maxTimeout {
		return 0, fmt.Errorf("%s = %q: a time such as 90s, at most %s", setting, value, maxTimeout)
	}
	return d, nil
}

// maxTimeout is the largest value of time settings.
const maxTimeout = 600 * time.Second

var variableRef = lazy.NewRegexp(`\$\{([a-zA-Z_][a-zA-Z0-9_]*)\}`)

// Variables returns the names of the variables in Env and Headers, sorted.
func (c Config) Variables() (names []string) {
	for _, values := range []map[string]string{c.Env, c.Headers} {
		for _, value := range values {
			for _, ref := range variableRef.FindAllStringSubmatch(value, -1) {
				names = append(names, ref[1])
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Expand replaces ${NAME} in values. The error names a variable without a value.
func (c Config) Expand(key string, values map[string]string) (map[string]string, error) {
	out := map[string]string{}
	var missing error
	for name, value := range values {
		out[name] = variableRef.ReplaceAllStringFunc(value, func(ref string) string {
			var v string
			var ok bool
			if c.Stored != nil {
				v, ok = c.Stored(ref[2 : len(ref)-1])
			}
			if !ok {
				v, ok = os.LookupEnv(ref[2 : len(ref)-1])
			}
			if !ok {
				missing = fmt.Errorf("%s.%s: the variable %s is not set", key, name, ref)
			}
			return v
		})
		if strings.ContainsAny(out[name], "\r\n\x00") {
			return nil, fmt.Errorf("%s.%s: it contains a line break or NUL", key, name)
		}
	}
	return out, missing
}
