package agentcli

import (
	"os"
	"path/filepath"
	"testing"
)

// TestLoggedIn: a login is told by its file or the environment, and no program runs for it.
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
