package providers

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"

	"parley/providers/catalog"
	"parley/providers/wire"
)

// minKeyLength is the shortest key, in bytes, that is looked for in texts: a
// shorter one may be a word.
const minKeyLength = 8

// secretHeader is how headers are called that hold keys.
var secretHeader = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)auth|key|token|secret|cookie|password`) })

// MaskKeys returns a function that takes the keys of c, stored ones included, and those the
// environment holds for providers of the catalog, out of text. It runs the
// commands that print keys; the error names those that failed, whose keys stay.
func (c Config) MaskKeys(ctx context.Context, getenv func(string) string) (mask func(string) string, err error) {
	keys, err := c.commandKeys(ctx)
	for _, p := range catalog.Providers() {
		for _, name := range p.KeyEnv {
			keys = append(keys, getenv(name))
		}
	}
	for _, p := range c.Providers {
		keys = append(keys, p.APIKey.Reveal(), getenv(p.APIKeyEnv))
		for name, value := range p.Headers {
			if secretHeader().MatchString(name) {
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
			if secretHeader().MatchString(name) {
				keys = append(keys, values...)
			}
		}
	}
	if c.Stored != nil {
		stored, trouble := c.Stored.Known()
		keys = append(keys, stored...)
		if trouble != nil {
			err = errors.Join(err, fmt.Errorf("stored keys are not masked: %w", trouble))
		}
	}
	return wire.MaskText(keys, minKeyLength), err
}

// commandKeys runs the commands of c that print keys, all at once.
func (c Config) commandKeys(ctx context.Context) ([]string, error) {
	var group sync.WaitGroup
	names := slices.Sorted(maps.Keys(c.Providers))
	keys, errs := make([]string, len(names)), make([]error, len(names))
	for i, name := range names {
		command := c.Providers[name].APIKeyCommand
		if command == "" {
			continue
		}
		group.Go(func() {
			if keys[i], errs[i] = runKeyCommand(ctx, command); errs[i] != nil {
				errs[i] = fmt.Errorf("the key of providers.%s is not masked: %w", name, errs[i])
			}
		})
	}
	group.Wait()
	return keys, errors.Join(errs...)
}
