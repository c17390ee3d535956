package frontmatter

import (
	"strconv"
	"strings"
)

// A row is a line without its indentation.
type row struct {
	text   string
	indent int // spaces
	number int
}

// isBlank reports whether a row says nothing.
func (r row) isBlank() bool {
	t := strings.TrimSpace(r.text)
	return t == "" || t[0] == '#'
}

type parser struct {
	lines []row
	at    int
}

// skipBlank goes to the next row that says something, and reports whether there is one.
func (p *parser) skipBlank() bool {
	for p.at < len(p.lines) && p.lines[p.at].isBlank() {
		p.at++
	}
	return p.at < len(p.lines)
}

// block reads the map, list or text whose rows begin at indent.
func (p *parser) block(indent, depth int) (Value, error) {
	r := p.lines[p.at]
	switch {
	case depth > maxDepth:
		return Value{}, &Error{r.number, "values are nested too deeply"}
	case strings.HasPrefix(r.text, "\t"):
		return Value{}, &Error{r.number, "it is indented with a tab: use spaces"}
	case isItem(r.text):
		return p.list(indent, depth)
	}
	return p.fields(indent, depth)
}

// isItem reports whether a row is one of a list.
func isItem(text string) bool { return text == "-" || strings.HasPrefix(text, "- ") }

// fields reads a map whose keys begin at indent.
func (p *parser) fields(indent, depth int) (Value, error) {
	v := Value{Kind: Map, Line: p.lines[p.at].number}
	known := map[string]bool{}
	for p.skipBlank() {
		r := p.lines[p.at]
		if r.indent < indent || r.indent == indent && isItem(r.text) {
			break
		}
		key, rest, ok := cutKey(r.text)
		switch {
		case strings.HasPrefix(r.text, "\t"):
			return v, &Error{r.number, "it is indented with a tab: use spaces"}
		case r.indent > indent:
			return v, &Error{r.number, "it is indented more than the line above it"}
		case !ok:
			return v, &Error{r.number, "a key and a colon are expected, as in description: text"}
		}
		if known[key] {
			return v, &Error{r.number, "the key " + strconv.Quote(key) + " is there twice"}
		}
		known[key] = true
		p.at++
		value, err := p.value(rest, r, indent, depth)
		if err != nil {
			return v, err
		}
		v.Fields = append(v.Fields, Field{key, r.number, value})
	}
	return v, nil
}

// list reads a list whose dashes stand at indent.
func (p *parser) list(indent, depth int) (Value, error) {
	v := Value{Kind: List, Line: p.lines[p.at].number}
	for p.skipBlank() {
		r := p.lines[p.at]
		if r.indent < indent || !isItem(r.text) {
			break
		}
		if r.indent > indent {
			return v, &Error{r.number, "it is indented more than the line above it"}
		}
		rest := strings.TrimPrefix(r.text, "-")
		inner := strings.TrimLeft(rest, " ")
		if _, _, isKey := cutKey(inner); isKey || isItem(inner) { // "- key: value" begins a map
			p.lines[p.at] = row{inner, indent + 1 + len(rest) - len(inner), r.number}
			item, err := p.block(p.lines[p.at].indent, depth+1)
			if err != nil {
				return v, err
			}
			v.Items = append(v.Items, item)
			continue
		}
		p.at++
		item, err := p.value(inner, r, indent, depth)
		if err != nil {
			return v, err
		}
		v.Items = append(v.Items, item)
	}
	return v, nil
}

// cutKey splits "key: rest". A key may stand in quotes.
func cutKey(text string) (key, rest string, ok bool) {
	if text == "" || strings.ContainsRune("[]{}#&*!|>%@`,?", rune(text[0])) {
		return "", "", false
	}
	if quote := text[0]; quote == '"' || quote == '\'' {
		key, rest, ok = unquote(text)
		rest = strings.TrimLeft(rest, " \t")
		after, colon := strings.CutPrefix(rest, ":")
		return key, strings.TrimLeft(after, " \t"), ok && colon && (after == "" || after[0] == ' ' || after[0] == '\t')
	}
	for i := range len(text) {
		switch {
		case text[i] == ':' && (i+1 == len(text) || text[i+1] == ' ' || text[i+1] == '\t'):
			key = strings.TrimRight(text[:i], " \t")
			return key, strings.TrimLeft(text[i+1:], " \t"), key != ""
		case text[i] == '#' && i > 0 && text[i-1] == ' ':
			return "", "", false
		}
	}
	return "", "", false
}

