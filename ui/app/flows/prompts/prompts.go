// Package prompts lets the user send prompts of files and MCP servers, save messages as such files, and set the system
// prompt of a conversation: as a persona, which is a prompt file too, or as text.
package prompts

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"parley/providers/llm"
	"parley/session/prompts"
	"parley/ui/app"
	"parley/ui/format"
)

// A Flow finds and sends prompts. It implements app.Prompts; options of an App may have one, with its exported fields, in
// place of the one for its PromptFiles.
type Flow struct {
	// Find reads the prompt files from disk. If several share a name, the first counts. Problems has an error for each
	// unusable file. Nil if there are no prompt files.
	Find func() (found []prompts.Prompt, problems []error)
	Dir  string // directory of the user's own prompt files

	app   *app.App
	known atomic.Pointer[known]
}

// known holds the prompts found by the last read, one of each name, sorted.
type known struct {
	list     []prompts.Prompt
	problems []error
}

// Register adds the flow to a.
func Register(a *app.App) {
	f, ok := a.Prompts.(*Flow)
	if !ok {
		f = &Flow{Dir: a.PromptFiles.Dir}
	}
	if files := a.PromptFiles; !ok && files.Project != nil {
		f.Find = func() ([]prompts.Prompt, []error) { return prompts.All(files.Dir, files.Project()) }
	}
	f.app, a.Prompts = a, f
	a.Commands = append(a.Commands,
		app.Command{Name: "prompt", Group: app.Messages, Arg: "NAME", Help: "Send a prompt from a file or an MCP server", Unavailable: f.none, Args: f.Items, Run: f.prompt},
		app.Command{Name: "persona", Group: app.Messages, Arg: "NAME", Help: "Persona: system prompt of this conversation; off ends it", Unavailable: a.BusyText, Args: f.personas, Run: f.persona},
		app.Command{Name: "system", Group: app.Messages, Arg: "TEXT", Help: "System prompt: show, replace, edit; off ends it", Args: f.systemItems, MultilineArg: "*", Run: f.system},
		app.Command{Name: "save-prompt", Group: app.Messages, Arg: "NAME", Help: "Save your last message as a prompt file", Unavailable: f.nothingToSave, Run: f.save},
	)
}

// named returns the prompt with this name; nil if there is none.
func (k *known) named(name string) *prompts.Prompt {
	if k == nil {
		return nil
	}
	i := slices.IndexFunc(k.list, func(p prompts.Prompt) bool { return p.Name == name })
	if i < 0 {
		return nil
	}
	return &k.list[i]
}

// Read reads the prompt files; it may run on any goroutine. Until then no prompts of files are known.
func (f *Flow) Read() {
	if f.Find == nil {
		return
	}
	found, problems := f.Find()
	list := slices.Clone(found)
	prompts.Sort(list)
	list = slices.CompactFunc(list, func(p, q prompts.Prompt) bool { return p.Name == q.Name })
	f.known.Store(&known{list, problems})
}

// reread reads the prompt files and then runs then.
func (f *Flow) reread(then func() app.Effect) app.Effect {
	return app.Prepare(func(context.Context) func() app.Effect {
		f.Read()
		return then
	})
}

// files returns the known prompts of files by name.
func (f *Flow) files() []prompts.Prompt {
	if k := f.known.Load(); k != nil {
		return k.list
	}
	return nil
}

// Items lists the prompts of files and of MCP servers.
func (f *Flow) Items() (items []app.Item) {
	for _, p := range f.files() {
		about := cmp.Or(p.Description, format.FirstLine(p.Body))
		if hint := p.ArgumentHint(); hint != "" {
			about = hint + " · " + about
		}
		items = append(items, app.Item{Title: p.Name, Detail: about, Value: p.Name})
	}
	list, _ := f.app.MCP.Prompts()
	for _, p := range list {
		items = append(items, p.Item)
	}
	return items
}

// Choices lists the values that the file declares for the prompt's arguments.
func (f *Flow) Choices(name string) (items []app.Item) {
	p := f.known.Load().named(name)
	if p == nil {
		return nil
	}
	for _, field := range p.Fields() {
		for _, c := range field.Choices {
			items = append(items, app.Item{Title: c, Detail: field.Name, Value: field.Name + "=" + quoteArgument(c)})
		}
	}
	return items
}

// quoteArgument quotes value so that it is one argument of a prompt.
func quoteArgument(value string) string {
	switch {
	case !strings.ContainsAny(value, " \t\n\"'"):
		return value
	case strings.Contains(value, `"`):
		return "'" + value + "'"
	}
	return `"` + value + `"`
}

