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

// Redacted replaces secrets.
const Redacted = "[redacted]"

// A Mask removes secrets from text, in all forms in which servers, programs and error
// texts echo them. Mask a text before truncating it: part of a secret is not recognized.
// The zero value removes nothing. A Mask is safe for concurrent use.
type Mask struct {
	replacer *strings.Replacer
	forms    []string // texts that it replaces, longest first
}

// NewMask returns a mask of secrets. White space around them is ignored, and so are
// secrets of fewer than shortest bytes, which could occur in any text.
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

// IsZero reports whether m removes nothing.
func (m Mask) IsZero() bool { return m.replacer == nil }

// Text returns s with secrets redacted, otherwise unchanged.
func (m Mask) Text(s string) string {
	if m.replacer == nil {
		return s
	}
	return m.replacer.Replace(s)
}

// Plain returns s processed by [Plain], without secrets, including those interrupted by an
// escape sequence or invisible characters.
func (m Mask) Plain(s string) string { return m.Text(Plain(m.Text(s))) }

// Line returns s on one line of at most limit runes, without secrets.
func (m Mask) Line(s string, limit int) string { return Truncate(Line(Words(m.Plain(s))), limit) }

// minTorn is the shortest part of a secret that is recognized.
const minTorn = 4

// DropTornEnd returns the beginning of a longer text with the part of a secret at
// its end replaced by [Redacted].
func (m Mask) DropTornEnd(s string) string {
	n := m.torn(s, minTorn, func(form string, n int) bool { return strings.HasSuffix(s, form[:n]) })
	if n == 0 {
		return s
	}
	return s[:len(s)-n] + Redacted
}

// DropTornStart returns the end of a longer text with the part of a secret at its
// beginning replaced by [Redacted].
func (m Mask) DropTornStart(s string) string {
	n := m.tornStart(s, minTorn)
	if n == 0 {
		return s
	}
	return Redacted + s[n:]
}

// Excerpt is Text for a text that may have been truncated: if s begins or ends with "…", a partial
// secret there is redacted as well.
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

// maxTornWord is the longest word that is removed because its beginning is missing.
const maxTornWord = 1 << 10

// TrimTornStart returns the end of a longer text without a possible partial secret, however
// short, at its beginning: it removes that and the rest of its word.
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

// torn returns the length of the longest partial secret in s, of at least least bytes,
// where isTorn tests for n bytes of a form; 0 if there is none.
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

// secretForms lists secret literally and encoded as URL, JSON, HTML, hexadecimal
// and base64 text.
func secretForms(secret string) []string {
	all := []string{secret}
	for _, escaped := range []string{url.QueryEscape(secret), url.PathEscape(secret)} {
		all = append(all, escaped, lowerHexEscapes(escaped))
	}
	all = append(all, html.EscapeString(secret))
	for _, escape := range []bool{true, false} {
		once := jsonQuoted(secret, escape)
		all = append(all, once, jsonQuoted(once, escape)) // arguments of calls are encoded twice
	}
	if len(secret) < 8 {
		return all // further forms are short enough to occur by chance
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

// base64Forms lists the encodings of s in base64, in both alphabets, as far as they
// do not depend on the surrounding bytes: "user:secret" shifts the secret relative
// to the groups of three bytes.
func base64Forms(s string) []string {
	var all []string
	for shift := range 3 {
		e := base64.RawStdEncoding.EncodeToString([]byte("\x00\x00"[:shift] + s))
		e = e[(shift*8+5)/6:]
		if (shift+len(s))%3 != 0 {
			e = e[:len(e)-1] // its bits depend on the following byte
		}
		all = append(all, e)
		if other := strings.NewReplacer("+", "-", "/", "_").Replace(e); other != e {
			all = append(all, other)
		}
	}
	return all
}

// jsonQuoted returns s as it appears inside a JSON string.
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
