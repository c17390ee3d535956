package prompts

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// An Expansion is a prompt with its arguments.
type Expansion struct {
	Commands []Command // commands to run first; their output is inserted in their places
	Mentions string    // mentions of files in the prompt itself: @path
	Typed    string    // the arguments, which may also mention files
	Missing  []Field   // fields without a value; if there are any, nothing else is set

	pieces []string // pieces of the text, with a command's output between each two
}

// A Command is a command that a prompt runs.
type Command struct {
	Line int // of the file
	Text string
}

// A Field is a value that a prompt requires.
type Field struct {
	Name    string
	Choices []string // nil: any text
}

// Text returns the text to send, with the commands' outputs inserted.
func (e Expansion) Text(outputs ...string) string {
	var b strings.Builder
	for i, piece := range e.pieces {
		b.WriteString(piece)
		if i < len(e.Commands) && i < len(outputs) {
			b.WriteString(strings.Trim(outputs[i], "\n"))
		}
	}
	return b.String()
}

// Expand replaces placeholders: args are the arguments as typed after the name, and values has
// values by name, which take precedence over those in args ("name=value"). Arguments without a
// placeholder are appended. Its errors are of type *Error.
func (p *Prompt) Expand(args string, values map[string]string) (Expansion, error) {
	nodes, err := p.nodes()
	if err != nil {
		return Expansion{}, err
	}
	v := valuesOf(nodes, args, values)
	e := Expansion{Typed: strings.TrimSpace(args)}
	for _, n := range v.fields {
		value, ok := v.of[n.text]
		switch i := slices.IndexFunc(n.choices, func(c string) bool { return strings.EqualFold(c, value) }); {
		case !ok:
			e.Missing = append(e.Missing, Field{n.text, n.choices})
		case i >= 0:
			v.of[n.text] = n.choices[i]
		case len(n.choices) > 0:
			return Expansion{}, &Error{p.Path, n.line, fmt.Sprintf("%s=%s: use one of %s", n.text, value, strings.Join(n.choices, ", "))}
		}
	}
	if len(e.Missing) > 0 {
		return Expansion{Missing: e.Missing}, nil
	}
	var b, mentions strings.Builder
	for _, n := range nodes {
		switch n.kind {
		case command:
			e.pieces = append(e.pieces, b.String())
			b.Reset()
			text, err := v.shell(n.inner)
			if err != nil {
				return Expansion{}, &Error{p.Path, n.line, err.Error()}
			}
			e.Commands = append(e.Commands, Command{n.line, text})
		case file:
			path := v.join(n.inner)
			if path != "" {
				mentions.WriteString("@" + quotedPath(path) + "\n")
			}
			b.WriteString(v.mention(n, path))
		default:
			b.WriteString(v.value(n))
		}
	}
	e.pieces, e.Mentions = append(e.pieces, b.String()), mentions.String()
	if !v.used && e.Typed != "" {
		last := &e.pieces[len(e.pieces)-1]
		*last = strings.TrimPrefix(*last+"\n\n"+e.Typed, "\n\n")
	}
	return e, nil
}

// Commands returns the commands that p runs, with their placeholders
// unexpanded.
func (p *Prompt) Commands() []Command {
	nodes, _ := p.nodes() // Parse has seen them
	var commands []Command
	for _, n := range nodes {
		if n.kind == command {
			commands = append(commands, Command{n.line, n.text})
		}
	}
	return commands
}

// ArgumentHint names the arguments that may follow the name of p; "" if the file names none.
func (p *Prompt) ArgumentHint() string {
	if p.Hint != "" {
		return p.Hint
	}
	var names []string
	for _, f := range p.Fields() {
		names = append(names, "<"+strings.ToLower(f.Name)+">")
	}
	return strings.Join(names, " ")
}

// Fields returns the names of p's placeholders, in order, without those that have a default.
func (p *Prompt) Fields() []Field {
	nodes, _ := p.nodes() // Parse has checked for errors
	var fields []Field
	for _, n := range valuesOf(nodes, "", nil).fields {
		if !n.has {
			fields = append(fields, Field{n.text, n.choices})
		}
	}
	return fields
}

// values holds the values of placeholders.
type values struct {
	args   string // without name=value arguments
	words  []string
	of     map[string]string
	fields []node // the first placeholder of each name
	used   bool   // there is a placeholder for arguments
}

