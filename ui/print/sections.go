package print

import (
	"cmp"
	"io"
	"strings"

	"parley/tools/sanitize"
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
	lines   int           // lines of doc that were written
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

// add appends a piece of text and writes the lines that are final now.
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

// settled writes the lines that are final now.
func (r *rendering) settled(to io.Writer) error {
	lines := r.doc.Lines(r.width)
	upto := r.doc.Settled()
	if upto <= r.lines {
		return nil
	}
	out := strings.Join(lines[r.lines:upto], "\n") + "\n"
	if r.wrote && r.lines == r.section.Head() && !r.section.Joined { // a section begins
		out = "\n" + out
	}
	r.lines, r.wrote = upto, true
	_, err := io.WriteString(to, out)
	return err
}

// A firstCode writes the first code block of a growing text, a section at a time.
type firstCode struct {
	section markdown.Section
	text    strings.Builder // of the section
	found   bool            // the block has begun
	ended   bool            // the block has ended
	last    byte            // last byte written; 0 for none
	written int             // bytes written
}

// A codeState is a copy of a firstCode, to go back to.
type codeState struct {
	of   firstCode // without its text
	text string
	n    int // number of the state in its response
}

func (c *firstCode) state(n int) codeState {
	return codeState{firstCode{section: c.section, found: c.found, ended: c.ended, last: c.last, written: c.written}, c.text.String(), n}
}

// restore resets c to the state.
func (s *codeState) restore(c *firstCode) {
	*c = s.of
	c.text.WriteString(s.text)
}

// add appends a piece of text and writes the code of complete sections.
func (c *firstCode) add(to io.Writer, piece string) error {
	if c.ended {
		return nil
	}
	c.text.WriteString(piece)
	for !c.ended {
		text := c.text.String()
		end, next := c.section.Cut(text)
		if end == 0 {
			return nil
		}
		if err := c.write(to, text[:end], next.InCode()); err != nil {
			return err
		}
		c.section = next
		c.text.Reset()
		c.text.WriteString(text[end:])
	}
	return nil
}

// write writes the part of the block in a section. Open says that the block may continue after it.
func (c *firstCode) write(to io.Writer, text string, open bool) error {
	code := c.section.Fenced(text)
	if len(code) == 0 {
		c.ended = c.found
		return nil
	}
	c.found, c.ended = true, len(code) > 1 || !open
	body := code[0].Text
	if !c.ended && !strings.HasSuffix(text, "\n") { // the last line continues
		body = strings.TrimSuffix(body, "\n")
	}
	if body == "" {
		return nil
	}
	c.last, c.written = body[len(body)-1], c.written+len(body)
	_, err := io.WriteString(to, body)
	return err
}

// end writes the rest of the block and a newline after it, and reports whether there is a block.
func (c *firstCode) end(to io.Writer) (found bool, err error) {
	if !c.ended {
		err = c.write(to, c.text.String(), false)
	}
	if c.found && c.last != '\n' && err == nil {
		_, err = io.WriteString(to, "\n")
	}
	return c.found, err
}

// Page writes a page of the manual, rendered if o.Render is set.
func Page(text string, o Options) error {
	if !o.Render {
		_, err := io.WriteString(o.Out, text)
		return err
	}
	width := o.Width
	if width <= 0 {
		width = 80
	}
	r := newRendering(cmp.Or(o.Markdown, o.Theme), min(width, pageWidth), true)
	if err := r.add(o.Out, sanitize.Cleaned(text)); err != nil {
		return err
	}
	return r.finish(o.Out)
}

// pageWidth is the widest line of a page in cells: longer ones are hard to read.
const pageWidth = 100
