//go:build unix

package tui

import (
	"context"
	"os/exec"
	"strings"
	"testing"

	"parley/tools/mcp"
	"parley/tools/process"
)

// refusedServer is one whose program fails as it does without a network, until it
// has one. What is remembered of it goes to kept.
func refusedServer(t *testing.T, kept chan<- string) *mcp.Servers {
	t.Helper()
	servers := mcp.Open(t.Context(), map[string]mcp.Config{"weather": {Command: process.CommandLine{Words: []string{"/bin/sh"}}, Args: []string{"-c", "echo starting >&2; echo getaddrinfo EAI_AGAIN registry.example >&2; exit 1"}}}, mcp.Options{
		Dir: t.TempDir(),
		Confine: func(_ string, _ mcp.Config, argv, env []string) (*exec.Cmd, func(), error) {
			cmd := exec.Command(argv[0], argv[1:]...)
			cmd.Env = env
			return cmd, func() {}, nil
		},
		SaveState: func(_, memory string) error { kept <- memory; return nil },
	})
	t.Cleanup(servers.Close)
	servers.Wait(context.Background())
	return servers
}

// A server that the sandbox kept from starting says what it was refused, with the
// last lines of its standard error, and can be allowed it.
func TestRefusedServer(t *testing.T) {
	kept := make(chan string, 8)
	servers := refusedServer(t, kept)
	s := setUpWith(t, 100, 40, func(o *Options) { o.Servers = func() *mcp.Servers { return servers } })
	s.Type("/mcp weather").Press("enter").WaitForText("the sandbox refused it the network")
	s.WaitForText("network: getaddrinfo EAI_AGAIN registry.example").WaitForText("Last lines of standard error").WaitForText("starting")
	s.Type("y").WaitForText("Allow network").WaitForText("Run without the sandbox").WaitForText("Stop")
	s.Type("allow network").Press("enter").WaitForText("weather: Allow network")
	if memory := <-kept; !strings.Contains(memory, `"network":true`) {
		t.Errorf("remembered %s", memory)
	}
	s.Type("/mcp").Press("enter").WaitForText("may reach the network")
}
