package sanitize

import "unicode/utf8"

// ellipsis marks truncated text.
const ellipsis = "…"

// Truncate returns text if it has at most limit characters, else its first limit characters and an
// ellipsis. It does not sanitize.
func Truncate(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	for i := range text {
		if limit--; limit < 0 {
			return text[:i] + ellipsis
		}
	}
	return text
}

// TruncateBytes returns text if it has at most limit bytes, else its first whole characters within
// limit bytes and an ellipsis. It does not sanitize.
func TruncateBytes(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit] + ellipsis
}
