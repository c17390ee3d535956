package app

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"parley/providers/llm"
	"parley/session"
	"parley/session/attach"
	"parley/session/prompts"
)

// PromptFiles gives access to prompt files: the user's, and those of a trusted directory.
type PromptFiles struct {
	// FindPrompts reads the prompt files from disk. If several share a name, the first counts. Problems has an error
	// for each unusable file. Nil if there are no prompt files.
	FindPrompts func() (found []prompts.Prompt, problems []error)
	Skills      func() (all []Skill, problems []error) // nil if there are none
	Memory      Memory                                 // nil if nothing can be remembered
	PromptDir   string                                 // directory of the user's own prompt files
	MayInsert   func(path string, project bool) error  // returns why a prompt (project: of the directory) may not attach the file at path; nil allows every file
	System      func(system string) string             // returns the complete system prompt with system in place of parley's own text ("": with that text); nil returns system as it is
}

// Memory keeps lines that every new conversation gets: the user's, and those of the folder (here).
type Memory interface {
	Lines(here bool) []string
	Add(text string, here bool) error
	Replace(here bool, line, text string) error // an empty text forgets the line
	Path(here bool) string
	Edited(here bool) error // accepts the file of Path that the user has edited; the error says what is not used of it
}

// knownPrompts holds the prompts found by the last read.
type knownPrompts struct {
	list     []prompts.Prompt
	problems []error
}

// named returns the prompt with this name; nil if there is none.
func (k *knownPrompts) named(name string) *prompts.Prompt {
	if k == nil {
		return nil
	}
	i := slices.IndexFunc(k.list, func(p prompts.Prompt) bool { return p.Name == name })
	if i < 0 {
		return nil
	}
	return &k.list[i]
}

// problem returns the error of the prompt file with this name; nil if the name is usable or unknown.
func (k *knownPrompts) problem(name string) error {
	if k == nil || k.named(name) != nil {
		return nil
	}
	return prompts.ProblemOf(name, k.problems)
}

// ReadPrompts returns a function that reads the prompt files; it may run on any goroutine. Until then no prompts are
// known.
func ReadPrompts(a *App) func() {
	find, known := a.FindPrompts, &a.prompts
	return func() {
		if find != nil {
			found, problems := find()
			known.Store(&knownPrompts{found, problems})
		}
	}
}

// sorted returns the prompts by name; of equal names, the first.
func (k *knownPrompts) sorted() []prompts.Prompt {
	if k == nil {
		return nil
	}
	list := slices.Clone(k.list)
	prompts.Sort(list)
	return slices.CompactFunc(list, func(p, q prompts.Prompt) bool { return p.Name == q.Name })
}

// items lists the prompts of files.
func (k *knownPrompts) items() (items []Item) {
	list := k.sorted()
	for i := range list {
		p := &list[i]
		about := p.Description
		if about == "" {
			about = FirstLine(p.Body)
		}
		if hint := PromptHint(p); hint != "" {
			about = hint + " · " + about
		}
		items = append(items, Item{Title: p.Name, Detail: about, Value: p.Name})
	}
	return items
}

// serverPrompt returns the MCP server's prompt with this name; nil if there is none.
func (a *App) serverPrompt(name string) *ServerPrompt {
	list, _ := a.ServerPrompts()
	if i := slices.IndexFunc(list, func(p ServerPrompt) bool { return p.Value == name }); i >= 0 {
		return &list[i]
	}
	return nil
}

// PromptItems lists the prompts of files and of MCP servers.
func (a *App) PromptItems() []Item {
	items := a.prompts.Load().items()
	list, _ := a.ServerPrompts()
	for _, p := range list {
		items = append(items, p.Item)
	}
	return items
}

// prompt sends the prompt of a file. A server's prompt goes into the draft, to be read before it is sent. Arguments
// follow the name, in order or as name=value.
func (a *App) prompt(line string) Effect {
	if line == "" {
		return &List{Title: "Prompts", Noun: "prompt", Items: a.PromptItems(), TakesArg: true, Choose: a.prompt}
	}
	name, rest, _ := strings.Cut(line, " ")
	if p := a.prompts.Load().named(name); p != nil {
		return sendPrompt(a, p, strings.TrimSpace(rest), nil)
	}
	if p := a.serverPrompt(name); p != nil {
		return p.Fill(rest)
	}
	return Refuse("no prompt %s: /prompt lists them", name)
}

// PromptHint names the arguments that may follow the name of a prompt; "" if the file names none.
func PromptHint(p *prompts.Prompt) string {
	if p.Hint != "" {
		return p.Hint
	}
	var names []string
	for _, f := range p.Fields() {
		names = append(names, "<"+strings.ToLower(f.Name)+">")
	}
	return strings.Join(names, " ")
}

