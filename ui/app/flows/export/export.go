// Package export lets the user write the conversation to a file.
package export

import (
	"context"
	"strings"

	"parley/session"
	"parley/session/archive"
	"parley/ui/app"
	"parley/ui/format"
)

// Register adds the flow to what front ends have.
func Register(o *app.Options) {
	o.Commands = append(o.Commands,
		app.Command{Name: "export", Aliases: []string{"save", "share"}, Keys: []string{"ctrl+x e"}, Group: app.Conversations, Arg: "FORMAT PATH", Help: "Export this conversation to a file", Unavailable: app.EmptyText, Args: formats, Path: app.PathFile, Run: export},
	)
}

// formats lists what the conversation can be written as.
func formats(*app.App) []app.Item {
	return []app.Item{
		{Title: "Markdown", Detail: "Current branch, to read or paste", Value: "md"},
		{Title: "HTML", Detail: "Current branch, one file for any browser", Value: "html"},
		{Title: "JSONL", Detail: "All branches, lossless; parley sessions import reads it", Value: "jsonl"},
	}
}

// splitArg splits a format and a file. The end of a file alone is its format.
func splitArg(arg string) (as, path string) {
	as, path, _ = strings.Cut(arg, " ")
	if dot := strings.LastIndex(arg, "."); path == "" && dot >= 0 {
		return arg[dot+1:], arg
	}
	return as, path
}

// export writes the conversation to a file in the working directory.
func export(a *app.App, arg string) app.Effect {
	as, path := splitArg(arg)
	if as == "" {
		return &app.List{Title: "Export as", Noun: "format", Items: formats(a), Choose: func(i app.Item, _ string) app.Effect { return export(a, i.Value) }}
	}
	form, err := archive.FindFormat(as)
	if err != nil {
		return app.Failure{Err: err}
	}
	e := exporter{a.Options, a.Session}
	return app.Async(func(context.Context) app.Effect { // a command that prints a key takes its time
		c, note := e.read()
		path, err := form.Save(c, app.ExpandHome(strings.TrimSpace(path)), e.app.Directory)
		if err != nil {
			return app.Failure{Err: err}
		}
		return app.Toast("Wrote " + e.app.AbbrevPath(path) + note)
	})
}

// An exporter reads a conversation.
type exporter struct {
	app app.Options
	of  *session.Session
}

// read returns the conversation without the keys that Mask knows, and a note of how many texts held some.
func (e exporter) read() (c archive.Conversation, note string) {
	about, _, err := e.app.Library.Read(e.of.ID())
	if err != nil { // it is not kept
		about = session.Info{ID: e.of.ID(), Model: e.of.Model().Name, Created: e.app.Now()}
	}
	about.Head = e.of.Head()
	shown, _ := e.app.Library.Annotations(about.ID) // the messages are what matters
	c = archive.Conversation{Session: about, Nodes: e.of.Nodes(), Annotations: shown}
	if e.app.Mask == nil {
		return c, ""
	}
	mask, err := e.app.Mask()
	if c = archive.Mask(c, mask); c.MaskedTexts > 0 {
		note = " · keys masked in " + format.Plural(c.MaskedTexts, "text")
	}
	if err != nil {
		note += " · " + strings.ReplaceAll(format.ErrorText(err), "\n", " · ")
	}
	return c, note
}
