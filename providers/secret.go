package providers

import (
	"fmt"
	"io"
	"log/slog"
)

// A Secret is a key. However it is printed, formatted, logged or encoded, it
// reads [redacted]; only Reveal gives it out. Keep it in exported fields, for fmt
// cannot ask unexported ones, and out of the keys of maps, for encoding/json
// does not ask those.
type Secret string

const redacted = "[redacted]"

// Reveal returns the key itself, for the one place that sends it.
func (s Secret) Reveal() string { return string(s) }

// String returns [redacted], or "" if there is no key.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return redacted
}

// GoString returns String: %#v shows no key either.
func (s Secret) GoString() string { return s.String() }

// Format writes String for every verb, %x and %q among them.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, s.String()) }

// MarshalText gives String to JSON, TOML and other encoders.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText takes the key from a configuration file.
func (s *Secret) UnmarshalText(text []byte) error {
	*s = Secret(text)
	return nil
}

// LogValue gives String to slog.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }
