//go:build unix

package tui

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"parley/tools/mcp"
	"parley/tools/mcp/client"
	"parley/tools/process"
	"parley/ui/app"
)

// shellServers returns servers whose programs are shell scripts, by name. Stored approvals go to kept.
func shellServers(t *testing.T, kept chan<- string, scripts map[string]string) mcp.Servers {
	t.Helper()
	config := map[string]mcp.Config{}
	for name, script := range scripts {
		config[name] = mcp.Config{Command: process.CommandLine{Words: []string{"/bin/sh"}}, Args: []string{"-c", script}}
	}
	dir := t.TempDir()
	servers := client.New().Open(t.Context(), config, mcp.Options{
		Dir: dir,
		Confine: func(_ string, _ mcp.Config, env []string) (*process.SandboxPolicy, error) {
			return &process.SandboxPolicy{Workspace: dir, ReadPaths: []string{os.TempDir()}, Env: env}, nil
		},
		SaveState: func(_, memory string) error { kept <- memory; return nil },
		WithTimeout: func(ctx context.Context, _ time.Duration, _ error) (context.Context, context.CancelFunc) {
			return context.WithCancel(ctx) // they may take as long as a test needs to start
		},
	})
	t.Cleanup(servers.Close)
	return servers
}

// refusedServer returns a server whose program fails without a network, until it
// has one. Stored approvals go to kept.
func refusedServer(t *testing.T, kept chan<- string) mcp.Servers {
	t.Helper()
	servers := shellServers(t, kept, map[string]string{"weather": "echo starting >&2; echo getaddrinfo EAI_AGAIN registry.example >&2; exit 1"})
	servers.Wait(context.Background())
	return servers
}

// A server that the sandbox kept from starting reports the denied access, with
// the last lines of its standard error, and can be granted it.
func TestRefusedServer(t *testing.T) {
	kept := make(chan string, 8)
	servers := refusedServer(t, kept)
	s := setUpWith(t, 100, 40, func(o *Options) { o.App.MCP.Servers = func() app.Servers { return servers } })
	s.Type("/mcp weather").Press("enter").WaitForText("the sandbox refused it the network")
	s.WaitForText("network: getaddrinfo EAI_AGAIN registry.example").WaitForText("Last lines of standard error").WaitForText("starting")
	s.Type("y").WaitForText("Allow network").WaitForText("Run without the sandbox").WaitForText("Stop")
	s.Type("allow network").Press("enter").WaitForText("weather: Allow network")
	if memory := <-kept; !strings.Contains(memory, `"network":true`) {
		t.Errorf("remembered %s", memory)
	}
	s.Type("/mcp").Press("enter").WaitForText("may reach the network")
}

// The list of servers follows their changes while it is open, and keeps the selected row.
func TestServersChange(t *testing.T) {
	gate := filepath.Join(t.TempDir(), "gate")
	if err := syscall.Mkfifo(gate, 0o600); err != nil {
		t.Fatal(err)
	}
	servers := shellServers(t, make(chan string, 8), map[string]string{"clock": "exit 1", "weather": "cat '" + gate + "'; exit 3"})
	var changed func(server string)
	s := setUpWith(t, 100, 40, func(o *Options) {
		o.App.MCP.Servers, o.App.MCP.OnServerChange = func() app.Servers { return servers }, func(f func(string)) { changed = f }
	})
	row := func(name string) string {
		for line := range strings.Lines(s.Screen()) {
			if strings.Contains(line, name+" ") && strings.Contains(line, " · ") {
				return strings.TrimSpace(line)
			}
		}
		return ""
	}
	s.Type("/mcp").Press("enter").WaitForText("starting · ").Press("down")
	if got := row("weather"); !strings.HasPrefix(got, "› weather") || !strings.Contains(got, "starting") {
		t.Fatalf("before: %q", got)
	}
	if err := os.WriteFile(gate, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	servers.Wait(context.Background())
	changed("weather")
	if got := row("weather"); !strings.HasPrefix(got, "› weather") || !strings.Contains(got, "failed · ") {
		t.Errorf("after: %q", got)
	}
	s.Press("enter").WaitForText("MCP server weather: failed")
	changed("weather") // while the list is closed
	if !strings.Contains(s.Screen(), "MCP server weather: failed") {
		t.Errorf("the server is gone:\n%s", s.Screen())
	}
}
