package transcript

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"parley/tools/sanitize"
	"parley/ui/format"
	"parley/ui/markdown"
	"parley/ui/textwrap"
	"parley/ui/theme"
)

// A block is one element of the conversation. It keeps sanitized text.
type block interface {
	// render returns the sign in the margin, one cell wide or "", and the lines.
	render(p renderContext) (sign string, lines []string)
	// source returns the text to copy and its kind for the user, such as "answer".
	source() (text, what string)
	// texts appends the texts of the unfolded lines, in order, for search.
	texts(to []string) []string
}

// A renderContext holds the conditions that a block is rendered for.
type renderContext struct {
	theme  *theme.Theme
	styler *styler
	width  int  // cells between the margins
	open   bool // unfolded
	now    time.Time
}

// collapsed returns p with the block folded.
func (p renderContext) collapsed() renderContext {
	p.open = false
	return p
}

// maxProseWidth is the greatest width of prose, in cells: longer lines are hard to read.
const maxProseWidth = 100

func (p renderContext) proseWidth() int { return min(p.width, maxProseWidth) }

// Number of lines shown of a folded block.
const (
	foldOutput = 5
	foldDiff   = 12
	foldText   = 40 // of a message or an error
)

// A noteStyle is the look of a kind of plain text.
type noteStyle struct {
	sign               string
	signRole, textRole role // of the sign and of the text
	noun               string
}

var (
	userStyle   = noteStyle{"▌", roleAccentDim, roleText, "message"}
	footerStyle = noteStyle{"", roleText, roleDim, "footer"}
	errorStyle  = noteStyle{"✗", roleBad, roleBad, "error"}
	noteStyles  = [...]noteStyle{
		Info:   {"·", roleDim, roleDim, "note"},
		Retry:  {"↻", roleWarn, roleDim, "note"},
		Switch: {"⇄", roleAccent, roleDim, "note"},
		Warn:   {"!", roleWarn, roleWarn, "note"},

		Interrupted: {"⊘", roleWarn, roleDim, "note"},
	}
)

// textBlock holds a block of plain text.
type textBlock struct {
	noteStyle
	text    string
	shorter []string // forms of text for lines that it does not fit, the longest first
	labels  []string // of attachments
	hint    string   // next step for the user; "" for none
}

func (b *textBlock) render(p renderContext) (sign string, lines []string) {
	if b.text == "" && b.hint == "" && len(b.labels) == 0 {
		return "", nil
	}
	limit := foldText
	if p.open {
		limit = 0
	}
	left := 0
	if b.text != "" || len(b.labels) == 0 {
		if b.isStatus() {
			lines = breakAtDots(b.fitting(p.proseWidth()), p.proseWidth())
		} else {
			lines, left = wrapText(b.text, p.proseWidth(), limit)
		}
	}
	lines = p.styler.applyAll(b.textRole, lines)
	if left > 0 {
		lines = append(lines, p.foldNote(left, "more"))
	}
	for _, label := range b.labels {
		rows, _ := wrapText(label, p.proseWidth(), 0)
		lines = append(lines, p.styler.applyAll(roleDim, rows)...)
	}
	if b.hint != "" {
		lines = append(lines, p.styler.applyAll(roleDim, breakAtDots(b.hint, p.proseWidth()))...)
	}
	if b.noteStyle == userStyle {
		lines = p.styler.onBand(lines, p.width)
	}
	return p.styler.apply(b.signRole, b.sign), lines
}

// fitting returns the longest form of the text that fits width cells, or the shortest form if none fits.
func (b *textBlock) fitting(width int) string {
	text := b.text
	for _, shorter := range b.shorter {
		if textwrap.Width(text) <= width {
			break
		}
		text = shorter
	}
	return text
}

// isStatus reports whether parley wrote the text as one line of parts separated by dots.
func (b *textBlock) isStatus() bool {
	switch b.noteStyle {
	case footerStyle, noteStyles[Retry], noteStyles[Switch], noteStyles[Warn]:
		return !strings.Contains(b.text, "\n")
	}
	return false
}

// breakAtDots breaks a text after the dots between its parts, so that a number stays with its
// unit and a key with its action. A part wider than a line is wrapped.
func breakAtDots(text string, width int) (out []string) {
	for _, part := range strings.SplitAfter(text, " · ") {
		part = strings.TrimRight(part, " ")
		if last := len(out) - 1; last >= 0 && textwrap.Width(out[last]+" "+part) <= width {
			out[last] += " " + part
			continue
		}
		rows, _ := wrapText(part, width, 0)
		out = append(out, rows...)
	}
	return out
}

func (b *textBlock) source() (text, what string) {
	parts := b.labels
	if b.text != "" {
		parts = append([]string{b.text}, b.labels...)
	}
	return strings.Join(parts, "\n"), b.noun
}

func (b *textBlock) texts(to []string) []string {
	return append(append(append(to, b.text), b.labels...), b.hint)
}

// summary is shown in place of the messages that are sent to the model only as a summary.
type summary struct {
	text   string
	hidden int
}

func (b *summary) render(p renderContext) (sign string, lines []string) {
	lines = []string{p.styler.apply(roleDim, textwrap.Truncate(b.title(), p.width))}
	if p.open {
		lines = slices.AppendSeq(lines, strings.SplitSeq(markdown.Render(b.text, min(p.width, answerWidth), p.theme), "\n"))
	}
	return p.styler.apply(roleDim, "≡"), lines
}

