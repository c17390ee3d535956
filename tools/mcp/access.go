package mcp

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
	"parley/tools/process"
)

// Access is what a user has allowed a server's program beyond its configuration. The zero value is
// nothing.
type Access struct {
	Network     bool     `json:"network,omitempty"`
	Read        []string `json:"read,omitempty"`  // further files and directories it may read
	Write       []string `json:"write,omitempty"` // further ones it may change
	Unsandboxed bool     `json:"free,omitempty"`  // it runs without the sandbox
}

// IsZero reports whether nothing is allowed.
func (a Access) IsZero() bool {
	return !a.Network && !a.Unsandboxed && len(a.Read) == 0 && len(a.Write) == 0
}

// Union returns a with what b allows as well.
func (a Access) Union(b Access) Access {
	join := func(x, y []string) []string {
		all := append(slices.Clone(x), y...)
		slices.Sort(all)
		return slices.Compact(all)
	}
	return Access{a.Network || b.Network, join(a.Read, b.Read), join(a.Write, b.Write), a.Unsandboxed || b.Unsandboxed}
}

// String describes what is allowed; "" for nothing.
func (a Access) String() string {
	var parts []string
	if a.Unsandboxed {
		parts = append(parts, "runs without the sandbox")
	}
	if a.Network {
		parts = append(parts, "may reach the network")
	}
	if len(a.Read) > 0 {
		parts = append(parts, "may read "+strings.Join(a.Read, ", "))
	}
	if len(a.Write) > 0 {
		parts = append(parts, "may change "+strings.Join(a.Write, ", "))
	}
	return strings.Join(parts, "; ")
}

// applyTo returns a configuration with what is allowed beyond it.
func (a Access) applyTo(c Config) Config {
	c.Network, c.Unsandboxed = c.Network || a.Network, c.Unsandboxed || a.Unsandboxed
	c.Read, c.Write = append(slices.Clip(c.Read), a.Read...), append(slices.Clip(c.Write), a.Write...)
	return c
}

// A storedState is the stored state of a server. It holds only for the configuration it was made
// with: the same name with another command is another server.
type storedState struct {
	ConfigID string `json:"of"`                // see Config.configID
	Started  bool   `json:"started,omitempty"` // it was ready once: what it downloads is there
	Stopped  bool   `json:"stopped,omitempty"` // the user does not want it to run
	Access   Access `json:"access,omitzero"`
	// Given is what a directory's server was given, values of variables included, when Access was
	// allowed: one that says something else can run anything. It is salted, for values may be secret.
	Given fingerprint `json:"given,omitempty"`
}

// allow sets what is allowed to a server of this configuration.
func (m *storedState) allow(a Access, c Config) error {
	m.Access, m.Given = a, nil
	if a.IsZero() || !c.ofProject {
		return nil
	}
	m.Given = fingerprint{}
	return m.Given.addStart(c, m.Given.saltOrNew())
}

// configID stands for what a configuration starts, without values that may be
// secret.
func (c Config) configID() string {
	text, err := json.Marshal([]any{c.Command, c.Args, c.Cwd, c.URL, slices.Sorted(maps.Keys(c.Env))})
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16])
}

// parseStored reads what is remembered of a server; nothing, if it was of another one.
func parseStored(text string, c Config) storedState {
	var m storedState
	if json.Unmarshal([]byte(text), &m) != nil || m.ConfigID != c.configID() {
		return storedState{ConfigID: c.configID()}
	}
	if c.ofProject && !m.Given.coversStart(c) {
		m.Access = Access{} // Given tells updateStored that something is stored
	}
	return m
}

// A Refusal is what the sandbox has most likely refused a program, which did not start or whose
// calls failed.
type Refusal struct {
	Reasons []string // one line each, with the program's own words
	Needs   Access   // what would let it; nothing, if that cannot be told
}

// downloaders are programs that download what they start.
var downloaders = map[string]string{
	"npx": "", "npm": "", "bunx": "", "bun": "x", "uvx": "", "uv": "", "pipx": "", "pnpm": "dlx", "yarn": "dlx", "deno": "run", "docker": "", "podman": "",
}

// words returns the program and its arguments, as far as they can be told.
func (c Config) words() []string {
	p := c.program()
	if !p.Shell {
		return p.Words
	}
	return strings.Fields(p.Words[0])
}

// mayDownload reports whether a program may have to be downloaded before it starts.
func (c Config) mayDownload() bool {
	words := c.words()
	if len(words) == 0 {
		return false
	}
	with, known := downloaders[strings.TrimSuffix(filepath.Base(words[0]), ".exe")]
	return known && (with == "" || slices.Contains(words[1:], with))
}

// absolutePath finds paths in what a program writes.
var absolutePath = lazy.NewRegexp(`/[^\s'"` + "`" + `:,;()\[\]{}<>|*?]+`)

// writeWords are the words of errors that are about a change.
var writeWords = lazy.NewRegexp(`(?i)erofs|read-only|mkdir|unlink|rename|rmdir|ftruncate|creat|write`)

