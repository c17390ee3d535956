package adapter

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"slices"
	"strconv"
	"unicode/utf8"

	"parley/tools/swar"
)

// An appender is a value that encodes itself as JSON.
type appender interface {
	// AppendJSON appends the value to dst; escapeHTML means that <, > and & in strings are escaped.
	AppendJSON(dst []byte, escapeHTML bool) ([]byte, error)
}

// AppendJSON appends v to dst, byte for byte as encoding/json would. It encodes the types of
// request bodies directly, and others with encoding/json. If it fails, dst is unchanged.
func AppendJSON(dst []byte, v any, escapeHTML bool) ([]byte, error) {
	switch v := v.(type) {
	case nil:
		return append(dst, "null"...), nil
	case string:
		return appendString(dst, v, escapeHTML), nil
	case bool:
		return strconv.AppendBool(dst, v), nil
	case int:
		return strconv.AppendInt(dst, int64(v), 10), nil
	case []byte:
		if v == nil {
			return append(dst, "null"...), nil
		}
		return append(base64.StdEncoding.AppendEncode(append(dst, '"'), v), '"'), nil
	case map[string]any:
		return appendObject(dst, v, escapeHTML)
	case []any:
		if v == nil {
			return append(dst, "null"...), nil
		}
		out, err := appendItems(append(dst, '['), v, false, escapeHTML)
		if err != nil {
			return dst, err
		}
		return append(out, ']'), nil
	case appender:
		return v.AppendJSON(dst, escapeHTML)
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(escapeHTML)
	if err := e.Encode(v); err != nil {
		return dst, err
	}
	return append(dst, bytes.TrimSuffix(b.Bytes(), []byte("\n"))...), nil
}

func appendObject(dst []byte, object map[string]any, escapeHTML bool) ([]byte, error) {
	if object == nil {
		return append(dst, "null"...), nil
	}
	out := append(dst, '{')
	var few [16]string // stays on the stack
	for i, key := range sortedKeys(few[:0], object) {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(appendString(out, key, escapeHTML), ':')
		var err error
		if out, err = AppendJSON(out, object[key], escapeHTML); err != nil {
			return dst, err
		}
	}
	return append(out, '}'), nil
}

// sortedKeys appends the sorted keys of object to keys.
func sortedKeys(keys []string, object map[string]any) []string {
	for key := range object {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

// appendItems appends items to dst with commas between them, and with comma one before the first.
func appendItems(dst []byte, items []any, comma, escapeHTML bool) ([]byte, error) {
	out := dst
	for _, item := range items {
		if comma {
			out = append(out, ',')
		}
		comma = true
		var err error
		if out, err = AppendJSON(out, item, escapeHTML); err != nil {
			return dst, err
		}
	}
	return out, nil
}

// shortEscapes maps characters to their single-letter escapes.
var shortEscapes = [utf8.RuneSelf]byte{'"': '"', '\\': '\\', '\b': 'b', '\f': 'f', '\n': 'n', '\r': 'r', '\t': 't'}

const hexDigits = "0123456789abcdef"

// plainPrefix returns the index, starting at i, of the first byte of s that needs escaping; len(s)
// if none does.
func plainPrefix(s string, i int, escapeHTML bool) int {
	for ; i+8 <= len(s); i += 8 {
		x := swar.Load(s, i)
		found := swar.Equal(x, '"') | swar.Equal(x, '\\') | swar.Below(x, ' ') | swar.NonASCII(x)
		if escapeHTML {
			found |= swar.Equal(x, '<') | swar.Equal(x, '>') | swar.Equal(x, '&')
		}
		if found != 0 {
			return i + swar.First(found)
		}
	}
	for i < len(s) && isPlain(s[i], escapeHTML) {
		i++
	}
	return i
}

// isPlain reports whether a byte of a string needs no escaping.
func isPlain(c byte, escapeHTML bool) bool {
	return c >= ' ' && c < utf8.RuneSelf && c != '"' && c != '\\' && !(escapeHTML && (c == '<' || c == '>' || c == '&'))
}

// appendString appends s in quotes. Invalid UTF-8 becomes U+FFFD, and characters that end a line
// only in JavaScript are escaped.
func appendString(dst []byte, s string, escapeHTML bool) []byte {
	dst = append(dst, '"')
	start := 0 // start of the bytes not yet appended
	for i := 0; i < len(s); {
		c := s[i]
		if isPlain(c, escapeHTML) {
			i = plainPrefix(s, i+1, escapeHTML)
			continue
		}
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRuneInString(s[i:])
			switch {
			case r == utf8.RuneError && size == 1:
				dst = append(append(dst, s[start:i]...), `\ufffd`...)
			case r == '\u2028' || r == '\u2029':
				dst = append(append(dst, s[start:i]...), `\u202`...)
				dst = append(dst, hexDigits[r&0xf])
			default:
				i += size
				continue
			}
			i += size
			start = i
			continue
		}
		dst = append(dst, s[start:i]...)
		if short := shortEscapes[c]; short != 0 {
			dst = append(dst, '\\', short)
		} else {
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&0xf])
		}
		i++
		start = i
	}
	return append(append(dst, s[start:]...), '"')
}