func (b *summary) title() string {
	return fmt.Sprintf("%d earlier message%s summarized", b.hidden, format.PluralSuffix(b.hidden))
}

func (b *summary) source() (text, what string) { return b.text, "summary" }

func (b *summary) texts(to []string) []string { return append(to, b.title(), b.text) }

// foldNote returns the line for n lines hidden by a fold; which is "more" or "earlier".
func (p renderContext) foldNote(n int, which string) string {
	return p.styler.apply(roleDim, textwrap.Truncate(fmt.Sprintf("… %d %s line%s (ctrl+o)", n, which, format.PluralSuffix(n)), p.width))
}

// thinking is a thinking block: it shows its last lines while it arrives, then its duration.
type thinking struct {
	stream   sanitize.Stream
	text     strings.Builder
	duration time.Duration
	done     bool

	// Unfolded, text[:closedBytes], which ends at a paragraph, is rendered once per width and theme.
	closedBytes int
	lines       []string // the rendered lines, after the title
	styler      *styler
	width       int
}

func (b *thinking) add(clean sanitize.Clean) {
	text := clean.String()
	if b.text.Len() == 0 {
		text = strings.TrimLeft(text, " \t\n")
	}
	b.text.WriteString(text)
}

func (b *thinking) render(p renderContext) (sign string, lines []string) {
	title := p.styler.apply(roleDim, textwrap.Truncate(b.title(), p.width))
	switch {
	case b.text.Len() > 0 && p.open:
		lines = b.renderOpen(title, p)
	case b.done:
		lines = []string{title}
	default:
		lines = append([]string{title}, p.styler.applyAll(roleDim, thinkingTail(b.text.String(), p.proseWidth()))...)
	}
	return p.styler.apply(roleVoiceDim, "∴"), lines
}

func (b *thinking) title() string {
	switch {
	case b.done && b.duration > 0:
		return "thought for " + format.Duration(b.duration)
	case b.done:
		return "thought"
	}
	return "thinking"
}

// renderOpen renders the whole text, but wraps only the last paragraph each time. It
// overwrites the title and the last lines of the slice that it returned before.
func (b *thinking) renderOpen(title string, p renderContext) []string {
	if b.styler != p.styler || b.width != p.proseWidth() {
		b.closedBytes, b.lines, b.styler, b.width = 0, []string{title}, p.styler, p.proseWidth()
	}
	b.lines[0] = title
	text := strings.TrimRight(b.text.String(), " \t\n")
	if end := strings.LastIndexByte(text, '\n'); end >= b.closedBytes {
		closed, _ := wrapText(text[b.closedBytes:end], b.width, 0)
		b.lines = append(b.lines, p.styler.applyAll(roleDim, closed)...)
		b.closedBytes = end + 1
	}
	last, _ := wrapText(text[b.closedBytes:], b.width, 0)
	all := append(b.lines, p.styler.applyAll(roleDim, last)...)
	b.lines = all[:len(b.lines)]
	return all
}

func (b *thinking) release() { b.lines, b.styler = nil, nil }

func (b *thinking) source() (text, what string) {
	return strings.TrimRight(b.text.String(), " \t\n"), "thinking"
}

func (b *thinking) texts(to []string) []string { return append(to, b.title(), b.text.String()) }

// tailBytes is how many bytes at the end of a text are wrapped to get its last lines. The
// text is cut at multiples of tailBytes, so that the line breaks of a long paragraph do not
// move with each word.
const tailBytes = 1 << 10

// thinkingTail wraps the end of a text and returns its last lines.
func thinkingTail(text string, width int) []string {
	text = strings.TrimRight(text, " \t\n")
	if text == "" {
		return nil
	}
	if len(text) > 2*tailBytes {
		text = text[len(text)/tailBytes*tailBytes-tailBytes:]
		text = text[strings.IndexAny(text[:tailBytes/2], " \n")+1:]
	}
	lines, _ := wrapText(strings.ToValidUTF8(text, ""), width, 0)
	return lines[max(0, len(lines)-foldOutput):]
}

// SetImage adds or changes the image with this id. cells holds its lines, each cols wide, in
// which the terminal draws it. Of an image wider than the text, the left part is shown.
func (m *Blocks) SetImage(id string, cells []string, cols int) {
	m.putNote(id, &imageBlock{cells, cols})
}

// IsLastNote reports whether the note with this id is the last block.
func IsLastNote(m *Model, id string) bool {
	n := len(m.Blocks.items)
	return n > 0 && m.Blocks.items[n-1] == m.Blocks.byID[key{kindNote, id}]
}

// HasImage reports whether there is an image with this id.
func HasImage(m *Model, id string) bool { return m.Blocks.byID[key{kindNote, id}] != nil }

// imageBlock holds an image.
type imageBlock struct {
	cells []string
	cols  int
}

func (b *imageBlock) render(p renderContext) (sign string, lines []string) {
	if b.cols <= p.width {
		return "", b.cells
	}
	for _, line := range b.cells {
		lines = append(lines, ansi.Truncate(line, p.width, "")+ansi.ResetStyle)
	}
	return "", lines
}

func (b *imageBlock) source() (text, what string) { return "", "image" }
func (b *imageBlock) texts(to []string) []string  { return to }