// PromptChoices lists the values that the file declares for the prompt's arguments.
func PromptChoices(a *App, name string) (items []Item) {
	p := a.prompts.Load().named(name)
	if p == nil {
		return nil
	}
	for _, f := range p.Fields() {
		for _, c := range f.Choices {
			items = append(items, Item{Title: c, Detail: f.Name, Value: f.Name + "=" + quoteArgument(c)})
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

// RunPromptCommand runs "/name arguments", where name is a prompt of the user's files, of the directory's files, or
// "server:prompt" of an MCP server. Commands with that name take precedence; callers look for them first. It returns
// false if text is not such a line.
func RunPromptCommand(a *App, text string) (Effect, bool) {
	name, args := splitNamed(text)
	if name == "" {
		return nil, false
	}
	known := a.prompts.Load() // loaded once: another goroutine may store them meanwhile
	if p := known.named(name); p != nil {
		return withLine(sendPrompt(a, p, args, nil), text), true
	}
	if hasSkill(a, name) {
		return withLine(a.UseSkill(strings.TrimSpace(name+" "+args)), text), true
	}
	if p := a.serverPrompt(name); p != nil {
		return withLine(p.Fill(args), text), true
	}
	if err := known.problem(name); err != nil {
		return Failure{Err: err, Line: text}, true
	}
	if !awaitsPrompts(a, known, name) {
		return nil, false
	}
	return readPrompts(a, func() Effect {
		if e, ok := RunPromptCommand(a, text); ok {
			return e
		}
		return Failure{Err: fmt.Errorf("no command or prompt /%s", name), Line: text}
	}), true
}

// awaitsPrompts reports whether name could be a prompt while the prompts have not been read yet.
func awaitsPrompts(a *App, known *knownPrompts, name string) bool {
	return known == nil && a.FindPrompts != nil && prompts.ValidName(name) && !slices.ContainsFunc(a.Commands, func(c Command) bool {
		return slices.ContainsFunc(c.Names(), func(n string) bool { return strings.HasPrefix(n, name) })
	})
}

// IsPromptCommand reports whether RunPromptCommand would run text.
func IsPromptCommand(a *App, text string) bool {
	name, _ := splitNamed(text)
	known := a.prompts.Load()
	return name != "" && (known.named(name) != nil || hasSkill(a, name) || a.serverPrompt(name) != nil || known.problem(name) != nil || awaitsPrompts(a, known, name))
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

// sendPrompt sends a prompt with arguments; values holds the fields that the user was asked for.
func sendPrompt(a *App, p *prompts.Prompt, args string, values map[string]string) Effect {
	e, err := p.Expand(args, values)
	switch {
	case err != nil:
		return Fail(err)
	case len(e.Missing) > 0:
		return askField(a, p, args, values, e.Missing[0])
	case strings.TrimSpace(e.Text()) == "" && len(e.Commands) == 0:
		return Refuse("/%s is a persona: /persona %s turns it on", p.Name, p.Name)
	}
	o, s, line, alone := a.Options, a.Session, strings.TrimSpace("/"+p.Name+" "+args), len(e.Commands) > 0 || changesTurn(p)
	refused := Failure{Err: errors.New("stop the running turn first: this prompt runs commands, or has a model or settings"), Line: line}
	if alone && a.Busy() {
		return refused
	}
	a.RememberPrompt(line)
	return Prepare(func(ctx context.Context) func() Effect {
		from, notes, err := o.Template(ctx, p, e)
		return func() Effect {
			switch {
			case err != nil:
				return Failure{Err: err, Line: line}
			case a.Session != s:
				return Failure{Err: errors.New("another conversation was opened: not sent"), Line: line}
			case alone && a.Busy(): // a turn began meanwhile
				return refused
			}
			attached, own := a.Attached, from.Parts // includes attachments added meanwhile
			from.Draft = session.Unsent{Message: llm.Message{Role: llm.RoleUser, Parts: attached}, Command: line}
			from.Parts = func(outputs []string) []llm.Part { return append(slices.Clone(attached), own(outputs)...) }
			a.Attached = nil
			if a.Busy() {
				s.Queue.Add(from.Parts(nil)...)
				return Then{Notes(notes), Toast("Queued – sent when the answer is done")}
			}
			return Then{Notes(notes), Play(func(ctx context.Context) iter.Seq[session.Event] { return s.TurnFromTemplate(ctx, from) })}
		}
	})
}

// changesTurn reports whether a prompt has settings for its turn.
func changesTurn(p *prompts.Prompt) bool {
	return p.Model != "" || p.Effort != "" || p.Web || len(p.Tools) > 0 || p.System != "" || hasSchema(p)
}

// askField asks for the value of field f, and then sends the prompt.
func askField(a *App, p *prompts.Prompt, args string, values map[string]string, f prompts.Field) Effect {
	with := func(value string) Effect {
		more := map[string]string{f.Name: value}
		for name, value := range values {
			more[name] = value
		}
		return sendPrompt(a, p, args, more)
	}
	if len(f.Choices) == 0 {
		return &Secret{Title: "/" + p.Name + ": " + f.Name, Text: "The value of " + f.Name + " in this prompt", Visible: true, Submit: func(_ context.Context, line string) (func() Effect, error) {
			return func() Effect { return with(line) }, nil
		}}
	}
	list := &List{Title: "/" + p.Name + ": " + f.Name, Noun: "value", Choose: with}
	for _, c := range f.Choices {
		list.Items = append(list.Items, Item{Title: c, Value: c})
	}
	return list
}

// Template reads everything a prompt needs before it is sent: mentioned files, the model, the schema. Notes name the
// mentions that were not attached and the keys without effect.
func (o *Options) Template(ctx context.Context, p *prompts.Prompt, e prompts.Expansion) (from session.Template, notes []string, err error) {
	mentions, notes := o.insertable(p, e.Mentions)
	if p.Project {
		from.Project = o.AbbrevPath(p.Path)
	}
	for _, c := range e.Commands {
		from.Commands = append(from.Commands, c.Text)
	}
	local := o
	local.FetchFile = nil // addresses are fetched only where the user types them
	files, more, err := local.Expand(ctx, mentions+e.Typed)
	if err != nil {
		return from, nil, err
	}
	if from.Settings, err = o.turnSettings(p); err != nil {
		return from, nil, err
	}
	from.Parts = func(outputs []string) []llm.Part {
		return append(slices.Clone(files), llm.Part{Kind: llm.Text, Text: e.Text(outputs...)})
	}
	notes = append(notes, more...)
	for _, wrong := range p.UnknownKeys() {
		notes = append(notes, fmt.Sprintf("%s:%d: %s", o.AbbrevPath(wrong.Path), wrong.Line, wrong.Text))
	}
	return from, notes, nil
}

// insertable returns the mentions that a prompt may attach, and a note for each other one: denied files and, for a
// prompt of the directory, files that the model may not read.
func (o *Options) insertable(p *prompts.Prompt, mentions string) (kept string, notes []string) {
	whose, from := "/"+p.Name, 0
	if p.Project {
		whose = "a prompt of this folder"
	}
	for _, m := range attach.Mentions(mentions, isFile) {
		err := error(nil)
		if p.Project && !filepath.IsLocal(m.Path) {
			err = errors.New("it is outside this folder")
		} else if o.MayInsert != nil {
			err = o.MayInsert(ExpandHome(m.Path), p.Project)
		}
		if !p.Project { // mentions that are not files may be resources of servers
			kept += mentions[from:m.Start]
		}
		if from = m.End; err != nil {
			notes = append(notes, fmt.Sprintf("not attached: %s, which %s mentions: %v", m.Path, whose, err))
			continue
		}
		kept += mentions[m.Start:m.End] + "\n"
	}
	if !p.Project {
		kept += mentions[from:]
	}
	return kept, notes
}

// turnSettings returns the settings for the turn of a prompt.
func (o *Options) turnSettings(p *prompts.Prompt) (t session.TurnSettings, err error) {
	t.Effort, t.Tools, t.Web = p.Effort, p.Tools, p.Web
	if p.System != "" {
		if t.System = p.System; o.System != nil {
			t.System = o.System(p.System)
		}
	}
	if p.Model != "" && o.Open != nil {
		if t.Model, err = o.Open(o.Resolve(p.Model)); err != nil {
			return t, fmt.Errorf("%s: model: %s: %w", o.AbbrevPath(p.Path), p.Model, err)
		}
	}
	if hasSchema(p) {
		t.Schema, err = PromptSchema(p, o.Session.Schemas)
	}
	return t, err
}

func hasSchema(p *prompts.Prompt) bool { return len(p.Schema) > 0 || p.SchemaFile != "" }

// PromptSchema returns the schema that the answer to a prompt has to match; nil if the prompt has none.
func PromptSchema(p *prompts.Prompt, schemas session.Schemas) (*llm.Schema, error) {
	text := []byte(p.Schema)
	if p.SchemaFile != "" {
		path := ExpandHome(p.SchemaFile)
		if !filepath.IsAbs(path) {
			path = filepath.Join(filepath.Dir(p.Path), path)
		}
		var err error
		if text, err = os.ReadFile(path); err != nil {
			return nil, fmt.Errorf("%s: schema: %w", p.Path, err)
		}
	}
	switch {
	case len(text) == 0:
		return nil, nil
	case schemas == nil:
		return nil, fmt.Errorf("%s: schema: this build has no JSON schemas", p.Path)
	}
	parsed, err := schemas.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("%s: schema: %w", p.Path, err)
	}
	return parsed, nil
}

// savePrompt writes the last message to a prompt file.
func savePrompt(a *App, name string) Effect {
	text := ""
	for _, m := range slices.Backward(a.Session.History()) {
		if m.Role == llm.RoleUser {
			text, _ = SplitPrompt(m)
			break
		}
	}
	switch {
	case name == "":
		return Toast("/save-prompt and a name: /NAME then sends your last message again")
	case strings.TrimSpace(text) == "":
		return Toast("No message to save yet")
	}
	dir, short, read := a.PromptDir, a.AbbrevPath, ReadPrompts(a)
	return Async(func(context.Context) Effect {
		path, err := prompts.Create(dir, name, prompts.Format(prompts.Prompt{Body: prompts.Escape(text)}))
		if err != nil {
			return Fail(err)
		}
		read()
		return Toast("Saved as " + short(path) + " · /" + name + " sends it")
	})
}

func noPromptDir(a *App) string {
	if a.PromptDir == "" {
		return "No folder for prompts here"
	}
	return EmptyText(a)
}
