package app

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
)

// Do runs c, or says why it cannot run.
func (c *Command) Do(arg string) Effect {
	why := ""
	if c.Unavailable != nil {
		why = c.Unavailable()
	}
	if e, refused := c.Refuse(why, arg); refused {
		return e
	}
	return c.RunWith(arg)
}

// RunWith runs c. The effect of a line that did not run has that, to be corrected.
func (c *Command) RunWith(arg string) Effect {
	e := c.Run(arg)
	if arg == "" {
		return e
	}
	return withLine(e, c.line(arg))
}

// Refuse returns the effect of c with arg where it does not run: why says what keeps it from that, ""
// for nothing.
func (c *Command) Refuse(why, arg string) (e Effect, refused bool) {
	switch {
	case arg != "" && c.Arg == "":
		e = Refuse("/%s takes no argument: remove %q", c.Name, arg)
	case why == "":
		return nil, false
	case arg == "":
		return Toast(why), true
	default:
		e = Refuse("%s", strings.ToLower(why[:1])+why[1:])
	}
	return withLine(e, c.line(arg)), true
}

func (c *Command) line(arg string) string { return "/" + c.Name + " " + arg }

// As returns c under the name by which it was asked for.
func (c Command) As(name string) Command { c.Name = name; return c }

// Refuse returns an effect that says why an argument does not do.
func Refuse(why string, args ...any) Effect { return Failure{Err: fmt.Errorf(why, args...)} }

// withLine returns e with the line that led to it, if that did not run or turns out not to.
func withLine(e Effect, line string) Effect {
	switch e := e.(type) {
	case Failure:
		e.Line = cmp.Or(e.Line, line)
		return e
	case Then:
		ran := slices.ContainsFunc(e, func(e Effect) bool {
			switch e.(type) {
			case Shown, Toast:
				return true
			}
			return false
		})
		all := slices.Clone(e)
		for i, one := range e {
			if _, failed := one.(Failure); failed || !ran {
				all[i] = withLine(one, line)
			}
		}
		return all
	case Async:
		return Async(func(ctx context.Context) Effect { return withLine(e(ctx), line) })
	case Prepare:
		return Prepare(func(ctx context.Context) func() Effect {
			then := e(ctx)
			return func() Effect { return withLine(then(), line) }
		})
	}
	return e
}
