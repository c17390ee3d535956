package transcript

import (
	"slices"
	"strings"

	"parley/tools/sanitize"
	"parley/ui/markdown"
	"parley/ui/theme"
)

// answerWidth is the maximum width of an answer, in cells. It is wider than other text
// because answers may contain code and tables.
const answerWidth = 120

// An answer is one section of a Markdown answer. Most answers have one section. Off
// screen, only the source is kept.
type answer struct {
	sections *sections
	section  markdown.Section
	text     string          // the source of an ended section
	arrived  strings.Builder // the source of a growing section while doc is nil
	doc      *markdown.Doc   // parsed when the section is first rendered
	theme    *theme.Theme    // theme that doc was made for
	done     bool
}

// sections holds all sections of an answer, each a block, so that only the visible sections
// of a long answer are rendered.
type sections struct {
	stream   sanitize.Stream
	all      []*answer
	ownBytes int // bytes of ended sections that are not shared, see Share
}

func newAnswer() *answer {
	b := &answer{sections: &sections{}}
	b.sections.all = []*answer{b}
	return b
}

// add adds text to the source. If that ends the section, add returns the next section with
// the remaining text. Call add on it with no text, as that may end it too.
func (b *answer) add(text sanitize.Clean) (next *answer) {
	src := text.String()
	switch {
	case b.doc != nil:
		b.doc.Append(text)
		src = b.section.Source(b.doc)
	case b.arrived.Len() > 0:
		b.arrived.WriteString(src)
		src = b.arrived.String()
	}
	end, section := b.section.Cut(src)
	if end == 0 {
		if b.doc == nil && b.arrived.Len() == 0 {
			b.arrived.WriteString(src)
		}
		return nil
	}
	b.text, b.done = src[:end], true
	switch {
	case b.doc != nil && b.section.EndAt(b.doc, end):
		b.text = b.section.Source(b.doc)
	case b.doc != nil || b.arrived.Len() > 0: // their buffers are larger
		b.doc, b.text = nil, strings.Clone(b.text)
	}
	b.arrived = strings.Builder{}
	b.sections.ownBytes += len(b.text)
	next = &answer{sections: b.sections, section: section}
	b.sections.all = append(b.sections.all, next)
	next.arrived.WriteString(src[end:])
	return next
}

// finish ends the answer.
func (b *answer) finish() {
	b.done = true
	if b.doc != nil {
		b.doc.Finish()
	}
}

// growAnswer adds text to the answer with this id, in as many sections as needed,
// and returns the last one.
func growAnswer(m *Blocks, id string, text sanitize.Clean) *answer {
	k := key{kindAnswer, id}
	it := m.byID[k]
	for {
		b := it.block.(*answer)
		next := b.add(text)
		m.listener.itemChanged(it)
		if next == nil {
			return b
		}
		i := slices.Index(m.items, it) + 1
		it = &item{block: next, kind: kindAnswer, seq: m.nextSeq, messageSeq: it.messageSeq, continuesPrevious: next.section.Joined}
		m.nextSeq++
		m.byID[k], text = it, sanitize.Clean{}
		m.items = slices.Insert(m.items, i, it)
		m.listener.itemInserted(i)
	}
}

// Share makes the answer with this id use text, which the caller keeps in memory and which
// begins with the source of the answer, instead of copies of its own.
func Share(m *Model, id, text string) {
	if b, ok := m.Blocks.blockByID(kindAnswer, id).(*answer); ok {
		b.sections.share(text)
	}
}

// minSharedBytes is how many bytes of an answer must be duplicated before they are
// shared. The caller may still copy a short text as it grows.
const minSharedBytes = 1 << 20

func (s *sections) share(text string) {
	if s.ownBytes < minSharedBytes {
		return
	}
	at := 0
	for _, b := range s.all[:len(s.all)-1] {
		end := at + len(b.text)
		if end > len(text) || text[at:end] != b.text { // sanitizing changed it
			return
		}
		b.text, at = text[at:end], end
	}
	s.ownBytes = 0
}

