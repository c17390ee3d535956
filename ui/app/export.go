package app

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"parley/providers/llm"
	"parley/session"
	"parley/session/archive"
	"parley/session/attach"
	"parley/tools/sanitize"
	"parley/ui/clip"
	"parley/ui/format"
)

// Copier returns Copy to a board.
func Copier(board *clip.Board) func(text string) func(context.Context) clip.Result {
	return func(text string) func(context.Context) clip.Result { return Copy(board, text) }
}

// Copy returns what copies text as it was to be seen: who pastes it elsewhere
// pastes nothing that was hidden in it, and ends no paste.
func Copy(board *clip.Board, text string) func(context.Context) clip.Result {
	text, hidden := sanitize.Source(text)
	put := board.Copy(text)
	return func(ctx context.Context) clip.Result {
		result := put(ctx)
		result.Hidden = hidden
		return result
	}
}

// ExportFormat returns the export format of this name, or as the list of formats calls it:
// Markdown is md. Letter case does not count.
func ExportFormat(name string) (archive.Format, error) {
	var names []string
	for _, f := range archive.Formats {
		if strings.EqualFold(f.Name, name) || f.Name == "md" && strings.EqualFold(name, "markdown") {
			return f, nil
		}
		names = append(names, f.Name)
	}
	return archive.Format{}, UsageError{fmt.Errorf("unknown format %q: use %s", name, strings.Join(names, ", "))}
}

// exportAs splits what /export takes: a format and a file. The end of a file alone is its format.
func exportAs(arg string) (format, path string) {
	format, path, _ = strings.Cut(arg, " ")
	if dot := strings.LastIndex(arg, "."); path == "" && dot >= 0 {
		return arg[dot+1:], arg
	}
	return format, path
}

// WriteExport writes a conversation to a new file in folder, mode 0600, and returns
// its path. An empty path makes a name of the title.
func WriteExport(c archive.Conversation, as, path, folder string) (string, error) {
	form, err := ExportFormat(as)
	if err != nil {
		return "", err
	}
	if path == "" {
		path = fileName(c.Session) + "." + form.Name
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(folder, path)
	}
	return path, form.WriteFile(path, c)
}

// fileName returns a conversation's title as the name of a file.
func fileName(about session.Info) string {
	return cmp.Or(attach.Slug(about.Title), plainID(about), "conversation")
}

// plainID returns the letters and digits of a conversation's ID: one that was brought in may
// hold anything.
func plainID(about session.Info) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' {
			return r
		}
		return -1
	}, about.ID)
}

// ExportName returns a name for the file of a conversation among all others: its day, its
// title and its ID.
func ExportName(about session.Info) string {
	return strings.Join([]string{about.Created.Format(time.DateOnly), fileName(about), plainID(about)}, "-")
}

// Board returns where text is copied to. Terminal writes a sequence between frames; if
// it is nil, text does not go that way.
func (o Options) Board(terminal func(seq string)) *clip.Board {
	folder, _ := stateDir(o.Getenv) // without one there is a route less
	return &clip.Board{Getenv: o.Getenv, Directory: folder, Workspace: o.Directory, Terminal: terminal}
}

// Export writes the conversation of s to a new file, without the keys that Mask
// knows. It returns its path, and what to tell behind it: how many texts held
// such keys, "" for none. See WriteExport.
func (o Options) Export(s *session.Session, as, path string) (written, note string, err error) {
	about, _, err := o.Library.Read(s.ID())
	if err != nil { // it is not kept
		about = session.Info{ID: s.ID(), Model: s.Model().Name, Created: o.Now()}
	}
	about.Head = s.Head()
	shown, _ := o.Library.Annotations(s.ID()) // the messages are what matters
	c := archive.Conversation{Session: about, Nodes: s.Nodes(), Annotations: shown}
	if o.Mask != nil {
		mask, err := o.Mask()
		if c = archive.Mask(c, mask); c.MaskedTexts > 0 {
			note = " · keys masked in " + format.Plural(c.MaskedTexts, "text")
		}
		if err != nil {
			note += " · " + strings.ReplaceAll(format.ErrorText(err), "\n", " · ")
		}
	}
	written, err = WriteExport(c, as, path, o.Directory)
	return written, note, err
}

// A Skill is instructions for a task that models and users can load.
type Skill struct {
	Name, Description string
	Where             string // its directory, as a user calls it
	Warning           string // what is not as skills should be; "": nothing
	Hidden            bool   // from models
	Text, Mark        string // what a model that loads it is told, and how that begins
	Tokens            int    // about, in each request
	BodyTokens        int    // about, once it is loaded
}

// skillNamed returns the skill of this name.
func skillNamed(a *App, name string) (Skill, bool) {
	if a.Skills == nil {
		return Skill{}, false
	}
	all, _ := a.Skills()
	i := slices.IndexFunc(all, func(s Skill) bool { return s.Name == name })
	if i < 0 {
		return Skill{}, false
	}
	return all[i], true
}

