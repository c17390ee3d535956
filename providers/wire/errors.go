package wire

import (
	"encoding/json"
	"errors"
	"unicode/utf8"

	"parley/providers/llm"
)

// ErrInterrupted is the error of an answer that ended without an end marker from the server.
var ErrInterrupted error = &llm.Error{Fault: llm.Network, Message: "the stream ended before the answer was complete"}

// WithProvider returns err as an *llm.Error with the provider, key and URL of o. An err without an
// *llm.Error becomes a connection error.
func WithProvider(err error, o Options) *llm.Error {
	fault := &llm.Error{Fault: llm.Network, Err: err}
	if found := (*llm.Error)(nil); errors.As(err, &found) {
		same := *found
		fault = &same
	}
	fault.Provider, fault.Key, fault.KeyStored, fault.URL = o.Provider, o.Key, o.KeyStored, Public(o.URL)
	return fault
}

// BodyError returns the error in an event or body of a response with status 200: the one of
// EventError, or else one that quotes the beginning of data.
func BodyError(data []byte) *llm.Error {
	if fault := EventError(data); fault != nil {
		return fault
	}
	return &llm.Error{Fault: llm.Server, Message: Excerpt(string(data))}
}

// proseError returns the error for a response with status 200 that contains plain text.
func proseError(text []byte) *llm.Error {
	if page := htmlMessage(nil, text); page != "" {
		return pageError(page)
	}
	if fault := EventError(text); fault != nil {
		return fault
	}
	return &llm.Error{Fault: llm.Server, Message: oneLine(string(text), rawLimit)}
}

// pageError returns the error for a web page instead of an answer; a retry would return the same
// page. Words come from htmlMessage.
func pageError(words string) *llm.Error {
	return &llm.Error{Fault: llm.InvalidRequest, Message: words + " instead of data: the base URL may be wrong, or a login page of the network stands in between"}
}

// DecodeError returns the error for data that is not JSON, given the decoder's err: ErrInterrupted
// if only the end is missing.
func DecodeError(data []byte, err error) error {
	if syntax := (*json.SyntaxError)(nil); errors.As(err, &syntax) && syntax.Error() == "unexpected end of JSON input" {
		return ErrInterrupted
	}
	return NotJSON(data)
}

// NotJSON returns the error for data that is not JSON. It must not be retried: a retry costs again
// and most likely returns the same.
func NotJSON(data []byte) error {
	return &llm.Error{Fault: llm.Unknown, Message: "the answer is not JSON: " + Excerpt(string(data))}
}

// Excerpt returns the beginning of s for an error message, without cutting a character.
func Excerpt(s string) string {
	const limit = 300 // bytes
	if len(s) <= limit {
		return s
	}
	end := limit
	for end > limit-utf8.UTFMax && !utf8.RuneStart(s[end]) { // binary data may have no rune starts
		end--
	}
	return s[:end] + "…"
}
