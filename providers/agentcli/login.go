package agentcli

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
)

// A login is where a program keeps who is signed in. Nothing of it is kept or shown.
type login struct {
	env     []string // variables that sign in by themselves
	home    string   // variable that moves the directory
	dir     string   // in the user's home directory
	files   []loginFile
	keyring bool // the system's keyring holds it, where nobody looks
}

// A loginFile is there, or holds one of some words, while somebody is signed in.
type loginFile struct {
	path   string   // in the directory of the program
	inHome bool     // in the home directory instead
	words  []string // none: it need not be empty
	system string   // GOOS where it tells; "" for all
}

// logins are by kind: see the programs' documentation about authentication. The variables
// are those by which the program alone is used, so that a key of OpenAI for parley does not
// make it look like a login to Codex, which does not obey it; Qwen Code wants OPENAI_MODEL
// with a key.
var logins = map[string]login{
	"claude-cli": {
		env: []string{"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"}, home: "CLAUDE_CONFIG_DIR", dir: ".claude",
		files: []loginFile{{path: ".credentials.json"}, {path: ".claude.json", inHome: true, words: []string{`"oauthAccount"`}, system: "darwin"}},
	},
	"codex-cli": {
		env: []string{"CODEX_API_KEY", "CODEX_ACCESS_TOKEN"}, home: "CODEX_HOME", dir: ".codex",
		files: []loginFile{{path: "auth.json"}},
	},
	"gemini-cli": {
		env: []string{"GEMINI_API_KEY", "GOOGLE_API_KEY"}, dir: ".gemini", files: []loginFile{{path: "oauth_creds.json"}},
	},
	"antigravity-cli": {env: []string{"ANTIGRAVITY_API_KEY"}, keyring: true},
	"copilot-cli": {
		env: []string{"COPILOT_GITHUB_TOKEN", "GH_TOKEN", "GITHUB_TOKEN", "COPILOT_PROVIDER_BASE_URL"}, home: "COPILOT_HOME", dir: ".copilot",
		files: []loginFile{
			{path: "config.json", words: []string{`"loggedInUsers"`, `"logged_in_users"`, `"lastLoggedInUser"`, `"last_logged_in_user"`}},
			{path: ".config/gh/hosts.yml", inHome: true, words: []string{"user:", "oauth_token:"}},
		},
	},
	"grok-cli": {env: []string{"XAI_API_KEY"}, home: "GROK_HOME", dir: ".grok", files: []loginFile{{path: "auth.json"}}},
	"qwen-cli": {
		env: []string{"OPENAI_MODEL"}, home: "QWEN_HOME", dir: ".qwen",
		files: []loginFile{{path: "oauth_creds.json"}, {path: "settings.json", words: []string{`"selectedType"`}}},
	},
}

// maxLogin bounds what is read of a file, in bytes.
const maxLogin = 1 << 20

// LoggedIn reports whether somebody is signed in to the program of a kind, as far as its
// files and the environment tell: the program does not run.
func LoggedIn(kind string, getenv func(string) string) bool {
	l, ok := logins[kind]
	if !ok {
		return false
	}
	if slices.ContainsFunc(l.env, func(name string) bool { return getenv(name) != "" }) {
		return true
	}
	home := getenv("HOME")
	if runtime.GOOS == "windows" {
		home = getenv("USERPROFILE")
	}
	if home == "" {
		return false
	}
	dir := filepath.Join(home, l.dir)
	if moved := getenv(l.home); l.home != "" && moved != "" {
		dir = moved
	}
	return slices.ContainsFunc(l.files, func(f loginFile) bool {
		path := filepath.Join(dir, f.path)
		if f.inHome {
			path = filepath.Join(home, f.path)
		}
		return (f.system == "" || f.system == runtime.GOOS) && f.isSignedIn(readLogin(path))
	})
}

// isSignedIn reports whether the file with this text says that somebody is signed in.
func (f loginFile) isSignedIn(text []byte) bool {
	if len(f.words) == 0 {
		return len(text) > 0
	}
	return slices.ContainsFunc(f.words, func(word string) bool { return bytes.Contains(text, []byte(word)) })
}

// IsLoginUnknown reports whether nobody can tell without running the program of a kind whether
// somebody is signed in, where LoggedIn says no.
func IsLoginUnknown(kind string) bool { return logins[kind].keyring }

// LoginCommand returns what signs in to the program of a kind; "" if there is no such kind.
func LoginCommand(kind string) string { return flavors[kind].login }

// readLogin returns the beginning of a regular file; nil if it is none.
func readLogin(path string) []byte {
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	text, _ := io.ReadAll(io.LimitReader(f, maxLogin))
	return text
}
