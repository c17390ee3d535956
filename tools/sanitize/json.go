package sanitize

import (
	"bytes"
	"fmt"
	"unicode/utf16"
)

// JSON escapes characters in JSON text that terminals interpret or do not show:
// the control characters DEL to U+009F, which JSON permits unescaped, and
// bidirectional and invisible characters. The value stays the same.
func JSON(b []byte) []byte {
	ascii := 0
	for ascii < len(b) && b[ascii] < 0x7f {
		ascii++
	}
	if bytes.IndexFunc(b[ascii:], unseenInJSON) < 0 {
		return b
	}
	var out bytes.Buffer
	for _, r := range string(b) {
		switch {
		case !unseenInJSON(r):
			out.WriteRune(r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&out, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&out, `\u%04x`, r)
		}
	}
	return out.Bytes()
}

func unseenInJSON(r rune) bool { return r >= 0x7f && (r <= 0x9f || IsInvisible(r)) }