// explainRefusal guesses from the error output of a program that failed what the sandbox refused.
// Grantable returns the file or directory that would have to be allowed for a path; "" for none.
// Ended is the exit status, -1 if it did not end. Reasons hold no secrets.
func explainRefusal(c Config, mask secretMask, stderr string, ended int, grantable func(path string, write bool) string) *Refusal {
	r := &Refusal{}
	want := func(path string, write bool, reason string) { r.addPath(mask, grantable(path, write), write, reason) }
	words := c.words()
	if len(words) == 0 {
		return r
	}
	if filepath.IsAbs(words[0]) {
		want(words[0], false, "its program is "+words[0])
	}
	for _, arg := range words[1:] {
		if _, value, ok := strings.Cut(arg, "="); ok && strings.HasPrefix(arg, "-") {
			arg = value
		}
		if filepath.IsAbs(arg) {
			want(arg, isDirectory(arg), "it was given "+arg)
		}
	}
	for line := range strings.Lines(stderr) {
		what, denied := process.Sandbox.ExplainDenial(line)
		if !denied {
			continue
		}
		if strings.HasPrefix(what, "the network") && !c.Network {
			r.Needs.Network = true
			r.addReason(mask, "network: %s", strings.TrimSpace(line))
			continue
		}
		paths := absolutePath.FindAllString(line, 4)
		for _, path := range paths {
			want(path, writeWords.MatchString(line), strings.TrimSpace(line))
		}
		if len(paths) == 0 {
			r.addReason(mask, "%s", strings.TrimSpace(line))
		}
	}
	if c.mayDownload() && !c.Network && !r.Needs.Network {
		r.Needs.Network = true
		r.addReason(mask, "network: %s downloads what it starts", filepath.Base(words[0]))
	}
	if len(r.Reasons) == 0 && (ended == 126 || ended == 127) {
		r.addReason(mask, "file: its program %s could not be started", words[0])
	}
	return r
}

// refusedCall finds system calls that fail as the sandbox refuses them, whatever the network is.
var refusedCall = lazy.NewRegexp(`(?i)\b(socket|socketpair|bind|listen|clone3?|unshare|setns|ptrace|mount|chroot|shmget|semget|msgget)(\([^()]*\)[^()]{0,40}|: | )(operation not permitted|eperm\b)|` +
	`\bnamespace.*operation not permitted|\[errno 1\] operation not permitted\s*$`)

// refusedNetwork finds the words of a program without a network.
var refusedNetwork = lazy.NewRegexp(`(?i)eai_again|getaddrinfo|could not resolve host|name resolution|name or service not known|network is unreachable|enetunreach|dial (tcp|udp)|connect eperm`)

// refusedFile finds the words of a program that was refused a file.
var refusedFile = lazy.NewRegexp(`(?i)permission denied|operation not permitted|read-only file system|eacces|eperm|erofs`)

// explainCall guesses what the sandbox refused a program from what it wrote during a call, and answered
// to one that failed. It counts nothing that another computer may have said: a file has to exist here.
// Grantable is as that of explainRefusal.
func explainCall(c Config, mask secretMask, text string, grantable func(path string, write bool) string) *Refusal {
	r := &Refusal{}
	for line := range strings.Lines(text) {
		said := strings.TrimSpace(line)
		switch {
		case !c.Network && refusedNetwork.MatchString(line):
			r.Needs.Network = true
			r.addReason(mask, "network: %s", said)
		case refusedCall.MatchString(line):
			r.Needs.Unsandboxed = true
			r.addReason(mask, "system call: %s", said)
		case refusedFile.MatchString(line):
			write := writeWords.MatchString(line)
			for _, at := range absolutePath.FindAllStringIndex(line, 4) {
				path := line[at[0]:at[1]]
				if at[0] > 0 && !strings.ContainsRune(" \t'\"`(=", rune(line[at[0]-1])) { // host:/path
					continue
				}
				if exists(path) || write && exists(filepath.Dir(path)) {
					r.addPath(mask, grantable(path, write), write, said)
				}
			}
		}
	}
	return r
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// addPath adds that the program needs grant, unless that is "" or holds a secret.
func (r *Refusal) addPath(mask secretMask, grant string, write bool, reason string) {
	if grant == "" || mask.names.Text(grant) != grant { // what is allowed is shown, and stored
		return
	}
	more := Access{Read: []string{grant}}
	if write {
		more = Access{Write: []string{grant}}
	}
	r.Needs = r.Needs.Union(more)
	r.addReason(mask, "file: %s", reason)
}

// addReason adds a reason without secrets, once.
func (r *Refusal) addReason(mask secretMask, format string, args ...any) {
	const most = 8
	reason := mask.sanitizeText(fmt.Sprintf(format, args...), 300)
	if len(r.Reasons) < most && !slices.Contains(r.Reasons, reason) {
		r.Reasons = append(r.Reasons, reason)
	}
}

// String names what was refused, in a few words.
func (r *Refusal) String() string {
	switch files := len(r.Needs.Read)+len(r.Needs.Write) > 0; {
	case r.Needs.Network && files:
		return "the sandbox refused it the network and files"
	case r.Needs.Network:
		return "the sandbox refused it the network"
	case files:
		return "the sandbox refused it files"
	case r.Needs.Unsandboxed:
		return "the sandbox refused it a system call"
	case len(r.Reasons) > 0:
		return "the sandbox may have refused it something"
	}
	return ""
}
