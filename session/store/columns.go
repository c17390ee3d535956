package store

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"parley/providers/llm"
	"parley/tools/swar"
)

// columns scans rows with columns of any type: in a damaged file, or one written
// by another program, SQLite allows any type in any column. A value of the wrong
// type is left zero and counted, so that the others of the row can be used. NULL
// is the zero value. The zero columns is ready to use; err begins the next row.
type columns struct{ damage []string }

// A scanner is a sql.Scanner of one column.
type scanner func(v any)

// Scan implements sql.Scanner.
func (s scanner) Scan(v any) error {
	s(v)
	return nil
}

var _ sql.Scanner = scanner(nil)

func (c *columns) addBad(name string, v any) {
	text := fmt.Sprint(v)
	if b, ok := v.([]byte); ok {
		text = string(b)
	}
	c.damage = append(c.damage, fmt.Sprintf("%s = %.40q", name, text))
}

// err returns the columns of the wrong type since the last call; nil if there are none.
func (c *columns) err() error {
	if len(c.damage) == 0 {
		return nil
	}
	err := errors.New(strings.Join(c.damage, ", "))
	c.damage = c.damage[:0]
	return err
}

// places returns Scan destinations for columns with these names, separated by spaces. To has the
// address of each value: a string, an integer, a bool, or a time as nanos writes it.
func (c *columns) places(names string, to ...any) []any {
	for i, name := range strings.Fields(names) {
		value := to[i]
		to[i] = scanner(func(v any) {
			if !set(value, v) {
				c.addBad(name, v)
			}
		})
	}
	return to
}

// set sets the value at an address from a column, and reports whether the types match. A number
// in a text column counts as damage, and is stored as its digits.
func set(to, v any) bool {
	null := v == nil
	n, isInt := v.(int64)
	switch to := to.(type) {
	case *string:
		switch v := v.(type) {
		case nil:
			*to = ""
		case string:
			*to = v
		case []byte:
			*to = string(v)
		default:
			*to = fmt.Sprint(v)
			return false
		}
		return true
	case *int:
		*to = int(n)
	case *int64:
		*to = n
	case *bool:
		*to = n == 1
		return null || isInt && (n == 0 || n == 1)
	case *time.Time:
		if *to = (time.Time{}); isInt {
			*to = time.Unix(0, n)
		}
	}
	return null || isInt
}

// A jsonReader reads JSON as encode writes it: no spaces, and fast if the fields of an object are in the order
// of their struct. Opening a conversation reads all its messages, and encoding/json takes five times as long.
// For any other JSON ok becomes false; then the caller discards the result and uses encoding/json.
type jsonReader struct {
	rest  string
	size  int // of the whole text, in bytes
	ok    bool
	begin byte // precedes the next field: { or ,
}

func newJSONReader(text string) *jsonReader {
	return &jsonReader{rest: text, size: len(text), ok: true}
}

// atEnd reports whether the whole text was read, without an error.
func (r *jsonReader) atEnd() bool { return r.ok && r.rest == "" }

// skip reports whether the rest begins with what, and skips it.
func (r *jsonReader) skip(what string) (found bool) {
	r.rest, found = strings.CutPrefix(r.rest, what)
	return found
}

func (r *jsonReader) expect(what string) { r.ok = r.skip(what) && r.ok }

// object reads an object. It calls fields, which reads the fields in their usual order, until
// there are no more.
func (r *jsonReader) object(fields func()) {
	r.begin = '{'
	fields()
	for left := 0; r.ok && len(r.rest) != left && strings.HasPrefix(r.rest, ","); {
		left = len(r.rest)
		fields()
	}
	if r.begin == '{' { // an empty object
		r.expect("{")
	}
	r.expect("}")
	r.begin = ','
}

// list reads a list; item reads one element of it.
func (r *jsonReader) list(item func()) {
	r.expect("[")
	for r.ok && !r.skip("]") {
		item()
		if !r.skip(",") {
			r.expect("]")
			return
		}
		r.ok = r.ok && !strings.HasPrefix(r.rest, "]")
	}
}

// field reports whether the next field is name, and skips its name and colon.
func (r *jsonReader) field(name string) bool {
	n, s := len(name), r.rest
	if !r.ok || len(s) < n+4 || s[0] != r.begin || s[1] != '"' || s[2:2+n] != name || s[2+n:n+4] != `":` {
		return false
	}
	r.rest, r.begin = s[n+4:], ','
	return true
}

// text reads a string.
func (r *jsonReader) text() string {
	r.expect(`"`)
	s, escaped := r.rest, false
	for i := plainPrefix(s, 0); r.ok && i < len(s); i = plainPrefix(s, i) {
		switch s[i] {
		case '"':
			r.rest = s[i+1:]
			return r.unescape(s[:i], escaped)
		case '\\':
			escaped = true
			i += 2
		default:
			r.ok = false
		}
	}
	r.ok = false
	return ""
}

