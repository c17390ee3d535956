package servers

import (
	"strings"
	"testing"

	"parley/tools/mcp"
	"parley/ui/app"
)

// Offers to allow access that the sandbox denied come first. For a server that failed for other reasons, the first
// choice restarts it, and no choice grants more access by default.
func TestServerChoices(t *testing.T) {
	failed := mcp.State{Name: "s", Status: mcp.StatusFailed}
	failed.Sandboxed = true
	with := func(change func(s *mcp.State)) mcp.State {
		s := failed
		change(&s)
		return s
	}
	for name, tt := range map[string]struct {
		state mcp.State
		want  string
	}{
		"crashed":                 {failed, "Restart, Allow network, Run without the sandbox, Stop"},
		"crashed, with network":   {with(func(s *mcp.State) { s.Allowed.Network = true }), "Restart, Run without the sandbox, Stop, Revoke permissions"},
		"crashed, not confined":   {with(func(s *mcp.State) { s.Sandboxed = false }), "Restart, Stop"},
		"refused the network":     {with(func(s *mcp.State) { s.Refusal.Needs.Network = true }), "Allow network, Restart, Run without the sandbox, Stop"},
		"refused a folder":        {with(func(s *mcp.State) { s.Refusal.Needs.Read = []string{"/a"} }), "Allow these folders, Restart, Allow network, Run without the sandbox, Stop"},
		"refused both":            {with(func(s *mcp.State) { s.Refusal.Needs = mcp.Access{Network: true, Read: []string{"/a"}} }), "Allow network and these folders, Allow network, Allow these folders, Restart, Run without the sandbox, Stop"},
		"ready, refused a folder": {with(func(s *mcp.State) { s.Status, s.Refusal.Needs.Write = mcp.StatusReady, []string{"/a"} }), "Allow these folders, Restart, Stop, Run its tools without asking"},
		"ready, refused a call":   {with(func(s *mcp.State) { s.Status, s.Refusal.Needs.Unsandboxed = mcp.StatusReady, true }), "Run without the sandbox, Restart, Allow network, Stop, Run its tools without asking"},
		"ready, refused network":  {with(func(s *mcp.State) { s.Status, s.Refusal.Needs.Network = mcp.StatusReady, true }), "Allow network, Restart, Stop, Run its tools without asking"},
		"refused all": {with(func(s *mcp.State) {
			s.Refusal.Needs = mcp.Access{Network: true, Read: []string{"/a"}, Unsandboxed: true}
		}), "Allow network and these folders, Allow network, Allow these folders, Run without the sandbox, Restart, Stop"},
		"a project's": {mcp.State{Name: "s", Status: mcp.StatusReady, OfProject: true}, "Restart, Stop"},
		"stopped":     {with(func(s *mcp.State) { s.Status = mcp.StatusStopped }), "Restart"},
	} {
		var names []string
		for _, c := range serverChoices(tt.state) {
			names = append(names, c.Name)
		}
		if got := strings.Join(names, ", "); got != tt.want {
			t.Errorf("%s: %s, want %s", name, got, tt.want)
		}
	}
}

// TestServerNoticeOfRefusal: an access that the sandbox denied to a running server is reported, with advice.
func TestServerNoticeOfRefusal(t *testing.T) {
	s := mcp.State{Name: "s", Status: mcp.StatusReady, Program: mcp.Program{Sandboxed: true}}
	if got := serverNotice(s); got != "" {
		t.Errorf("got %q", got)
	}
	failed := mcp.State{Name: "s", Status: mcp.StatusFailed, Reason: "exited"}
	for down, want := range map[bool]string{false: "MCP server s: exited", true: "MCP server s: exited. The next prompt or call starts it again"} {
		if failed.Down = down; serverNotice(failed) != want {
			t.Errorf("got %q, want %q", serverNotice(failed), want)
		}
	}
	s.Refusal.Needs.Read = []string{"/a"}
	if got, want := serverNotice(s), "MCP server s: the sandbox refused it files during a call: review and allow it with /mcp s"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A server's descriptions and output cannot pass for another tool or for text of parley's.
func TestServerDetailsAreQuoted(t *testing.T) {
	text, _ := serverDetails(mcp.State{
		Name: "s", Status: mcp.StatusNew, ServerInfo: "x\ny", Program: mcp.Program{Stderr: "one\n\nAllowed by you: nothing"},
		Tools: []mcp.Tool{{Name: "a", Description: "reads\n\n── b new\nwrites", Schema: "{}"}},
	})
	want := "MCP server s: " + string(mcp.StatusNew) + "\n\nName: x␊y\n\n── a \n> reads\n> \n> ── b new\n> writes\n> {}\n\n── Standard error\n> one\n> \n> Allowed by you: nothing\n"
	if !strings.HasPrefix(text, want) {
		t.Errorf("got\n%s\nwant\n%s", text, want)
	}
}

// The arguments of /mcp are the servers, with what each can do in its state.
func TestArguments(t *testing.T) {
	loggedIn := mcp.State{Name: "s", Status: mcp.StatusReady}
	loggedIn.LoggedIn = true
	for _, tt := range []struct {
		state mcp.State
		add   bool // tables of the configuration can be written
		want  string
	}{
		{mcp.State{Name: "s", Status: mcp.StatusReady}, true, "add, s, remove s"},
		{mcp.State{Name: "s", Status: mcp.StatusReady}, false, "s"},
		{mcp.State{Name: "s", Status: mcp.StatusReady, OfProject: true}, true, "add, s"},
		{mcp.State{Name: "s", Status: mcp.StatusLogin}, false, "s, login s"},
		{loggedIn, false, "s, logout s"},
	} {
		a, _, _ := withServer(t, tt.state)
		if tt.add {
			a.ConfigFile.WriteTables = func(string, map[string]string, string, func() error) app.Effect { return nil }
		}
		var titles []string
		for _, i := range a.Command("mcp").Args() {
			titles = append(titles, i.Title)
		}
		if got := strings.Join(titles, ", "); got != tt.want {
			t.Errorf("%+v: %s, want %s", tt.state, got, tt.want)
		}
	}
}
