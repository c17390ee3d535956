package client

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"parley/tools/lazy"
	"parley/tools/mcp"
	"parley/tools/process"
)

// withAccess returns the configuration with the access added.
func withAccess(c mcp.Config, a mcp.Access) mcp.Config {
	c.Network, c.Unsandboxed = c.Network || a.Network, c.Unsandboxed || a.Unsandboxed
	c.Read, c.Write = append(slices.Clip(c.Read), a.Read...), append(slices.Clip(c.Write), a.Write...)
	return c
}

// A storedState is the stored state of a server. It is valid only for the configuration it was
// made with: the same name with another command is another server.
type storedState struct {
	ConfigID string     `json:"of"`                // see Config.configID
	Started  bool       `json:"started,omitempty"` // it was ready once: its downloads are there
	Stopped  bool       `json:"stopped,omitempty"` // the user has stopped it
	Access   mcp.Access `json:"access,omitzero"`
	// Enable approves the next list of tools of this configuration: Access.Calls was allowed while they
	// were unknown.
	Enable fingerprint `json:"enable_for,omitempty"`
	// Given is the fingerprint of a project server's configuration, including values of variables,
	// when Access was allowed: a changed configuration could run anything. It is salted, because
	// values may be secret.
	Given fingerprint `json:"given,omitempty"`
}

// allow sets the access allowed to a server of this configuration, and whether its next tools are approved.
func (m *storedState) allow(a mcp.Access, enable bool, c mcp.Config) error {
	m.Access, m.Given, m.Enable = a, nil, nil
	now := fingerprint{}
	err := now.addStart(c, now.saltOrNew())
	if c.OfProject && !a.IsZero() {
		m.Given = now
	} else if !c.OfProject && enable {
		m.Enable = now
	}
	return err
}

// configID identifies the program or service of a configuration, without values
// that may be secret.
func configID(c mcp.Config) string {
	text, err := json.Marshal([]any{c.Command, c.Args, c.Cwd, c.URL, slices.Sorted(maps.Keys(c.Env))})
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16])
}

// parseStored decodes the stored state of a server; it returns the zero state if that was for another configuration.
func parseStored(text string, c mcp.Config) storedState {
	var m storedState
	if json.Unmarshal([]byte(text), &m) != nil || m.ConfigID != configID(c) {
		return storedState{ConfigID: configID(c)}
	}
	if c.OfProject && !m.Given.coversStart(c) {
		m.Access = mcp.Access{} // Given tells updateStored that an access is stored
	}
	if c.OfProject || !m.Enable.coversStart(c) {
		m.Enable = nil
	}
	return m
}

// downloaders are programs that download the packages they run, with the
// subcommand for that; "" for any.
var downloaders = map[string]string{
	"npx": "", "npm": "", "bunx": "", "bun": "x", "uvx": "", "uv": "", "pipx": "", "pnpm": "dlx", "yarn": "dlx", "deno": "run", "docker": "", "podman": "",
}

// words returns the program and its arguments, as far as they are known.
func words(c mcp.Config) []string {
	p := c.CommandLine()
	if !p.Shell {
		return p.Words
	}
	return strings.Fields(p.Words[0])
}

// mayDownload reports whether a program may have to be downloaded before it starts.
func mayDownload(c mcp.Config) bool {
	words := words(c)
	if len(words) == 0 {
		return false
	}
	with, known := downloaders[strings.TrimSuffix(filepath.Base(words[0]), ".exe")]
	return known && (with == "" || slices.Contains(words[1:], with))
}

// absolutePath matches paths in a program's output.
var absolutePath = lazy.NewRegexp(`/[^\s'"` + "`" + `:,;()\[\]{}<>|*?]+`)

// writeWords match error messages about changes to files.
var writeWords = lazy.NewRegexp(`(?i)erofs|read-only|mkdir|unlink|rename|rmdir|ftruncate|creat|write`)