// skillItems lists the skills with what they take, and those that cannot be used with why.
func skillItems(a *App) (items []Item) {
	if a.Skills == nil {
		return nil
	}
	all, problems := a.Skills()
	for _, s := range all {
		detail := fmt.Sprintf("%s tokens in each request, %s more once loaded", format.Tokens(s.Tokens), format.Tokens(s.BodyTokens))
		if s.Hidden {
			detail = format.Tokens(s.BodyTokens) + " tokens once you load it; not listed to the model"
		}
		if s.Warning != "" {
			detail += " · " + s.Warning
		}
		items = append(items, Item{Title: s.Name, Detail: detail + " · " + s.Description, Value: s.Name})
	}
	for _, err := range problems {
		items = append(items, Item{Title: "ignored", Detail: format.ErrorText(err), Value: format.ErrorText(err), Disabled: true})
	}
	return items
}

// listSkills shows the skills, and loads the one that is chosen.
func listSkills(a *App, _ string) Effect {
	return Effect{List: &List{Title: "Skills", Noun: "skill", Items: skillItems(a), TakesArg: true, Choose: func(i Item, arg string) Effect {
		return useSkill(a, strings.TrimSpace(i.Value+" "+arg))
	}}}
}

// useSkill sends a skill with a task, or just the task if the conversation has it.
func useSkill(a *App, line string) Effect {
	name, task, _ := strings.Cut(line, " ")
	s, ok := skillNamed(a, name)
	if !ok {
		return listSkills(a, "")
	}
	if task = strings.TrimSpace(task); task == "" {
		task = "Use the skill " + name + "."
	}
	parts := a.Attached
	a.Attached = nil
	if !session.HasSkill(a.Session, s.Mark) {
		parts = append(parts, session.SkillPart(name, sanitize.Text(s.Text)))
	}
	parts = append(parts, llm.Part{Kind: llm.Text, Text: task})
	a.RememberPrompt("/skill " + line)
	if a.Busy() {
		a.Session.Queue(parts...)
		return ShowToast("Queued – sent when the answer is done")
	}
	own := a.Session
	return Effect{Turn: func(ctx context.Context) iter.Seq[session.Event] { return own.Turn(ctx, parts...) }}
}

func noSkills(a *App) string {
	if len(skillItems(a)) == 0 {
		return "No skills. A skill is a folder with a SKILL.md in skills, beside config.toml"
	}
	return ""
}

// ChooseSource asks which source of the answer with this Seq to open.
func ChooseSource(a *App, seq int) Effect {
	n, err := a.Session.At(seq)
	if err != nil || len(Sources(n.Message)) == 0 {
		return ShowToast("No sources here")
	}
	return askSource(a, Sources(n.Message))
}

// Sources returns what an answer cites, in the order in which it is numbered.
func Sources(m llm.Message) (list []llm.Part) {
	for _, p := range m.Parts {
		if p.Kind == llm.Source {
			list = append(list, p)
		}
	}
	return list
}

// lastSources returns those of the last answer that has any.
func lastSources(a *App) []llm.Part {
	for _, n := range slices.Backward(a.Session.Path()) {
		if list := Sources(n.Message); len(list) > 0 {
			return list
		}
	}
	return nil
}

func noSources(a *App) string {
	if len(lastSources(a)) == 0 {
		return "No sources yet"
	}
	return ""
}

func sourceItems(a *App) []Item { return itemsOfSources(lastSources(a)) }

func itemsOfSources(list []llm.Part) []Item {
	items := make([]Item, len(list))
	for i, p := range list {
		text := SourceText(Change{Part: &p, Count: i + 1})
		items[i] = Item{Title: text, Value: strconv.Itoa(i + 1), Disabled: !isOpenableAddress(p.URL)}
	}
	return items
}

// isOpenableAddress reports whether an address is one of the web, with nothing in it that is not seen.
func isOpenableAddress(address string) bool {
	u, err := url.Parse(address)
	return err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Host != "" && sanitize.Line(address) == address
}

// openSource opens the nth source of the last answer that has any, or asks which.
func openSource(a *App, arg string) Effect {
	list := lastSources(a)
	if arg == "" {
		return askSource(a, list)
	}
	n, err := strconv.Atoi(arg)
	if err != nil || n < 1 || n > len(list) {
		return ShowToast(fmt.Sprintf("No source %q: use a number from 1 to %d", arg, len(list)))
	}
	return confirmSource(a, list[n-1])
}

func askSource(a *App, list []llm.Part) Effect {
	return Effect{List: &List{Title: "Sources", Noun: "source", Items: itemsOfSources(list), Choose: func(i Item, _ string) Effect {
		if n, err := strconv.Atoi(i.Value); err == nil && n <= len(list) {
			return confirmSource(a, list[n-1])
		}
		return Effect{}
	}}}
}

// confirmSource opens an address once the user has seen the whole of it.
func confirmSource(a *App, p llm.Part) Effect {
	switch {
	case !isOpenableAddress(p.URL):
		return ShowToast("Not an address of the web: " + sanitize.Line(p.URL))
	case a.OpenURL == nil:
		return ShowToast(p.URL)
	}
	return Effect{Confirm: &Confirm{Text: "Open in the browser: " + p.URL, Yes: "Open", No: "Cancel", Answer: func(yes bool) Effect {
		if !yes {
			return Effect{}
		}
		return Effect{Async: func(ctx context.Context) Effect {
			if err := a.OpenURL(ctx, p.URL); err != nil {
				return Effect{Err: err}
			}
			return ShowToast("Opened in the browser")
		}}
	}}}
}
