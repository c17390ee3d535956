package mcp

import (
	"encoding/base64"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"parley/tools/lazy"
	"parley/tools/sanitize"
)

// MinSecretLength is the shortest length of a secret, in bytes; shorter values occur in any
// text.
const MinSecretLength = 6

// plainWords matches values that do not look like credentials. They are masked in texts, but a
// name that includes such a word still works.
var plainWords = lazy.NewRegexp(`^[A-Za-z][a-z]{1,14}([-_., ][A-Za-z][a-z]{1,14})*$`)

// IsPlainWord reports whether a secret value consists of plain words.
func IsPlainWord(secret string) bool { return plainWords.MatchString(secret) }

// ConfigSecrets returns the secrets in a server's configuration, for masking texts that are not the
// server's: values of variables and headers whose name suggests a secret, that look like one, or that
// come from the environment. It leaves out plain words and paths.
func ConfigSecrets(c Config) []string {
	env, _ := c.Expand("env", secretValues(c.Env)) // a variable without a value is not a secret
	headers, _ := c.Expand("headers", secretValues(c.Headers))
	login, _ := c.Expand("mcp", map[string]string{"client_secret": c.ClientSecret})
	secrets := append(valueSecrets(env, headers, login), sanitize.CommandSecrets(c.CommandLine().Words)...)
	if u, err := url.Parse(c.URL); err == nil && c.URL != "" {
		secrets = append(secrets, sanitize.URLSecrets(u)...)
	}
	for _, values := range []map[string]string{c.Env, c.Headers} {
		for _, v := range values { // an address may include a password
			secrets = append(secrets, sanitize.CommandSecrets([]string{v})...)
		}
	}
	slices.Sort(secrets)
	return slices.DeleteFunc(slices.Compact(secrets), func(s string) bool {
		return len(s) < MinSecretLength || plainWords.MatchString(s) || filepath.IsAbs(s)
	})
}

// secretValues returns the configured values that are secrets by their name or looks, or because
// they come from the environment.
func secretValues(values map[string]string) map[string]string {
	out := map[string]string{}
	for name, value := range values {
		if sanitize.HoldsSecret(name) || sanitize.LooksSecret(value) || strings.Contains(value, "${") {
			out[name] = value
		}
	}
	return out
}

// Secrets returns the texts of a server's configuration that must not be shown: the values of
// variables and headers, the query of its address, and texts in the address or command line that
// look like secrets.
func (c Config) Secrets(values ...map[string]string) []string {
	secrets := valueSecrets(values...)
	if u, err := url.Parse(c.URL); err == nil && c.URL != "" {
		secrets = append(append(secrets, u.RawQuery), sanitize.URLSecrets(u)...)
		for _, list := range u.Query() {
			secrets = append(secrets, list...)
		}
	}
	return append(secrets, sanitize.CommandSecrets(c.CommandLine().Words)...)
}

// valueSecrets returns the values of variables and headers, also without a prefix such as "Bearer".
func valueSecrets(values ...map[string]string) (secrets []string) {
	for _, list := range values {
		for _, v := range list {
			secrets = append(secrets, v)
			scheme, token, ok := strings.Cut(v, " ") // "Bearer …"
			if !ok {
				continue
			}
			secrets = append(secrets, token)
			if pair, err := base64.StdEncoding.DecodeString(token); err == nil && strings.EqualFold(scheme, "Basic") {
				_, password, _ := strings.Cut(string(pair), ":")
				secrets = append(secrets, password)
			}
		}
	}
	return secrets
}