// explainStart guesses the accesses that the sandbox refused, from the error output of a program that
// failed. Ended is the exit status, -1 if it did not exit.
func (r *explanation) explainStart(c mcp.Config, stderr string, ended int) {
	words := words(c)
	if len(words) == 0 {
		return
	}
	if filepath.IsAbs(words[0]) {
		r.addPath(words[0], false, "its program is "+words[0])
	}
	for _, arg := range words[1:] {
		if _, value, ok := strings.Cut(arg, "="); ok && strings.HasPrefix(arg, "-") {
			arg = value
		}
		if filepath.IsAbs(arg) {
			r.addPath(arg, isDirectory(arg), "it was given "+arg)
		}
	}
	for line := range strings.Lines(stderr) {
		what, denied := process.Sandbox.ExplainDenial(line)
		if !denied {
			continue
		}
		if strings.HasPrefix(what, "the network") && !c.Network {
			r.Needs.Network = true
			r.addReason("network: %s", strings.TrimSpace(line))
			continue
		}
		paths := absolutePath.FindAllString(line, 4)
		for _, path := range paths {
			r.addPath(path, writeWords.MatchString(line), strings.TrimSpace(line))
		}
		if len(paths) == 0 {
			r.addReason("%s", strings.TrimSpace(line))
		}
	}
	if mayDownload(c) && !c.Network && !r.Needs.Network {
		r.Needs.Network = true
		r.addReason("network: %s downloads what it starts", filepath.Base(words[0]))
	}
	if len(r.Reasons) == 0 && (ended == 126 || ended == 127) {
		r.addReason("file: its program %s could not be started", words[0])
	}
}

// refusedCall matches messages about system calls that the sandbox refuses, with or without a network.
var refusedCall = lazy.NewRegexp(`(?i)\b(socket|socketpair|bind|listen|clone3?|unshare|setns|ptrace|mount|chroot|shmget|semget|msgget)(\([^()]*\)[^()]{0,40}|: | )(operation not permitted|eperm\b)|` +
	`\bnamespace.*operation not permitted|\[errno 1\] operation not permitted\s*$`)

// refusedNetwork matches messages of a program without a network.
var refusedNetwork = lazy.NewRegexp(`(?i)eai_again|getaddrinfo|could not resolve host|name resolution|name or service not known|network is unreachable|enetunreach|dial (tcp|udp)|connect eperm`)

// refusedFile matches messages of a program that could not access a file.
var refusedFile = lazy.NewRegexp(`(?i)permission denied|operation not permitted|read-only file system|eacces|eperm|erofs`)

// explainCall guesses the accesses that the sandbox refused during a call, from the program's output
// and its answer to a failed call. It ignores messages that may come from another computer: a file has
// to exist here.
func (r *explanation) explainCall(c mcp.Config, text string) {
	for line := range strings.Lines(text) {
		said := strings.TrimSpace(line)
		switch {
		case !c.Network && refusedNetwork.MatchString(line):
			r.Needs.Network = true
			r.addReason("network: %s", said)
		case refusedCall.MatchString(line):
			r.Needs.Unsandboxed = true
			r.addReason("system call: %s", said)
		case refusedFile.MatchString(line):
			write := writeWords.MatchString(line)
			for _, at := range absolutePath.FindAllStringIndex(line, 4) {
				path := line[at[0]:at[1]]
				if at[0] > 0 && !strings.ContainsRune(" \t'\"`(=", rune(line[at[0]-1])) { // host:/path, on another computer
					continue
				}
				if exists(path) || write && exists(filepath.Dir(path)) {
					r.addPath(path, write, said)
				}
			}
		}
	}
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// An explanation is a Refusal under construction. Grantable returns the file or directory to allow for access
// to a path; "" for none. Reasons contain no secrets.
type explanation struct {
	mcp.Refusal
	mask      secretMask
	grantable func(path string, write bool) string
}

// addPath adds a path that the program needs, unless nothing can be granted or the grant contains a secret.
func (r *explanation) addPath(path string, write bool, reason string) {
	grant := r.grantable(path, write)
	if grant == "" || r.mask.names.Text(grant) != grant { // a grant is shown and stored
		return
	}
	more := mcp.Access{Read: []string{grant}}
	if write {
		more = mcp.Access{Write: []string{grant}}
	}
	r.Needs = r.Needs.Union(more)
	r.addReason("file: %s", reason)
}

// addReason adds a reason without secrets, once.
func (r *explanation) addReason(format string, args ...any) {
	const most = 8
	reason := r.mask.sanitizeText(fmt.Sprintf(format, args...), 300)
	if len(r.Reasons) < most && !slices.Contains(r.Reasons, reason) {
		r.Reasons = append(r.Reasons, reason)
	}
}