// valuesOf collects the values for the placeholders of nodes from args and
// given.
func valuesOf(nodes []node, args string, given map[string]string) *values {
	v := &values{of: map[string]string{}}
	inOrder := false // the file uses numbered arguments
	var look func(nodes []node)
	look = func(nodes []node) {
		for _, n := range nodes {
			look(n.inner)
			switch n.kind {
			case all, position:
				v.used, inOrder = true, true
			case named:
				v.used = true
				i := slices.IndexFunc(v.fields, func(f node) bool { return f.text == n.text })
				switch {
				case i < 0:
					v.fields = append(v.fields, n)
				case !v.fields[i].has && len(v.fields[i].choices) == 0:
					n.line = v.fields[i].line
					v.fields[i] = n // a later placeholder has more details
				}
			}
		}
	}
	look(nodes)
	rest := v.take(args)
	for name, value := range given {
		v.of[name] = value
	}
	if !inOrder {
		v.fill(rest)
	}
	for _, f := range v.fields {
		if _, ok := v.of[f.text]; !ok && f.has {
			v.of[f.text] = f.preset
		}
	}
	return v
}

// take parses arguments: "name=value" sets a value of the file. It returns the offsets in
// v.args of the others.
func (v *values) take(args string) (starts []int) {
	var kept strings.Builder
	for _, w := range split(args) {
		name, value, ok := strings.Cut(w.text, "=")
		if ok && slices.ContainsFunc(v.fields, func(f node) bool { return f.text == name }) {
			v.of[name] = value
			continue
		}
		if kept.Len() > 0 {
			kept.WriteString(w.space)
		}
		starts = append(starts, kept.Len())
		kept.WriteString(w.source)
		v.words = append(v.words, w.text)
	}
	v.args = kept.String()
	return starts
}

// fill assigns arguments to names without a value, one each; the last gets the rest.
func (v *values) fill(starts []int) {
	var open []string
	for _, f := range v.fields {
		if _, ok := v.of[f.text]; !ok && !f.has {
			open = append(open, f.text)
		}
	}
	if len(open) == 0 && len(v.fields) > 0 && len(v.words) > 0 { // names with defaults
		for _, f := range v.fields {
			if _, ok := v.of[f.text]; !ok {
				open = append(open, f.text)
			}
		}
	}
	for i, name := range open {
		switch {
		case i >= len(v.words):
		case i == len(open)-1 && len(v.words) > i+1:
			v.of[name] = v.args[starts[i]:]
		default:
			v.of[name] = v.words[i]
		}
	}
}

// value returns the text for a node.
func (v *values) value(n node) string {
	switch n.kind {
	case all:
		return v.args
	case position:
		if n.index < len(v.words) {
			return v.words[n.index]
		}
		return ""
	case named:
		return v.of[n.text]
	}
	return n.text
}

func (v *values) join(nodes []node) string {
	var b strings.Builder
	for _, n := range nodes {
		b.WriteString(v.value(n))
	}
	return b.String()
}

// mention returns the text of a file's mention.
func (v *values) mention(n node, path string) string {
	if !strings.HasPrefix(n.text, "@{") && (len(n.inner) == 1 && n.inner[0].kind == literal || path == "") {
		return n.text
	}
	return "@" + quotedPath(path)
}

// quotedPath returns a path in the syntax of mentions.
func quotedPath(path string) string {
	switch {
	case !strings.ContainsFunc(path, unicode.IsSpace):
		return path
	case strings.Contains(path, `"`):
		return "'" + path + "'"
	}
	return `"` + path + `"`
}

// A word is one argument.
type word struct {
	space  string // before it
	source string // as it was typed
	text   string // without quotes
}

// split splits arguments at spaces outside quotes. A quote counts only if it begins a word or
// a value and is closed: "don't" is a word.
func split(args string) (words []word) {
	for {
		trimmed := strings.TrimLeftFunc(args, unicode.IsSpace)
		w := word{space: args[:len(args)-len(trimmed)]}
		args = trimmed
		if args == "" {
			return words
		}
		end := 0
		var text strings.Builder // a paste may be long
		for end < len(args) {
			c := args[end]
			if begins := end == 0 || args[end-1] == '='; begins && (c == '"' || c == '\'') {
				if inside, _, closed := strings.Cut(args[end+1:], string(c)); closed {
					end += len(inside) + 2
					text.WriteString(inside)
					continue
				}
			}
			if strings.IndexByte(" \t\n\v\f\r", c) >= 0 {
				break
			}
			text.WriteByte(c)
			end++
		}
		w.source, w.text = args[:end], text.String()
		words = append(words, w)
		args = args[end:]
	}
}
