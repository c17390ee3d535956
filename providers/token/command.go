package token

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"parley/tools/process"
)

// maxOutput bounds the part of a command's output that is read, in bytes.
const maxOutput = 16 << 10

// Run runs a command in the shell, at most for limit, and returns its output without surrounding
// white space. Errors do not contain the output, which may be a secret. PATH lookup skips the
// workspace: a model's command may have put a program there.
func Run(ctx context.Context, command string, limit time.Duration) (string, error) {
	within, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	path := process.OutsideWorkspace(os.Getenv("PATH"))
	out := process.PrefixBuffer{Limit: maxOutput}
	cmd := process.LineCommand(within, path, command)
	cmd.Env = append(os.Environ(), "PATH="+path.String())
	cmd.Stdout = &out
	cmd.WaitDelay = time.Second // a grandchild may hold the pipe open
	err := cmd.Run()
	text := strings.TrimSpace(string(out.Bytes()))
	switch exit := (*exec.ExitError)(nil); {
	case within.Err() != nil:
		return "", fmt.Errorf("the command did not end within %s", limit)
	case errors.As(err, &exit):
		return "", fmt.Errorf("the command failed (%s)", exit.ProcessState)
	case err != nil && !errors.Is(err, exec.ErrWaitDelay):
		return "", errors.New("the command cannot be started")
	case text == "":
		return "", errors.New("the command printed nothing")
	}
	return text, nil
}

// sources holds the sources of this process by command, so that all uses of a command share its
// token.
var sources sync.Map

// sharedSource returns the source called name, creating it on the first call; login is its Login.
func sharedSource(name any, login string, mint func(context.Context) (Token, error)) *Source {
	if s, ok := sources.Load(name); ok {
		return s.(*Source)
	}
	made := NewSource(mint, nil)
	made.Login = login
	s, _ := sources.LoadOrStore(name, made)
	return s.(*Source)
}

// Command returns the source of the tokens that a shell command prints; see Parse. They are renewed
// after at most lifetime, if it is not 0. The process has one source for each command.
func Command(command string, lifetime time.Duration) *Source {
	type name struct {
		command  string
		lifetime time.Duration
	}
	return sharedSource(name{command, lifetime}, "", MintByCommand(command, lifetime, time.Now))
}

// MintByCommand returns a function that mints a token by running a command.
func MintByCommand(command string, lifetime time.Duration, now func() time.Time) func(context.Context) (Token, error) {
	return func(ctx context.Context) (Token, error) {
		started := now()
		text, err := Run(ctx, command, mintTimeout)
		if err != nil {
			return Token{}, err
		}
		t, err := Parse(text, now())
		RememberSecret(command, t.Value)
		if end := started.Add(lifetime); lifetime > 0 && (t.Expiry.IsZero() || end.Before(t.Expiry)) {
			t.Expiry = end
		}
		return t, err
	}
}

// printedSecrets holds the secrets that commands printed in this process, by command.
var printedSecrets struct {
	sync.Mutex
	values map[string][]string
}

// maxPrinted bounds the secrets remembered per command, enough for tokens of days.
const maxPrinted = 64

// RememberSecret adds a secret printed by a command to KnownSecrets; "" is ignored.
func RememberSecret(command, value string) {
	printedSecrets.Lock()
	defer printedSecrets.Unlock()
	if value == "" || slices.Contains(printedSecrets.values[command], value) {
		return
	}
	if printedSecrets.values == nil {
		printedSecrets.values = map[string][]string{}
	}
	all := append(printedSecrets.values[command], value)
	printedSecrets.values[command] = all[max(len(all)-maxPrinted, 0):]
}

// HasPrinted reports whether a secret printed by command is remembered.
func HasPrinted(command string) bool {
	printedSecrets.Lock()
	defer printedSecrets.Unlock()
	return len(printedSecrets.values[command]) > 0
}

// KnownSecrets returns the secrets that commands printed in this process, and the last tokens of
// its sources, for masking.
func KnownSecrets() (values []string) {
	printedSecrets.Lock()
	for _, list := range printedSecrets.values {
		values = append(values, list...)
	}
	printedSecrets.Unlock()
	sources.Range(func(_, s any) bool {
		values = append(values, s.(*Source).Values()...)
		return true
	})
	return values
}
