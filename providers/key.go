package providers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"reflect"
	"strings"
	"time"

	"parley/providers/catalog"
	"parley/providers/llm"
	"parley/providers/token"
	"parley/providers/wire"
)

// key is where the key of a service comes from.
type key struct {
	name    string // for errors, such as "OPENAI_API_KEY"; "" if the service has none
	value   Secret
	command string        // prints the key, when it is first needed
	token   *token.Source // has tokens in the place of a key; nil: there are none
	stored  KeyStore      // has the key, when it is first needed; nil: it is not stored
	domain  string        // the only one that tokens go to, with hosts below it; "": any
	hint    string        // what the user has to do to have one; "" if there is one or none is needed
}

// A KeyStore has keys that the user gave to parley, by the names of their providers.
type KeyStore interface {
	// Find returns in words where the key of a provider is, and the host that it may be
	// sent to; ok is false if there is none. It asks no keyring.
	Find(provider string) (where, host string, ok bool)
	// Key returns the key of a provider, or the command that prints it.
	Key(ctx context.Context, provider string) (key, command string, err error)
	// Variables returns the parts of a provider's address that are the user's own; ok is false if
	// the provider is not connected.
	Variables(provider string) (values map[string]string, ok bool)
	// Known returns keys that texts must not hold: those that can be known without asking
	// a keyring. The commands that print the others are returned by provider.
	Known() (keys []string, commands map[string]string, err error)
}

// findKey looks for the key of s: what the user configured comes first, then
// the variables of the catalog, then what is stored. Those variables belong to the
// catalog's own address: a service of the user's, at an address of the user's, does not
// get them. A stored key goes to the host that it was stored for.
func (s service) findKey(stored KeyStore, getenv func(string) string) key {
	if s.builtin.TokenFrom == catalog.FromGoogle {
		return findGoogleLogin(s, stored, getenv)
	}
	k := s.givenKey(getenv)
	if k.name != "" || s.isProgram() {
		return k
	}
	if stored != nil {
		if where, host, ok := stored.Find(s.name); ok && host == hostOf(s.url) {
			return key{name: where, stored: stored}
		}
	}
	if s.found.NeedsKey && k.hint == "" {
		k.hint = "set " + cmp.Or(strings.Join(s.builtin.KeyEnv, " or "), "api_key_env under [providers."+s.name+"]")
	}
	return k
}

// googleCredentials is the variable that names a file of Google's application default
// credentials.
const googleCredentials = "GOOGLE_APPLICATION_CREDENTIALS"

// findGoogleLogin returns the tokens of Google's application default credentials, where the
// user wants them used: a login that is there for other programs makes nobody pay for models.
func findGoogleLogin(s service, stored KeyStore, getenv func(string) string) key {
	if k := s.givenKey(getenv); k.name != "" {
		return k
	}
	connected := s.conf.used() || getenv(googleCredentials) != ""
	if stored != nil && !connected {
		_, connected = stored.Variables(s.name)
	}
	if !connected {
		return key{hint: "set " + googleCredentials}
	}
	return key{name: "Google's application default credentials", token: token.Google(nil), domain: "googleapis.com"}
}

// checkTokenAddress returns why the tokens of s cannot go to its address; nil if they can. They
// open more than models, and go in plain text to this machine alone.
func checkTokenAddress(s service) error {
	u, err := url.Parse(s.url)
	if s.key.token == nil || err != nil || loopbackPort(s.url) != "" {
		return nil
	}
	reason := ""
	switch host := u.Hostname(); {
	case u.Scheme != "https":
		reason = "a token does not go over " + u.Scheme + ": use an https address in base_url"
	case s.key.domain != "" && host != s.key.domain && !strings.HasSuffix(host, "."+s.key.domain):
		reason = "Google's login goes to hosts of " + s.key.domain + " alone: give this address its own token, with token_command or api_key under [providers." + s.name + "]"
	default:
		return nil
	}
	return &llm.Error{Fault: llm.Authentication, Provider: s.name, URL: wire.Public(s.url), Key: s.key.name, Message: reason}
}

// used reports whether a table says anything.
func (p Provider) used() bool { return !reflect.ValueOf(p).IsZero() }

