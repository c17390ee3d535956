package app

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
)

// Do runs c, or explains why it cannot run.
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

// RunWith runs c. If the command does not run, the effect holds its line for correction.
func (c *Command) RunWith(arg string) Effect {
	e := c.Run(arg)
	if arg == "" {
		return e
	}
	return WithLine(e, c.line(arg))
}

// Refuse returns the effect to show if c cannot run with arg. Why is the reason from c.Unavailable; "" for none.
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
	return WithLine(e, c.line(arg)), true
}

func (c *Command) line(arg string) string { return "/" + c.Name + " " + arg }

// As returns c under the name with which the user called it.
func (c Command) As(name string) Command { c.Name = name; return c }

// Refuse returns an effect that explains why an argument is not accepted.
func Refuse(why string, args ...any) Effect { return Failure{Err: fmt.Errorf(why, args...)} }

// WithLine adds the typed line to e, for the case that it does not run.
func WithLine(e Effect, line string) Effect {
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
				all[i] = WithLine(one, line)
			}
		}
		return all
	case Async:
		return Async(func(ctx context.Context) Effect { return WithLine(e(ctx), line) })
	case Prepare:
		return Prepare(func(ctx context.Context) func() Effect {
			then := e(ctx)
			return func() Effect { return WithLine(then(), line) }
		})
	}
	return e
}
