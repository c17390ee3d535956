//go:build unix

package doctor

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/providers"
	"parley/providers/adapter"
	"parley/providers/catalog"
	"parley/providers/llmtest"
	"parley/session"
	"parley/tools"
	"parley/tools/mcp"
	"parley/tools/process"
	"parley/ui/app"
	"parley/ui/cli/cmdutil"
)

func (c Check) String() string {
	return strings.TrimSuffix(fmt.Sprintf("%s %s: %s (%s)", c.Status.Sign(), c.Name, c.Detail, c.Hint), " ()")
}

func TestCheckOfProvider(t *testing.T) {
	for _, tt := range []struct {
		h    providers.Health
		want string
	}{
		{providers.Health{Provider: "openai", Key: "OPENAI_API_KEY", URL: "https://x/v1", Latency: 120 * time.Millisecond, Models: 2, Model: "openai/gpt", Tools: "prompt"},
			"✓ openai: key from OPENAI_API_KEY · https://x/v1 · 120 ms · 2 models · default gpt · tools: prompt"},
		{providers.Health{Provider: "a", Version: "1.2", Latency: time.Second, Model: "a/b", Tools: "native"}, "✓ a: 1.2 · 1 s · default b"},
		{providers.Health{Provider: "a", Latency: time.Second, Hint: "try it"}, "! a: 1 s (try it)"},
		{providers.Health{Provider: "a", Key: "A_KEY", Err: errors.New("odd"), Hint: "try it"}, "✗ a: Odd · key from A_KEY (try it)"},
		{providers.Health{Provider: "a", Err: errors.New("odd")}, "✗ a: Odd"},
	} {
		if got := checkOf(tt.h); got.String() != tt.want || got.Section != sectionProviders {
			t.Errorf("got  %s\nwant %s", got, tt.want)
		}
	}
}

func TestLogin(t *testing.T) {
	for _, tt := range []struct {
		login adapter.ProgramLogin
		want  string
	}{
		{adapter.ProgramLogin{LoggedIn: true, LoginUnknown: true}, "✓ a: 1.2 · logged in"},
		{adapter.ProgramLogin{LoginUnknown: true, Login: "a login"}, `✓ a: 1.2 · login in the system's keyring, not checked (log in with "a login")`},
		{adapter.ProgramLogin{Login: "a login"}, `! a: 1.2 (Not logged in: log in with "a login")`},
	} {
		c := Check{Name: "a", Status: works, Detail: "1.2"}
		if tellLogin(&c, providers.Program{ProgramLogin: tt.login}); c.String() != tt.want {
			t.Errorf("got  %s\nwant %s", c, tt.want)
		}
	}
}

// states are the states of MCP servers.
type states struct {
	mcp.Servers
	list []mcp.State
}

func (s states) States() []mcp.State { return s.list }

func TestMCPServers(t *testing.T) {
	files := mcp.Refusal{Needs: mcp.Access{Read: []string{"/a"}}}
	const refused = "the sandbox refused it files"
	for _, tt := range []struct {
		state mcp.State
		want  string
	}{
		{mcp.State{Status: mcp.StatusReady, Tools: make([]mcp.Tool, 2)}, "✓ s: ready · 2 tools"},
		{mcp.State{Status: mcp.StatusReady, Refusal: files}, "! s: ready · 0 tools · " + refused + " (/mcp s can allow it)"},
		{mcp.State{Status: mcp.StatusStarting}, "! s: starting (Not ready yet: check again)"},
		{mcp.State{Status: mcp.StatusNew}, "! s: new (Its tools are off until you review them: /mcp s, or set trusted = true for it)"},
		{mcp.State{Status: mcp.StatusChanged}, "! s: changed (Its tools are off until you review them: /mcp s, or set trusted = true for it)"},
		{mcp.State{Status: mcp.StatusLogin}, "! s: needs login (Log in: /mcp login s, or parley mcp login s in a shell)"},
		{mcp.State{Status: mcp.StatusFailed, Reason: "it exited"}, "✗ s: it exited (Check its command under [mcp.s]; /mcp s shows its output)"},
		{mcp.State{Status: mcp.StatusFailed, Reason: "it exited: " + refused, Refusal: files}, "✗ s: it exited: " + refused + " (/mcp s can allow it)"},
		{mcp.State{Name: "web", Status: mcp.StatusFailed, Reason: "404"}, "✗ web: 404 (Check its url under [mcp.web])"},
		{mcp.State{Status: mcp.StatusStopped}, "✓ s: stopped"},
		{mcp.State{Status: mcp.StatusDisabled}, "✓ s: disabled"},
	} {
		if tt.state.Name == "" {
			tt.state.Name = "s"
		}
		d := New(Options{MCP: &map[string]mcp.Config{"s": {}, "web": {URL: "https://x"}}, Servers: func() mcp.Servers { return states{list: []mcp.State{tt.state}} }})
		if got := d.mcpServers(t.Context()); len(got) != 1 || got[0].String() != tt.want || got[0].Section != sectionMCP {
			t.Errorf("got  %v\nwant %s", got, tt.want)
		}
	}
	d := New(Options{Servers: func() mcp.Servers { return nil }})
	if got := fmt.Sprint(d.mcpServers(t.Context())); got != "[✓ none: not configured]" {
		t.Errorf("without servers: got %s", got)
	}
}

