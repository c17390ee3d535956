package app

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

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
