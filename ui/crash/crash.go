// Package crash ends programs that panic or hang: reports of crashes, and limits for the last waits.
package crash

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"parley/tools/lazy"
	"parley/tools/sanitize"
	"parley/ui/format"
)

// statusPanic is the exit status after a crash, as for an uncaught Go panic.
const statusPanic = 2

// StateDir returns the directory for data that is neither configuration nor cache; "" if there is none.
func StateDir(getenv func(string) string) string {
	dir, _ := stateDir(getenv)
	return dir
}

func stateDir(getenv func(string) string) (string, error) {
	dir := getenv("XDG_STATE_HOME")
	if !filepath.IsAbs(dir) { // relative paths are ignored (XDG Base Directory)
		if local := getenv("LOCALAPPDATA"); filepath.IsAbs(local) { // Windows
			return filepath.Join(local, "parley", "state"), nil
		}
		home, err := os.UserHomeDir()
		if err != nil {
			return "", err
		}
		dir = filepath.Join(home, ".local", "state")
	}
	return filepath.Join(dir, "parley"), nil
}

// StopWait is how long an exiting front end waits for running work to stop its child processes.
const StopWait = 3 * time.Second

// Within waits for f, which must not panic, and reports whether it ended in time. Exiting programs use it for calls
// that may hang.
func Within(patience time.Duration, f func()) bool {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	select {
	case <-done:
		return true
	case <-time.After(patience):
		return false
	}
}

// Report writes a panic to a file that only its owner may read, and returns the exit status. If tell is set, it names
// the file on standard error; the terminal must be restored by then.
func Report(p any, stack []byte, tell bool) (status int) {
	path, err := write(p, stack)
	if err != nil {
		path = format.ErrorText(err)
	}
	if tell {
		fmt.Fprintf(os.Stderr, "parley: crashed: %s\n  the report is in %s\n", sanitize.Line(masked(fmt.Sprint(p))), sanitize.Line(path))
	}
	return statusPanic
}

// Path returns a path for a crash report with an unguessable name.
func Path() (string, error) {
	dir, err := stateDir(os.Getenv)
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, "crash-"+time.Now().UTC().Format("20060102-150405")+"-"+rand.Text()[:10]+".txt"), nil
}

// write writes the report of a panic and returns its path.
func write(p any, stack []byte) (string, error) {
	path, err := Path()
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

var keyLike = lazy.NewRegexp(sanitize.KeyShapes)

// masked returns text with keys masked: values of the environment, and text that looks like a key. A panic message may
// contain anything.
func masked(text string) string {
	var secrets []string
	for _, entry := range os.Environ() {
		if name, value, _ := strings.Cut(entry, "="); sanitize.IsSecretVariable(name) {
			secrets = append(secrets, value)
		}
	}
	return keyLike.ReplaceAllString(sanitize.NewMask(secrets, 8).Text(text), sanitize.Redacted)
}