// plainPrefix returns the index, from i on, of the first byte of s that is a quote, a backslash or a
// control character; its length if there is none.
func plainPrefix(s string, i int) int {
	for ; i+8 <= len(s); i += 8 {
		x := swar.Load(s, i)
		if found := swar.Equal(x, '"') | swar.Equal(x, '\\') | swar.Below(x, ' '); found != 0 {
			return i + swar.First(found)
		}
	}
	for i < len(s) && s[i] != '"' && s[i] != '\\' && s[i] >= ' ' {
		i++
	}
	return i
}

// unescape returns the value of a string without its quotes. A short string is copied, so that
// it does not keep the whole text in memory.
func (r *jsonReader) unescape(s string, escaped bool) string {
	r.ok = utf8.ValidString(s)
	switch {
	case !escaped && len(s) < r.size/2:
		return strings.Clone(s)
	case !escaped:
		return s
	}
	var into strings.Builder
	into.Grow(len(s))
	for r.ok {
		at := strings.IndexByte(s, '\\')
		if at < 0 {
			break
		}
		into.WriteString(s[:at])
		var c rune
		c, s = unescapedRune(s[at+1:])
		r.ok = c >= 0
		into.WriteRune(c)
	}
	into.WriteString(s)
	return into.String()
}

// unescapedRune returns the character that escape, a backslash and more, begins with, and the rest of escape;
// -1 if encode does not use this escape.
func unescapedRune(escape string) (c rune, rest string) {
	rest = escape[1:]
	switch escape[0] {
	case '"', '\\', '/':
		return rune(escape[0]), rest
	case 'b':
		return '\b', rest
	case 'f':
		return '\f', rest
	case 'n':
		return '\n', rest
	case 'r':
		return '\r', rest
	case 't':
		return '\t', rest
	case 'u':
		if len(rest) >= 4 {
			n, err := strconv.ParseUint(rest[:4], 16, 32)
			if err == nil && !utf16.IsSurrogate(rune(n)) {
				return rune(n), rest[4:]
			}
		}
	}
	return -1, rest
}

// number reads a number as encode writes it.
func (r *jsonReader) number() string {
	n := 0
	for n < len(r.rest) && isNumeric(r.rest[n]) {
		n++
	}
	text := r.rest[:n]
	r.rest = r.rest[n:]
	if digits := strings.TrimPrefix(text, "-"); digits == "" || len(digits) > 1 && digits[0] == '0' && digits[1] != '.' {
		r.ok = false
	}
	return text
}

// isNumeric reports whether c occurs in numbers.
func isNumeric(c byte) bool {
	return c-'0' <= 9 || c == '.' || c == '-' || c == '+' || c == 'e' || c == 'E'
}

func (r *jsonReader) int() int64 {
	n, err := strconv.ParseInt(r.number(), 10, 64)
	r.ok = r.ok && err == nil
	return n
}

func (r *jsonReader) float() float64 {
	text := r.number()
	if text == "0" { // most are
		return 0
	}
	n, err := strconv.ParseFloat(text, 64)
	r.ok = r.ok && err == nil && (isDecimal(text) || json.Valid([]byte(text)))
	return n
}

// isDecimal reports whether a number consists of digits alone, with or without a fraction.
func isDecimal(number string) bool {
	whole, fraction, found := strings.Cut(number, ".")
	return isDigits(whole) && (!found || isDigits(fraction))
}

func isDigits(text string) bool {
	for i := range len(text) {
		if text[i]-'0' > 9 {
			return false
		}
	}
	return text != ""
}

func (r *jsonReader) bool() (is bool) {
	if is = r.skip("true"); !is {
		r.expect("false")
	}
	return is
}

// readText reads the field name of an object into to if it is the next field. readInt and
// readBool do the same.
func readText[T ~string](r *jsonReader, name string, to *T) {
	if r.field(name) {
		*to = T(r.text())
	}
}

func readInt[T ~int | ~int64](r *jsonReader, name string, to *T) {
	if r.field(name) {
		n := r.int()
		*to = T(n)
		r.ok = r.ok && int64(*to) == n
	}
}

func readBool(r *jsonReader, name string, to *bool) {
	if r.field(name) {
		*to = r.bool()
	}
}

func readUsage(r *jsonReader, u *llm.Usage) {
	r.object(func() {
		readInt(r, "input", &u.Input)
		readInt(r, "cache_read", &u.CacheRead)
		readInt(r, "cache_write", &u.CacheWrite)
		readInt(r, "output", &u.Output)
		readInt(r, "thinking", &u.Thinking)
		if r.field("cost") {
			u.Cost = r.float()
		}
		readBool(r, "priced", &u.Priced)
		readBool(r, "shared", &u.Shared)
		readInt(r, "discarded", &u.Discarded)
		readInt(r, "searches", &u.Searches)
		readBool(r, "estimated", &u.Estimated)
	})
}

// decodeUsage reads a usage; after an error u is zero.
func decodeUsage(text string, u *llm.Usage) error {
	*u = llm.Usage{}
	r := newJSONReader(text)
	if readUsage(r, u); r.atEnd() {
		return nil
	}
	*u = llm.Usage{}
	err := json.Unmarshal([]byte(text), u)
	if err != nil {
		*u = llm.Usage{}
	}
	return err
}
