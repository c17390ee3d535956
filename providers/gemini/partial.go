package gemini

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"

	"parley/providers/adapter"
	"parley/providers/llm"
	"parley/providers/wire"
)

// A partial is a piece of one argument, as Vertex streams them:
//
//	{"jsonPath":"$.recipe.steps[0]","stringValue":"Pre","willContinue":true}
//	{"jsonPath":"$.recipe.steps[0]","stringValue":"heat"}
type partial struct {
	Path   string          `json:"jsonPath"`
	String *wire.Text      `json:"stringValue"`
	Number json.RawMessage `json:"numberValue"`
	Bool   *bool           `json:"boolValue"`
	Null   json.RawMessage `json:"nullValue"`
}

// A pendingCall is a call whose arguments are being received.
type pendingCall struct {
	block string
	id    string          // id from the server; "" for none
	whole json.RawMessage // arguments sent in one piece
	tree  any             // arguments sent in pieces
}

// add adds a piece of the arguments and returns its size in bytes.
func (s *pendingCall) add(f *fragment) (n int) {
	if adapter.IsPresent(f.Args) {
		s.whole = f.Args
		n += len(f.Args)
	}
	for _, p := range f.Partial {
		n += p.size()
		if path, ok := parsePath(p.Path); ok {
			s.tree = putAt(s.tree, path, p)
		}
	}
	return n
}

// size returns the size of p in bytes.
func (p partial) size() int {
	n := len(p.Path) + len(p.Number) + len(p.Null)
	if p.String != nil {
		n += len(*p.String)
	}
	return n
}

// input returns the arguments as JSON; "" for none.
func (s *pendingCall) input() string {
	data := s.whole
	if s.tree != nil {
		data, _ = json.Marshal(s.tree)
	}
	if text, err := wire.Unquote(data); err == nil { // some gateways send the object as a string
		return text
	}
	var b bytes.Buffer
	if json.Compact(&b, data) != nil {
		return string(data)
	}
	return b.String()
}

// maxPathDepth bounds the length of a path.
const maxPathDepth = 64

// putAt returns tree with p at the end of path: an existing string grows, any other value is
// replaced. Lists grow by one entry at a time, so that a path cannot use more memory than its own
// length.
func putAt(tree any, path []any, p partial) any {
	if len(path) == 0 {
		return p.value(tree)
	}
	switch step := path[0].(type) {
	case string:
		object, ok := tree.(map[string]any)
		if !ok {
			object = map[string]any{}
		}
		object[step] = putAt(object[step], path[1:], p)
		return object
	case int:
		list, _ := tree.([]any)
		if step > len(list) {
			return tree
		}
		if step == len(list) {
			list = append(list, nil)
		}
		list[step] = putAt(list[step], path[1:], p)
		return list
	}
	return tree
}

// growingString is a string received in pieces.
type growingString struct{ strings.Builder }

// MarshalJSON implements json.Marshaler.
func (g *growingString) MarshalJSON() ([]byte, error) { return json.Marshal(llm.Clean(g.String())) }

// value returns the value of p; a string is appended to the previous one.
func (p partial) value(before any) any {
	switch {
	case p.String != nil:
		text, ok := before.(*growingString)
		if !ok {
			text = &growingString{}
		}
		text.WriteString(string(*p.String))
		return text
	case adapter.IsPresent(p.Number):
		return p.Number
	case p.Bool != nil:
		return *p.Bool
	case len(p.Null) > 0:
		return nil
	}
	return before
}

// parsePath parses a JSON path of names and indexes, such as $.a.b[0]['c d'].
func parsePath(path string) (list []any, ok bool) {
	rest, ok := strings.CutPrefix(path, "$")
	for ok && rest != "" && len(list) < maxPathDepth {
		var step any
		step, rest, ok = cutPathStep(rest)
		list = append(list, step)
	}
	return list, ok && rest == "" && len(list) > 0
}

func cutPathStep(path string) (step any, rest string, ok bool) {
	if name, isName := strings.CutPrefix(path, "."); isName {
		end := strings.IndexAny(name, ".[")
		if end < 0 {
			end = len(name)
		}
		return name[:end], name[end:], end > 0
	}
	inner, isBracket := strings.CutPrefix(path, "[")
	if !isBracket || inner == "" {
		return nil, "", false
	}
	if quote := inner[:1]; quote == "'" || quote == `"` {
		name, rest, ok := strings.Cut(inner[1:], quote+"]")
		return name, rest, ok
	}
	index, rest, ok := strings.Cut(inner, "]")
	n, err := strconv.Atoi(index)
	return n, rest, ok && err == nil && n >= 0
}
