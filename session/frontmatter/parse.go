package frontmatter

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v4"

	"parley/tools/lazy"
)

// Parse parses YAML that consists of keys and values. First is the number of its first
// line. Its errors are of type *Error.
func Parse(text string, first int) (Value, error) {
	if len(text) > maxHead {
		return Value{}, &Error{first, fmt.Sprintf("it has more than %d KB", maxHead>>10)}
	}
	text = strings.ReplaceAll(text, "\r", "")
	if i := strings.IndexFunc(text, refused); i >= 0 {
		r := []rune(text[i:min(len(text), i+4)])[0]
		name := fmt.Sprintf("the control character %U", r)
		if r == 0 {
			name = "a NUL byte"
		}
		return Value{}, &Error{first + strings.Count(text[:i], "\n"), "it contains " + name}
	}
	d := &document{lines: strings.Split(text, "\n"), first: first}
	v, err := d.parse()
	if err != nil {
		d.quote()
		v, err = d.parse()
	}
	return v, err
}

// refused reports whether YAML forbids a character everywhere.
func refused(r rune) bool {
	return unicode.IsControl(r) && r != '\n' && r != '\t' && r != '\u0085' || r == 0xfffe || r == 0xffff
}

// A document is the text of one Parse.
type document struct {
	lines []string
	first int // the number of the first line
}

// fault returns an error for a line, from 1.
func (d *document) fault(line int, text string) error {
	return &Error{d.first + max(1, min(line, len(d.lines))) - 1, text}
}

// noKey is the text of an error.
const noKey = "a key and a colon are expected, as in description: text"

func (d *document) parse() (Value, error) {
	loader, err := yaml.NewLoader(strings.NewReader(strings.Join(d.lines, "\n") + "\n"))
	if err != nil {
		return Value{}, err
	}
	var root, second yaml.Node
	switch err = loader.Load(&root); err {
	case io.EOF:
		return Value{Kind: Map, Line: d.first}, nil
	case nil:
		err = loader.Load(&second)
	}
	var at *yaml.LoadError
	switch {
	case errors.As(err, &at):
		return Value{}, d.explain(at)
	case err != io.EOF:
		return Value{}, d.fault(second.Line, "a second document begins")
	case len(root.Content) != 1 || root.Content[0].Kind != yaml.MappingNode:
		return Value{}, d.fault(root.Line, noKey)
	}
	v, err := d.value(root.Content[0], 0)
	if err != nil {
		return Value{}, err
	}
	for i := range v.Fields { // bracketed values keep their source, which may be a hint or JSON
		if root.Content[0].Content[2*i+1].Style&yaml.FlowStyle != 0 {
			v.Fields[i].Value.Text = d.source(root.Content[0].Content[2*i+1:])
		}
	}
	return v, nil
}

// explain rewords an error of the library.
func (d *document) explain(e *yaml.LoadError) error {
	line, text := e.Mark.Line, e.Message
	switch text {
	case "could not find expected ':'":
		line, text = e.ContextMark.Line, noKey
	case "did not find expected ',' or ']'":
		line, text = e.ContextMark.Line, `"[" is not closed: "]" is missing, or quotes around a text`
	case "did not find expected ',' or '}'":
		line, text = e.ContextMark.Line, `"{" is not closed: "}" is missing, or quotes around a text`
	case "did not find expected key":
		text = "it is indented more than the line above it"
	case "did not find expected <document start>":
		text = "it is indented less than what it belongs to"
	case "found a tab character that violates indentation", "found character that cannot start any token":
		if n := max(1, min(line, len(d.lines))); strings.HasPrefix(strings.TrimLeft(d.lines[n-1], " "), "\t") {
			text = "it is indented with a tab: use spaces"
		}
	}
	return d.fault(line, text)
}

// value converts a node of the library.
func (d *document) value(n *yaml.Node, depth int) (Value, error) {
	v := Value{Line: d.first + n.Line - 1, Text: n.Value, Quoted: n.Style&^(yaml.FlowStyle|yaml.TaggedStyle) != 0}
	switch {
	case n.Kind == yaml.AliasNode || n.Anchor != "" || n.Style&yaml.TaggedStyle != 0:
		return v, d.fault(n.Line, "anchors and tags of YAML are not supported here")
	case depth > maxDepth:
		return v, d.fault(n.Line, "values are nested too deeply")
	case n.Kind == yaml.SequenceNode:
		v.Kind = List
		for _, c := range n.Content {
			item, err := d.value(c, depth+1)
			if err != nil {
				return v, err
			}
			v.Items = append(v.Items, item)
		}
	case n.Kind == yaml.MappingNode:
		v.Kind = Map
		known := map[string]bool{}
		for i := 0; i+1 < len(n.Content); i += 2 {
			key, err := d.value(n.Content[i], depth+1)
			switch {
			case err != nil:
				return v, err
			case key.Kind != Text || key.Text == "":
				return v, d.fault(n.Content[i].Line, noKey)
			case known[key.Text]:
				return v, d.fault(n.Content[i].Line, "the key "+strconv.Quote(key.Text)+" is there twice")
			}
			known[key.Text] = true
			value, err := d.value(n.Content[i+1], depth+1)
			if err != nil {
				return v, err
			}
			v.Fields = append(v.Fields, Field{key.Text, key.Line, value})
		}
	}
	return v, nil
}