// none returns why there is no prompt to send; "" if there is one.
func (f *Flow) none() string {
	if len(f.files()) > 0 {
		return ""
	}
	list, unavailable := f.app.MCP.Prompts()
	if len(list) == 0 && f.Dir != "" {
		return "No prompts yet. /save-prompt NAME saves your last message as one"
	}
	return unavailable
}

// ofServer returns the MCP server's prompt with this name; nil if there is none.
func (f *Flow) ofServer(name string) *app.ServerPrompt {
	list, _ := f.app.MCP.Prompts()
	if i := slices.IndexFunc(list, func(p app.ServerPrompt) bool { return p.Value == name }); i >= 0 {
		return &list[i]
	}
	return nil
}

// prompt sends the prompt of a file. A server's prompt goes into the draft, to be read before it is sent. Arguments
// follow the name, in order or as name=value.
func (f *Flow) prompt(line string) app.Effect {
	if line == "" {
		return &app.List{Title: "Prompts", Noun: "prompt", Items: f.Items(), TakesArg: true, Choose: f.prompt}
	}
	name, rest, _ := strings.Cut(line, " ")
	if p := f.known.Load().named(name); p != nil {
		return f.send(p, strings.TrimSpace(rest), nil)
	}
	if p := f.ofServer(name); p != nil {
		return p.Fill(rest)
	}
	return app.Refuse("no prompt %s: /prompt lists them", name)
}

// Has reports whether Run would run text.
func (f *Flow) Has(text string) bool { return f.named(text) != nil }

// Run runs "/name arguments", where name is a prompt of the user's files, of the directory's files, or "server:prompt"
// of an MCP server, or a skill. Commands with that name take precedence; callers look for them first. It returns false
// if text is not such a line.
func (f *Flow) Run(text string) (app.Effect, bool) {
	run := f.named(text)
	if run == nil {
		return nil, false
	}
	return app.WithLine(run(), text), true
}

// named returns a function that runs "/name arguments"; nil if text is not such a line.
func (f *Flow) named(text string) func() app.Effect {
	name, args := splitNamed(text)
	if name == "" {
		return nil
	}
	known := f.known.Load() // loaded once: another goroutine may store them meanwhile
	if p := known.named(name); p != nil {
		return func() app.Effect { return f.send(p, args, nil) }
	}
	if _, ok := f.app.Skills.Named(name); ok && f.app.Skills.Use != nil {
		return func() app.Effect { return f.app.Skills.Use(strings.TrimSpace(name + " " + args)) }
	}
	if p := f.ofServer(name); p != nil {
		return func() app.Effect { return p.Fill(args) }
	}
	if known != nil {
		if err := prompts.ProblemOf(name, known.problems); err != nil {
			return func() app.Effect { return app.Fail(err) }
		}
		return nil
	}
	if f.Find == nil || !prompts.ValidName(name) || slices.ContainsFunc(f.app.Commands, func(c app.Command) bool {
		return slices.ContainsFunc(c.Names(), func(n string) bool { return strings.HasPrefix(n, name) })
	}) {
		return nil
	}
	return func() app.Effect { // the prompts have not been read yet
		return f.reread(func() app.Effect {
			if e, ok := f.Run(text); ok {
				return e
			}
			return app.Refuse("no command or prompt /%s", name)
		})
	}
}

// splitNamed splits "/name arguments"; name is "" if text has another form.
func splitNamed(text string) (name, args string) {
	rest, ok := strings.CutPrefix(text, "/")
	name = rest
	if i := strings.IndexAny(rest, " \n\t"); i >= 0 {
		name, args = rest[:i], strings.TrimSpace(rest[i:])
	}
	if !ok || name == "" || strings.ContainsAny(name, "/\\") {
		return "", ""
	}
	return name, args
}

func (f *Flow) nothingToSave() string {
	if f.Dir == "" {
		return "No folder for prompts here"
	}
	return f.app.EmptyText()
}

// save writes the last message to a prompt file.
func (f *Flow) save(name string) app.Effect {
	text := ""
	for _, m := range slices.Backward(f.app.Session.History()) {
		if m.Role == llm.RoleUser {
			text, _ = app.SplitPrompt(m)
			break
		}
	}
	switch {
	case name == "":
		return app.Toast("/save-prompt and a name: /NAME then sends your last message again")
	case strings.TrimSpace(text) == "":
		return app.Toast("No message to save yet")
	}
	short := f.app.AbbrevPath
	return app.Async(func(context.Context) app.Effect {
		path, err := prompts.Create(f.Dir, name, prompts.Format(prompts.Prompt{Body: prompts.Escape(text)}))
		if err != nil {
			return app.Fail(err)
		}
		f.Read()
		return app.Toast(fmt.Sprintf("Saved as %s · /%s sends it", short(path), name))
	})
}
