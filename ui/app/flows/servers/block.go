package servers

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"parley/tools"
	"parley/tools/lazy"
	"parley/tools/mcp"
	"parley/tools/process"
	"parley/tools/sanitize"
)

// parseBlock parses the JSON that READMEs of servers show for other programs: {"mcpServers": {…}}, VS Code's
// {"servers": {…}}, the servers alone, or a single one, which gets the given name. Comments, trailing commas and missing
// outer brackets are accepted. Notes say what was left out or renamed.
func parseBlock(text, name string) (servers map[string]mcp.Config, notes []string, err error) {
	text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n") // terminals paste carriage returns
	if text = strings.TrimSpace(text); strings.HasPrefix(text, `"`) {
		text = "{" + text + "}"
	}
	fixed := []byte(text)
	if tools.Schemas != nil {
		if whole, ok := tools.Schemas.Repair(fixed); ok {
			fixed = whole
		}
	}
	var top map[string]json.RawMessage
	if err := json.Unmarshal(fixed, &top); err != nil {
		return nil, nil, fmt.Errorf("not a list of servers in JSON: %w", err)
	}
	for _, key := range []string{"mcp", "mcpServers", "servers", "context_servers"} {
		var inner map[string]json.RawMessage
		if json.Unmarshal(top[key], &inner) == nil && inner != nil {
			delete(top, key)
			notes, top = ignored(notes, "", slices.Collect(maps.Keys(top))), inner
		}
	}
	if isServer(top) {
		if name == "" {
			return nil, nil, errors.New("the server has no name: write NAME before the JSON")
		}
		top = map[string]json.RawMessage{name: fixed}
	}
	servers = map[string]mcp.Config{}
	for _, own := range slices.Sorted(maps.Keys(top)) {
		var keys map[string]json.RawMessage
		if json.Unmarshal(top[own], &keys) != nil || !isServer(keys) {
			notes = ignored(notes, "", []string{own})
			continue
		}
		c, unknown, err := parseServer(top[own], keys)
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", sanitize.Line(own), err)
		}
		name := validName(own)
		if name != own {
			notes = append(notes, fmt.Sprintf("%s is called %s", sanitize.Line(own), name))
		}
		notes = ignored(notes, name+": ", unknown)
		servers[name] = c
	}
	if len(servers) == 0 {
		return nil, nil, errors.New(`no server in this JSON: it needs a "command" or a "url"`)
	}
	return servers, notes, nil
}

// isServer reports whether an object with these keys describes a server.
func isServer(keys map[string]json.RawMessage) bool {
	return slices.ContainsFunc([]string{"command", "url", "serverUrl", "httpUrl"}, func(key string) bool {
		return keys[key] != nil && keys[key][0] != '{'
	})
}

// ignored adds a note about keys that were left out.
func ignored(notes []string, of string, keys []string) []string {
	if len(keys) == 0 {
		return notes
	}
	slices.Sort(keys)
	return append(notes, of+"ignored "+sanitize.Truncate(sanitize.Line(strings.Join(keys, ", ")), 200))
}

// parseServer parses one server, and returns the keys that parley does not know.
func parseServer(text []byte, keys map[string]json.RawMessage) (c mcp.Config, unknown []string, err error) {
	var s struct {
		Command, Args                any
		Env, Environment, Headers    map[string]any
		URL, ServerURL, HTTPURL, Cwd string
		Disabled                     bool
		Enabled                      *bool
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber() // 3600000 is not to become 3.6e+06
	if err := d.Decode(&s); err != nil {
		return c, nil, err
	}
	known := []string{"command", "args", "env", "environment", "headers", "url", "serverurl", "httpurl", "cwd", "disabled", "enabled", "type", "transport", "description", "id"}
	for key := range keys {
		if !slices.Contains(known, strings.ToLower(key)) {
			unknown = append(unknown, key)
		}
	}
	words := append(texts(s.Command), texts(s.Args)...)
	switch s.Command.(type) {
	case []any:
		c.Command.Words = words
	case string:
		c.Command, c.Args = process.ShellLine(words[0]), words[1:]
	}
	c.URL, c.Cwd = cmp.Or(s.URL, s.ServerURL, s.HTTPURL), s.Cwd
	c.Disabled = s.Disabled || s.Enabled != nil && !*s.Enabled
	for _, values := range []map[string]any{s.Env, s.Environment} {
		for name, value := range values {
			put(&c.Env, name, value)
		}
	}
	for name, value := range s.Headers {
		put(&c.Headers, name, value)
	}
	return c, unknown, nil
}

// texts returns a text, or the texts of a list.
func texts(v any) (all []string) {
	switch v := v.(type) {
	case string:
		return []string{v}
	case []any:
		for _, one := range v {
			all = append(all, fmt.Sprint(one))
		}
	}
	return all
}

// environmentRef matches VS Code's references to variables of the environment.
var environmentRef = lazy.NewRegexp(`\$\{env:([a-zA-Z_][a-zA-Z0-9_]*)\}`)

func put(values *map[string]string, name string, v any) {
	if *values == nil {
		*values = map[string]string{}
	}
	if (*values)[name] = ""; v != nil {
		(*values)[name] = environmentRef.ReplaceAllString(fmt.Sprint(v), "$${$1}")
	}
}

// validName returns a valid name for a server that is called name elsewhere.
func validName(name string) string {
	name = strings.Map(func(r rune) rune {
		if r == '-' || r < unicode.MaxASCII && (unicode.IsLetter(r) || unicode.IsDigit(r)) {
			return r
		}
		return ' '
	}, name)
	name = strings.Join(strings.Fields(name), "-")
	return strings.TrimRight(name[:min(len(name), 32)], "-")
}

// placeholder matches values that READMEs show in place of a secret.
var placeholder = lazy.NewRegexp(`(?i)^$|^<.*>$|^\[.*\]$|^\.{3}$|^x{3,}$|your[-_ ]|\$\{input:|replace[-_ ]|change[-_ ]?me|[-_ ]here$`)

// plainValue matches numbers and switches.
var plainValue = lazy.NewRegexp(`^([0-9.]+|true|false|on|off)$`)

// takeSecrets replaces the keys in Env and Headers of c by references such as ${GITHUB_TOKEN}, and returns them by these names.
// Keys without a value yet, such as YOUR_TOKEN, are "".
func takeSecrets(c mcp.Config) map[string]string {
	secrets := map[string]string{}
	take := func(values map[string]string) {
		for name, value := range values {
			secret, scheme := value, ""
			if first, rest, ok := strings.Cut(value, " "); ok && (strings.EqualFold(first, "bearer") || strings.EqualFold(first, "basic")) {
				secret, scheme = rest, first+" "
			}
			byName := sanitize.HoldsSecret(name) || sanitize.IsSecretVariable(name) && !plainValue.MatchString(value)
			isSecret := byName || scheme != "" || sanitize.LooksSecret(secret) || len(sanitize.CommandSecrets([]string{secret})) > 0
			if !isSecret && !strings.Contains(secret, "${input:") || len(mcp.Config{Env: map[string]string{name: secret}}.Variables()) > 0 {
				continue
			}
			if placeholder.MatchString(secret) {
				secret = ""
			}
			ref := variableName.ReplaceAllString(strings.ToUpper(name), "_")
			values[name], secrets[ref] = scheme+"${"+ref+"}", secret
		}
	}
	take(c.Env)
	take(c.Headers)
	return secrets
}

// variableName matches what names of variables cannot have.
var variableName = lazy.NewRegexp(`^[0-9]|[^A-Z0-9_]`)
