package sandbox

import (
	"fmt"
	"strings"
)

// refusals are what programs print when the system says no, in lower case, and
// what was most likely tried.
var refusals = []struct{ text, what string }{
	{"could not resolve host", network},
	{"temporary failure in name resolution", network},
	{"name or service not known", network},
	{"network is unreachable", network},
	{"eai_again", network},
	{"getaddrinfo", network},
	{"dial tcp", network},
	{"dial udp", network},
	{"unable to connect", network},
	{"couldn't connect", network},
	{"could not connect", network},
	{"socket: operation not permitted", network},
	{"socket: permission denied", network},
	{"fatal: not a git repository: ", elsewhere},
	{"could not lock config file", gitSettings},
	{"read-only file system", files},
	{"permission denied", files},
	{"device or resource busy", files},
	{"invalid cross-device link", files},
	{"operation not permitted", either},
	{"eacces", files},
	{"erofs", files},
	{"eperm", either},
}

const (
	network     = "the network"
	files       = "a file outside of the workspace, or a protected one"
	elsewhere   = "the repository that this is a worktree of, which is outside of the workspace"
	gitSettings = "git's settings, which no command may change"
	either      = "the network, a file outside of the workspace, or something only the system may do"
)

// Denied tells from the output of a command that failed in a sandbox what the
// sandbox has most likely denied it, and quotes the line that says so.
func Denied(output string) (what string, ok bool) {
	for line := range strings.Lines(output) {
		low := strings.ToLower(line)
		for _, r := range refusals {
			if strings.Contains(low, r.text) {
				return fmt.Sprintf("%s (%q)", r.what, shorten(strings.TrimSpace(line))), true
			}
		}
	}
	return "", false
}

// shorten cuts a line that nobody would read to its end.
func shorten(line string) string {
	const most = 200
	if runes := []rune(line); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return line
}
