package wire

import (
	"encoding/json"
	"errors"
	"unicode/utf8"

	"parley/providers/llm"
)

// ErrInterrupted is why an answer ended without the server having said so.
var ErrInterrupted error = &llm.Error{Fault: llm.Network, Message: "the stream ended before the answer was complete"}

// WithProvider returns err as an *llm.Error with the provider, key and URL of o. Any other error
// becomes a connection error.
func WithProvider(err error, o Options) *llm.Error {
	fault := &llm.Error{Fault: llm.Network, Err: err}
	if found := (*llm.Error)(nil); errors.As(err, &found) {
		same := *found
		fault = &same
	}
	fault.Provider, fault.Key, fault.KeyStored, fault.URL = o.Provider, o.Key, o.KeyStored, Public(o.URL)
	return fault
}

// BodyError returns the error of an event or a body of a 200 answer: that of EventError, or else
// one with its beginning.
func BodyError(data []byte) *llm.Error {
	if fault := EventError(data); fault != nil {
		return fault
	}
	return &llm.Error{Fault: llm.Server, Message: Excerpt(string(data))}
}

// proseError returns the error of a 200 answer in words.
func proseError(text []byte) *llm.Error {
	if page := htmlMessage(nil, text); page != "" {
		return pageError(page)
	}
	if fault := EventError(text); fault != nil {
		return fault
	}
	return &llm.Error{Fault: llm.Server, Message: oneLine(string(text), rawLimit)}
}

// pageError returns the error of a web page in the place of an answer: asking again would bring the
// same page. Words are those of htmlMessage.
func pageError(words string) *llm.Error {
	return &llm.Error{Fault: llm.InvalidRequest, Message: words + " instead of data: the base URL may be wrong, or a login page of the network stands in between"}
}

// DecodeError returns the error of data that is not JSON, by err: ErrInterrupted if only the end is
// missing.
func DecodeError(data []byte, err error) error {
	if syntax := (*json.SyntaxError)(nil); errors.As(err, &syntax) && syntax.Error() == "unexpected end of JSON input" {
		return ErrInterrupted
	}
	return NotJSON(data)
}

// NotJSON returns the error of data that is not JSON. Asking again would be paid for again, and most
// likely bring the same.
func NotJSON(data []byte) error {
	return &llm.Error{Fault: llm.Unknown, Message: "the answer is not JSON: " + Excerpt(string(data))}
}

// Excerpt returns the beginning of s for an error message, of whole characters.
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