// value reads what stands behind a key or a dash of r, which is at indent, and the rows that
// belong to it.
func (p *parser) value(rest string, r row, indent, depth int) (Value, error) {
	rest = strings.TrimRight(rest, " \t")
	switch {
	case rest == "" || rest[0] == '#':
		return p.below(r, indent, depth)
	case rest[0] == '|' || rest[0] == '>':
		if v, ok := p.literal(rest, r, indent); ok {
			return v, nil
		}
	case rest[0] == '&' && !strings.Contains(rest, " "), strings.HasPrefix(rest, "!!"):
		return Value{}, &Error{r.number, "anchors and tags of YAML are not supported here"}
	case rest[0] == '"' || rest[0] == '\'':
		if v, ok := p.quoted(rest, r, indent); ok {
			return v, nil
		}
	case rest[0] == '[' || rest[0] == '{':
		if v, ok := p.brackets(rest, r, indent, depth); ok {
			return v, nil
		}
		v, opening, closing := p.plain(rest, r, indent), rest[:1], map[byte]string{'[': "]", '{': "}"}[rest[0]]
		if strings.Count(v.Text, opening) > strings.Count(v.Text, closing) {
			return v, &Error{r.number, strconv.Quote(opening) + " is not closed: " + strconv.Quote(closing) + " is missing, or quotes around a text"}
		}
		return v, nil
	}
	return p.plain(rest, r, indent), nil
}

// below reads a value on the rows below its key; an empty text if there is none.
func (p *parser) below(r row, indent, depth int) (Value, error) {
	if p.skipBlank() {
		next := p.lines[p.at]
		_, _, isKey := cutKey(next.text)
		switch {
		case next.indent == indent && isItem(next.text) && !isItem(r.text), next.indent > indent && (isKey || isItem(next.text) || strings.HasPrefix(next.text, "\t")):
			return p.block(next.indent, depth+1)
		case next.indent > indent:
			p.at++
			return p.value(next.text, next, indent, depth)
		}
	}
	return Value{Line: r.number}, nil
}

// plain reads a text without quotes; rows that are indented more continue it.
func (p *parser) plain(rest string, r row, indent int) Value {
	words := []string{withoutComment(rest)}
	for p.at < len(p.lines) {
		next := p.lines[p.at]
		if next.indent <= indent || next.isBlank() {
			break
		}
		words = append(words, strings.TrimSpace(withoutComment(next.text)))
		p.at++
	}
	return Value{Line: r.number, Text: strings.Join(words, " ")}
}

// withoutComment returns text without a comment at its end.
func withoutComment(text string) string {
	if i := strings.Index(text, " #"); i >= 0 {
		text = text[:i]
	}
	return strings.TrimRight(text, " \t")
}

// literal reads a block text; sign is | or > with what stands behind it. Ok is false if that is
// no sign.
func (p *parser) literal(sign string, r row, indent int) (v Value, ok bool) {
	folded, chomp, own := sign[0] == '>', byte(0), 0
	for _, c := range []byte(strings.TrimRight(withoutComment(sign[1:]), " ")) {
		switch {
		case c == '+' || c == '-':
			chomp = c
		case c >= '1' && c <= '9' && own == 0:
			own = indent + int(c-'0')
		default:
			return Value{}, false
		}
	}
	var rows []string
	for ; p.at < len(p.lines); p.at++ {
		next := p.lines[p.at]
		blank := strings.TrimSpace(next.text) == ""
		if own == 0 && !blank && next.indent > indent {
			own = next.indent
		}
		switch {
		case blank:
			rows = append(rows, "")
			continue
		case own == 0 || next.indent < own:
		default:
			rows = append(rows, strings.Repeat(" ", next.indent-own)+next.text)
			continue
		}
		break
	}
	end := len(rows)
	for end > 0 && rows[end-1] == "" {
		end--
	}
	text := strings.Join(rows[:end], "\n")
	if folded {
		text = fold(rows[:end])
	}
	switch {
	case chomp == '+':
		text += strings.Repeat("\n", len(rows)-end+min(end, 1))
	case chomp == 0 && end > 0:
		text += "\n"
	}
	return Value{Line: r.number, Text: text, Quoted: true}, true
}

// fold joins rows with spaces; empty ones are line breaks, and those that are indented stay.
func fold(rows []string) string {
	var b strings.Builder
	for i, r := range rows {
		indented := strings.HasPrefix(r, " ")
		switch {
		case i == 0:
		case r == "" || indented || strings.HasPrefix(rows[i-1], " "):
			b.WriteByte('\n')
		case rows[i-1] != "":
			b.WriteByte(' ')
		}
		if r != "" && i > 1 && rows[i-1] == "" && indented {
			b.WriteByte('\n')
		}
		b.WriteString(r)
	}
	return b.String()
}
