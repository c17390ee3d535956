package mcp

import (
	"reflect"
	"strings"
	"testing"

	"parley/tools/process"
)

func TestProject(t *testing.T) {
	tests := []struct {
		name, text string
		want       map[string]Config
		err        string
	}{
		{"none", `{}`, map[string]Config{}, ""},
		{"a program", `{"mcpServers":{"a":{"type":"stdio","command":"x","args":["-y"],"env":{"L":"1"}}}}`,
			map[string]Config{"a": {Command: process.ShellLine("x"), Args: []string{"-y"}, Env: map[string]string{"L": "1"}, ofProject: true}}, ""},
		{"a service", `{"mcpServers":{"a":{"type":"http","url":"https://example.com/mcp"}}}`,
			map[string]Config{"a": {URL: "https://example.com/mcp", ofProject: true}}, ""},
		{"it asks for more than a folder may have", `{"mcpServers":{"a":{"command":"x","free":true,"trusted":true,"network":true}}}`,
			map[string]Config{"a": {Command: process.ShellLine("x"), ofProject: true}}, ""},
		{"a key of the person's", `{"mcpServers":{"a":{"url":"https://example.com","headers":{"X":"Bearer ${OPENAI_API_KEY}"}}}}`, nil, "takes a value from your environment"},
		{"the same for a program", `{"mcpServers":{"a":{"command":"x","env":{"K":"${OPENAI_API_KEY}"}}}}`, nil, "takes a value from your environment"},
		{"nothing to start", `{"mcpServers":{"a":{}}}`, nil, "mcp.a.command"},
		{"a name that would mix servers up", `{"mcpServers":{"a__b":{"command":"x"}}}`, nil, "a name is up to"},
		{"no JSON", `[`, nil, "not a list of servers"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := ParseProject([]byte(tt.text))
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Errorf("got %v, want %q", err, tt.err)
				}
				return
			}
			if err != nil || !reflect.DeepEqual(got, tt.want) {
				t.Errorf("got %#v, %v; want %#v", got, err, tt.want)
			}
		})
	}
}

// TestAccessOfProject: what was allowed holds for a directory's server as it was then, values of
// variables included, which are not stored. A user's own server is given what the user says.
func TestAccessOfProject(t *testing.T) {
	base := func(text string) Config {
		t.Helper()
		configs, err := ParseProject([]byte(`{"mcpServers":{"a":` + text + `}}`))
		if err != nil {
			t.Fatal(err)
		}
		return configs["a"]
	}
	const was = `{"command":"node","args":["s.js"],"env":{"NODE_OPTIONS":"--max-old-space-size=512","KEY":"hunter2"}}`
	changed := base(`{"command":"node","args":["s.js"],"env":{"NODE_OPTIONS":"--require ./evil.js","KEY":"hunter2"}}`)
	own, ownChanged := base(was), changed
	own.ofProject, ownChanged.ofProject = false, false
	for _, tt := range []struct {
		name        string
		before, now Config
		kept        bool
	}{
		{"the same", base(was), base(was), true},
		{"another value", base(was), changed, false},
		{"the user's own", own, own, true},
		{"another value of the user's own", own, ownChanged, true},
		{"the user's own, now the directory's", own, base(was), false},
	} {
		stored := ""
		o := Options{
			LoadState: func(string) string { return stored },
			SaveState: func(_, text string) error { stored = text; return nil },
		}
		s := newServer("a", tt.before, o, inbound{inFlight: new(inFlight)})
		if err := s.updateStored(func(m *storedState) { m.Started = true }); err != nil {
			t.Fatal(err)
		}
		if err := s.grant(Access{Unsandboxed: true}); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(stored, "hunter2") || strings.Contains(stored, "=512") {
			t.Errorf("%s: values can be read in %s", tt.name, stored)
		}
		again := newServer("a", tt.now, o, inbound{inFlight: new(inFlight)})
		if got := again.effectiveConfig().Unsandboxed; got != tt.kept || !again.stored.Started {
			t.Errorf("%s: without the sandbox %v, want %v; remembered is %+v", tt.name, got, tt.kept, again.stored)
		}
		if err := again.grant(Access{}); err != nil || strings.Contains(stored, "given") {
			t.Errorf("%s: what is taken back leaves %s, %v", tt.name, stored, err)
		}
	}
}
