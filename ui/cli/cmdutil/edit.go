package cmdutil

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/charmbracelet/x/term"

	"parley/tools/process"
)

// Edit opens a file in the user's editor. Without a terminal or an editor it writes the file's path to out and returns
// false.
func Edit(out io.Writer, path string) (edited bool, err error) {
	editor := cmp.Or(os.Getenv("VISUAL"), os.Getenv("EDITOR"))
	if editor == "" || !term.IsTerminal(os.Stdin.Fd()) {
		_, err := fmt.Fprintln(out, path)
		return false, err
	}
	cmd := process.EditorCommand(editor, path)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	keys := make(chan os.Signal, 1) // ctrl+c belongs to the editor
	signal.Notify(keys, os.Interrupt, syscall.SIGQUIT)
	defer signal.Stop(keys)
	if err := cmd.Run(); err != nil {
		return false, fmt.Errorf("%s: %w", editor, err)
	}
	return true, nil
}
