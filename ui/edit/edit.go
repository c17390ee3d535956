// Package edit runs the user's editor on a text or on a file.
package edit

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"parley/tools/process"
)

// Text returns a command that runs $VISUAL or $EDITOR on a temporary file with text. After the command, written must
// be called with its error: it returns the edited text, without trailing newlines, and removes the file.
func Text(getenv func(string) string, text string) (cmd *exec.Cmd, written func(error) (string, error), err error) {
	if _, err := File(getenv, ""); err != nil {
		return nil, nil, err
	}
	f, err := os.CreateTemp("", "parley-*.md") // mode 0600
	if err != nil {
		return nil, nil, err
	}
	path := f.Name()
	_, err = f.WriteString(text)
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, nil, errors.Join(err, os.Remove(path))
	}
	cmd, err = File(getenv, path)
	return cmd, func(err error) (string, error) {
		defer os.Remove(path)
		if err != nil {
			return "", fmt.Errorf("%s: %w", cmp.Or(getenv("VISUAL"), getenv("EDITOR")), err)
		}
		b, err := os.ReadFile(path)
		return strings.TrimRight(string(b), "\n"), err
	}, err
}

// File returns a command that runs $VISUAL or $EDITOR on a file.
func File(getenv func(string) string, path string) (*exec.Cmd, error) {
	name := cmp.Or(getenv("VISUAL"), getenv("EDITOR"))
	if name == "" {
		return nil, errors.New("set $VISUAL or $EDITOR to use an editor")
	}
	return process.EditorCommand(name, path), nil
}
