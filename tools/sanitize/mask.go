package sanitize

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"net/url"
	"slices"
	"strings"
)

// Redacted stands where a secret was.
const Redacted = "[redacted]"

// A Mask takes secrets out of text, in every form in which servers, programs and
// error texts echo them. A text is masked before it is shortened: a cut through a secret
// leaves a part that is not found. The zero value takes nothing out. A Mask is safe for
// concurrent use.
type Mask struct {
	replacer *strings.Replacer
	forms    []string // what it replaces, the longest first
}

// NewMask returns a mask of secrets. White space around them does not count, and those of
// fewer than shortest bytes are not looked for: they are words that stand in any text.
func NewMask(secrets []string, shortest int) Mask {
	var all []string
	for _, s := range secrets {
		if s = strings.TrimSpace(s); s != "" && len(s) >= shortest {
			all = append(all, secretForms(s)...)
		}
	}
	if len(all) == 0 {
		return Mask{}
	}
	// Longest first: an encoded form may begin with the plain one.
	slices.SortFunc(all, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	all = slices.Compact(all)
	var pairs []string
	for _, form := range all {
		pairs = append(pairs, form, Redacted)
	}
	return Mask{strings.NewReplacer(pairs...), all}
}

// IsZero reports whether m takes nothing out.
func (m Mask) IsZero() bool { return m.replacer == nil }

// Text returns s without secrets, and everything else as it is.
func (m Mask) Text(s string) string {
	if m.replacer == nil {
		return s
	}
	return m.replacer.Replace(s)
}

// Plain returns s as [Plain] makes it, without secrets: also one that an escape sequence or
// something invisible ran through.
func (m Mask) Plain(s string) string { return m.Text(Plain(m.Text(s))) }

// Line returns s on one line of at most limit runes, without secrets.
func (m Mask) Line(s string, limit int) string { return Truncate(Line(Words(m.Plain(s))), limit) }

// minTorn bounds how much of a secret there must be to be taken for one.
const minTorn = 4

// DropTornEnd returns the beginning of a longer text with [Redacted] in place of the
// beginning of a secret at its end.
func (m Mask) DropTornEnd(s string) string {
	n := m.torn(s, minTorn, func(form string, n int) bool { return strings.HasSuffix(s, form[:n]) })
	if n == 0 {
		return s
	}
	return s[:len(s)-n] + Redacted
}

// DropTornStart returns the end of a longer text with [Redacted] in place of the end of a
// secret at its beginning.
func (m Mask) DropTornStart(s string) string {
	n := m.tornStart(s, minTorn)
	if n == 0 {
		return s
	}
	return Redacted + s[n:]
}

// Excerpt returns s as Text does. Where s begins or ends with "…", it was shortened there: what is left
// of a secret that was cut is taken out as well.
func (m Mask) Excerpt(s string) string {
	s = m.Text(s)
	inner, ended := strings.CutSuffix(s, "…")
	inner, began := strings.CutPrefix(inner, "…")
	switch {
	case began && ended && len(inner) >= minTorn && slices.ContainsFunc(m.forms, func(form string) bool { return strings.Contains(form, inner) }):
		inner = Redacted
	case ended:
		inner = m.DropTornEnd(inner)
	}
	if began {
		inner = "…" + m.DropTornStart(inner)
	}
	if ended {
		inner += "…"
	}
	return inner
}

// maxTornWord bounds how long a word is that is left out because its beginning is missing.
const maxTornWord = 1 << 10

// TrimTornStart returns the end of a longer text without what may be the end of a secret at
// its beginning, however short: that, and the rest of the word that it stands in.
func (m Mask) TrimTornStart(s string) string {
	if m.replacer == nil {
		return s
	}
	s = s[m.tornStart(s, 1):]
	if i := strings.IndexAny(s, " \t\r\n"); 0 < i && i < maxTornWord {
		return s[i:]
	}
	return s
}

func (m Mask) tornStart(s string, least int) int {
	return m.torn(s, least, func(form string, n int) bool { return strings.HasPrefix(s, form[len(form)-n:]) })
}

// torn returns the length of the longest piece of a secret that stands in s, of at least so
// many bytes, as isTorn finds the n bytes of one; 0 if there is none.
func (m Mask) torn(s string, least int, isTorn func(form string, n int) bool) (longest int) {
	for _, form := range m.forms {
		for n := min(len(form)-1, len(s)); n >= least && n > longest; n-- {
			if isTorn(form, n) {
				longest = n
			}
		}
	}
	return longest
}

// secretForms lists secret as it is, and as URL, JSON, HTML, hexadecimal and base64
// text.
func secretForms(secret string) []string {
	all := []string{secret}
	for _, escaped := range []string{url.QueryEscape(secret), url.PathEscape(secret)} {
		all = append(all, escaped, lowerHexEscapes(escaped))
	}
	all = append(all, html.EscapeString(secret))
	for _, escape := range []bool{true, false} {
		once := jsonQuoted(secret, escape)
		all = append(all, once, jsonQuoted(once, escape)) // twice in arguments of calls
	}
	if len(secret) < 8 {
		return all // what follows is short enough to occur by chance
	}
	for _, format := range []string{"%02x", "%02X", "%%%02x", "%%%02X", "\\x%02x", "\\x%02X"} {
		all = append(all, formatEach([]byte(secret), format))
	}
	for _, format := range []string{"&#%d;", "&#x%x;", "&#x%X;", "\\u%04x", "\\u%04X"} {
		all = append(all, formatEach([]rune(secret), format))
	}
	for _, once := range base64Forms(secret) {
		all = append(append(all, once), base64Forms(once)...)
	}
	return all
}

// formatEach writes every byte or rune of a secret in a format.
func formatEach[T byte | rune](secret []T, format string) string {
	var b strings.Builder
	for _, c := range secret {
		fmt.Fprintf(&b, format, c)
	}
	return b.String()
}

// base64Forms lists s as it can stand in base64, of either alphabet, as far as that
// does not depend on what is around it: "user:secret" moves the secret against the
// groups of three bytes.
func base64Forms(s string) []string {
	var all []string
	for shift := range 3 {
		e := base64.RawStdEncoding.EncodeToString([]byte("\x00\x00"[:shift] + s))
		e = e[(shift*8+5)/6:]
		if (shift+len(s))%3 != 0 {
			e = e[:len(e)-1] // shares bits with what follows
		}
		all = append(all, e)
		if other := strings.NewReplacer("+", "-", "/", "_").Replace(e); other != e {
			all = append(all, other)
		}
	}
	return all
}

// jsonQuoted returns s as it stands between the quotes of a JSON string.
func jsonQuoted(s string, escapeHTML bool) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(escapeHTML)
	if enc.Encode(s) != nil {
		return s
	}
	text := strings.TrimSuffix(b.String(), "\n")
	return text[1 : len(text)-1]
}

// lowerHexEscapes writes the escapes of a URL as %2f instead of %2F.
func lowerHexEscapes(s string) string {
	b := []byte(s)
	for i := 0; i+2 < len(b); i++ {
		if b[i] == '%' {
			copy(b[i:], bytes.ToLower(b[i:i+3]))
		}
	}
	return string(b)
}
