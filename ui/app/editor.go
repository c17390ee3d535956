package app

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// Editor makes the command of the user's own editor on a file that holds text.
// Written, which has to be called with the error of the command, returns what
// the file holds then, and removes it.
func Editor(getenv func(string) string, text string) (cmd *exec.Cmd, written func(error) (string, error), err error) {
	name := cmp.Or(getenv("VISUAL"), getenv("EDITOR"))
	if name == "" {
		return nil, nil, errors.New("set $VISUAL or $EDITOR to use an editor")
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
	// The variable may hold arguments, as in "code --wait".
	cmd = exec.Command("sh", "-c", name+` "$1"`, "sh", path)
	return cmd, func(err error) (string, error) {
		defer os.Remove(path)
		if err != nil {
			return "", fmt.Errorf("%s: %w", name, err)
		}
		b, err := os.ReadFile(path)
		return strings.TrimRight(string(b), "\n"), err
	}, nil
}
