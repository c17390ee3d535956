package permission

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"

	"parley/tools/lazy"
)

// wordValue is the static value of a word.
type wordValue struct {
	text         string // without quotes
	isKnown      bool   // text is the whole value
	unquotedText string // text outside of quotes, without escaped characters
	isPlain      bool   // the text is literal: no $'…', no backslash
}

// isStatic reports whether the word always has the same value. Globs and braces do not: a
// file's name can begin with a dash.
func (v wordValue) isStatic() bool { return v.isKnown && v.isPlain }

// evalWord evaluates the static parts of a word.
func evalWord(word *syntax.Word) wordValue {
	v := wordValue{isKnown: true, isPlain: true}
	var text, bare strings.Builder
	for _, part := range word.Parts {
		switch part := part.(type) {
		case *syntax.Lit:
			text.WriteString(escaped.ReplaceAllString(part.Value, "$1"))
			bare.WriteString(escaped.ReplaceAllString(part.Value, ""))
			if strings.Contains(part.Value, `\`) { // other shells may treat it differently
				v.isPlain = false
			}
		case *syntax.SglQuoted:
			if !part.Dollar {
				text.WriteString(part.Value)
				continue
			}
			v.isPlain = false
			// A format without arguments processes only escapes.
			decoded, _, err := expand.Format(&expand.Config{}, part.Value, nil)
			v.isKnown = v.isKnown && err == nil && !strings.Contains(decoded, "\x00") && !oddEscape.MatchString(part.Value)
			text.WriteString(decoded)
		case *syntax.DblQuoted:
			if part.Dollar { // translated text
				v.isPlain = false
			}
			inner := (&syntax.Word{Parts: part.Parts}).Lit() // empty if it has others
			v.isKnown = v.isKnown && (inner != "" || len(part.Parts) == 0)
			text.WriteString(escapedInQuotes.ReplaceAllString(inner, "$1"))
		default:
			v.isKnown = false
		}
	}
	v.text, v.unquotedText = text.String(), bare.String()
	v.isKnown = v.isKnown && !isExpanded(v.unquotedText)
	return v
}

var (
	escaped         = lazy.NewRegexp(`(?s)\\(?:\n|(.?))`)
	escapedInQuotes = lazy.NewRegexp(`\\(?:\n|([\\"$\x60]))`)
	// oddEscape matches text in $'…' with an escape that shells treat differently: \x{…}, or \c for a
	// control character.
	oddEscape = lazy.NewRegexp(`(?s)^(?:[^\\]|\\.)*?\\(?:c|x\{)`)
)

// mayBe reports whether a word, possibly dynamic, may have the value want, or expand to several words beginning with
// it.
func mayBe(word, want string) bool {
	source, dynamic := strings.CutPrefix(word, dynamicMark)
	start, _ := literalStart(source)
	return dynamic && strings.HasPrefix(want, start)
}

var (
	wholeInQuotes = lazy.NewRegexp(`^"[^"@]*"$`)
	fileName      = lazy.NewRegexp(`[/.:=@%+,*?\]][A-Za-z0-9]+"?$`) // the end of one, after an expansion
)

// mayBeOption reports whether a word, possibly dynamic, may be or expand to an option.
func mayBeOption(word string) bool {
	source, dynamic := strings.CutPrefix(word, dynamicMark)
	start, rest := literalStart(source)
	switch {
	case !dynamic:
		return false
	case strings.ContainsAny(rest, "$`") && !wholeInQuotes.MatchString(source):
		return true
	case start == "":
		return !fileName.MatchString(source)
	}
	return start[0] == '-' && !strings.HasPrefix(start, "--")
}

// literalStart returns the literal text before the first expansion, without a quote, and the rest.
func literalStart(source string) (start, rest string) {
	source = strings.TrimLeft(source, `"'`)
	if i := strings.IndexAny(source, "$*?[{`\"'\\<"); i >= 0 {
		return source[:i], source[i:]
	}
	return source, ""
}

// isExpanded reports whether a shell expands unquoted text. Braces of a git revision, as in
// stash@{0}, do not count.
func isExpanded(bare string) bool {
	bare = strings.ReplaceAll(bare, "{}", "") // an empty list is not expanded
	return expansion.MatchString(bare) || strings.Contains(bare, "{") && (strings.Contains(bare, "..") || !revision.MatchString(bare))
}

var (
	expansion = lazy.NewRegexp(`[*?]|\[.|.\[|^~|[=:]~`) // [ alone is a program
	revision  = lazy.NewRegexp(`^[^{,]*[@^]\{[^{,]*$`)
)

// invisibleReason returns why a user could misread a line; "" if not.
func invisibleReason(line string) string {
	for i, r := range line {
		switch {
		case r == utf8.RuneError && !strings.HasPrefix(line[i:], "\uFFFD"):
			return "is not valid UTF-8"
		case r == '\n', r == '\t', r >= ' ' && r < 0x7f:
		case !unicode.IsGraphic(r), unicode.IsSpace(r), unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r), unicode.Is(unicode.Variation_Selector, r), r == 0x2800:
			return fmt.Sprintf("contains an invisible character: U+%04X", r)
		case r >= 0xff00 && r <= 0xff5e, r >= 0x1d400 && r <= 0x1d7ff, r >= 0x2100 && r <= 0x214f:
			return fmt.Sprintf("contains a lookalike character: U+%04X", r)
		}
	}
	return ""
}

// lookalikeReason returns why a word could be mistaken for another; "" if not.
func lookalikeReason(v wordValue) string {
	for _, r := range symbol.FindString(v.unquotedText) {
		return fmt.Sprintf("contains a lookalike character: U+%04X", r)
	}
	mixed := latinLookalike
	if strings.HasPrefix(v.text, "-") {
		mixed = notASCII
	}
	if run := mixed.FindString(v.text); run != "" {
		return "mixes alphabets: " + run
	}
	return ""
}

var (
	symbol   = lazy.NewRegexp(`[^\x00-\x7f\pL\pM\p{Nd}]`)
	notASCII = lazy.NewRegexp(`[\pL\pM]*(?:[^\PLA-Za-z]|\pM)[\pL\pM]*`)
	// latinLookalike matches Latin letters with those of scripts that look like them.
	latinLookalike = lazy.NewRegexp(`[\pL\pM]*(?:[A-Za-z][\pL\pM]*` + lookalikes + `|` + lookalikes + `[\pL\pM]*[A-Za-z])[\pL\pM]*`)
)

const lookalikes = `[\p{Cyrillic}\p{Greek}\p{Armenian}\p{Cherokee}\p{Coptic}\p{Lisu}]`
