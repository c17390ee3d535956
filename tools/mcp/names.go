package mcp

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"parley/tools"
)

// maxName is how long the name of a tool may be for every provider.
const maxName = 64

// toolName is the name under which a model calls a server's tool. Two different
// names stay different: what had to be changed gets a mark of its own.
func toolName(server, tool string) string {
	fit := strings.Map(func(r rune) rune {
		if r == '-' || r == '_' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' {
			return r
		}
		return '_'
	}, tool)
	name := Prefix(server) + fit
	if fit == tool && tool != "" && len(name) <= maxName {
		return name
	}
	sum := sha256.Sum256([]byte(tool))
	mark := "_" + hex.EncodeToString(sum[:4])
	return name[:min(len(name), maxName-len(mark))] + mark
}

// A listing is what a server says of its tools.
type listing struct {
	tools []listed
	left  int // tools beyond
	seal  seal
}

// A listed tool is one that can be offered.
type listed struct {
	Tool
	own    string // the server's name for it, byte for byte
	schema json.RawMessage
}

// list takes what a server says, as far as it can be offered.
func list(server string, all []*sdk.Tool) listing {
	out := listing{seal: seal{}}
	for _, t := range all {
		if t == nil {
			continue
		}
		name := toolName(server, t.Name)
		if _, twice := out.seal[name]; twice || len(out.tools) == maxTools {
			out.left++
			continue
		}
		schema, err := json.Marshal(t.InputSchema)
		if err != nil {
			out.left++
			continue
		}
		out.seal.add(name, t.Name, t.Description, string(schema))
		out.tools = append(out.tools, listed{
			Tool:   Tool{Name: name, Title: plain(t.Name, 200), Description: plain(t.Description, 4000), Schema: plain(string(schema), 20_000)},
			own:    t.Name,
			schema: schema,
		})
	}
	return out
}

// plain is text of a server's for a user, on one line or several.
func plain(text string, limit int) string {
	text, _ = tools.Plain(text, limit)
	return strings.TrimSpace(text)
}

// A seal tells whether tools are what somebody has seen: a sum of everything a
// model is told of each, by its name, and one of what the server was started by.
type seal map[string]string

// Names that no tool has.
const (
	startedBy = "server"
	salt      = "salt" // of the sum of what the server was started by, for that holds secrets
)

// salted is the salt of a seal, or a new one if it has none.
func (s seal) salted() string {
	if s[salt] == "" {
		return rand.Text()
	}
	return s[salt]
}

// start adds what c starts: the program or service, what it is given and what
// the sandbox lets it do. Variables count by their names: a token that is renewed
// in the environment is what the user agreed to.
func (s seal) start(c Config, by string) error {
	c.Disabled, c.Timeout, c.Trusted = false, "", false // they change nothing of what it is
	type plain Config                                   // whose JSON has the maps sorted
	all, err := json.Marshal(plain(c))
	if err != nil {
		return err
	}
	s[salt] = by
	s.add(startedBy, by, string(all))
	return nil
}

// startedAs reports whether s covers what c starts.
func (s seal) startedAs(c Config) bool {
	now := seal{}
	return s != nil && now.start(c, s[salt]) == nil && now[startedBy] == s[startedBy]
}

func (s seal) add(name string, parts ...string) {
	sum := sha256.New()
	for _, p := range parts {
		inner := sha256.Sum256([]byte(p))
		sum.Write(inner[:])
	}
	s[name] = hex.EncodeToString(sum.Sum(nil)[:16])
}

// form begins a seal, to tell it from what other versions have kept. The first
// did not cover what a server is given.
const form = "2"

// String is the seal as it is kept.
func (s seal) String() string {
	var lines []string
	for name, sum := range s {
		lines = append(lines, name+" "+sum)
	}
	slices.Sort(lines)
	return form + "\n" + strings.Join(lines, "\n")
}

// parseSeal reads what String wrote; nil if it is nothing of the kind.
func parseSeal(text string) seal {
	head, rest, _ := strings.Cut(text, "\n")
	if head != form {
		return nil
	}
	s := seal{}
	for line := range strings.Lines(rest) {
		name, sum, _ := strings.Cut(strings.TrimSpace(line), " ")
		s[name] = sum
	}
	return s
}

// covers reports whether everything in now is as s has it.
func (s seal) covers(now seal) bool {
	for name, sum := range now {
		if s[name] != sum {
			return false
		}
	}
	return true
}

// compare marks what of tools is not as it was agreed to, and returns the names
// that are gone. A nil seal was never agreed to anything.
func (s seal) compare(tools []Tool, now seal) (removed []string) {
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
