// Package clip is the vocabulary of copying text to the clipboard: the clipboard, and the results of copies. Package
// routes has the ways to it.
package clip

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"parley/ui/format"
)

// A Board is the user's clipboard. Its methods may be called from several goroutines.
type Board interface {
	// Copy returns a function that copies the visible text: invisible characters, which could hide text or end a
	// paste, are removed. The function may wait a few seconds. Of several copies, the last requested one wins.
	Copy(text string) func(context.Context) Result
	Answered(text string)                            // handles the terminal's report of its clipboard
	Image(context.Context) ([]byte, error)           // returns the image on the clipboard. Errors suggest alternatives to the user
	Tmux(context.Context) (term string, passes bool) // returns the TERM of tmux's terminal, and whether tmux passes sequences on to it; "" outside of tmux
	Routes(context.Context) (names []string)         // returns the routes that Copy would try, in order
	Report(context.Context) (lines []string)         // describes the available routes
}

// New returns the clipboard of an environment. Files for texts that nothing else accepts go into directory; "" for none.
// Commands in the workspace are not run. Terminal writes sequences to the terminal; nil without one.
var New = func(getenv func(string) string, directory, workspace string, terminal func(seq string)) Board {
	return none{}
}

// none is the clipboard of a build without routes.
type none struct{}

func (none) Copy(string) func(context.Context) Result {
	return func(context.Context) Result { return Result{Err: noClipboard()} }
}
func (none) Answered(string)                       {}
func (none) Image(context.Context) ([]byte, error) { return nil, noClipboard() }
func (none) Tmux(context.Context) (string, bool)   { return "", false }
func (none) Routes(context.Context) []string       { return nil }
func (none) Report(context.Context) []string       { return nil }

func noClipboard() error { return errors.New("this build has no clipboard") }

// A Result is the result of a copy.
type Result struct {
	Bytes      int
	Hidden     int     // number of invisible characters, which are not copied
	Delivered  []Step  // the routes that the text took
	Failures   []error // why other routes failed
	File       string  // file that holds the text instead; "" if a route took it
	Err        error   // the text was not copied at all
	Superseded bool    // a later copy has replaced this one
}

// A Step is a route that the text took.
type Step struct {
	Route   string // "terminal (OSC 52)", "tmux buffer", "wl-copy"
	Checked bool   // the text was read back
}

func (r Result) String() string { return r.Message("") }

// Message returns the result in a few words, or "" if a later copy replaced this one.
// what names the text, such as "answer"; "" shows only the size.
func (r Result) Message(what string) string {
	said := r.route(what)
	switch {
	case r.Superseded, r.Err != nil, r.Hidden == 0:
		return said
	case r.Hidden == 1:
		return said + "; 1 hidden character removed"
	}
	return fmt.Sprintf("%s; %d hidden characters removed", said, r.Hidden)
}

// route describes the route of the text.
func (r Result) route(what string) string {
	text, size := format.Size(r.Bytes), ""
	if what != "" {
		text, size = what, " ("+text+")"
	}
	var checked, sent []string
	for _, s := range r.Delivered {
		if s.Checked {
			checked = append(checked, s.Route)
			continue
		}
		sent = append(sent, s.Route)
	}
	why := ""
	if len(r.Failures) > 0 {
		why = "; " + r.Failures[len(r.Failures)-1].Error()
	}
	switch {
	case r.Superseded:
		return ""
	case r.Err != nil:
		return "Could not copy: " + r.Err.Error() + why
	case r.File != "":
		return "Could not copy " + text + size + "; saved to " + r.File + why
	case len(checked) == 0:
		return "Copied " + text + " via " + strings.Join(sent, " and ") + size + ", not confirmed" + why
	case len(sent) == 0:
		return "Copied " + text + " to " + strings.Join(checked, " and ") + size
	}
	return "Copied " + text + " to " + strings.Join(checked, " and ") + size + "; also via " + strings.Join(sent, " and ")
}