func TestSandbox(t *testing.T) {
	was := process.Sandbox.Probe
	defer func() { process.Sandbox.Probe = was }()
	for _, tt := range []struct {
		config  tools.SandboxConfig
		backend process.Backend
		want    string
	}{
		{tools.SandboxConfig{}, process.Backend{Name: "landlock", Details: []string{"ABI 5", "no network"}}, "✓ commands: landlock; ABI 5; no network"},
		{tools.SandboxConfig{Off: true}, process.Backend{Name: "landlock"}, "! commands: off in the configuration (Commands run with all your rights: remove off under [sandbox])"},
		{tools.SandboxConfig{Required: true}, process.Backend{Reason: "old kernel"}, "✗ commands: none: old kernel (sandbox.required is set: no command runs)"},
		{tools.SandboxConfig{}, process.Backend{Reason: "old kernel"}, "! commands: none: old kernel (Each command asks before it runs"},
	} {
		process.Sandbox.Probe = func() process.Backend { return tt.backend }
		if got := New(Options{Sandbox: &tt.config}).sandbox().String(); !strings.HasPrefix(got, tt.want) {
			t.Errorf("got  %s\nwant %s", got, tt.want)
		}
	}
}

// A configuration with a key should be readable by its owner only.
func TestConfiguration(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.toml")
	key, none := map[string]providers.Provider{"a": {APIKey: "k"}, "b": {}}, map[string]providers.Provider{"b": {}}
	for _, tt := range []struct {
		path      string
		mode      os.FileMode
		providers map[string]providers.Provider
		err       error
		want      string
	}{
		{"", 0, key, nil, "✓ config.toml: no file: the defaults apply"},
		{path, 0o600, key, nil, "✓ config.toml: ~config.toml"},
		{path, 0o644, none, nil, "✓ config.toml: ~config.toml"},
		{path, 0o604, key, nil, "! config.toml: ~config.toml (It contains a key and can be read by others (mode 0604): chmod 600 " + path + ")"},
		{path, 0o604, key, errors.New("line 2: odd"), "✗ config.toml: line 2: odd (Correct it, or move it away: the other checks used the defaults)"},
		{filepath.Join(path, "none"), 0o604, key, nil, "✓ config.toml: ~none"},
	} {
		if tt.path == path {
			os.Remove(path)
			if err := os.WriteFile(path, nil, tt.mode); err != nil {
				t.Fatal(err)
			}
			if info, err := os.Stat(path); err != nil || info.Mode() != tt.mode {
				t.Skip("files have no such modes here")
			}
		}
		d := New(Options{ConfigPath: &tt.path, Config: &providers.Config{Providers: tt.providers}, AbbrevPath: func(p string) string { return "~" + filepath.Base(p) }})
		d.configErr = tt.err
		if got := d.configuration().String(); got != tt.want {
			t.Errorf("got  %s\nwant %s", got, tt.want)
		}
	}
}

