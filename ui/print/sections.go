package print

import (
	"cmp"
	"io"
	"strings"

	"parley/tools/sanitize"
	"parley/ui/cli/cmdutil"
	"parley/ui/markdown"
	"parley/ui/theme"
)

// A rendering writes the rendered lines of a growing text as soon as they are final. It holds only
// one section of the text.
type rendering struct {
	theme   *theme.Theme
	width   int
	folds   bool // a newline inside a paragraph is a space
	section markdown.Section
	doc     *markdown.Doc // of the section
	lines   int           // number of lines of doc already written
	wrote   bool          // something was written
}

func newRendering(th *theme.Theme, width int, folds bool) *rendering {
	r := &rendering{theme: th, width: width, folds: folds}
	r.begin()
	return r
}

// begin resets doc for a new section.
func (r *rendering) begin() {
	r.doc, r.lines = r.newDoc(), r.section.Head()
}

// newDoc returns a Doc for the text of the section.
func (r *rendering) newDoc() *markdown.Doc {
	d := r.section.Doc(r.theme)
	if r.folds {
		d.FoldLines()
	}
	return d
}

// add appends a piece of text and writes the lines that became final.
func (r *rendering) add(to io.Writer, piece sanitize.Clean) error {
	r.doc.Append(piece)
	for {
		text := r.section.Source(r.doc)
		end, next := r.section.Cut(text)
		if end == 0 {
			return r.settled(to)
		}
		whole := r.newDoc()
		whole.Append(sanitize.Cleaned(text[:end]))
		r.doc = whole
		if err := r.finish(to); err != nil {
			return err
		}
		r.section = next
		r.begin()
		r.doc.Append(sanitize.Cleaned(text[end:]))
	}
}

// finish writes the rest of the section.
func (r *rendering) finish(to io.Writer) error {
	r.doc.Finish()
	return r.settled(to)
}

// settled writes the lines that are final.
func (r *rendering) settled(to io.Writer) error {
	lines := r.doc.Lines(r.width)
	upto := r.doc.Settled()
	if upto <= r.lines {
		return nil
	}
	out := strings.Join(lines[r.lines:upto], "\n") + "\n"
	if r.wrote && r.lines == r.section.Head() && !r.section.Joined { // the first lines of a section
		out = "\n" + out
	}
	r.lines, r.wrote = upto, true
	_, err := io.WriteString(to, out)
	return err
}

// Page writes a page of the manual, rendered.
func Page(text string, o cmdutil.PrintOptions) error {
	r := newRendering(cmp.Or(o.Markdown, o.Theme), min(cmp.Or(o.Width, 80), pageWidth), true)
	if err := r.add(o.Out, sanitize.Cleaned(text)); err != nil {
		return err
	}
	return r.finish(o.Out)
}

// pageWidth is the maximum width of a page, in cells; longer lines are hard to read.
const pageWidth = 100
