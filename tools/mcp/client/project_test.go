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
