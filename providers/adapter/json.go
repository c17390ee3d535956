package adapter

import (
	"encoding/json"
	"errors"
)

// DecodeLenient works as json.Unmarshal, but skips fields of the wrong type: servers differ
// in what they send, and the rest is still good. Its errors are of the syntax.
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

// IsPresent reports whether a raw field says anything.
func IsPresent(raw json.RawMessage) bool {
	return len(raw) > 0 && string(raw) != "null" && string(raw) != `""`
}

// Marshal works as json.Marshal, without the escapes that only HTML needs, so that what is
// opaque keeps its bytes. Invalid UTF-8 in strings becomes U+FFFD.
func Marshal(v any) ([]byte, error) { return AppendJSON(nil, v, false) }

// TokenCount returns a number of tokens, which some servers write as a float; 0 if it
// cannot be one.
func TokenCount(n float64) int {
	if !(n > 0 && n < 1<<40) {
		return 0
	}
	return int(n)
}
