package app

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	"parley/tools/sanitize"
)

// StatusPanic is the exit status after a crash, that of an uncaught Go panic.
const StatusPanic = 2

// StateDir returns where parley keeps what is neither configuration nor cache.
func StateDir(getenv func(string) string) (string, error) {
	dir := getenv("XDG_STATE_HOME")
	if !filepath.IsAbs(dir) { // a relative one is to be ignored (XDG Base Directory)
		home, err := os.UserHomeDir()
		if err != nil {
			return "", err
		}
		dir = filepath.Join(home, ".local", "state")
	}
	return filepath.Join(dir, "parley"), nil
}

// Crash keeps a panic in a file only its owner may read, says on standard error
// where, and returns the exit status. The terminal must be in order by then.
func Crash(p any, stack []byte) int {
	path, err := WriteCrash(p, stack)
	if err != nil {
		path = err.Error()
	}
	fmt.Fprintf(os.Stderr, "parley: crashed: %s\n  the report is in %s\n", sanitize.Line(masked(fmt.Sprint(p))), sanitize.Line(path))
	return StatusPanic
}

// CrashPath returns a file for a crash report, with a name that nobody can guess.
func CrashPath() (string, error) {
	dir, err := StateDir(os.Getenv)
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, "crash-"+time.Now().UTC().Format("20060102-150405")+"-"+rand.Text()[:10]+".txt"), nil
}

// WriteCrash keeps a panic in a file only its owner may read.
func WriteCrash(p any, stack []byte) (string, error) {
	path, err := CrashPath()
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return "", err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", err
	}
	_, err = io.WriteString(f, masked(fmt.Sprintf("panic: %v\n\n%s", p, stack)))
	return path, errors.Join(err, f.Close())
}

// KeyShapes is what keys and tokens of well-known services look like, for
// regexp and for sed -E.
const KeyShapes = `(sk-|sk_|pk-|rk_|xai-|gsk_|hf_|r8_|nvapi-|tvly-|gh[opsu]_|github_pat_|glpat-|AIza|AKIA|ya29[.]|xox[a-z]-|eyJ)[A-Za-z0-9_.+=~-]{8,}|([Bb]earer|[Bb]asic) +[A-Za-z0-9_.+=~-]{8,}`

var keyLike = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(KeyShapes) })

// secretName is what variables that hold a secret are called.
var secretName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)key|token|secret|passw|credential|auth`)
})

// masked returns text without keys: those in the environment, and what looks like
// one. A panic may have anything in its words.
func masked(text string) string {
	for _, entry := range os.Environ() {
		name, value, _ := strings.Cut(entry, "=")
		if len(value) >= 8 && secretName().MatchString(name) {
			text = strings.ReplaceAll(text, value, "[redacted]")
		}
	}
	return keyLike().ReplaceAllString(text, "[redacted]")
}
