package agentcli

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"

	"parley/providers/adapter"
)

// A login describes where a program stores its login, according to its documentation. File contents
// are only tested, never stored or shown. The variables are those used by this program only: an OpenAI
// key for parley must not look like a login to Codex, which ignores it. Qwen Code needs OPENAI_MODEL
// in addition to a key.
type login struct {
	env     []string // variables that are a login on their own
	home    string   // variable that overrides dir
	dir     string   // directory of the program, relative to the user's home directory
	files   []loginFile
	keyring bool // the login is in the system's keyring, which is not read
}

// A loginFile exists, or contains one of words, while the user is logged in.
type loginFile struct {
	path   string   // relative to the directory of the program
	inHome bool     // path is relative to the home directory instead
	words  []string // if empty, the file must not be empty
	system string   // GOOS where the file is used; "" for all
}

// maxLogin is the number of bytes read of a file.
const maxLogin = 1 << 20

// LoggedIn reports whether files or environment variables show a login for the program of a kind.
// It does not run the program.
func LoggedIn(kind string, getenv func(string) string) bool {
	l := flavors[kind].loggedIn
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

// isSignedIn reports whether the file, with this content, shows a login.
func (f loginFile) isSignedIn(text []byte) bool {
	if len(f.words) == 0 {
		return len(text) > 0
	}
	return slices.ContainsFunc(f.words, func(word string) bool { return bytes.Contains(text, []byte(word)) })
}

// loginOf returns the known facts about the login for the program of a kind. It does not run the
// program.
func loginOf(kind string, getenv func(string) string) adapter.ProgramLogin {
	f, in := flavors[kind], LoggedIn(kind, getenv)
	return adapter.ProgramLogin{LoggedIn: in, LoginUnknown: !in && f.loggedIn.keyring, Login: f.login, KeepsTools: f.keepsTools}
}

// readLogin returns the beginning of a regular file; nil if there is none.
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
