package adapter

import (
	"encoding/json"
	"errors"
)

// DecodeLenient is like json.Unmarshal, but skips fields of the wrong type: servers differ, and the
// other fields are still valid. It returns only syntax errors.
func DecodeLenient(data []byte, v any) error {
	err := json.Unmarshal(data, v)
	if err == nil {
		return nil
	}
	if syntax := (*json.SyntaxError)(nil); errors.As(err, &syntax) {
		return err
	}
	return nil
}

// IsPresent reports whether a raw field has a value other than null and "".
func IsPresent(raw json.RawMessage) bool {
	return len(raw) > 0 && string(raw) != "null" && string(raw) != `""`
}

// Marshal is like json.Marshal, without the escapes that only HTML needs, so that opaque data keeps
// its bytes. Invalid UTF-8 in strings becomes U+FFFD.
func Marshal(v any) ([]byte, error) { return encode(v, false) }

// TokenCount converts a number of tokens, which some servers write as a float; 0 if it is
// implausible.
func TokenCount(n float64) int {
	if !(n > 0 && n < 1<<40) {
		return 0
	}
	return int(n)
}
