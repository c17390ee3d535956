package providers

import (
	"net/url"
	"regexp"
	"strings"

	"parley/providers/catalog"
	"parley/providers/wire"
)

// shortestKey is how long a key is, in bytes, that is looked for in texts: a
// shorter one may be a word.
const shortestKey = 8

// secretHeader is how headers are called that hold keys.
var secretHeader = regexp.MustCompile(`(?i)auth|key|token|secret|cookie|password`)

// MaskKeys returns a function that takes the keys of c, and those the
// environment holds for providers of the catalog, out of text. Commands that
// print keys are not run for it.
func (c Config) MaskKeys(getenv func(string) string) func(string) string {
	var keys []string
	for _, p := range catalog.Providers() {
		for _, name := range p.KeyEnv {
			keys = append(keys, getenv(name))
		}
	}
	for _, p := range c.Providers {
		keys = append(keys, p.APIKey.Reveal(), getenv(p.APIKeyEnv))
		for name, value := range p.Headers {
			if secretHeader.MatchString(name) {
				words := strings.Fields(value) // "Bearer KEY"
				keys = append(append(keys, value), words[max(len(words)-1, 0):]...)
			}
		}
		u, err := url.Parse(p.BaseURL)
		if err != nil {
			continue
		}
		password, _ := u.User.Password()
		keys = append(keys, password)
		for name, values := range u.Query() {
			if secretHeader.MatchString(name) {
				keys = append(keys, values...)
			}
		}
	}
	return wire.MaskText(keys, shortestKey)
}
