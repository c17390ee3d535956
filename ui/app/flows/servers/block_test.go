package servers

import (
	"reflect"
	"strings"
	"testing"

	"parley/providers/schema/fit"
	"parley/tools"
	"parley/tools/mcp"
	"parley/tools/process"
)

func init() { tools.Schemas = fit.Repairer{} }

// Blocks that READMEs show for other programs are read, with their comments and slips.
func TestParseBlock(t *testing.T) {
	files := mcp.Config{Command: process.ShellLine("npx"), Args: []string{"-y", "files"}}
	tests := []struct {
		name, text, as string
		want           map[string]mcp.Config
		notes, err     string
	}{
		{"Claude", `{"mcpServers":{"files":{"command":"npx","args":["-y","files"]}}}`, "", map[string]mcp.Config{"files": files}, "", ""},
		{"VS Code", "{\n // keys\n \"inputs\": [],\n \"servers\": {\"files\": {\"type\": \"stdio\", \"command\": \"npx\", \"args\": [\"-y\", \"files\",],},},\n}", "", map[string]mcp.Config{"files": files}, "ignored inputs", ""},
		{"as a terminal pastes it", "{\"files\": { // mine\r  \"command\": \"npx\",\r  \"args\": [\"-y\", \"files\"]\r}}", "", map[string]mcp.Config{"files": files}, "", ""},
		{"settings of VS Code", `{"mcp":{"servers":{"files":{"command":"npx","args":["-y","files"]}}},"editor.fontSize":12}`, "", map[string]mcp.Config{"files": files}, "ignored editor.fontSize", ""},
		{"opencode", `{"mcp":{"files":{"type":"local","command":["npx","-y","files"],"enabled":false,"environment":{"A":1}}}}`, "",
			map[string]mcp.Config{"files": {Command: process.CommandLine{Words: []string{"npx", "-y", "files"}}, Disabled: true, Env: map[string]string{"A": "1"}}}, "", ""},
		{"the servers alone", `{"files":{"command":"npx","args":["-y","files"]}}`, "", map[string]mcp.Config{"files": files}, "", ""},
		{"without brackets", `"files": {"command":"npx","args":["-y","files"]}`, "", map[string]mcp.Config{"files": files}, "", ""},
		{"between prose", "Add this:\n```json\n{\"files\":{\"command\":\"npx\",\"args\":[\"-y\",\"files\"]}}\n```", "", map[string]mcp.Config{"files": files}, "", ""},
		{"one server", `{"command":"npx","args":["-y","files"]}`, "files", map[string]mcp.Config{"files": files}, "", ""},
		{"one server without a name", `{"command":"npx"}`, "", nil, "", "the server has no name"},
		{"services", `{"mcpServers":{"a":{"url":"https://a/mcp","headers":{"X":"${env:TOKEN}"}},"b":{"serverUrl":"https://b"},"c":{"httpUrl":"https://c"}}}`, "",
			map[string]mcp.Config{"a": {URL: "https://a/mcp", Headers: map[string]string{"X": "${TOKEN}"}}, "b": {URL: "https://b"}, "c": {URL: "https://c"}}, "", ""},
		{"numbers, and two addresses", `{"a":{"command":"x","args":[3600000],"env":{"MS":12345678901}},"b":{"url":"https://b","httpUrl":"https://c"}}`, "",
			map[string]mcp.Config{"a": {Command: process.ShellLine("x"), Args: []string{"3600000"}, Env: map[string]string{"MS": "12345678901"}}, "b": {URL: "https://b"}}, "", ""},
		{"unknown keys", `{"mcpServers":{"files":{"command":"npx","args":["-y","files"],"autoApprove":[],"trusted":true,"free":true}}}`, "", map[string]mcp.Config{"files": files}, "files: ignored autoApprove, free, trusted", ""},
		{"names of other programs", `{"mcpServers":{"io.github/My Files":{"command":"npx","args":["-y","files"]}}}`, "", map[string]mcp.Config{"io-github-My-Files": files}, "io.github/My Files is called io-github-My-Files", ""},
		{"escapes", "{\"mcpServers\":{\"a\\u001b[2J\":{\"command\":\"x\"}}}", "", map[string]mcp.Config{"a-2J": {Command: process.ShellLine("x")}}, "a␛[2J is called a-2J", ""},
		{"something else", `{"name":"x","version":"1"}`, "", nil, "", "no server in this JSON"},
		{"a wrong type", `{"a":{"command":"x","env":[]}}`, "", nil, "", "a: json: cannot unmarshal"},
		{"no JSON", `npx -y files`, "", nil, "", "not a list of servers in JSON"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, notes, err := parseBlock(tt.text, tt.as)
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Errorf("got %v, want %q", err, tt.err)
				}
				return
			}
			for name, c := range got {
				if len(c.Args) == 0 {
					c.Args = nil
				}
				got[name] = c
			}
			if err != nil || !reflect.DeepEqual(got, tt.want) {
				t.Errorf("got %#v, %v; want %#v", got, err, tt.want)
			}
			if said := strings.Join(notes, " · "); said != tt.notes {
				t.Errorf("notes %q, want %q", said, tt.notes)
			}
		})
	}
}

// Keys are told from other values by their names and looks, and from placeholders of READMEs.
func TestTakeSecrets(t *testing.T) {
	for given, want := range map[string]string{
		"GITHUB_TOKEN=ghp_abcdefgh0123": "${GITHUB_TOKEN} ghp_abcdefgh0123", "PASSWORD=x": "${PASSWORD} x", "API_KEY=YOUR_API_KEY": "${API_KEY} ", "API_KEY=<your key>": "${API_KEY} ", "api-key=": "${API_KEY} ",
		"API_KEY=${MINE}": "${MINE}", "A=${input:a}": "${A} ", "LOG=debug": "debug", "MAX_TOKENS=12": "12", "DB=postgres://me:tCanary9@host/db": "${DB} postgres://me:tCanary9@host/db",
		"X=Bearer abc": "Bearer ${X} abc",
	} {
		name, value, _ := strings.Cut(given, "=")
		c := mcp.Config{Env: map[string]string{name: value}}
		secrets := takeSecrets(c)
		got := c.Env[name]
		for ref, secret := range secrets {
			got += " " + secret
			if !strings.Contains(c.Env[name], "${"+ref+"}") {
				t.Errorf("%s: no reference to %s", given, ref)
			}
		}
		if got != want {
			t.Errorf("%s: %q, want %q", given, got, want)
		}
	}
}
