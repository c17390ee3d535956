package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// Text is a string in the JSON of an answer, possibly truncated at any byte, even inside a rune.
// Decoding keeps data that encoding/json would replace: invalid UTF-8, and halves of surrogate
// pairs, which become WTF-8 for llm.Out to join. Other JSON values decode to "".
type Text string

// UnmarshalJSON implements json.Unmarshaler.
func (t *Text) UnmarshalJSON(b []byte) error {
	s, err := Unquote(b)
	if err == nil {
		*t = Text(s)
	}
	return nil
}

// Quoted is the raw content of a JSON string, with its escapes. The concatenated pieces of a string
// are the string, even if it was split inside a rune.
type Quoted []byte

// UnmarshalJSON implements json.Unmarshaler.
func (q *Quoted) UnmarshalJSON(b []byte) error {
	*q = (*q)[:0]
	if len(b) >= 2 && b[0] == '"' {
		*q = append(*q, b[1:len(b)-1]...)
	}
	return nil
}

// JSON returns q as a JSON string.
func (q Quoted) JSON() json.RawMessage {
	return append(append([]byte{'"'}, q...), '"')
}

// Text returns the unescaped text of q; it may be truncated, see Text.
func (q Quoted) Text() string {
	s, _ := unescape(q)
	return s
}

var errNotString = errors.New("not a JSON string")

// Unquote decodes a JSON string as Text does.
func Unquote(b []byte) (string, error) {
	if len(b) < 2 || b[0] != '"' || b[len(b)-1] != '"' {
		return "", errNotString
	}
	return unescape(b[1 : len(b)-1])
}

// escapes holds the single-letter escapes.
var escapes = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// unescape decodes the content of a JSON string.
func unescape(b []byte) (string, error) {
	if bytes.IndexByte(b, '\\') < 0 {
		return string(b), nil
	}
	out := make([]byte, 0, len(b))
	for len(b) > 0 {
		n := bytes.IndexByte(b, '\\')
		if n < 0 {
			break
		}
		out, b = append(out, b[:n]...), b[n:]
		if len(b) > 1 && escapes[b[1]] != 0 {
			out, b = append(out, escapes[b[1]]), b[2:]
			continue
		}
		unit, ok := codeUnit(b)
		if !ok {
			return "", errNotString
		}
		b = b[6:]
		if next, ok := codeUnit(b); ok && utf16.DecodeRune(unit, next) != utf8.RuneError {
			unit, b = utf16.DecodeRune(unit, next), b[6:]
		}
		out = appendUnit(out, unit)
	}
	return string(append(out, b...)), nil
}

// codeUnit decodes an escape such as \u00e4 at the start of b.
func codeUnit(b []byte) (unit rune, ok bool) {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(string(b[2:6]), 16, 16)
	return rune(n), err == nil
}

// appendUnit appends r as UTF-8, or half of a surrogate pair as WTF-8.
func appendUnit(b []byte, r rune) []byte {
	if utf16.IsSurrogate(r) {
		return append(b, 0xED, 0x80|byte(r>>6)&0x3F, 0x80|byte(r)&0x3F)
	}
	return utf8.AppendRune(b, r)
}
