package plain

import (
	"io"
	"time"

	"parley/ui/app"
	"parley/ui/app/wording"
	"parley/ui/clip"
	"parley/ui/crash"
	"parley/ui/format"
	"parley/ui/plain/console"
)

// deps holds the values that every part of the front end uses.
type deps struct {
	*runner
	app   *app.App
	out   *console.Writer
	board clip.Board
	now   func() time.Time
	apply func(app.Effect) // writes the effect of a command
}

func newDeps(o app.Options, out io.Writer) *deps {
	a := app.New(o)
	board := clip.New(a.Getenv, crash.StateDir(a.Getenv), a.Directory, nil)
	a.FrontEnd.ClipboardImage = board.Image
	return &deps{board: board, runner: newRunner(), app: a, out: console.NewWriter(out), now: a.Now}
}

// writeLine writes a line of parley's own text.
func (d *deps) writeLine(format string, args ...any) { d.out.WriteLine(format, args...) }

// writeError writes an error.
func (d *deps) writeError(err error) {
	d.writeLine("Error: %s", sentence(oneLine(wording.Refusal(err))))
}

// copy copies text to the clipboard of this machine, writes the result, in which what names the text,
// and calls then. It does not use the terminal's clipboard, which would need an escape sequence.
func (d *deps) copy(text, what string, then func()) {
	put, ctx := d.board.Copy(text), d.ctx
	d.async(func() func() {
		result := put(ctx)
		result.File = d.app.AbbrevPath(result.File)
		return func() {
			d.writeLine("%s", sentence(format.Capital(result.Message(what))))
			then()
		}
	})
}

// requireIdle reports whether no turn is running; otherwise it writes a message.
func (d *deps) requireIdle() bool {
	if d.app.FrontEnd.Busy() {
		d.writeLine("Stop the running turn first, with ctrl+c.")
		return false
	}
	return true
}
