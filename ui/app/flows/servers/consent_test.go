package servers

import (
	"reflect"
	"strings"
	"testing"

	"parley/providers/llm"
	"parley/session"
	"parley/tools/mcp"
	"parley/ui/app"
	"parley/ui/uitest/apptest"
)

// ownServers are servers whose state a test sets.
type ownServers struct {
	mcp.Servers
	state    mcp.State
	approved string
	allowed  mcp.Access
	changed  func(string)
}

func (s *ownServers) States() []mcp.State                   { return []mcp.State{s.state} }
func (s *ownServers) NextQuestion() *mcp.Question           { return nil }
func (s *ownServers) Approve(_, fingerprint string) error   { s.approved = fingerprint; return nil }
func (s *ownServers) Allow(_ string, more mcp.Access) error { s.allowed = more; return nil }
func (s *ownServers) become(change func(s *mcp.State)) string {
	change(&s.state)
	s.changed("s")
	return ""
}

// withServer returns an App with a server, and the effects of its changes.
func withServer(t *testing.T, state mcp.State) (a *app.App, all *ownServers, change func(func(*mcp.State)) app.Effect) {
	all = &ownServers{state: state}
	o := app.Options{Flows: Register, Session: session.New(session.Options{})}
	o.MCP.Servers = func() app.Servers { return all }
	o.MCP.OnServerChange = func(f func(string)) { all.changed = f }
	a = app.New(o)
	var seen app.Effect
	a.WatchAll(func(happened func() app.Effect) { seen = happened() })
	return a, all, func(change func(*mcp.State)) app.Effect {
		seen = nil
		all.become(change)
		return seen
	}
}

// A server of the user's own asks once for all that it needs.
func TestConsent(t *testing.T) {
	a, all, change := withServer(t, mcp.State{Name: "s", Location: "npx files", Status: mcp.StatusStarting, Fingerprint: "1"})
	if a.MCP.NextQuestion() != nil {
		t.Error("asks about a server that starts")
	}
	if e := change(func(s *mcp.State) {
		s.Status, s.Tools = mcp.StatusNew, []mcp.Tool{{Title: "read"}, {Title: "write\n── x"}}
	}); e != nil {
		t.Errorf("says %v beside the question", e)
	}
	q := a.MCP.NextQuestion().(*app.Confirm)
	want := "MCP server s: npx files\n\nIt offers 2 tools; /mcp s shows them in full:\n> read, write\n> ── x\n\nAllow all of this? Its tools then run without asking, unless a permission rule asks."
	if q.Text != want || !q.Unasked || q.Harmless || q.Yes != "Allow all" {
		t.Errorf("asks %q, want %q", q.Text, want)
	}
	if a.MCP.NextQuestion() != nil || change(func(*mcp.State) {}) != nil || a.MCP.NextQuestion() != nil {
		t.Error("asks twice")
	}
	apptest.See(q.Answer(true)).Async(t.Context())
	if all.approved != "1" || !reflect.DeepEqual(all.allowed, mcp.Access{Calls: true}) {
		t.Errorf("approved %q, allowed %v", all.approved, all.allowed)
	}
}

// A program that the sandbox keeps from starting is asked about before its tools are known.
func TestConsentBeforeStart(t *testing.T) {
	a, all, change := withServer(t, mcp.State{Name: "s", Location: "npx files"})
	change(func(s *mcp.State) {
		s.Status, s.Sandboxed = mcp.StatusFailed, true
		s.Refusal = mcp.Refusal{Reasons: []string{"network: npx downloads what it starts"}, Needs: mcp.Access{Network: true}}
	})
	q := a.MCP.NextQuestion().(*app.Confirm)
	for _, part := range []string{"> network: npx downloads what it starts", "If you allow it, it may reach the network", "Its tools are not known before it starts"} {
		if !strings.Contains(q.Text, part) {
			t.Errorf("%q is not in\n%s", part, q.Text)
		}
	}
	apptest.See(q.Answer(true)).Async(t.Context())
	if all.approved != "" || !reflect.DeepEqual(all.allowed, mcp.Access{Network: true, Calls: true}) {
		t.Errorf("approved %q, allowed %v", all.approved, all.allowed)
	}
	e := change(func(s *mcp.State) { s.Status, s.Tools = mcp.StatusReady, []mcp.Tool{{Title: "read"}} })
	if shown, ok := e.(app.Shown); !ok || shown.Event != (llm.Notice{Text: "MCP server s offers 1 tool; /mcp s shows them in full:\n> read"}) {
		t.Errorf("once it is ready: %+v", e)
	}
	if e := apptest.See(q.Answer(false)); !strings.Contains(e.Toast, "/mcp s reviews it") {
		t.Errorf("no: %+v", e)
	}
}

// Servers of a project, and tools that a server changed by itself, are reviewed with /mcp.
func TestNoConsent(t *testing.T) {
	for name, state := range map[string]mcp.State{
		"of a project": {Name: "s", Status: mcp.StatusNew, OfProject: true}, "changed tools": {Name: "s", Status: mcp.StatusChanged},
		"crashed": {Name: "s", Status: mcp.StatusFailed, Program: mcp.Program{Sandboxed: true}},
	} {
		a, _, change := withServer(t, mcp.State{Name: "s"})
		e := change(func(s *mcp.State) { *s = state })
		if a.MCP.NextQuestion() != nil || e == nil {
			t.Errorf("%s: asks, and says %v", name, e)
		}
	}
}

// A server that the user declined is not asked about again, unless it has other tools.
func TestConsentDeclined(t *testing.T) {
	for _, status := range []mcp.Status{mcp.StatusNew, mcp.StatusFailed} {
		a, _, change := withServer(t, mcp.State{Name: "s", Fingerprint: "1"})
		again := func(fingerprint string) app.Effect {
			change(func(s *mcp.State) { s.Status = mcp.StatusStarting })
			change(func(s *mcp.State) {
				s.Status, s.Fingerprint, s.Sandboxed, s.Refusal.Needs.Network = status, fingerprint, true, true
			})
			return a.MCP.NextQuestion()
		}
		again("1").(*app.Confirm).Answer(false)
		if q := again("1"); q != nil {
			t.Errorf("%s: asks again", status)
		}
		if q := again("2"); (q != nil) != (status == mcp.StatusNew) {
			t.Errorf("%s: other tools: asks %v", status, q)
		}
	}
}
