package sanitize

import "unicode/utf8"

// ellipsis stands where a text was cut.
const ellipsis = "…"

// Truncate returns text if it has at most limit characters, else so many of its first and an ellipsis. It
// makes nothing harmless.
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

// TruncateBytes returns text if it has at most limit bytes, else its beginning, of whole characters and
// so many bytes at most, and an ellipsis. It makes nothing harmless.
func TruncateBytes(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit] + ellipsis
}
