package trust

import (
	"errors"
	"fmt"
	"hash"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"parley/session/instructions"
	"parley/tools"
	"parley/tools/sanitize"
)

// Sent returns the instructions as sent to a model: if they are too long, those of the
// outermost directories are truncated or dropped. A Note says so.
func (o Project) Sent() []File {
	files := o.FilesOfKind(Instructions)
	room := instructions.MaxTotal
	for i, f := range slices.Backward(files) {
		if len(f.Text) > room {
			files[i].Text = strings.ToValidUTF8(f.Text[:room], "")
			said := fmt.Sprintf("[only its first %d KB are sent]", room>>10)
			if room>>10 == 0 {
				files[i].Text, said = "", "[not sent]"
			}
			files[i].Note = strings.TrimSpace(f.Note + " " + said + fmt.Sprintf(" [instructions are at most %d KB]", instructions.MaxTotal>>10))
		}
		room -= len(files[i].Text)
	}
	return files
}

// imports reads the files that instructions import.
type imports struct {
	root     string    // directory that must contain them
	sum      hash.Hash // of the files read
	withheld func(path string) bool
}

// expand returns the text of a file with its imports, and a note about parts left out.
func (i imports) expand(path, text string, notes []string) (whole, note string) {
	whole, more := instructions.Expand(path, text, func(path string) (string, error) {
		inside, err := filepath.Rel(i.root, path)
		if err != nil || !filepath.IsLocal(inside) {
			if _, missing := os.Lstat(path); missing != nil {
				return "", fs.ErrNotExist
			}
			return "", instructions.ErrOutside
		}
		if real, err := filepath.EvalSymlinks(path); err == nil && real != path { // a link may lead to a file that the model should not get
			return "", errors.New("it is a link")
		}
		if tools.IsSensitive(path) {
			return "", errors.New("it contains credentials or starts programs: reading it asks")
		}
		if i.withheld != nil && i.withheld(path) {
			return "", errors.New("a rule denies reading it, or asks about it")
		}
		data, cut, err := read(path, maxFile)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(i.sum, "import %d %s %d\n", len(path), path, len(data))
		i.sum.Write(data)
		clean, removed := tools.Sanitize(string(data))
		notes = append(notes, removed...)
		if cut {
			notes = append(notes, fmt.Sprintf("[only the first %d KB of %s count]", maxFile>>10, filepath.Base(path)))
		}
		return clean, nil
	})
	return whole, strings.Join(append(notes, more...), " ")
}

// PromptContext returns the text about a trusted directory that follows the
// system prompt; "" if there is none. The innermost instructions come last,
// because they matter most, and are dropped last.
func (o Project) PromptContext() string {
	var b strings.Builder
	for _, f := range o.Sent() {
		if b.Len() == 0 {
			b.WriteString("The person trusts this folder. Its instructions follow; where they disagree, the later ones count, and what the person says counts most.\n")
		}
		if f.Text != "" {
			fmt.Fprintf(&b, "\n<instructions file=%q>\n%s\n</instructions>\n", f.Name, strings.TrimSpace(f.Text))
		}
	}
	return b.String()
}

// Review returns the question to the user, with everything they approve quoted, so that no file's
// content can be mistaken for another file's name. The safe answer is no.
func (o Project) Review() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Do you trust %s?\n\nThis folder contains settings for parley. They are ignored unless you trust it.\n", sanitize.Line(o.Dir))
	does := map[Kind]string{Instructions: "instructions for the model", Configuration: "settings for this folder, and tools, which ask each time", Hooks: "commands that run without asking, in the sandbox", Servers: "MCP servers (start now)", Memory: "lines to remember, sent to the model", Prompts: "a prompt, sent when you type its name", Skills: "a skill, which the model may load"}
	room := maxReview
	for _, f := range o.Files {
		name := sanitize.Line(f.Name)
		if f.Kind == Prompts || f.Kind == Skills {
			if room -= len(f.Text); room < 0 {
				fmt.Fprintf(&b, "\n── %s: %s (%d KB, not shown here)\n", name, does[f.Kind], len(f.Text)>>10+1)
				continue
			}
		}
		fmt.Fprintf(&b, "\n── %s: %s", name, does[f.Kind])
		if f.Note != "" {
			fmt.Fprintf(&b, " %s", sanitize.Line(f.Note))
		}
		fmt.Fprintf(&b, "\n%s\n", sanitize.Quote(strings.TrimSpace(f.Text)))
	}
	return b.String()
}
