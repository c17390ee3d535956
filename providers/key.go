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

// key is the source of a service's key.
type key struct {
	name    string // for errors, such as "OPENAI_API_KEY"; "" if there is no key
	value   Secret
	command string        // prints the key; run when the key is first needed
	token   *token.Source // supplies tokens instead of a key; nil for none
	stored  KeyStore      // asked when the key is first needed; nil if it does not store this key
	domain  string        // tokens go only to this domain and its subdomains; "" for any
	hint    string        // next step for a user without a key; "" if there is one or none is needed
}

// A KeyStore holds the keys that the user gave to parley, by provider.
type KeyStore interface {
	// Find describes where the key of a provider is stored and returns the host that may receive
	// it; ok is false if none is stored. It uses no keyring.
	Find(provider string) (where, host string, ok bool)
	// Key returns the key of a provider, or the command that prints it.
	Key(ctx context.Context, provider string) (key, command string, err error)
	// Variables returns the values that the user gave for the variables of a provider's address; ok
	// is false if the provider is not connected.
	Variables(provider string) (values map[string]string, ok bool)
	// Known returns the keys to mask in texts that are known without a keyring. Commands holds the
	// commands that print the others, by provider.
	Known() (keys []string, commands map[string]string, err error)
}

// findKey looks for the key of s in the configuration, then in the variables of the catalog, then
// in stored. The catalog's variables belong to the catalog's address, so a user's service at the
// user's own address does not get them. A stored key goes only to the host it was stored for.
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

// findGoogleLogin returns tokens from Google's application default credentials if the user asked
// for them. A login made for other programs must not cause costs for models.
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

// checkTokenAddress returns why tokens must not be sent to the address of s; nil if they may.
// Tokens give access to more than models, so plain HTTP is allowed only to this machine.
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

// used reports whether any field of p is set.
func (p Provider) used() bool { return !reflect.ValueOf(p).IsZero() }

// keyless reports whether the service takes no key: it is a local server that did not ask for one, or
// a program with its own login.
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

// keyFromEnv returns the key in the first variable that is set.
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

// replaceKey sets a placeholder for the key where o needs none.
func (s *service) replaceKey(o OpenOptions) {
	if o.Replay != nil || o.Unsent && s.key.hint != "" {
		name := cmp.Or(s.key.name, strings.TrimPrefix(s.key.hint, "set ")) // errors name the key as they did when recorded
		s.key, s.address.missing = key{name: name, value: wire.PlaceholderKey}, ""
	}
}

// resolveKey returns the key itself; "" if the service needs none.
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

// missingKeyError returns the error for a service without a key.
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

// keyCommandTimeout bounds the run of a command that prints a key.
const keyCommandTimeout = 10 * time.Second

// KeyFromCommand returns the key that a command prints.
func KeyFromCommand(ctx context.Context, command string) (Secret, error) {
	line, err := runKeyCommand(ctx, command)
	if err != nil {
		return "", err
	}
	return ParseKey(line)
}

// runKeyCommand runs command in the shell and returns the first line of its output. The output
// never appears in an error: it may be the key.
func runKeyCommand(ctx context.Context, command string) (string, error) {
	text, err := token.Run(ctx, command, keyCommandTimeout)
	line, _, _ := strings.Cut(text, "\n")
	line = strings.TrimSpace(line)
	token.RememberSecret(command, trimKey(line))
	return line, err
}