// keyless reports whether no key can be given to the service: it runs here and did not ask for one, or
// it is a program with a login of its own.
func (s service) keyless() bool {
	return s.isProgram() || s.closestBuiltin().Local && !s.found.NeedsKey && s.key.stored == nil
}

// givenKey looks for the key of s in the configuration and in the environment.
func (s service) givenKey(getenv func(string) string) key {
	table := "providers." + s.name
	switch {
	case s.conf.APIKey != "":
		return key{name: table + ".api_key", value: s.conf.APIKey}
	case s.conf.APIKeyEnv != "":
		return keyFromEnv([]string{s.conf.APIKeyEnv}, true, getenv)
	case s.conf.APIKeyCommand != "":
		return key{name: table + ".api_key_command", command: string(s.conf.APIKeyCommand)}
	case s.conf.TokenCommand != "":
		return key{name: table + ".token_command", token: token.Command(string(s.conf.TokenCommand), s.conf.TokenLifetime)}
	}
	like := s.closestBuiltin()
	if s.builtin.ID == "" && s.conf.BaseURL != "" {
		return key{}
	}
	return keyFromEnv(like.KeyEnv, !like.Local && !s.isProgram(), getenv)
}

// keyFromEnv takes the first variable that is set.
func keyFromEnv(names []string, needed bool, getenv func(string) string) key {
	for _, name := range names {
		if value := strings.TrimSpace(getenv(name)); value != "" {
			return key{name: name, value: Secret(value)}
		}
	}
	if len(names) == 0 || !needed {
		return key{}
	}
	return key{hint: "set " + strings.Join(names, " or ")}
}

// resolveKey returns the key itself, "" if the service needs none.
func (s service) resolveKey(ctx context.Context) (string, error) {
	value, command, err := s.key.value.Reveal(), s.key.command, error(nil)
	if s.key.stored != nil {
		value, command, err = s.key.stored.Key(ctx, s.name)
	}
	if command != "" && err == nil {
		value, err = runKeyCommand(ctx, command)
		value = trimKey(value)
	}
	if err == nil && strings.ContainsFunc(value, func(r rune) bool { return r <= ' ' || r > '~' }) {
		err = errors.New("it contains characters that no key has")
	}
	if err != nil && ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	if err != nil {
		return "", &llm.Error{
			Fault: llm.Authentication, Provider: s.name, URL: wire.Public(s.url), Key: s.key.name,
			Message: fmt.Sprintf("no key from %s: %v", s.key.name, err),
		}
	}
	return value, nil
}

// missingKeyError returns the error for a service whose key is nowhere.
func (s service) missingKeyError() error {
	if s.builtin.TokenFrom == catalog.FromGoogle {
		return &llm.Error{
			Fault: llm.Authentication, Provider: s.name, URL: wire.Public(s.url), Login: token.GoogleLogin, Param: connectArgs(s),
			KeyMissing: true, Message: "no Google login for " + cmp.Or(s.builtin.Name, s.name), Err: llm.ErrNoKey,
		}
	}
	return &llm.Error{
		Fault: llm.Authentication, Provider: s.name, URL: wire.Public(s.url),
		Key:   cmp.Or(strings.TrimPrefix(s.key.hint, "set "), "api_key under [providers."+s.name+"] in config.toml"),
		Param: connectArgs(s), KeyMissing: true, Message: "no API key for " + cmp.Or(s.builtin.Name, s.name),
		Err: llm.ErrNoKey,
	}
}

// keyCommandTimeout bounds how long a command that prints a key may take.
const keyCommandTimeout = 10 * time.Second

// KeyFromCommand returns the key that a command prints.
func KeyFromCommand(ctx context.Context, command string) (Secret, error) {
	line, err := runKeyCommand(ctx, command)
	if err != nil {
		return "", err
	}
	return ParseKey(line)
}

// runKeyCommand runs command through the shell and returns the first line that it
// prints. What it prints never enters an error: it may be the key.
func runKeyCommand(ctx context.Context, command string) (string, error) {
	text, err := token.Run(ctx, command, keyCommandTimeout)
	line, _, _ := strings.Cut(text, "\n")
	line = strings.TrimSpace(line)
	token.RememberSecret(command, trimKey(line))
	return line, err
}
