package frontmatter

import (
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxRows is how many rows a value in quotes or brackets may have: each is looked at again
// with every further one.
const maxRows = 100

// more adds the rows that are indented more than indent, or that close a bracket, to text until
// whole says that nothing is missing, and reports whether it did. Otherwise no row is used up.
func (p *parser) more(text string, indent int, whole func(string) bool) (string, bool) {
	for at := p.at; at-p.at < maxRows; at++ {
		if whole(text) {
			p.at = at
			return text, true
		}
		if at >= len(p.lines) {
			break
		}
		if next := p.lines[at]; next.indent <= indent && !next.isBlank() && !strings.ContainsRune("]}", rune(next.text[0])) {
			break
		}
		text += "\n" + p.lines[at].text
	}
	return text, false
}

// quoted reads a text in quotes. Ok is false if what it is has no end, or more behind it: then
// it is plain text with quotes in it.
func (p *parser) quoted(rest string, r row, indent int) (v Value, ok bool) {
	at := p.at
	text, ok := p.more(rest, indent, func(text string) bool { _, _, ended := unquote(text); return ended })
	value, after, _ := unquote(text)
	if after = strings.TrimSpace(after); !ok || after != "" && after[0] != '#' {
		p.at = at
		return Value{}, false
	}
	return Value{Line: r.number, Text: value, Quoted: true}, true
}

// unquote reads the quoted text that text begins with. Ok is false if it does not end.
func unquote(text string) (value, rest string, ok bool) {
	quote := text[0]
	var b strings.Builder
	for i := 1; i < len(text); i++ {
		switch c := text[i]; {
		case c == quote && quote == '\'' && strings.HasPrefix(text[i+1:], "'"):
			b.WriteByte('\'')
			i++
		case c == quote:
			return b.String(), text[i+1:], true
		case c == '\\' && quote == '"':
			n := escape(text[i+1:], &b)
			if n == 0 {
				return "", "", false
			}
			i += n
		case c == '\n': // a line break within is a space, several are one less
			trimmed := strings.TrimRight(b.String(), " \t")
			b.Reset()
			b.WriteString(trimmed)
			breaks := 1
			for i+1 < len(text) && strings.ContainsRune(" \t\n", rune(text[i+1])) {
				if i++; text[i] == '\n' {
					breaks++
				}
			}
			if breaks == 1 {
				b.WriteByte(' ')
			} else {
				b.WriteString(strings.Repeat("\n", breaks-1))
			}
		default:
			b.WriteByte(c)
		}
	}
	return "", "", false
}

// escape writes what stands behind a backslash, and returns how many bytes of text that is; 0
// for one that does not end.
func escape(text string, b *strings.Builder) int {
	if text == "" {
		return 0
	}
	simple := map[byte]string{'a': "\a", 'b': "\b", 'f': "\f", 'v': "\v", 'n': "\n", 't': "\t", 'r': "\r", '0': "", 'e': "\x1b", '"': `"`, '\\': `\`, '/': "/", ' ': " ", '\n': ""}
	if s, ok := simple[text[0]]; ok {
		b.WriteString(s)
		return 1
	}
	digits := map[byte]int{'x': 2, 'u': 4, 'U': 8}[text[0]]
	if digits > 0 && len(text) > digits {
		if n, err := strconv.ParseUint(text[1:1+digits], 16, 32); err == nil && utf8.ValidRune(rune(n)) && n != 0 {
			b.WriteRune(rune(n))
			return 1 + digits
		}
	}
	b.WriteString(`\` + text[:1]) // it is not meant as one
	return 1
}

// brackets reads a list or a map in brackets. Ok is false if it is none, such as the
// "[file] [mode]" of a hint: then it is text.
func (p *parser) brackets(rest string, r row, indent, depth int) (v Value, ok bool) {
	at := p.at
	var after string
	text, ok := p.more(rest, indent, func(text string) bool {
		v, after, ok = flow(text, r.number, depth)
		return ok
	})
	if after = strings.TrimSpace(after); !ok || after != "" && after[0] != '#' {
		p.at = at
		return Value{}, false
	}
	v.Text = strings.TrimSpace(strings.TrimSuffix(text, after))
	return v, true
}

// flow reads the value in brackets, in quotes or plain that text begins with.
func flow(text string, line, depth int) (v Value, rest string, ok bool) {
	text = strings.TrimLeft(text, " \t\n")
	switch {
	case text == "" || depth > maxDepth:
		return Value{}, "", false
	case text[0] == '[' || text[0] == '{':
		return flowItems(text[0] == '{', text[1:], line, depth)
	case text[0] == '"' || text[0] == '\'':
		value, rest, ok := unquote(text)
		return Value{Line: line, Text: value, Quoted: true}, rest, ok
	}
	end := strings.IndexAny(text, ",]}\n")
	if end < 0 {
		return Value{}, "", false
	}
	return Value{Line: line, Text: strings.TrimSpace(text[:end])}, text[end:], true
}

// flowItems reads what stands in brackets, up to and with the one that closes.
func flowItems(isMap bool, text string, line, depth int) (v Value, rest string, ok bool) {
	v, closing := Value{Kind: List, Line: line}, "]"
	if isMap {
		v.Kind, closing = Map, "}"
	}
	for {
		text = strings.TrimLeft(text, " \t\n")
		if rest, ended := strings.CutPrefix(text, closing); ended {
			return v, rest, true
		}
		key := ""
		if isMap {
			if key, text, ok = flowKey(text); !ok {
				return Value{}, "", false
			}
		}
		item, after, ok := flow(text, line, depth+1)
		if !ok {
			return Value{}, "", false
		}
		if isMap {
			v.Fields = append(v.Fields, Field{key, line, item})
		} else {
			v.Items = append(v.Items, item)
		}
		text = strings.TrimLeft(after, " \t\n")
		if comma, more := strings.CutPrefix(text, ","); more {
			text = comma
		} else if !strings.HasPrefix(text, closing) {
			return Value{}, "", false
		}
	}
}

// flowKey reads "key:" of a map in brackets.
func flowKey(text string) (key, rest string, ok bool) {
	if text == "" {
		return "", "", false
	}
	if text[0] == '"' || text[0] == '\'' {
		if key, rest, ok = unquote(text); !ok {
			return "", "", false
		}
		rest, ok = strings.CutPrefix(strings.TrimLeft(rest, " "), ":")
		return key, rest, ok
	}
	key, rest, ok = strings.Cut(text, ":")
	return strings.TrimSpace(key), rest, ok && !strings.ContainsAny(key, ",]}\n")
}

// JSON returns v as JSON: texts without quotes that are numbers, true, false or null are that.
func (v Value) JSON() json.RawMessage {
	var b strings.Builder
	v.writeJSON(&b)
	return json.RawMessage(b.String())
}

func (v Value) writeJSON(b *strings.Builder) {
	text := func(s string) {
		encoder := json.NewEncoder(trimmed{b})
		encoder.SetEscapeHTML(false)
		_ = encoder.Encode(s) // a string has no error
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

// trimmed writes without the line break that an encoder ends with.
type trimmed struct{ b *strings.Builder }

func (t trimmed) Write(p []byte) (int, error) {
	t.b.WriteString(strings.TrimSuffix(string(p), "\n"))
	return len(p), nil
}
