package transcript

import (
	"strings"

	"parley/ui/markdown"
	"parley/ui/safe"
	"parley/ui/theme"
)

// answerWidth is the most cells an answer gets: more than other text, as it
// may hold code and tables.
const answerWidth = 120

// An answer is markdown. Out of sight it is its source and nothing else.
type answer struct {
	stream safe.Stream
	text   strings.Builder // the source while there is no doc
	doc    *markdown.Doc   // made when it is first laid out
	theme  *theme.Theme    // of doc
	done   bool
}

func (b *answer) add(text safe.Clean) {
	if b.doc != nil {
		b.doc.Append(text)
		return
	}
	b.text.WriteString(text.String())
}

func (b *answer) finish() {
	b.add(b.stream.End())
	b.done = true
	if b.doc != nil {
		b.doc.Finish()
	}
}

// release lets go what can be made again from the source. The parse of an
// answer that still grows is kept.
func (b *answer) release() {
	if !b.done || b.doc == nil {
		return
	}
	b.text.WriteString(b.doc.Source())
	b.doc = nil
}

// markdown is the answer read as markdown.
func (b *answer) markdown(th *theme.Theme) *markdown.Doc {
	if b.doc == nil {
		b.doc, b.theme = markdown.New(th), th
		b.doc.Append(safe.Cleaned(b.text.String())) // it was clean: this looks again, and changes nothing
		b.text.Reset()
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

func (b *answer) lay(p page) (sign string, lines []string) {
	return "", b.markdown(p.theme).Lines(min(p.width, answerWidth))
}

func (b *answer) source() (text, what string) {
	if b.doc != nil {
		return b.doc.Source(), "answer"
	}
	return b.text.String(), "answer"
}

func (b *answer) texts(to []string) []string {
	text, _ := b.source()
	return append(to, text)
}
