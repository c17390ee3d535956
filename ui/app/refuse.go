package app

import (
	"context"
	"fmt"
	"strings"
)

// Do runs c, or says why it cannot run.
func (c *Command) Do(a *App, arg string) Effect {
	why := ""
	if c.Unavailable != nil {
		why = c.Unavailable(a)
	}
	if e, refused := c.Refuse(why, arg); refused {
		return e
	}
	return c.RunWith(a, arg)
}

// RunWith runs c. The effect of a line that did not run has that, to be corrected.
func (c *Command) RunWith(a *App, arg string) Effect {
	e := c.Run(a, arg)
	if arg == "" {
		return e
	}
	return e.withLine(c.line(arg))
}

// Refuse returns the effect of c with arg where it does not run: why says what keeps it from that, ""
// for nothing.
func (c *Command) Refuse(why, arg string) (e Effect, refused bool) {
	switch {
	case arg != "" && c.Arg == "":
		e = refuse("/%s takes no argument: remove %q", c.Name, arg)
	case why == "":
		return Effect{}, false
	case arg == "":
		return ShowToast(why), true
	default:
		e = refuse("%s", strings.ToLower(why[:1])+why[1:])
	}
	return e.withLine(c.line(arg)), true
}

func (c *Command) line(arg string) string { return "/" + c.Name + " " + arg }

// As returns c under the name by which it was asked for.
func (c Command) As(name string) Command { c.Name = name; return c }

// refuse returns an effect that says why an argument does not do.
func refuse(why string, args ...any) Effect { return Effect{Err: fmt.Errorf(why, args...)} }

// withLine returns e with the line that led to it, if that did not run or turns out not to.
func (e Effect) withLine(line string) Effect {
	async, prepare := e.Async, e.Prepare
	switch {
	case (e.Err != nil || e.Failed != nil) && e.Text == "":
		e.Text = line
	case e.Event != nil || e.Toast != "": // it ran
	case async != nil:
		e.Async = func(ctx context.Context) Effect { return async(ctx).withLine(line) }
	case prepare != nil:
		e.Prepare = func(ctx context.Context) func() Effect {
			then := prepare(ctx)
			return func() Effect { return then().withLine(line) }
		}
	}
	return e
}
