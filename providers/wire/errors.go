package wire

import (
	"encoding/json"
	"errors"
	"unicode/utf8"

	"parley/providers/llm"
)

// ErrInterrupted is why an answer ended without the server having said so.
var ErrInterrupted error = &llm.Error{Fault: llm.Network, Message: "the stream ended before the answer was complete"}

// WithProvider returns err with the names of who failed, as o has them. What is no
// *llm.Error yet comes from the connection.
func WithProvider(err error, o Options) *llm.Error {
	fault := &llm.Error{Fault: llm.Network, Err: err}
	if found := (*llm.Error)(nil); errors.As(err, &found) {
		same := *found
		fault = &same
	}
	fault.Provider, fault.Key, fault.KeyStored, fault.URL = o.Provider, o.Key, o.KeyStored, Public(o.URL)
	return fault
}

// BodyError returns the error that an event or a body of a 200 answer tells: what
// EventFault makes of it, or else its beginning.
func BodyError(data []byte) *llm.Error {
	if fault := EventError(data); fault != nil {
		return fault
	}
	return &llm.Error{Fault: llm.Server, Message: Excerpt(string(data))}
}

// DecodeError returns the error of data that err says is not JSON: ErrCut if only the
// end is missing.
func DecodeError(data []byte, err error) error {
	if syntax := (*json.SyntaxError)(nil); errors.As(err, &syntax) && syntax.Error() == "unexpected end of JSON input" {
		return ErrInterrupted
	}
	return &llm.Error{Fault: llm.Server, Message: "not JSON: " + Excerpt(string(data)), Err: err}
}

// Excerpt returns as much of s as fits into a message, whole characters.
func Excerpt(s string) string {
	const limit = 300 // bytes
	if len(s) <= limit {
		return s
	}
	end := limit
	for end > limit-utf8.UTFMax && !utf8.RuneStart(s[end]) { // what is no text has no beginning
		end--
	}
	return s[:end] + "…"
}
