package client

import (
	"strings"
	"testing"

	"parley/tools/mcp"
)

func TestAccessOfProject(t *testing.T) {
	base := func(text string) mcp.Config {
		t.Helper()
		configs, err := mcp.ParseProject([]byte(`{"mcpServers":{"a":` + text + `}}`))
		if err != nil {
			t.Fatal(err)
		}
		return configs["a"]
	}
	const was = `{"command":"node","args":["s.js"],"env":{"NODE_OPTIONS":"--max-old-space-size=512","KEY":"hunter2"}}`
	changed := base(`{"command":"node","args":["s.js"],"env":{"NODE_OPTIONS":"--require ./evil.js","KEY":"hunter2"}}`)
	own, ownChanged := base(was), changed
	own.OfProject, ownChanged.OfProject = false, false
	for _, tt := range []struct {
		name        string
		before, now mcp.Config
		kept        bool
	}{
		{"the same", base(was), base(was), true},
		{"another value", base(was), changed, false},
		{"the user's own", own, own, true},
		{"another value of the user's own", own, ownChanged, true},
		{"the user's own, now the directory's", own, base(was), false},
	} {
		stored := ""
		o := mcp.Options{
			LoadState: func(string) string { return stored },
			SaveState: func(_, text string) error { stored = text; return nil },
		}
		s := newServer("a", tt.before, o, inbound{calls: new(inFlight)})
		if err := s.updateStored(func(m *storedState) { m.Started = true }); err != nil {
			t.Fatal(err)
		}
		if err := s.grant(mcp.Access{Unsandboxed: true}); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(stored, "hunter2") || strings.Contains(stored, "=512") {
			t.Errorf("%s: values can be read in %s", tt.name, stored)
		}
		again := newServer("a", tt.now, o, inbound{calls: new(inFlight)})
		if got := again.effectiveConfig().Unsandboxed; got != tt.kept || !again.stored.Started {
			t.Errorf("%s: without the sandbox %v, want %v; remembered is %+v", tt.name, got, tt.kept, again.stored)
		}
		if err := again.grant(mcp.Access{}); err != nil || strings.Contains(stored, "given") {
			t.Errorf("%s: what is taken back leaves %s, %v", tt.name, stored, err)
		}
	}
}

// Tools that are not known yet are enabled only if calls are allowed together with them, and for the
// configuration that the user saw.
func TestEnable(t *testing.T) {
	config := func(token string) mcp.Config {
		return mcp.Config{URL: "https://h/mcp", Headers: map[string]string{"X": token}}
	}
	for _, tt := range []struct {
		name   string
		before mcp.Access // allowed while its tools were known
		first  mcp.Access // allowed while they are not
		more   mcp.Access
		token  string // of the next start
		want   bool
	}{
		{"calls are allowed", mcp.Access{}, mcp.Access{Calls: true}, mcp.Access{Calls: true}, "old", true},
		{"calls were allowed for earlier tools", mcp.Access{Calls: true}, mcp.Access{Read: []string{"/x"}}, mcp.Access{Network: true}, "old", false},
		{"more is allowed meanwhile", mcp.Access{}, mcp.Access{Calls: true}, mcp.Access{Network: true}, "old", true},
		{"another header", mcp.Access{}, mcp.Access{Calls: true}, mcp.Access{Network: true}, "new", false},
	} {
		stored := ""
		o := mcp.Options{
			LoadState: func(string) string { return stored },
			SaveState: func(_, text string) error { stored = text; return nil },
		}
		s := newServer("a", config("old"), o, inbound{calls: new(inFlight)})
		if err := s.updateStored(func(m *storedState) { m.Access = tt.before }); err != nil {
			t.Fatal(err)
		}
		for _, more := range []mcp.Access{tt.first, tt.more} {
			if err := s.grant(more); err != nil {
				t.Fatal(err)
			}
		}
		if again := newServer("a", config(tt.token), o, inbound{calls: new(inFlight)}); (again.stored.Enable != nil) != tt.want || !again.stored.Access.Calls {
			t.Errorf("%s: remembered is %+v, want Enable %v", tt.name, again.stored, tt.want)
		}
	}
}
