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

// maxName is the longest tool name that every provider accepts.
const maxName = 64

// toolName returns the name under which a model calls a server's tool. Different
// names stay different: a changed name gets a hash of the original.
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

// A toolList is the list of a server's tools.
type toolList struct {
	tools       []listedTool
	omitted     int // number of tools left out
	fingerprint fingerprint
}

// A listedTool is a tool that can be offered.
type listedTool struct {
	mcp.Tool
	serverName string // the server's name for it, byte for byte
	schema     json.RawMessage
}

// listTools returns the tools that can be offered. Fingerprints cover the server's definitions byte
// for byte.
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

// A fingerprint identifies the tools of a server: by name, a hash of the complete definition sent
// to a model, and one of the configuration.
type fingerprint map[string]string

// Names that no tool has.
const (
	startKey = "server"
	saltKey  = "salt" // salt of the configuration's hash, because that covers secrets
)

// saltOrNew returns the salt of a fingerprint, or a new one if it has none.
func (s fingerprint) saltOrNew() string {
	if s[saltKey] == "" {
		return rand.Text()
	}
	return s[saltKey]
}

// addStart adds the hash of the program or service that c starts, of its
// configuration and its sandbox. Variables count by their names: renewing a token
// in the environment needs no new approval.
func (s fingerprint) addStart(c mcp.Config, by string) error {
	c.Disabled, c.Timeout, c.StartTimeout, c.Trusted = false, "", "", false // not part of the server's identity
	type plain mcp.Config                                                   // its JSON has sorted maps
	all, err := json.Marshal(plain(c))
	if err != nil {
		return err
	}
	s[saltKey] = by
	s.add(startKey, by, string(all))
	return nil
}

// coversStart reports whether s includes the configuration c.
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

// fingerprintVersion begins a stored fingerprint. The first version did not include
// the configuration.
const fingerprintVersion = "2"

// String returns the fingerprint in its stored form.
func (s fingerprint) String() string {
	var lines []string
	for name, sum := range s {
		lines = append(lines, name+" "+sum)
	}
	slices.Sort(lines)
	return fingerprintVersion + "\n" + strings.Join(lines, "\n")
}

// parseFingerprint decodes the output of String; nil for any other text.
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

// covers reports whether s has all entries of now with the same hashes.
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
