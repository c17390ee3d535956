package mcp

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"parley/tools/lazy"
	"parley/tools/process"
	"parley/tools/sanitize"
)

// A Config is one server, the section [mcp.NAME] of the configuration: either a
// program or a service. In Env and Headers ${NAME} stands for a variable of
// parley's environment, so that secrets need not be in the file.
type Config struct {
	Command process.CommandLine `toml:"command"` // the program, as a text or with its arguments
	Args    []string            `toml:"args"`    // its further arguments
	Env     map[string]string   `toml:"env"`     // further variables of its environment
	Cwd     string              `toml:"cwd"`     // directory it starts in, absolute; "" is not the workspace, whose files are a stranger's
	URL     string              `toml:"url"`     // of the service, which speaks streamable HTTP
	Headers map[string]string   `toml:"headers"` // sent to the service with each request

	// Of a login to the service, where one is needed: see tools/mcp/oauth.
	ClientID     string   `toml:"client_id" json:",omitempty"`     // that its authorization server gave; "": parley registers itself
	ClientSecret string   `toml:"client_secret" json:",omitempty"` // that goes with ClientID
	Scopes       []string `toml:"scopes" json:",omitempty"`        // asked for; none: what the service names
	RedirectPort int      `toml:"redirect_port" json:",omitempty"` // where the browser comes back, if ClientID is good for one only; 0: any

	Disabled bool `toml:"disabled"`
	// How long it may take until it is ready, such as "90s", at most "600s"; "" is 30s, or 60s for a
	// program that never was ready, which may have to be downloaded.
	StartTimeout string `toml:"start_timeout" json:",omitempty"`

	Timeout string `toml:"timeout"` // of a call, such as "90s"; "60s" unless given, at most "600s"
	Trusted bool   `toml:"trusted"` // its tools are offered unseen, also when they change; calls ask all the same

	Sampling string `toml:"sampling" json:",omitempty"` // "ask": it may have the model answer, if the user agrees each time; "off", as ""

	// How the sandbox holds the program.
	Network     bool     `toml:"network"`          // it may reach the network
	Read        []string `toml:"read"`             // further files and directories it may read
	Write       []string `toml:"write"`            // further ones it may change
	Unsandboxed bool     `toml:"free" json:"Free"` // it is not held at all

	OfProject bool `toml:"-" json:"-"` // it is of a directory's .mcp.json, which somebody else may change
}

// SamplingAsk lets a server have the model answer, if the user agrees.
const SamplingAsk = "ask"

// String shows c without what may be secret.
func (c Config) String() string {
	return fmt.Sprintf("{%s disabled=%v timeout=%q trusted=%v}", c.Location(), c.Disabled, c.Timeout, c.Trusted)
}

// GoString returns String: %#v shows no secrets either.
func (c Config) GoString() string { return c.String() }

// Location returns the command line, or the address, without what may be a key in it. Of a command line
// nothing is hidden that could run: the user agrees to what it shows.
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

// serverName keeps the parts of mcp__NAME__TOOL apart.
var serverName = lazy.NewRegexp(`^[a-zA-Z0-9-]+(_[a-zA-Z0-9-]+)*$`)

// Validate checks the servers of a configuration, by their names. Errors name
// the key, and no value that may be secret.
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
	slices.SortFunc(errs, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
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

// reservedHeaders are headers that belong to the protocol.
var reservedHeaders = []string{"host", "content-type", "content-length", "accept", "connection", "transfer-encoding", "mcp-session-id", "mcp-protocol-version", "last-event-id"}

func (c Config) validateURL() error {
	u, err := url.Parse(c.URL)
	switch {
	case err != nil: // the error would quote it
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

// ParseTimeout reads the value of a setting; "" is otherwise.
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

// maxTimeout bounds the settings of times.
const maxTimeout = 600 * time.Second

var variableRef = lazy.NewRegexp(`\$\{([a-zA-Z_][a-zA-Z0-9_]*)\}`)

// ExpandVariables replaces ${NAME} in values, and tells which name has no value.
func ExpandVariables(key string, values map[string]string) (map[string]string, error) {
	out := map[string]string{}
	var missing error
	for name, value := range values {
		out[name] = variableRef.ReplaceAllStringFunc(value, func(ref string) string {
			v, ok := os.LookupEnv(ref[2 : len(ref)-1])
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
