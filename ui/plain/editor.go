package plain

import (
	"os"
	"sync/atomic"

	"parley/ui/app"
)

// An editor has text changed in the user's own editor.
type editor struct {
	*desk
	input *input
	away  atomic.Bool // it has the terminal
}

// edit returns text as the user saved it. Nothing is written meanwhile, and ctrl+c is
// the editor's.
func (e *editor) edit(text string) (string, error) {
	cmd, written, err := app.Editor(e.app.Getenv, text)
	if err != nil {
		return "", err
	}
	e.out.End()
	if keys := e.input.keys; keys != nil {
		defer keys.Pause()()
		cmd.Stdin, cmd.Stdout, cmd.Stderr = keys.In, os.Stdout, os.Stderr
	}
	e.away.Store(true)
	defer e.away.Store(false)
	return written(cmd.Run())
}
