package transcript

import (
	"encoding/json"
	"strings"
)

// telling are the arguments that say in one line what a call is about, the
// most telling first.
var telling = []string{"command", "cmd", "pattern", "query", "url", "path", "file_path", "filename", "file", "directory", "name"}

// peekAt is how much of the arguments is looked at: the telling ones come
// early, and the content of a file, which comes after, may be long.
const peekAt = 4 << 10

// peek finds the most telling string among the fields of a JSON object that
// may be cut anywhere, even inside that string; "" if there is none yet.
func peek(input string) string {
	input = input[:min(len(input), peekAt)]
	best, rank := "", len(telling)
	depth, key := 0, ""
	for i := 0; i < len(input); {
		switch c := input[i]; c {
		case '{', '[':
			depth++
			key = ""
			i++
		case '}', ']':
			depth--
			i++
		case ',':
			key = ""
			i++
		case '"':
			raw, size := quoted(input[i:])
			i += size
			if depth != 1 {
				continue
			}
			if key == "" {
				key = raw
				continue
			}
			if r := rankOf(key); r < rank {
				best, rank = raw, r
			}
		default:
			i++
		}
	}
	return unquote(best)
}

func rankOf(key string) int {
	for i, name := range telling {
		if name == key {
			return i
		}
	}
	return len(telling)
}

// quoted gives what stands between the quotes of the JSON string at the start
// of s, as it is written, and the bytes it takes with them. The closing quote
// may be missing.
func quoted(s string) (raw string, size int) {
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '"':
			return s[1:i], i + 1
		}
	}
	return s[1:], len(s)
}

// unquote reads the escapes of a JSON string that may be cut inside of one.
func unquote(raw string) string {
	for cut := 0; cut <= 12 && cut <= len(raw); cut++ { // a pair of \u escapes has 12 bytes
		var s string
		if json.Unmarshal([]byte(`"`+raw[:len(raw)-cut]+`"`), &s) == nil {
			return s
		}
	}
	return strings.ToValidUTF8(raw, "\uFFFD")
}
