package wire

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"parley/providers/llm"
	"parley/tools/sanitize"
)

const (
	redacted     = "[redacted]"
	messageLimit = 2000    // runes of a message, once it is masked
	rawLimit     = 8 << 10 // runes before, so that no cut runs through a secret that is then not found
)

// A mask takes secrets out of text, in every form in which servers and error
// texts echo them.
type mask struct {
	replacer *strings.Replacer
	forms    []string // what it replaces, the longest first
}

func newMask(secrets []string) mask {
	var all []string
	for _, s := range secrets {
		if s = strings.TrimSpace(s); len(s) >= 4 {
			all = append(all, secretForms(s)...)
		}
	}
	if len(all) == 0 {
		return mask{}
	}
	// Longest first: an encoded form may begin with the plain one.
	slices.SortFunc(all, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	all = slices.Compact(all)
	var pairs []string
	for _, form := range all {
		pairs = append(pairs, form, redacted)
	}
	return mask{strings.NewReplacer(pairs...), all}
}

// MaskText returns a function that takes secrets out of text, in every form in
// which they may stand there. Those that are shorter than shortest bytes are not
// looked for.
func MaskText(secrets []string, shortest int) func(string) string {
	long := slices.DeleteFunc(slices.Clone(secrets), func(s string) bool { return len(strings.TrimSpace(s)) < shortest })
	return newMask(long).text
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

func (m mask) text(s string) string {
	if m.replacer == nil {
		return s
	}
	return m.replacer.Replace(s)
}

func (m mask) header(h http.Header) http.Header {
	h = h.Clone()
	for _, values := range h {
		for i, v := range values {
			values[i] = m.text(v)
		}
	}
	return h
}

// oneLine returns s as one line of at most limit runes.
func oneLine(s string, limit int) string { return truncate(sanitize.Words(sanitize.Plain(s)), limit) }

// truncate shortens s to limit runes.
func truncate(s string, limit int) string {
	if len(s) <= limit || utf8.RuneCountInString(s) <= limit {
		return s
	}
	n := 0
	for i := range s {
		if n++; n == limit {
			return s[:i] + "…"
		}
	}
	return s
}

// MaskErrors returns m with errors that hold none of secrets, nor a token of tokens, which
// may be nil. Those inside of an answer do not pass a Client, which masks the others.
func MaskErrors(m llm.Model, secrets []string, tokens *TokenSource) llm.Model {
	return masked{m, newMask(secrets), tokens}
}

type masked struct {
	llm.Model
	mask   mask
	tokens *TokenSource
}

func (m masked) Stream(ctx context.Context, req llm.Request) llm.Stream {
	return func(yield func(llm.Event, error) bool) {
		for event, err := range m.Model.Stream(ctx, req) {
			if err != nil && m.tokens != nil {
				err = newMask(m.tokens.Values()).err(err)
			}
			if !yield(event, m.mask.err(err)) {
				return
			}
		}
	}
}

// err returns err, or what is told of it without secrets.
func (m mask) err(err error) error {
	if err == nil || m.replacer == nil {
		return err
	}
	var e *llm.Error
	if !errors.As(err, &e) {
		return err
	}
	told := *e
	for _, field := range []*string{&told.Message, &told.Code, &told.Param, &told.ID} {
		*field = m.text(*field)
	}
	if told.Message == e.Message && told.Code == e.Code && told.Param == e.Param && told.ID == e.ID {
		return err
	}
	if told.Err != nil && m.text(told.Err.Error()) != told.Err.Error() {
		told.Err = nil
	}
	return &told
}

// MaskError returns err, or what it tells without secrets.
func MaskError(err error, secrets []string) error { return newMask(secrets).err(err) }
