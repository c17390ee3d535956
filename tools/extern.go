package tools

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// An External is a tool from outside this package, such as one of an MCP
// server. Its description and schema are untrusted: what a user would not see
// is taken out of them before a model reads them.
type External struct {
	Name        string          // ^[a-zA-Z0-9_-]{1,64}$, which every provider takes
	Description string          // the first 4,000 characters are told
	Schema      json.RawMessage // JSON Schema of the arguments; what is none of an object stands for any object

	// Plan makes an action of a call, see NewAction; it must change nothing.
	// Input is one JSON object. It is valid by Schema, unless Schema refers to
	// other schemas or cannot be understood: then the tool has to check.
	Plan func(ctx context.Context, input json.RawMessage) (*Action, error)
}

// Bounds of what a model is told of an external tool.
const (
	maxDescription = 4000     // characters
	maxSchema      = 64 << 10 // bytes
	maxNesting     = 64       // of a schema
)

var externalName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// NewAction is a, and does run. Action.Run says what run gets.
func NewAction(a Action, run func(ctx context.Context, progress func(text string)) Outcome) *Action {
	a.run = run
	return &a
}

// Plain makes text from outside fit for a model, as the output of a command is:
// without escape sequences, control characters and what is invisible, at most
// limit characters of it, its head and its tail. Notes say what was left out.
func Plain(text string, limit int) (plain string, notes []string) {
	plain, notes = Clean(text)
	return clip(plain, limit), notes
}

// Clean is Plain without a limit: nothing is left with which a file or a server
// could whisper to a model what a user does not see.
func Clean(text string) (plain string, notes []string) {
	var c cleaner
	plain = c.write([]byte(text))
	return plain + c.close(), c.notes()
}

// Add offers more tools, behind those that there are. One whose name was added
// before takes the other's place. The error names the tools that were left out,
// because their name is not fit or belongs to a tool of this package.
func (s *Set) Add(tools ...External) error {
	return s.offer(nil, tools)
}

// Replace offers tools in place of the external ones whose names begin with
// prefix; with no tools it takes those away. Nobody sees the state in between.
func (s *Set) Replace(prefix string, tools []External) error {
	return s.offer(func(e *entry) bool { return strings.HasPrefix(e.name, prefix) }, tools)
}

// Snapshot is a view of s as it is now, which Add and Replace leave alone. A
// turn works with one, so that what the model is told of stays the same, byte
// for byte, and a provider's cache of it good.
func (s *Set) Snapshot() *Set {
	view := &Set{workspace: s.workspace, tools: s.tools}
	view.external.Store(s.external.Load())
	return view
}

// offer changes the list of external tools. A list is never changed in place,
// for others may be reading it.
func (s *Set) offer(drop func(*entry) bool, tools []External) error {
	var added []*entry
	var unfit []string
	for _, ext := range tools {
		own := slices.ContainsFunc(list, func(t tool) bool { return t.name == ext.Name })
		if own || !externalName.MatchString(ext.Name) {
			unfit = append(unfit, quote(ext.Name))
			continue
		}
		added = append(added, external(ext))
	}
	s.offering.Lock()
	defer s.offering.Unlock()
	var now []*entry
	if old := s.external.Load(); old != nil {
		now = slices.Clone(*old)
	}
	if drop != nil {
		now = slices.DeleteFunc(now, drop)
	}
	at := map[string]int{}
	for i, e := range now {
		at[e.name] = i
	}
	for _, e := range added {
		if i, ok := at[e.name]; ok {
			now[i] = e
			continue
		}
		at[e.name] = len(now)
		now = append(now, e)
	}
	s.external.Store(&now)
	if len(unfit) > 0 {
		return fmt.Errorf("%s left out, whose names are taken or not fit: %s", count(len(unfit), "tool"), clip(strings.Join(unfit, ", "), 500))
	}
	return nil
}

// all is the tools of this package and behind them the external ones.
func (s *Set) all() []*entry {
	if p := s.external.Load(); p != nil {
		return slices.Concat(s.tools, *p)
	}
	return s.tools
}

// external is the entry of a tool.
func external(ext External) *entry {
	text, _ := Plain(ext.Description, maxDescription)
	e := &entry{
		tool: tool{
			name: ext.Name,
			plan: func(ctx context.Context, _ *workspace, input json.RawMessage) (*Action, error) {
				return ext.Plan(ctx, input)
			},
		},
		text: strings.TrimSpace(text),
	}
	e.once.Do(func() { e.raw, e.resolved = foreign(ext.Schema) })
	return e
}

// anyObject is the schema of a tool whose own is of no use.
const anyObject = `{"properties":{},"type":"object"}`

// foreign is a schema from outside as a model is told of it, and for checking
// arguments; nil if only the tool itself can check them. A schema that refers
// to schemas, also to itself, could take for ever.
func foreign(raw json.RawMessage) (json.RawMessage, *jsonschema.Resolved) {
	value, err := decode(string(raw))
	object, ok := value.(map[string]any)
	if err != nil || !ok || len(raw) > maxSchema {
		return json.RawMessage(anyObject), nil
	}
	w := schemaWalk{}
	w.clean(object, 0)
	if kind, given := object["type"]; w.deep || given && kind != "object" {
		return json.RawMessage(anyObject), nil
	}
	object["type"] = "object"
	if _, ok := object["properties"].(map[string]any); !ok {
		object["properties"] = map[string]any{}
	}
	told, err := compact(object)
	if err != nil {
		return json.RawMessage(anyObject), nil
	}
	if w.refers {
		return told, nil
	}
	return told, resolve(told)
}

func resolve(raw json.RawMessage) (resolved *jsonschema.Resolved) {
	defer func() {
		if recover() != nil { // it is somebody else's schema and somebody else's code
			resolved = nil
		}
	}()
	var schema jsonschema.Schema
	if json.Unmarshal(raw, &schema) != nil {
		return nil
	}
	resolved, err := schema.Resolve(nil)
	if err != nil {
		return nil
	}
	return resolved
}

// compact is value as JSON, with its keys in order.
func compact(value any) (json.RawMessage, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false) // people read it
	if err := encoder.Encode(value); err != nil {
		return nil, err
	}
	return bytes.TrimSpace(out.Bytes()), nil
}

// A schemaWalk goes through a schema and makes its text plain.
type schemaWalk struct {
	refers bool // it refers to a schema
	deep   bool // it is nested beyond reason
}

func (w *schemaWalk) clean(value any, depth int) any {
	if depth > maxNesting {
		w.deep = true
		return nil
	}
	switch v := value.(type) {
	case string:
		text, _ := Plain(v, maxDescription)
		return text
	case []any:
		for i := range v {
			v[i] = w.clean(v[i], depth+1)
		}
	case map[string]any:
		for key, inner := range v {
			if plain, _ := Plain(key, maxDescription); plain != key {
				delete(v, key)
				continue
			}
			if strings.HasPrefix(key, "$") && strings.HasSuffix(strings.ToLower(key), "ref") {
				w.refers = true
			}
			v[key] = w.clean(inner, depth+1)
		}
	}
	return value
}
