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
// server. Its description and schema are untrusted: text invisible to the user
// is removed before a model reads them.
type External struct {
	Name        string          // ^[a-zA-Z0-9_-]{1,64}$, as every provider accepts
	Description string          // truncated to maxDescription characters
	Schema      json.RawMessage // JSON Schema of the arguments; if it is no object schema, any object is accepted

	NotFor     string // see llm.Tool
	MinContext int    // see llm.Tool

	// Plan turns a call into an action and must change nothing. Input is one JSON
	// object, valid by Schema unless Schema cannot be parsed or is too costly to
	// check. In that case the tool checks the input.
	Plan func(ctx context.Context, input json.RawMessage) (*act.Action, error)
}

// Bounds of a tool's definition as sent to a model.
const (
	maxDescription = 4000     // characters
	maxSchema      = 64 << 10 // bytes
	maxNesting     = 64       // nesting depth of a schema
)

var externalName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`) })

// SanitizeAndTruncate is Sanitize with the text truncated to limit characters of its head and tail.
func SanitizeAndTruncate(text string, limit int) (plain string, notes []string) {
	plain, notes = Sanitize(text)
	return truncate(plain, limit), notes
}

// Sanitize cleans text from outside for a model, as for a command's output: it removes escape
// sequences, control characters and invisible characters, which could hide instructions. Notes
// describe the removals.
func Sanitize(text string) (plain string, notes []string) {
	var o sanitize.Output
	plain = o.Write([]byte(text))
	return plain + o.Close(), removalNotes(&o)
}

// AddExternal adds tools after the present ones. A tool replaces an earlier one
// of the same name. The error names the tools left out, because their name is
// invalid or belongs to a tool of this package.
func (s *Set) AddExternal(tools ...External) error {
	return s.setExternal(nil, tools)
}

// ReplaceExternal replaces the external tool name by tools, in one atomic step; if name ends with an underscore,
// all external tools whose names begin with it. Without tools it removes them.
func (s *Set) ReplaceExternal(name string, tools []External) error {
	return s.setExternal(func(e *toolEntry) bool {
		return e.name == name || strings.HasSuffix(name, "_") && strings.HasPrefix(e.name, name)
	}, tools)
}

// OnPrompt sets the function that BeginPrompt calls. It must not block.
func (s *Set) OnPrompt(f func()) { s.onPrompt.Store(&f) }

// BeginPrompt notifies the servers of external tools that a prompt begins.
func (s *Set) BeginPrompt() {
	if f := s.onPrompt.Load(); f != nil {
		(*f)()
	}
}

// Snapshot returns a view of s that AddExternal and ReplaceExternal do not change. A turn uses one,
// so that its tool list stays identical byte for byte and the provider's prompt cache stays valid.
func (s *Set) Snapshot() act.Set {
	view := &Set{workspace: s.workspace, tools: s.tools}
	view.external.Store(s.external.Load())
	return view
}

// setExternal changes the list of external tools. It sorts them by name, so that the
// order in which servers start does not invalidate the provider's cache. It copies
// the list, because others may be reading the old one.
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
		notFor:      ext.NotFor, minContext: ext.MinContext,
	}
	e.once.Do(func() { e.raw, e.arguments = externalSchema(ext.Schema) })
	return e
}

// anyObject replaces an unusable schema.
const anyObject = `{"properties":{},"type":"object"}`

// externalSchema returns an external schema as sent to a model, and parsed for
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
	if err != nil { // a number in it does not fit a float64
		return compact, nil
	}
	return compact, s
}

// compactJSON returns value as JSON, with its keys in order.
func compactJSON(value any) (json.RawMessage, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false) // users read it
	if err := encoder.Encode(value); err != nil {
		return nil, err
	}
	return bytes.TrimSpace(out.Bytes()), nil
}

// A schemaSanitizer sanitizes the texts in a schema.
type schemaSanitizer struct {
	tooDeep bool // nesting exceeds maxNesting
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
