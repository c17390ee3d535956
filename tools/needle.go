package tools

import (
	"bytes"
	"regexp/syntax"
	"strings"
)

// needles are texts for an expression: every match contains one, so that a text without any need not be
// matched. None: nothing is known.
type needles struct {
	texts   [][]byte
	anyCase bool // texts are in lower case, and upper case counts as well
}

// maxNeedles is how many texts are looked for before an expression is matched.
const maxNeedles = 8

// neededBy returns the longest needles of an expression.
func neededBy(e *syntax.Regexp) (n needles) {
	switch e.Op {
	case syntax.OpLiteral:
		if e.Flags&syntax.FoldCase == 0 {
			return needles{texts: [][]byte{[]byte(string(e.Rune))}}
		}
		// The letters k and s have a third form, as others have that are not ASCII.
		for _, part := range strings.FieldsFunc(string(e.Rune), func(r rune) bool { return r >= 0x80 || strings.ContainsRune("kKsS", r) }) {
			n = n.orLonger(needles{[][]byte{bytes.ToLower([]byte(part))}, true})
		}
	case syntax.OpConcat:
		for _, sub := range e.Sub {
			n = n.orLonger(neededBy(sub))
		}
	case syntax.OpAlternate:
		for _, sub := range e.Sub {
			m := neededBy(sub)
			if len(m.texts) == 0 || len(n.texts)+len(m.texts) > maxNeedles {
				return needles{}
			}
			n = needles{append(n.texts, m.texts...), n.anyCase || m.anyCase}
		}
		for i := range n.texts {
			if n.anyCase {
				n.texts[i] = bytes.ToLower(n.texts[i])
			}
		}
	case syntax.OpCapture, syntax.OpPlus:
		return neededBy(e.Sub[0])
	case syntax.OpRepeat:
		if e.Min > 0 {
			return neededBy(e.Sub[0])
		}
	}
	return n
}

// orLonger returns m if its shortest text is longer than that of n.
func (n needles) orLonger(m needles) needles {
	if n.shortest() < m.shortest() {
		return m
	}
	return n
}

func (n needles) shortest() (size int) {
	for i, text := range n.texts {
		if i == 0 || len(text) < size {
			size = len(text)
		}
	}
	return size
}

// in reports whether content has one of n, or n is empty. It may use lower as a buffer.
func (n needles) in(content []byte, lower *[]byte) bool {
	if n.anyCase {
		*lower = append((*lower)[:0], content...)
		for i, c := range *lower {
			if 'A' <= c && c <= 'Z' {
				(*lower)[i] = c + 'a' - 'A'
			}
		}
		content = *lower
	}
	for _, text := range n.texts {
		if bytes.Contains(content, text) {
			return true
		}
	}
	return len(n.texts) == 0
}
