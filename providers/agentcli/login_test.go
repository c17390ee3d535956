package agentcli

import (
	"os"
	"path/filepath"
	"testing"
)

// TestLoggedIn: files or the environment show a login, without running a program.
func TestLoggedIn(t *testing.T) {
	for _, tt := range []struct {
		name, kind, file string
		env              map[string]string
		want             bool
	}{
		{"nobody", "claude-cli", "", nil, false},
		{"a login of Claude", "claude-cli", ".claude/.credentials.json", nil, true},
		{"elsewhere", "claude-cli", "moved/.credentials.json", map[string]string{"CLAUDE_CONFIG_DIR": "moved"}, true},
		{"not where it was moved to", "claude-cli", ".claude/.credentials.json", map[string]string{"CLAUDE_CONFIG_DIR": "moved"}, false},
		{"a token", "claude-cli", "", map[string]string{"CLAUDE_CODE_OAUTH_TOKEN": "t"}, true},
		{"a login of Gemini", "gemini-cli", ".gemini/oauth_creds.json", nil, true},
		{"a login of Codex", "codex-cli", ".codex/auth.json", nil, true},
		{"a key of OpenAI, which Codex does not obey", "codex-cli", "", map[string]string{"OPENAI_API_KEY": "k"}, false},
		{"a key for Codex", "codex-cli", "", map[string]string{"CODEX_API_KEY": "k"}, true},
		{"a file of Copilot in which nobody is", "copilot-cli", ".copilot/config.json", nil, false},
		{"a token of GitHub", "copilot-cli", "", map[string]string{"GH_TOKEN": "t"}, true},
		{"a login of Grok", "grok-cli", ".grok/auth.json", nil, true},
		{"settings of Qwen without a login", "qwen-cli", ".qwen/settings.json", nil, false},
		{"a login of Qwen", "qwen-cli", ".qwen/oauth_creds.json", nil, true},
		{"a keyring", "antigravity-cli", ".gemini/oauth_creds.json", nil, false},
		{"another program's", "gemini-cli", ".claude/.credentials.json", nil, false},
		{"no program", "openai", "", map[string]string{"OPENAI_API_KEY": "k"}, false},
	} {
		home := t.TempDir()
		if tt.file != "" {
			path := filepath.Join(home, tt.file)
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte("{}"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		getenv := func(name string) string {
			switch {
			case name == "HOME" || name == "USERPROFILE":
				return home
			case name == "CLAUDE_CONFIG_DIR" && tt.env[name] != "":
				return filepath.Join(home, tt.env[name])
			}
			return tt.env[name]
		}
		if got := LoggedIn(tt.kind, getenv); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}
