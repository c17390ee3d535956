package client

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"

	"parley/tools/mcp"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxName is how long the name of a tool may be for every provider.
const maxName = 64

// toolName returns the name under which a model calls a server's tool. Two different
// names stay different: what had to be changed gets a mark of its own.
func toolName(server, tool string) string {
	fit := strings.Map(func(r rune) rune {
		if r == '-' || r == '_' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' {
			return r
		}
		return '_'
	}, tool)
	name := mcp.ToolPrefix(server) + fit
	if fit == tool && tool != "" && len(name) <= maxName {
		return name
	}
	sum := sha256.Sum256([]byte(tool))
	mark := "_" + hex.EncodeToString(sum[:4])
	return name[:min(len(name), maxName-len(mark))] + mark
}

// A toolList is what a server says of its tools.
type toolList struct {
	tools       []listedTool
	omitted     int // tools beyond
	fingerprint fingerprint
}

// A listedTool is a tool that can be offered.
type listedTool struct {
	mcp.Tool
	serverName string // the server's name for it, byte for byte
	schema     json.RawMessage
}

// listTools takes what a server says, as far as it can be offered. Fingerprints are of what it says,
// byte for byte.
func listTools(server string, all []*sdk.Tool, mask secretMask) toolList {
	out := toolList{fingerprint: fingerprint{}}
	for _, t := range all {
		if t == nil {
			continue
		}
		name := toolName(server, t.Name)
		if _, twice := out.fingerprint[name]; twice || len(out.tools) == maxTools || mask.names.Text(t.Name) != t.Name {
			out.omitted++
			continue
		}
		schema, err := json.Marshal(t.InputSchema)
		if err != nil {
			out.omitted++
			continue
		}
		out.fingerprint.add(name, t.Name, t.Description, string(schema))
		out.tools = append(out.tools, listedTool{
			Tool:       mcp.Tool{Name: name, Title: mask.sanitizeText(t.Name, 200), Description: mask.sanitizeText(t.Description, 4000), Schema: mask.sanitizeText(string(schema), 20_000)},
			serverName: t.Name,
			schema:     mask.schema(schema),
		})
	}
	return out
}

// A fingerprint identifies the tools of a server: a hash by name of everything that a model is told
// of each, and one of the configuration that it was started with.
type fingerprint map[string]string

// Names that no tool has.
const (
	startKey = "server"
	saltKey  = "salt" // of the sum of what the server was started by, for that holds secrets
)

// saltOrNew returns the salt of a fingerprint, or a new one if it has none.
func (s fingerprint) saltOrNew() string {
	if s[saltKey] == "" {
		return rand.Text()
	}
	return s[saltKey]
}

// addStart adds what c starts: the program or service, what it is given and what
// the sandbox lets it do. Variables count by their names: a token that is renewed
// in the environment is what the user agreed to.
func (s fingerprint) addStart(c mcp.Config, by string) error {
	c.Disabled, c.Timeout, c.StartTimeout, c.Trusted = false, "", "", false // they change nothing of what it is
	type plain mcp.Config                                                   // whose JSON has the maps sorted
	all, err := json.Marshal(plain(c))
	if err != nil {
		return err
	}
	s[saltKey] = by
	s.add(startKey, by, string(all))
	return nil
}

// coversStart reports whether s covers what c starts.
func (s fingerprint) coversStart(c mcp.Config) bool {
	now := fingerprint{}
	return s != nil && now.addStart(c, s[saltKey]) == nil && now[startKey] == s[startKey]
}

func (s fingerprint) add(name string, parts ...string) {
	sum := sha256.New()
	for _, p := range parts {
		inner := sha256.Sum256([]byte(p))
		sum.Write(inner[:])
	}
	s[name] = hex.EncodeToString(sum.Sum(nil)[:16])
}

// fingerprintVersion begins a stored fingerprint. The first version did not cover the
// configuration.
const fingerprintVersion = "2"

// String returns the fingerprint as it is stored.
func (s fingerprint) String() string {
	var lines []string
	for name, sum := range s {
		lines = append(lines, name+" "+sum)
	}
	slices.Sort(lines)
	return fingerprintVersion + "\n" + strings.Join(lines, "\n")
}

// parseFingerprint decodes the output of String; nil if text is none.
func parseFingerprint(text string) fingerprint {
	head, rest, _ := strings.Cut(text, "\n")
	if head != fingerprintVersion {
		return nil
	}
	s := fingerprint{}
	for line := range strings.Lines(rest) {
		name, sum, _ := strings.Cut(strings.TrimSpace(line), " ")
		s[name] = sum
	}
	return s
}

// covers reports whether everything in now is as s has it.
func (s fingerprint) covers(now fingerprint) bool {
	for name, sum := range now {
		if s[name] != sum {
			return false
		}
	}
	return true
}

// markChanges sets Change of tools by comparison with what was approved, and returns the names of
// removed tools. Against a nil fingerprint all are new.
func (s fingerprint) markChanges(tools []mcp.Tool, now fingerprint) (removed []string) {
	for i, t := range tools {
		switch before, known := s[t.Name]; {
		case s == nil:
		case !known:
			tools[i].Change = "new"
		case before != now[t.Name]:
			tools[i].Change = "changed"
		}
	}
	for name := range s {
		if _, there := now[name]; !there {
			removed = append(removed, name)
		}
	}
	slices.Sort(removed)
	return removed
}
