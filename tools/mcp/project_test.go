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
			map[string]Config{"a": {Command: process.ShellLine("x"), Args: []string{"-y"}, Env: map[string]string{"L": "1"}, OfProject: true}}, ""},
		{"a service", `{"mcpServers":{"a":{"type":"http","url":"https://example.com/mcp"}}}`,
			map[string]Config{"a": {URL: "https://example.com/mcp", OfProject: true}}, ""},
		{"it asks for more than a folder may have", `{"mcpServers":{"a":{"command":"x","free":true,"trusted":true,"network":true}}}`,
			map[string]Config{"a": {Command: process.ShellLine("x"), OfProject: true}}, ""},
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
