package providers

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	"parley/providers/llm"
	"parley/tools/process"
)

func TestKeyLookup(t *testing.T) {
	for _, tt := range []struct {
		name     string
		provider string
		conf     *Provider
		env      []string
		key      string
		from     string
		missing  string
	}{
		{"environment", "openai", nil, []string{"OPENAI_API_KEY", "k"}, "k", "OPENAI_API_KEY", ""},
		{"white space around it", "openai", nil, []string{"OPENAI_API_KEY", " k\n"}, "k", "OPENAI_API_KEY", ""},
		{"first variable wins", "zai", nil, []string{"ZHIPU_API_KEY", "b", "ZAI_API_KEY", "a"}, "a", "ZAI_API_KEY", ""},
		{"second variable", "zai", nil, []string{"ZHIPU_API_KEY", "b"}, "b", "ZHIPU_API_KEY", ""},
		{"empty is not set", "openai", nil, []string{"OPENAI_API_KEY", "  "}, "", "", "set OPENAI_API_KEY"},
		{"none", "zai", nil, nil, "", "", "set ZAI_API_KEY or ZHIPU_API_KEY"},
		{"configured before environment", "openai", &Provider{APIKey: "c"}, []string{"OPENAI_API_KEY", "k"}, "c", "providers.openai.api_key", ""},
		{"a variable of one's own", "openai", &Provider{APIKeyEnv: "MINE"}, []string{"MINE", "m", "OPENAI_API_KEY", "k"}, "m", "MINE", ""},
		{"a variable of one's own, not set", "openai", &Provider{APIKeyEnv: "MINE"}, []string{"OPENAI_API_KEY", "k"}, "", "", "set MINE"},
		{"command", "openai", &Provider{APIKeyCommand: "echo k"}, nil, "k", "providers.openai.api_key_command", ""},
		{"a local server needs none", "vllm", &Provider{}, nil, "", "", ""},
		{"a local server takes one", "vllm", &Provider{}, []string{"VLLM_API_KEY", "v"}, "v", "VLLM_API_KEY", ""},
		{"a service of one's own needs none", "work", &Provider{BaseURL: "http://work/v1"}, nil, "", "", ""},
		{"a key does not go to a foreign address", "work", &Provider{BaseURL: "http://work/v1"}, []string{"OPENAI_API_KEY", "k"}, "", "", ""},
		{"another name for the same service", "mine", &Provider{Kind: "deepseek"}, []string{"DEEPSEEK_API_KEY", "d"}, "d", "DEEPSEEK_API_KEY", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.conf != nil && tt.conf.APIKeyCommand != "" && runtime.GOOS == "windows" {
				t.Skip("needs a Unix shell")
			}
			c := Config{Providers: map[string]Provider{}}
			if tt.conf != nil {
				c.Providers[tt.provider] = *tt.conf
			}
			s, ok := c.service(tt.provider, env(tt.env...))
			if !ok {
				t.Fatal("no such provider")
			}
			key, err := s.resolveKey(t.Context())
			if err != nil || key != tt.key || s.key.name != tt.from || s.key.hint != tt.missing {
				t.Errorf("key %q from %q, missing %q, %v; want %q from %q, missing %q", key, s.key.name, s.key.hint, err, tt.key, tt.from, tt.missing)
			}
		})
	}
}

func TestKeyCommand(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("needs a Unix shell")
	}
	for _, tt := range []struct{ command, want, err string }{
		{"echo sk-1", "sk-1", ""},
		{"printf '  sk-1 \\r\\n'", "sk-1", ""},
		{"echo sk-1; echo user: me", "sk-1", ""},
		{"echo; echo sk-1", "sk-1", ""},
		{"echo sk-1; echo noise >&2", "sk-1", ""},
		{"true", "", "printed nothing"},
		{"echo " + canary + "; exit 3", "", "failed (exit status 3)"},
		{"echo " + canary + " >&2; exit 1", "", "failed (exit status 1)"},
		{"/no/such/program", "", "failed"},
		{"printf '\\033[31msk-1\\033[0m'", "", "characters that no key has"},
		{"echo sk 1", "", "characters that no key has"},
		{"head -c 2000000 /dev/zero | tr '\\0' x; echo", strings.Repeat("x", 16<<10), ""},
	} {
		s := service{name: "p", url: "http://p/v1", key: key{name: "providers.p.api_key_command", command: tt.command}}
		got, err := s.resolveKey(t.Context())
		if got != tt.want {
			t.Errorf("%.40s: %d bytes, want %d", tt.command, len(got), len(tt.want))
		}
		if tt.err == "" && err == nil {
			continue
		}
		if err == nil || tt.err == "" || !strings.Contains(err.Error(), tt.err) || llm.FaultOf(err) != llm.Authentication || leaks(err.Error()) != "" {
			t.Errorf("%.40s: %v, want %q", tt.command, err, tt.err)
		}
	}
}

// Canceling ends a hanging command, with all processes that hold its output.
func TestKeyCommandIsCanceled(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("needs a Unix shell")
	}
	t.Parallel() // waits a second for the process that holds the pipe
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	s := service{key: key{command: "sleep 60 & sleep 60"}}
	if _, err := s.resolveKey(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want %v", err, context.Canceled)
	}
}

// Google's login goes only to Google, and tokens go over plain HTTP only to this machine.
func TestTokensStayWhereTheyBelong(t *testing.T) {
	for _, tt := range []struct{ url, command, want string }{
		{"https://aiplatform.googleapis.com/v1", "", ""}, {"https://x.googleapis.com", "", ""}, {"http://127.0.0.1:9/v1", "", ""},
		{"https://gate.example/v1", "", "googleapis.com alone"}, {"https://evilgoogleapis.com/v1", "", "googleapis.com alone"},
		{"https://googleapis.com.evil.example/v1", "", "googleapis.com alone"}, {"http://x.googleapis.com/v1", "", "over http"},
		{"https://gate.example/v1", "echo t", ""}, {"http://localhost:9/v1", "echo t", ""}, {"http://gate.example/v1", "echo t", "over http"},
	} {
		c := Config{Providers: map[string]Provider{"vertex": {BaseURL: tt.url, TokenCommand: process.ShellText(tt.command)}}}
		s, ok := c.service("vertex", func(string) string { return "" })
		if !ok || s.key.token == nil {
			t.Fatalf("%s: no tokens", tt.url)
		}
		s.address.missing = ""
		_, err := s.target(t.Context())
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s with %q: %v, want %q", tt.url, tt.command, err, tt.want)
		}
	}
}

// The list of models reports that a login cannot be sent to an address, before any request.
func TestUnusableLoginIsListed(t *testing.T) {
	c := Config{Providers: map[string]Provider{"vertex": {BaseURL: "https://gate.example/v1"}}}
	for _, one := range Choices(c, env("GOOGLE_APPLICATION_CREDENTIALS", "x.json", "GOOGLE_CLOUD_PROJECT", "p")) {
		if one.Provider == "vertex" && (one.Ready || !strings.Contains(one.Unavailable, "googleapis.com alone")) {
			t.Errorf("%s: ready %v, %q", one.Name, one.Ready, one.Unavailable)
		}
	}
}
