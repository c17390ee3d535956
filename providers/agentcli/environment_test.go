package agentcli

import (
	"slices"
	"strings"
	"testing"
)

// TestEnvironment: a program gets the variables that it needs to run and its own, but no foreign
// keys.
func TestEnvironment(t *testing.T) {
	system := []string{
		"PATH=/bin", "HOME=/home/u", "LANG=C", "LC_ALL=C", "XDG_CONFIG_HOME=/c", "https_proxy=http://p", "SSL_CERT_FILE=/ca", "NODE_EXTRA_CA_CERTS=/ca",
		`SystemRoot=C:\Windows`, `ProgramFiles(x86)=C:\x`, "PARLEY_SERVING=1",
	}
	own := map[string][]string{
		"claude-cli":      {"ANTHROPIC_API_KEY=1", "CLAUDE_CONFIG_DIR=/c"},
		"codex-cli":       {"OPENAI_API_KEY=1", "CODEX_HOME=/c"},
		"gemini-cli":      {"GEMINI_API_KEY=1", "GOOGLE_API_KEY=1", "GOOGLE_CLOUD_PROJECT=p"},
		"antigravity-cli": {"ANTIGRAVITY_API_KEY=1", "GEMINI_API_KEY=1", "GOOGLE_API_KEY=1", "GOOGLE_CLOUD_PROJECT=p"},
		"copilot-cli":     {"COPILOT_GITHUB_TOKEN=1", "GH_TOKEN=1", "GITHUB_TOKEN=1"},
		"grok-cli":        {"XAI_API_KEY=1", "GROK_HOME=/c"},
		"qwen-cli":        {"QWEN_HOME=/c", "DASHSCOPE_API_KEY=1", "BAILIAN_CODING_PLAN_API_KEY=1", "OPENAI_API_KEY=1"},
		"quantum-cli":     {},
	}
	foreign := []string{
		"MISTRAL_API_KEY=1", "AWS_SECRET_ACCESS_KEY=1", "AZURE_OPENAI_API_KEY=1", "NODE_AUTH_TOKEN=1", "NPM_TOKEN=1", "DATABASE_URL=1",
		"PARLEY_X=1", "SSH_AUTH_SOCK=1", "CLAUDECODE=1", "CLAUDE_CODE_ENTRYPOINT=cli", "=C:=C:\\x", "PATHOLOGY=1", "MY_PATH=1",
	}
	environ := slices.Concat(foreign, system)
	for _, list := range own {
		environ = append(environ, list...)
	}
	slices.Sort(environ)
	environ = slices.Compact(environ)
	for _, kind := range append([]string{"quantum-cli"}, Kinds...) {
		want := slices.Concat(system, own[kind])
		slices.Sort(want)
		if got := Environment(kind, environ); !slices.Equal(got, want) {
			t.Errorf("%s gets %q\nwant %q", kind, got, want)
		}
	}
}

// TestCloudEnvironment: Claude Code gets the credentials of a cloud only if it is set to use that
// cloud.
func TestCloudEnvironment(t *testing.T) {
	clouds := []string{"AWS_PROFILE=p", "AZURE_CLIENT_SECRET=s", "GOOGLE_APPLICATION_CREDENTIALS=f"}
	for use, want := range map[string]string{
		"CLAUDE_CODE_USE_BEDROCK=1": "AWS_PROFILE=p", "CLAUDE_CODE_USE_FOUNDRY=1": "AZURE_CLIENT_SECRET=s",
		"CLAUDE_CODE_USE_VERTEX=1": "GOOGLE_APPLICATION_CREDENTIALS=f", "CLAUDE_CODE_USE_BEDROCK=0": "", "CLAUDE_CODE_USE_VERTEX=": "",
	} {
		got := Environment("claude-cli", append(slices.Clone(clouds), use))
		if rest := slices.DeleteFunc(got, func(v string) bool { return v == use }); strings.Join(rest, " ") != want {
			t.Errorf("%s: it gets %q, want %q", use, rest, want)
		}
		if got := Environment("codex-cli", append(slices.Clone(clouds), use)); len(got) > 0 {
			t.Errorf("%s: codex gets %q", use, got)
		}
	}
}

// TestRunsWithoutForeignKeys: a program is started with its own key and the configured one, and no
// other.
func TestRunsWithoutForeignKeys(t *testing.T) {
	for _, name := range []string{"ANTHROPIC_API_KEY", "MISTRAL_API_KEY", "GEMINI_API_KEY"} {
		t.Setenv(name, "canary of "+name)
	}
	for kind, want := range map[string][]string{
		"claude-cli": {"canary of ANTHROPIC_API_KEY"}, "codex-cli": {"configured"}, "gemini-cli": {"canary of GEMINI_API_KEY"},
		"antigravity-cli": {"canary of GEMINI_API_KEY"}, "copilot-cli": nil, "grok-cli": nil, "qwen-cli": nil,
	} {
		s := script(t, []step{{Out: hello[kind]}})
		take(t, s.model(kind, func(o *Options) {
			if kind == "codex-cli" {
				o.Key = "configured"
			}
		}).Stream(t.Context(), asking("Hi")))
		var got []string
		marked := false
		for _, v := range s.visits()[0].Env {
			name, value, _ := strings.Cut(v, "=")
			if strings.HasPrefix(value, "canary") || name == "CODEX_API_KEY" {
				got = append(got, value)
			}
			marked = marked || name == "PARLEY_CALL"
		}
		if !slices.Equal(got, want) || !marked {
			t.Errorf("%s was given %q, want %q; marked as parley's: %v", kind, got, want, marked)
		}
	}
}
