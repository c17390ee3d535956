package agentcli

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"runtime"
)

// A login is where a program keeps who is signed in. Nothing of it is kept or shown.
type login struct {
	env    []string // variables that sign in by themselves
	home   string   // variable that moves the directory
	dir    string   // in the user's home directory
	file   string   // in dir: it is there while somebody is signed in
	others string   // in the home directory, on systems that keep the file in a keyring
	word   string   // that others holds while somebody is signed in
}

// logins are by kind: see the programs' documentation about authentication.
var logins = map[string]login{
	"claude-cli": {
		env: []string{"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"}, home: "CLAUDE_CONFIG_DIR",
		dir: ".claude", file: ".credentials.json", others: ".claude.json", word: `"oauthAccount"`,
	},
	"gemini-cli": {
		env: []string{"GEMINI_API_KEY", "GOOGLE_API_KEY"}, dir: ".gemini", file: "oauth_creds.json",
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
	for _, name := range l.env {
		if getenv(name) != "" {
			return true
		}
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
	if len(readLogin(filepath.Join(dir, l.file))) > 0 {
		return true
	}
	return runtime.GOOS == "darwin" && l.word != "" && bytes.Contains(readLogin(filepath.Join(home, l.others)), []byte(l.word))
}

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
