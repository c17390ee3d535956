// Package memory lets the user keep lines that every new conversation gets.
package memory

import (
	"fmt"
	"strconv"
	"strings"

	"parley/tools/sanitize"
	"parley/ui/app"
	"parley/ui/format"
)

// Register adds the flow to a.
func Register(a *app.App) {
	f := flow{a}
	a.Commands = append(a.Commands,
		app.Command{Name: "remember", Group: app.Conversations, Arg: "TEXT", Help: "Remember a line in every new conversation; --here: only in this folder", Editors: true, Unavailable: f.unavailable, Run: f.remember},
		app.Command{Name: "memory", Group: app.Conversations, Arg: "ACTION", Help: "Remembered lines: list, edit, forget", Editors: true, Unavailable: f.unavailable, Args: f.args, Run: f.run},
	)
}

// A flow shows and changes remembered lines.
type flow struct{ app *app.App }

// A row is a remembered line.
type row struct {
	text string
	here bool // it is of the folder
}

func (f flow) unavailable() string {
	if f.app.Memory == nil {
		return "Nothing can be remembered here"
	}
	return ""
}

// remember stores a line.
func (f flow) remember(text string) app.Effect {
	rest, here := strings.CutPrefix(" "+text+" ", " --here ")
	rest, atEnd := strings.CutSuffix(rest, " --here ")
	here = here || atEnd
	words := strings.Fields(rest)
	if len(words) == 0 {
		return app.Refuse("/remember needs a text, such as /remember I use tabs")
	}
	for _, word := range []string{words[0], words[len(words)-1]} {
		if strings.HasPrefix(word, "--") { // a mistyped --here must not make a line for every folder
			return app.Refuse("/remember knows only --here, not %s: to remember it, put it in quotes", sanitize.Line(word))
		}
	}
	text = strings.TrimSpace(rest)
	if err := f.app.Memory.Add(text, here); err != nil {
		return app.Fail(err)
	}
	done := "Remembered"
	if here {
		done += " in this folder"
	}
	return app.Toast(f.applied(done) + " · /memory lists all")
}

// applied adds to done that only new conversations have the change, unless the open one has not begun.
func (f flow) applied(done string) string {
	a := f.app
	if !a.Session.Empty() || a.FrontEnd.Busy() || a.System == nil {
		return done + ", for new conversations" // a changed system prompt would lose the provider's cache
	}
	a.Session.Next.SetSystem(a.System(a.Session.Personas.Current().System))
	return done
}

// rows returns the user's lines, then those of the folder.
func (f flow) rows() (rows []row) {
	for _, here := range []bool{false, true} {
		for _, line := range f.app.Memory.Lines(here) {
			rows = append(rows, row{line, here})
		}
	}
	return rows
}

// items lists the lines with their numbers, which are also their values, and their tokens.
func (f flow) items() (items []app.Item) {
	groups := map[bool]string{false: "In every folder", true: "In this folder"}
	for i, r := range f.rows() {
		items = append(items, app.Item{Title: sanitize.Line(r.text), Detail: "line " + strconv.Itoa(i+1) + ", " + format.Tokens(f.app.Estimate(r.text)) + " tokens", Group: groups[r.here], Value: strconv.Itoa(i + 1)})
	}
	return items
}

func (f flow) args() []app.Item {
	return []app.Item{
		{Title: "edit NUMBER TEXT", Detail: "replace a line", Value: "edit", Exact: true},
		{Title: "forget NUMBER", Detail: "remove a line", Value: "forget", Exact: true},
	}
}

// run lists the lines, or changes one.
func (f flow) run(arg string) app.Effect {
	verb, rest, _ := strings.Cut(arg, " ")
	number, text, _ := strings.Cut(strings.TrimSpace(rest), " ")
	text = strings.TrimSpace(text)
	rows := f.rows()
	n, err := strconv.Atoi(number)
	switch {
	case arg == "" || arg == "list":
		return f.list()
	case verb != "edit" && verb != "forget":
		return app.Refuse("no action %q: use /memory, /memory edit NUMBER TEXT or /memory forget NUMBER", sanitize.Line(verb))
	case number == "":
		return app.Refuse("/memory %s needs a number: /memory lists the lines with their numbers", verb)
	case err != nil || n < 1 || n > len(rows):
		return app.Refuse("no line %q: /memory lists the lines with their numbers", sanitize.Line(number))
	case verb == "forget" && text == "":
		return f.replace(rows[n-1], "", "New conversations no longer get: "+sanitize.Line(rows[n-1].text))
	case verb == "forget":
		return app.Refuse("/memory forget takes one number: remove %q", sanitize.Line(text))
	case text == "":
		return app.DraftCommand(fmt.Sprintf("/memory edit %d %s", n, sanitize.Line(rows[n-1].text)))
	}
	return f.replace(rows[n-1], text, "Line changed")
}

// replace replaces a line; "" forgets it.
func (f flow) replace(r row, text, done string) app.Effect {
	if err := f.app.Memory.Replace(r.here, r.text, text); err != nil {
		return app.Fail(err)
	}
	said := f.applied(done)
	if text == "" {
		said = done
	}
	return app.Toast(said)
}

// list lists the lines for the user to edit or forget one.
func (f flow) list() app.Effect {
	items, tokens := f.items(), 0
	for _, r := range f.rows() {
		tokens += f.app.Estimate(r.text)
	}
	if len(items) == 0 {
		return app.Toast("No remembered lines. /remember TEXT adds one")
	}
	l := &app.List{
		Title: "Memory · " + format.Tokens(tokens) + " tokens in each request", Noun: "line", Items: items, Refresh: f.items,
		Remove: func(value string) app.Effect { return f.run("forget " + value) }, RemoveAs: "forget",
		Actions: []app.Action{{Key: "ctrl+g", Help: "open the file", Do: func(value string) app.Effect {
			n, _ := strconv.Atoi(value)
			rows := f.rows()
			if n < 1 || n > len(rows) {
				return nil
			}
			here := rows[n-1].here
			return app.EditFile{Path: f.app.Memory.Path(here), Done: func() app.Effect {
				if err := f.app.Memory.Edited(here); err != nil {
					return app.Fail(err)
				}
				return f.list()
			}}
		}}},
	}
	l.Choose = func(value string) app.Effect { return f.choose(l.Item(value)) }
	return l
}

// choose shows a whole line, and offers to edit or forget it.
func (f flow) choose(i app.Item) app.Effect {
	_, tokens, _ := strings.Cut(i.Detail, ", ")
	return app.Choose(i.Title, "action", []app.Item{
		{Title: "Edit", Value: "edit "}, {Title: "Forget", Detail: tokens + " less in each request", Value: "forget "},
	}, func(verb string) app.Effect { return f.run(verb + i.Value) })
}
