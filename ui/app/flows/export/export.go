// Package export lets the user write the conversation to a file.
package export

import (
	"context"
	"strings"

	"parley/ui/app"
	"parley/ui/app/mention"
)

// Register adds the flow to a.
func Register(a *app.App) {
	a.Commands = append(a.Commands,
		app.Command{Name: "export", Aliases: []string{"save", "share"}, Keys: []string{"ctrl+x e"}, Group: app.Conversations, Arg: "FORMAT PATH", Help: "Export this conversation to a file", Unavailable: a.EmptyText, Args: formats, Path: app.PathFile, Run: func(arg string) app.Effect { return export(a, arg) }},
	)
}

// formats lists the export formats.
func formats() []app.Item {
	return []app.Item{
		{Title: "Markdown", Detail: "Current branch, to read or paste", Value: "md"},
		{Title: "HTML", Detail: "Current branch, one file for any browser", Value: "html"},
		{Title: "JSONL", Detail: "All branches, lossless; parley sessions import reads it", Value: "jsonl"},
	}
}

// splitArg splits a format and a path. For a path alone, the format is its extension.
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
		return app.Choose("Export as", "format", formats(), func(as string) app.Effect { return export(a, as) })
	}
	o, of := a.Options, a.Session
	if o.Export == nil {
		return app.Toast("Not available here")
	}
	return app.Async(func(context.Context) app.Effect { // a command that prints a key may be slow
		path, note, err := o.Export(of, as, mention.ExpandHome(strings.TrimSpace(path)))
		if err != nil {
			return app.Fail(err)
		}
		return app.Toast("Wrote " + o.AbbrevPath(path) + note)
	})
}