// source returns the source of the first node, a bracketed value, up to the next.
func (d *document) source(nodes []*yaml.Node) string {
	end := len(d.lines)
	if len(nodes) > 1 {
		end = nodes[1].Line - 1
	}
	text := strings.Join(d.lines[nodes[0].Line-1:max(end, nodes[0].Line)], "\n")
	runes := []rune(text)
	text = string(runes[min(nodes[0].Column-1, len(runes)):])
	return text[:strings.LastIndexAny(text, "]}")+1]
}

// Pieces of YAML: a line with a key, one with a dash, the sign of a block, and an escape.
var (
	entry     = lazy.NewRegexp(`^( *(?:- +)*)("[^"]*"|'[^']*'|[^\s"'#&*!|>%@\x60,?\[\]{}-](?:[^:#]|:\S|\S#)*?)[ \t]*:[ \t]+(\S.*)$`)
	item      = lazy.NewRegexp(`^( *(?:- +)+)()(\S.*)$`)
	blockSign = lazy.NewRegexp(`^[|>][-+1-9]*[ \t]*(#.*)?$`)
	escaped   = lazy.NewRegexp(`\\.`)
)

// quote quotes texts that YAML would reject or misread. The number of lines stays the same.
func (d *document) quote() {
	for at := 0; at < len(d.lines); {
		from := at
		at++
		m := entry.FindStringSubmatch(d.lines[from])
		before, indent := "", 0
		if m != nil {
			before, indent = m[1]+m[2]+": ", len(m[1])
		} else if m = item.FindStringSubmatch(d.lines[from]); m != nil {
			before, indent = m[1], strings.LastIndex(m[1], "-")
		} else {
			continue
		}
		isBlock, bracketed := blockSign.MatchString(m[3]), strings.ContainsRune(`"'[{`, rune(m[3][0]))
		if bracketed && valid(m[3]) {
			continue
		}
		words := []string{withoutComment(m[3])}
		for ; at < len(d.lines); at++ {
			rest := strings.TrimLeft(d.lines[at], " ")
			isBlank := strings.TrimSpace(rest) == ""
			if !isBlank && len(d.lines[at])-len(rest) <= indent || !isBlock && !bracketed && (isBlank || rest[0] == '#') {
				break
			}
			words = append(words, strings.TrimSpace(withoutComment(rest)))
		}
		source, text := strings.Join(append([]string{m[3]}, d.lines[from+1:at]...), "\n"), strings.Join(words, " ")
		missing := func(opening, closing string) bool {
			return m[3][:1] == opening && strings.Count(text, opening) > strings.Count(text, closing)
		}
		known := escaped.ReplaceAllStringFunc(source, func(s string) string {
			if strings.Contains(`0abtnvfre "/\N_LPxuU`, s[1:]) {
				return s
			}
			return `\` + s
		})
		switch {
		case isBlock, valid(source), missing("[", "]"), missing("{", "}"), strings.HasPrefix(source, "!!"), source[0] == '&' && !strings.Contains(m[3], " "):
		case source[0] == '"' && valid(known):
			copy(d.lines[from:at], strings.Split(before+known, "\n"))
		default:
			clear(d.lines[from:at])
			d.lines[from] = before + strconv.Quote(text)
		}
	}
}

// valid reports whether YAML parses text as one value.
func valid(text string) bool {
	v, err := (&document{lines: strings.Split("x: "+text, "\n"), first: 1}).parse()
	return err == nil && len(v.Fields) == 1
}

// withoutComment returns text without a comment at its end.
func withoutComment(text string) string {
	text, _, _ = strings.Cut(text, " #")
	return strings.TrimRight(text, " \t")
}

// JSON returns v as JSON: unquoted texts that are numbers, true, false or null are encoded as such.
func (v Value) JSON() json.RawMessage {
	var b strings.Builder
	v.writeJSON(&b)
	return json.RawMessage(b.String())
}

func (v Value) writeJSON(b *strings.Builder) {
	text := func(s string) {
		encoder := json.NewEncoder(trimmed{b})
		encoder.SetEscapeHTML(false)
		_ = encoder.Encode(s) // strings cannot fail
	}
	switch v.Kind {
	case List:
		b.WriteByte('[')
		for i, item := range v.Items {
			if i > 0 {
				b.WriteByte(',')
			}
			item.writeJSON(b)
		}
		b.WriteByte(']')
	case Map:
		b.WriteByte('{')
		for i, f := range v.Fields {
			if i > 0 {
				b.WriteByte(',')
			}
			text(f.Key)
			b.WriteByte(':')
			f.Value.writeJSON(b)
		}
		b.WriteByte('}')
	default:
		var n json.Number
		switch word := v.Text; {
		case v.Quoted:
			text(v.Text)
		case word == "" || word == "~":
			b.WriteString("null")
		case word == "true" || word == "false" || word == "null" || json.Unmarshal([]byte(word), &n) == nil && !strings.HasPrefix(word, `"`):
			b.WriteString(word)
		default:
			text(v.Text)
		}
	}
}

// trimmed drops the final line break that an encoder writes.
type trimmed struct{ b *strings.Builder }

func (t trimmed) Write(p []byte) (int, error) {
	t.b.WriteString(strings.TrimSuffix(string(p), "\n"))
	return len(p), nil
}
