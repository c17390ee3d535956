package providers

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"parley/providers/llm"
	"parley/providers/wire"
)

// key is where the key of a service comes from.
type key struct {
	name    string // for errors, such as "OPENAI_API_KEY"; "" if the service has none
	value   Secret
	command string // prints the key, when it is first needed
	hint    string // what the user has to do to have one; "" if there is one or none is needed
}

// findKey looks for the key of s: what the user configured comes first, then
// the variables of the catalog. Those belong to the catalog's own address: a
// service of the user's, at an address of the user's, does not get them.
func (s service) findKey(getenv func(string) string) key {
	table := "providers." + s.name
	switch {
	case s.conf.APIKey != "":
		return key{name: table + ".api_key", value: s.conf.APIKey}
	case s.conf.APIKeyEnv != "":
		return keyFromEnv([]string{s.conf.APIKeyEnv}, true, getenv)
	case s.conf.APIKeyCommand != "":
		return key{name: table + ".api_key_command", command: s.conf.APIKeyCommand}
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
	value, err := s.key.value.Reveal(), error(nil)
	if s.key.command != "" {
		value, err = runKeyCommand(ctx, s.key.command)
	}
	if err == nil && strings.ContainsFunc(value, func(r rune) bool { return r <= ' ' || r > '~' }) {
		err = errors.New("it holds characters that no key has")
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
	where := cmp.Or(strings.TrimPrefix(s.key.hint, "set "), "api_key")
	return &llm.Error{
		Fault: llm.Authentication, Provider: s.name, URL: wire.Public(s.url),
		Message: fmt.Sprintf("no key for %s: set %s, or api_key under [providers.%s] in config.toml", wire.Public(s.url), where, s.name),
	}
}

// A command that prints a key gets this much time, and this much is read.
const (
	keyCommandTimeout = 10 * time.Second
	maxKeyOutput      = 16 << 10
)

// runKeyCommand runs command through the shell and returns the first line that it
// prints. What it prints never enters an error: it may be the key.
func runKeyCommand(ctx context.Context, command string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, keyCommandTimeout)
	defer cancel()
	shell := []string{"sh", "-c"}
	if runtime.GOOS == "windows" {
		shell = []string{"cmd", "/c"}
	}
	var out limitedBuffer
	cmd := exec.CommandContext(ctx, shell[0], shell[1], command)
	cmd.Stdout = &out
	cmd.WaitDelay = time.Second // a grandchild may hold the pipe open
	err := cmd.Run()
	line, _, _ := strings.Cut(strings.TrimSpace(out.text.String()), "\n")
	line = strings.TrimSpace(line)
	switch exit := (*exec.ExitError)(nil); {
	case ctx.Err() != nil:
		return "", fmt.Errorf("the command did not end within %s", keyCommandTimeout)
	case errors.As(err, &exit):
		return "", fmt.Errorf("the command failed (%s)", exit.ProcessState)
	case err != nil && !errors.Is(err, exec.ErrWaitDelay):
		return "", errors.New("the command cannot be started")
	case line == "":
		return "", errors.New("the command printed nothing")
	}
	return line, nil
}

// limitedBuffer keeps the beginning of what is written to it.
type limitedBuffer struct{ text bytes.Buffer }

func (h *limitedBuffer) Write(p []byte) (int, error) {
	h.text.Write(p[:min(len(p), maxKeyOutput-h.text.Len())])
	return len(p), nil
}
