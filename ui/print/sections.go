package print

import (
	"io"
	"strings"

	"parley/tools/sanitize"
	"parley/ui/markdown"
	"parley/ui/theme"
)

// A rendering writes the lines of a text that grows as soon as they stay as they
// are. It holds one section of the text, however long that becomes.
type rendering struct {
	theme   *theme.Theme
	width   int
	section markdown.Section
	doc     *markdown.Doc // of the section
	lines   int           // of doc that were written
	wrote   bool          // anything
}

func newRendering(th *theme.Theme, width int) *rendering {
	r := &rendering{theme: th, width: width}
	r.begin()
	return r
}

// begin begins the section that r holds.
func (r *rendering) begin() {
	r.doc, r.lines = r.section.Doc(r.theme), r.section.Head()
}

// add writes what a piece of the text settles.
func (r *rendering) add(to io.Writer, piece sanitize.Clean) error {
	r.doc.Append(piece)
	for {
		text := r.section.Source(r.doc)
		end, next := r.section.Cut(text)
		if end == 0 {
			return r.settled(to)
		}
		whole := r.section.Doc(r.theme)
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

// finish writes what is left of the section.
func (r *rendering) finish(to io.Writer) error {
	r.doc.Finish()
	return r.settled(to)
}

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

// A firstCode takes the first code block out of a text that grows, and writes it
// as it comes once it is long. It holds one section of the text.
type firstCode struct {
	section markdown.Section
	text    strings.Builder // of the section
	found   bool            // the block has begun
	ended   bool            // and ended
	last    byte            // of it that was written; 0 for none
	written int             // bytes of it that were
}

// A codeState is a firstCode as it was.
type codeState struct {
	of   firstCode // without its text
	text string
	n    int // counts the states of one response
}

func (c *firstCode) state(n int) codeState {
	return codeState{firstCode{section: c.section, found: c.found, ended: c.ended, last: c.last, written: c.written}, c.text.String(), n}
}

// restore makes c go on from the state.
func (s *codeState) restore(c *firstCode) {
	*c = s.of
	c.text.WriteString(s.text)
}

// add takes a piece of the text.
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

// write writes what a section has of the block, which may go on behind it if open.
func (c *firstCode) write(to io.Writer, text string, open bool) error {
	code := c.section.Fenced(text)
	if len(code) == 0 {
		c.ended = c.found
		return nil
	}
	c.found, c.ended = true, len(code) > 1 || !open
	body := code[0].Text
	if !c.ended && !strings.HasSuffix(text, "\n") { // the line goes on
		body = strings.TrimSuffix(body, "\n")
	}
	if body == "" {
		return nil
	}
	c.last, c.written = body[len(body)-1], c.written+len(body)
	_, err := io.WriteString(to, body)
	return err
}

// end writes the rest, and a newline behind the block. It reports whether there is
// one.
func (c *firstCode) end(to io.Writer) (found bool, err error) {
	if !c.ended {
		err = c.write(to, c.text.String(), false)
	}
	if c.found && c.last != '\n' && err == nil {
		_, err = io.WriteString(to, "\n")
	}
	return c.found, err
}

// Page writes a page of the manual: rendered if o says so, and else as it is.
func Page(text string, o Options) error {
	if !o.Render {
		_, err := io.WriteString(o.Out, text)
		return err
	}
	width := o.Width
	if width <= 0 {
		width = 80
	}
	r := newRendering(o.Theme, min(width, pageWidth))
	if err := r.add(o.Out, sanitize.Cleaned(text)); err != nil {
		return err
	}
	return r.finish(o.Out)
}

// pageWidth sets how wide lines of a page can be, in cells: longer ones are hard to read.
const pageWidth = 100
