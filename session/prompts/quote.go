package prompts

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// stand replaces values to find where in a command they are.
const stand = "PARLEY_VALUE"

// A template is a command with stand in place of its values.
type template struct {
	source string
	places []place
	unsure string // construct after which values cannot be quoted; "" if none precedes the last place
	reread string // name of the construct in which the shell evaluates values again; "" if none
}

// A place is the position of a value.
type place struct {
	at    int         // offset in the source
	in    syntax.Node // the innermost quotes, comment or command; nil if unknown
	value string
	words []string // words of the unquoted value
}

// parse sets the field in of each place.
func (t *template) parse() error {
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash), syntax.KeepComments(true)).Parse(strings.NewReader(t.source), "")
	if err != nil {
		return err
	}
	syntax.Walk(file, func(n syntax.Node) bool {
		if n == nil {
			return true
		}
		t.reread = cmp.Or(t.reread, rereadIn(n))
		switch n := n.(type) {
		case *syntax.Comment, *syntax.SglQuoted, *syntax.ProcSubst, *syntax.Lit:
			t.enter(n)
		case *syntax.CmdSubst:
			t.enter(n)
			t.doubt("`", n, n.Backquotes)
		case *syntax.DblQuoted:
			t.enter(n)
			for _, part := range n.Parts {
				_, expansion := part.(*syntax.ParamExp)
				t.doubt("quotes in ${ }", part, expansion && strings.ContainsAny(t.source[part.Pos().Offset():part.End().Offset()], `"'`))
			}
		case *syntax.Redirect:
			t.doubt("<<", n, n.Op == syntax.Hdoc || n.Op == syntax.DashHdoc)
		}
		return true
	})
	if slices.ContainsFunc(t.places, func(p place) bool { return p.in == nil }) {
		t.unsure = cmp.Or(t.unsure, "comments")
	}
	return nil
}

// enter records n as the innermost node of its places; it is inside the nodes
// visited before.
func (t *template) enter(n syntax.Node) {
	_, literal := n.(*syntax.Lit)
	for i := range t.places {
		p := &t.places[i]
		if int(n.Pos().Offset()) <= p.at && p.at < int(n.End().Offset()) && (p.in == nil || !literal) {
			p.in = n
		}
	}
}

// doubt records that values cannot be quoted after the beginning of n if n has its own quoting rules.
func (t *template) doubt(text string, n syntax.Node, own bool) {
	if own && t.places[len(t.places)-1].at > int(n.Pos().Offset()) {
		t.unsure = cmp.Or(t.unsure, text)
	}
}

// put returns the value of a place, quoted for that place.
func (t *template) put(p place) string {
	before := strings.TrimRight(t.source[:p.at], `\`)
	escape := strings.Repeat(`\`, (p.at-len(before))%2) // a backslash before the place is literal
	switch in := p.in.(type) {
	case *syntax.Comment:
		return strings.ReplaceAll(p.value, "\n", " ")
	case *syntax.SglQuoted:
		if !in.Dollar {
			return strings.ReplaceAll(p.value, "'", `'\''`)
		}
		return escape + strings.NewReplacer(`\`, `\\`, "'", `\'`).Replace(p.value)
	case *syntax.DblQuoted:
		return escape + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "$", `\$`, "`", "\\`").Replace(p.value)
	}
	if escape != "" {
		return escape + quoteWord(p.value)
	}
	var quoted []string
	for _, w := range p.words {
		quoted = append(quoted, quoteWord(w))
	}
	return strings.Join(quoted, " ")
}

// quoteWord quotes a value as one word of a shell.
func quoteWord(value string) string {
	if value != "" && isPlain(value) && value[0] != '=' {
		return value
	}
	return "'" + strings.ReplaceAll(value, "'", `'\''`) + "'"
}

// shell returns a command with its arguments inserted, each as one word. It refuses values where the
// shell's quoting is unknown, and where the shell evaluates values again regardless of quotes: in
// arithmetic, eval, declare and similar. Values of letters, digits and a few signs are allowed even
// there.
func (v *values) shell(nodes []node) (string, error) {
	var t template
	worst := ""
	for _, n := range nodes {
		p := place{at: len(t.source), value: v.value(n), words: []string{v.value(n)}}
		switch {
		case n.kind == literal:
			t.source += n.text
			continue
		case n.kind == all:
			p.words = v.words
		case n.kind == position && n.index >= len(v.words):
			continue
		}
		if len(p.words) == 0 {
			continue
		}
		t.places = append(t.places, p)
		t.source += stand
		for _, w := range p.words {
			if !isPlain(w) {
				worst = w
			}
		}
	}
	if len(t.places) == 0 {
		return t.source, nil
	}
	err := t.parse()
	if err != nil && strings.Contains(t.source, "<<") {
		t.unsure = "<<"
	}
	switch {
	case t.unsure != "":
		return "", errors.New("a placeholder after " + t.unsure + " cannot be quoted: set a variable before it, as in v=$1, and use \"$v\" there")
	case err != nil && worst != "":
		return "", fmt.Errorf("%.60q cannot be quoted in a command that cannot be read: %v", worst, err)
	case worst != "" && t.reread != "":
		return "", fmt.Errorf("%.60q cannot be quoted in a command with %s: the shell reads values there once more. Use letters, digits and %s", worst, t.reread, plainSigns)
	}
	var b strings.Builder
	end := 0
	for _, p := range t.places {
		b.WriteString(t.source[end:p.at] + t.put(p))
		end = p.at + len(stand)
	}
	return b.String() + t.source[end:], nil
}