func TestFacts(t *testing.T) {
	fetched := catalog.Revised().Add(48 * time.Hour)
	day := func(at time.Time) string { return at.Format(time.DateOnly) }
	list := fmt.Sprintf("{\"version\":1}\n{\"provider\":\"groq\",\"url\":\"https://x\",\"fetched\":%q}\n", fetched.Format(time.RFC3339))
	old := strings.Replace(list, day(fetched), "2026-01-01", 1)
	for _, tt := range []struct {
		name, file string
		after      time.Duration // since the facts
		models     []string
		want       string
	}{
		{"built in", "", 0, nil, "✓ model facts: of " + day(catalog.Revised()) + ", built in"},
		{"fetched", list, 0, nil, "✓ model facts: fetched " + day(fetched)},
		{"fetched long ago", old, 0, nil, "✓ model facts: of " + day(catalog.Revised()) + ", built in"},
		{"stale", list, catalog.StaleAfter + 1, nil, "! model facts: fetched " + day(fetched) + " (parley models --update fetches new prices and context windows)"},
		{"a model retires", "", 0, []string{"openai/gpt-5"}, "! model facts: of " + day(catalog.Revised()) + ", built in (openai/gpt-5 retires on "},
		{"damaged", "{", 0, nil, "! model facts: "},
	} {
		path := filepath.Join(t.TempDir(), "models.jsonl")
		if tt.file != "" {
			if err := os.WriteFile(path, []byte(tt.file), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		d := New(Options{Config: &providers.Config{Facts: catalog.OpenFactsFile(path)}, Models: func() []string { return tt.models }})
		of, _ := d.Config.Facts.Stale(time.Time{})
		got := d.facts(of.Add(tt.after)).String()
		if !strings.HasPrefix(got, tt.want) || tt.models == nil && tt.name != "damaged" && got != tt.want || strings.Contains(got, "Those built in count") != (tt.name == "damaged") {
			t.Errorf("%s: got  %s\nwant %s", tt.name, got, tt.want)
		}
	}
}

// A store is whole and has room, or it says what to do.
func TestStore(t *testing.T) {
	t.Setenv("XDG_DATA_HOME", t.TempDir())
	path, err := session.StorePath(os.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	d := New(Options{AbbrevPath: filepath.Base})
	for _, tt := range []struct{ name, file, want string }{
		{"new", "", "✓ conversations: " + filepath.Base(path) + " · intact · "},
		{"damaged", strings.Repeat("no database", 1000), "✗ conversations: "},
	} {
		if tt.file != "" {
			if err := os.WriteFile(path, []byte(tt.file), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		got := d.store()
		if !strings.HasPrefix(got[0].String(), tt.want) || (got[0].Hint == "") != (tt.name == "new") || strings.Contains(got[0].Detail, "· 0 ") {
			t.Errorf("%s: got %s", tt.name, got[0])
		}
		if len(got) < 2 && runtime.GOOS == "linux" || len(got) > 1 && (got[1].Name != "disk" || !strings.HasSuffix(got[1].Detail, " free")) {
			t.Errorf("%s: got %s", tt.name, got)
		}
		if free, ok := freeSpace(filepath.Dir(path)); ok && (got[1].Status == warns) != (free < leastFree) {
			t.Errorf("with %d bytes free: got %s", free, got[1])
		}
	}
	for _, name := range []string{"XDG_DATA_HOME", "HOME"} {
		t.Setenv(name, "")
	}
	if got := d.store(); len(got) != 1 || got[0].Status != broken || got[0].Hint != "Conversations are not stored" {
		t.Errorf("without a home: got %s", got)
	}
}

func TestTerminal(t *testing.T) {
	for _, tt := range []struct {
		term   string
		state  app.TerminalState
		routes []string
		want   string
	}{
		{"xterm", app.TerminalState{Colors: "256", Background: "dark", Keyboard: "kitty", Images: "off"}, []string{"wl-copy", "OSC 52"},
			"✓ TERM: xterm|✓ colors: 256|✓ background: dark|✓ keyboard: kitty|✓ clipboard: wl-copy, OSC 52|✓ images: off"},
		{"dumb", app.TerminalState{}, nil, "! TERM: dumb (Set TERM to your terminal, such as xterm-256color; with dumb parley prints plain lines)|✓ colors: unknown|✓ background: unknown|✓ keyboard: unknown|" +
			"! clipboard: none (Copies go to a file: install wl-clipboard or xclip, or use a terminal with OSC 52)|✓ images: unknown"},
	} {
		var got []string
		for _, c := range terminalChecks(tt.state, func(string) string { return tt.term }, tt.routes) {
			got = append(got, c.String())
		}
		if strings.Join(got, "|") != tt.want {
			t.Errorf("got  %s\nwant %s", strings.Join(got, "|"), tt.want)
		}
	}
}

// newDoctor returns a doctor of a run with these providers, without anything else of this machine.
func newDoctor(t *testing.T, c providers.Config, env map[string]string) Doctor {
	for _, name := range []string{"HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR"} {
		t.Setenv(name, t.TempDir())
	}
	t.Setenv("PATH", env["PATH"])
	getenv := func(name string) string { return env[name] }
	path, dir, no := "", t.TempDir(), false
	return New(Options{
		Streams: &cmdutil.Streams{}, Open: func() (func(), error) { return func() {}, nil }, ConfigPath: &path, Config: &c, Discovers: &no, Sandbox: &tools.SandboxConfig{}, MCP: new(map[string]mcp.Config),
		Models: func() []string { return nil }, Dir: &dir, Services: func() providers.Config { return c }, Discover: func(context.Context) {},
		OpenOptions: func() providers.OpenOptions { return providers.OpenOptions{Getenv: getenv} }, Servers: func() mcp.Servers { return nil }, AbbrevPath: filepath.Base,
	})
}

// Without any provider, each section says so.
func TestNoServices(t *testing.T) {
	d := newDoctor(t, providers.Config{}, nil)
	yes := true
	for _, discovers := range []bool{true, false} {
		local := "Local servers: ✓ none: not searched: discover = false under [ui]"
		if d.Discovers = new(bool); discovers {
			d.Discovers, local = &yes, "Local servers: ✓ none: no model server is running on this machine"
		}
		var got []string
		for _, c := range d.services(t.Context()) {
			got = append(got, c.Section+": "+c.String())
		}
		if len(got) != 3 || got[0] != "Providers: ! none: no provider has a key: the built-in demo answers (parley connect adds one)" || !strings.HasPrefix(got[1], "Agent CLIs: ✓ none: none of ") || got[2] != local {
			t.Errorf("got %q", got)
		}
	}
}

// A server that was found on this machine has its own section; one that lacks a key is not broken.
func TestLocalServices(t *testing.T) {
	refuses := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "{}", http.StatusUnauthorized) }))
	defer refuses.Close()
	c := providers.Config{Providers: map[string]providers.Provider{"mine": {Kind: "openai", BaseURL: refuses.URL + "/v1", APIKey: "k1234567"}}}
	server := providers.LocalServer{Provider: "vllm", Name: "vLLM", BaseURL: "http://127.0.0.1:9/v1", NeedsKey: true}
	d := newDoctor(t, c.WithServers([]providers.LocalServer{server}, os.Getenv), nil)
	var got []string
	for _, c := range d.services(t.Context()) {
		got = append(got, c.Section+": "+c.String())
	}
	want := []string{"Local servers: ! vllm: No API key for vLLM (", "Providers: ✗ mine: Authentication failed (401, mine): Unauthorized · key from providers.mine.api_key ("}
	if len(got) != 3 || !strings.HasPrefix(got[0], want[0]) || !strings.HasPrefix(got[1], want[1]) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// A program of another agent has its own section, with its version and whether it is logged in.
func TestPrograms(t *testing.T) {
	path := t.TempDir()
	for name, script := range map[string]string{"codex": "echo 1.2.3", "agy": "echo 1.2.3", "claude": "echo 1.2.3", "gemini": "exit 1"} {
		llmtest.Executable(t, filepath.Join(path, name), "#!/bin/sh\n"+script+"\n")
	}
	d := newDoctor(t, providers.Config{}, map[string]string{"PATH": path})
	said := map[string]string{}
	for _, c := range d.services(t.Context()) {
		said[c.Name] = c.Section + ": " + c.String()
	}
	for name, want := range map[string][]string{
		"claude-cli":      {"Agent CLIs: ! claude-cli: ", " · 1.2.3 · ", `(Not logged in: log in with "claude /login")`},
		"gemini-cli":      {"Agent CLIs: ✗ gemini-cli: "},
		"codex-cli":       {"Agent CLIs: ! codex-cli: ", " · 1.2.3 · ", `(Not logged in: log in with "codex login")`},
		"antigravity-cli": {"Agent CLIs: ✓ antigravity-cli: ", " · 1.2.3 · ", " · login in the system's keyring, not checked", " · its tools cannot be turned off: read at most, in an empty folder"},
	} {
		for _, part := range want {
			if !strings.Contains(said[name], part) {
				t.Errorf("got %q, want %q", said[name], part)
			}
		}
		if name != "antigravity-cli" && strings.Contains(said[name], "its tools") || name == "gemini-cli" && strings.Contains(said[name], "og in") {
			t.Errorf("got %q", said[name])
		}
	}
}

// The command runs every check, prints it by section, and fails only if something is broken.
func TestCommand(t *testing.T) {
	odd := errors.New("line 2: odd")
	for _, tt := range []struct {
		args []string
		err  error
	}{{nil, nil}, {nil, odd}, {[]string{"--json"}, odd}} {
		d := newDoctor(t, providers.Config{}, nil)
		var out strings.Builder
		closed, discovered := 0, 0
		d.Out, d.Open = &out, func() (func(), error) { return func() { closed++ }, tt.err }
		d.Discover = func(context.Context) { discovered++ }
		cmd := d.Command()
		cmd.SilenceErrors, cmd.SilenceUsage = true, true
		cmd.SetArgs(append([]string{}, tt.args...))
		err := cmd.ExecuteContext(t.Context())
		if closed != 1 || discovered != 1 {
			t.Errorf("closed %d times, searched for servers %d times", closed, discovered)
		}
		if (err != nil) != (tt.err != nil) || err != nil && err.Error() != "exit status 3" {
			t.Errorf("got %v, want an exit status for %v", err, tt.err)
		}
		want := slices.Clone(allSections)
		if tt.args != nil {
			want = []string{`{"section":"Store","name":"conversations","status":"ok"`, `"status":"broken","detail":"line 2: odd"`}
		}
		for _, section := range want {
			if !strings.Contains(out.String(), section) {
				t.Errorf("%s is missing in %s", section, out.String())
			}
		}
		parts := d.Checkup(t.Context(), app.TerminalState{})
		if len(parts) != len(allSections) {
			t.Errorf("a checkup has %d sections", len(parts))
		}
	}
}