// release frees everything that can be rebuilt from the source. The parse of a
// growing answer is kept.
func (b *answer) release() {
	if !b.done || b.doc == nil {
		return
	}
	b.text = b.sourceText()
	b.doc, b.arrived = nil, strings.Builder{}
}

// sourceText returns the source of the section.
func (b *answer) sourceText() string {
	switch {
	case b.text != "":
		return b.text
	case b.doc != nil:
		return b.section.Source(b.doc)
	}
	return b.arrived.String()
}

// markdown returns the parsed answer.
func (b *answer) markdown(th *theme.Theme) *markdown.Doc {
	if b.doc == nil {
		text := b.sourceText()
		b.doc, b.theme = b.section.Doc(th), th
		b.doc.MarkCode()
		b.doc.Append(sanitize.Cleaned(text)) // the text is already clean
		b.arrived = strings.Builder{}
		if b.done {
			b.doc.Finish()
		}
	}
	if b.theme != th {
		b.doc.SetTheme(th)
		b.theme = th
	}
	return b.doc
}

func (b *answer) render(p renderContext) (sign string, lines []string) {
	doc := b.markdown(p.theme)
	doc.SetTableWidth(p.width)
	lines = doc.Lines(min(p.width, answerWidth))
	return "", lines[min(b.section.Head(), len(lines)):]
}

// source returns the source of all sections.
func (b *answer) source() (text, what string) {
	all := b.sections.all
	if len(all) == 1 {
		return b.sourceText(), "answer"
	}
	var whole strings.Builder
	for _, s := range all {
		whole.WriteString(s.sourceText())
	}
	return whole.String(), "answer"
}

func (b *answer) texts(to []string) []string { return append(to, b.sourceText()) }

func (b *answer) mayHaveCode() bool {
	src := b.sourceText()
	return b.section.InCode() || strings.Contains(src, "```") || strings.Contains(src, "~~~")
}

// codes returns the code blocks of the section, joined with their parts in other sections.
func (b *answer) codes(th *theme.Theme) []markdown.Code {
	codes := b.trimContinued(slices.Clone(b.markdown(th).Code()))
	for i := range codes {
		codes[i].Line = max(0, codes[i].Line-b.section.Head())
	}
	if len(codes) == 0 {
		return nil
	}
	first, last := &codes[0], &codes[len(codes)-1]
	n := slices.Index(b.sections.all, b)
	last.Text += b.sections.joinedCode(n, 1)
	first.Text = b.sections.joinedCode(n, -1) + first.Text
	return codes
}

// trimContinued removes the newline at the end of the last code block if the section ends
// within a line.
func (b *answer) trimContinued(codes []markdown.Code) []markdown.Code {
	last := b.sections.all[len(b.sections.all)-1] == b
	if n := len(codes); n > 0 && !last && !strings.HasSuffix(b.text, "\n") {
		codes[n-1].Text = strings.TrimSuffix(codes[n-1].Text, "\n")
	}
	return codes
}

// joinedCode returns the parts of a code block of section n in the sections after it, or
// before it if direction is -1.
func (s *sections) joinedCode(n, direction int) string {
	var found []string
	for i := n; ; i += direction {
		if border := max(i, i+direction); border == 0 || border == len(s.all) || !s.all[border].section.InCode() {
			break
		}
		b := s.all[i+direction]
		codes := b.trimContinued(b.section.Fenced(b.sourceText()))
		if len(codes) == 0 {
			break
		}
		at := 0
		if direction < 0 {
			at = len(codes) - 1
		}
		found = append(found, codes[at].Text)
		if len(codes) > 1 {
			break
		}
	}
	if direction < 0 {
		slices.Reverse(found)
	}
	return strings.Join(found, "")
}
