package tools

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"parley/tools/act"
	"parley/tools/sanitize"
)

// An External is a tool from outside this package, such as one of an MCP
// server. Its description and schema are untrusted: what a user would not see
// is taken out of them before a model reads them.
type External struct {
	Name        string          // ^[a-zA-Z0-9_-]{1,64}$, which every provider takes
	Description string          // the first 4,000 characters are told
	Schema      json.RawMessage // JSON Schema of the arguments; what is none of an object stands for any object

	// Plan makes an action of a call, which does something; it must change nothing.
	// Input is one JSON object. It is valid by Schema, unless Schema cannot be
	// understood or costs too much to check: then the tool has to check.
	Plan func(ctx context.Context, input json.RawMessage) (*act.Action, error)
}

// Bounds of what a model is told of an external tool.
const (
	maxDescription = 4000     // characters
	maxSchema      = 64 << 10 // bytes
	maxNesting     = 64       // of a schema
)

var externalName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`) })

// SanitizeAndTruncate does as Sanitize, and shortens text to limit characters of its head and tail.
func SanitizeAndTruncate(text string, limit int) (plain string, notes []string) {
	plain, notes = Sanitize(text)
	return truncate(plain, limit), notes
}

// Sanitize makes text from outside plain for a model, as the output of a command is: without escape
// sequences, control characters and invisible characters, in which a file or a server could hide
// instructions. Notes describe what was removed.
func Sanitize(text string) (plain string, notes []string) {
	var o sanitize.Output
	plain = o.Write([]byte(text))
	return plain + o.Close(), removalNotes(&o)
}

// AddExternal offers more tools, after the present ones. One whose name was added
// before takes the other's place. The error names the tools that were left out,
// because their name is not fit or belongs to a tool of this package.
func (s *Set) AddExternal(tools ...External) error {
	return s.setExternal(nil, tools)
}

// ReplaceExternal offers tools in place of the external ones whose names begin with
// prefix; with no tools it takes those away. Nobody sees the state in between.
func (s *Set) ReplaceExternal(prefix string, tools []External) error {
	return s.setExternal(func(e *toolEntry) bool { return strings.HasPrefix(e.name, prefix) }, tools)
}

// OnPrompt has BeginPrompt call f, which must not wait.
func (s *Set) OnPrompt(f func()) { s.onPrompt.Store(&f) }

// BeginPrompt tells the servers of external tools that a prompt begins.
func (s *Set) BeginPrompt() {
	if f := s.onPrompt.Load(); f != nil {
		(*f)()
	}
}

// Snapshot returns a view of s that AddExternal and ReplaceExternal do not change. A turn uses one,
// so that the list of tools stays the same, byte for byte, and with it the provider's prompt cache.
func (s *Set) Snapshot() act.Set {
	view := &Set{workspace: s.workspace, tools: s.tools}
	view.external.Store(s.external.Load())
	return view
}

// setExternal changes the list of external tools. They stand by name: in which order
// servers started, or one started again, is nothing that a provider's cache is to be
// lost for. A list is never changed in place,
// for others may be reading it.
func (s *Set) setExternal(drop func(*toolEntry) bool, tools []External) error {
	var added []*toolEntry
	var unfit []string
	for _, ext := range tools {
		if act.IsOwn(ext.Name) || !externalName().MatchString(ext.Name) {
			unfit = append(unfit, quoteName(ext.Name))
			continue
		}
		added = append(added, externalEntry(ext))
	}
	s.externalMu.Lock()
	defer s.externalMu.Unlock()
	var now []*toolEntry
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
	slices.SortFunc(now, func(a, b *toolEntry) int { return strings.Compare(a.name, b.name) })
	s.external.Store(&now)
	if len(unfit) > 0 {
		return fmt.Errorf("%s ignored (name taken or invalid): %s", pluralize(len(unfit), "tool"), truncate(strings.Join(unfit, ", "), 500))
	}
	return nil
}

// allEntries returns the tools of this package, then the external ones.
func (s *Set) allEntries() []*toolEntry {
	if p := s.external.Load(); p != nil {
		return slices.Concat(s.tools, *p)
	}
	return s.tools
}

// externalEntry returns the entry of a tool.
func externalEntry(ext External) *toolEntry {
	text, _ := SanitizeAndTruncate(ext.Description, maxDescription)
	e := &toolEntry{
		toolDefinition: toolDefinition{
			name: ext.Name,
			plan: func(ctx context.Context, _ *workspace, input json.RawMessage) (*act.Action, error) {
				return ext.Plan(ctx, input)
			},
		},
		description: strings.TrimSpace(text),
	}
	e.once.Do(func() { e.raw, e.arguments = externalSchema(ext.Schema) })
	return e
}

// anyObject is the schema of a tool whose own is of no use.
const anyObject = `{"properties":{},"type":"object"}`

// externalSchema returns a schema from outside as a model is told of it, and for
// checking arguments; nil if only the tool itself can check them.
func externalSchema(raw json.RawMessage) (json.RawMessage, *argumentSchema) {
	value, err := decodeJSON(string(raw))
	object, ok := value.(map[string]any)
	if err != nil || !ok || len(raw) > maxSchema {
		return json.RawMessage(anyObject), nil
	}
	w := schemaSanitizer{}
	w.sanitize(object, 0)
	if kind, given := object["type"]; w.tooDeep || given && kind != "object" {
		return json.RawMessage(anyObject), nil
	}
	object["type"] = "object"
	if _, ok := object["properties"].(map[string]any); !ok {
		object["properties"] = map[string]any{}
	}
	compact, err := compactJSON(object)
	if err != nil {
		return json.RawMessage(anyObject), nil
	}
	s, err := newArgumentSchema(compact, nil)
	if err != nil { // it holds a number that no float64 holds
		return compact, nil
	}
	return compact, s
}

// compactJSON returns value as JSON, with its keys in order.
func compactJSON(value any) (json.RawMessage, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false) // people read it
	if err := encoder.Encode(value); err != nil {
		return nil, err
	}
	return bytes.TrimSpace(out.Bytes()), nil
}

// A schemaSanitizer goes through a schema and makes its text plain.
type schemaSanitizer struct {
	tooDeep bool // it is nested beyond reason
}

func (w *schemaSanitizer) sanitize(value any, depth int) any {
	if depth > maxNesting {
		w.tooDeep = true
		return nil
	}
	switch v := value.(type) {
	case string:
		text, _ := SanitizeAndTruncate(v, maxDescription)
		return text
	case []any:
		for i := range v {
			v[i] = w.sanitize(v[i], depth+1)
		}
	case map[string]any:
		for key, inner := range v {
			if plain, _ := SanitizeAndTruncate(key, maxDescription); plain != key {
				delete(v, key)
				continue
			}
			v[key] = w.sanitize(inner, depth+1)
		}
	}
	return value
}
