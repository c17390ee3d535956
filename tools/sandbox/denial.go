package sandbox

import (
	"fmt"
	"strings"
)

// denialMessages maps messages that programs print when the system denies an access, in
// lower case, to the access that was probably denied.
var denialMessages = []struct{ text, what string }{
	{"could not resolve host", deniedNetwork},
	{"temporary failure in name resolution", deniedNetwork},
	{"name or service not known", deniedNetwork},
	{"network is unreachable", deniedNetwork},
	{"eai_again", deniedNetwork},
	{"getaddrinfo", deniedNetwork},
	{"dial tcp", deniedNetwork},
	{"dial udp", deniedNetwork},
	{"unable to connect", deniedNetwork},
	{"couldn't connect", deniedNetwork},
	{"could not connect", deniedNetwork},
	{"socket: operation not permitted", deniedNetwork},
	{"socket: permission denied", deniedNetwork},
	{"fatal: not a git repository: ", deniedRepository},
	{"could not lock config file", deniedGitConfig},
	{"read-only file system", deniedFile},
	{"permission denied", deniedFile},
	{"device or resource busy", deniedFile},
	{"invalid cross-device link", deniedFile},
	{"operation not permitted", deniedUnknown},
	{"eacces", deniedFile},
	{"erofs", deniedFile},
	{"eperm", deniedUnknown},
}

const (
	deniedNetwork    = "the network"
	deniedFile       = "a file outside of the workspace, or a protected one"
	deniedRepository = "the repository that this is a worktree of, which is outside of the workspace"
	deniedGitConfig  = "git's settings, which no command may change"
	deniedUnknown    = "the network, a file outside of the workspace, or something only the system may do"
)

// ExplainDenial guesses from the output of a command that failed in a sandbox which
// access the sandbox denied, and quotes the line that shows it.
func ExplainDenial(output string) (what string, ok bool) {
	for line := range strings.Lines(output) {
		low := strings.ToLower(line)
		for _, r := range denialMessages {
			if strings.Contains(low, r.text) {
				return fmt.Sprintf("%s (%q)", r.what, truncate(strings.TrimSpace(line))), true
			}
		}
	}
	return "", false
}

func truncate(line string) string {
	const most = 200
	if runes := []rune(line); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return line
}
