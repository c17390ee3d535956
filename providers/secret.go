package providers

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"

	"parley/providers/catalog"
	"parley/providers/token"
	"parley/providers/wire"
)

// A Secret is a key. Printed, formatted, logged or encoded, it reads [redacted]; only Reveal
// returns it. Keep it in exported fields, since fmt cannot call methods of unexported ones, and out
// of map keys, since encoding/json does not call methods of those.
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

// UnmarshalText reads the key from a configuration file.
func (s *Secret) UnmarshalText(text []byte) error {
	*s = Secret(text)
	return nil
}

// LogValue gives String to slog.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// minKeyLength is the length in bytes of the shortest key that is masked in texts: a shorter one
// may be a word.
const minKeyLength = 8

// headerSecrets returns the values of headers that are secret by name. For "Bearer KEY" and the like,
// it also returns the key alone.
func headerSecrets(headers map[string]string) (secrets []string) {
	for name, value := range headers {
		if wire.IsSecretHeader(name) {
			words := strings.Fields(value)
			secrets = append(append(secrets, value), words[max(len(words)-1, 0):]...)
		}
	}
	return secrets
}

// tokenShape matches short-lived tokens, JSON Web Tokens and Google's. Tokens of another process
// can be recognized only by their shape.
var tokenShape = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]{8,}|\bya29\.[\w.-]{15,}[\w-]`)
})

// MaskKeys returns a function that masks keys in text: those of c, stored ones, and those in the
// environment for providers of the catalog. It runs no command: among printed keys and tokens it
// masks those of this process, and the error names the others.
func (c Config) MaskKeys(getenv func(string) string) (mask func(string) string, err error) {
	keys := token.KnownSecrets()
	var unknown []string
	for _, name := range slices.Sorted(maps.Keys(c.Providers)) {
		p := c.Providers[name]
		if command := string(cmp.Or(p.APIKeyCommand, p.TokenCommand)); command != "" && !token.HasPrinted(command) {
			unknown = append(unknown, name)
		}
	}
	for _, p := range catalog.Providers() {
		for _, name := range p.KeyEnv {
			keys = append(keys, getenv(name))
		}
	}
	for _, p := range c.Providers {
		keys = append(keys, p.APIKey.Reveal(), getenv(p.APIKeyEnv))
		keys = append(keys, headerSecrets(p.Headers)...)
		u, err := url.Parse(p.BaseURL)
		if err != nil {
			continue
		}
		password, _ := u.User.Password()
		keys = append(keys, password)
		for name, values := range u.Query() {
			if wire.IsSecretHeader(name) {
				keys = append(keys, values...)
			}
		}
	}
	if c.Stored != nil {
		stored, commands, trouble := c.Stored.Known()
		keys = append(keys, stored...)
		for _, name := range slices.Sorted(maps.Keys(commands)) {
			if !token.HasPrinted(commands[name]) {
				unknown = append(unknown, name)
			}
		}
		if trouble != nil {
			err = fmt.Errorf("stored keys are not masked: %w", trouble)
		}
	}
	if len(unknown) > 0 {
		err = errors.Join(err, fmt.Errorf("keys that a command prints are masked where parley ran it, which it did not for %s", strings.Join(unknown, ", ")))
	}
	known := wire.MaskText(keys, minKeyLength)
	return func(text string) string { return tokenShape().ReplaceAllString(known(text), redacted) }, err
}
