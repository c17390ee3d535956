package transcript

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"parley/tools/sanitize"
	"parley/ui/markdown"
	"parley/ui/theme"
)

// A block is one thing in the conversation. It keeps what it was told as
// printable text and lays it out when asked.
type block interface {
	// lay gives the sign in the margin, one cell wide or empty, and the lines,
	// which the block does not change any more.
	lay(p page) (sign string, lines []string)
	// source is the text to copy and what it is, in words.
	source() (text, what string)
	// texts appends what the lines, unfolded, are made of, in their order.
	texts(to []string) []string
}

// A page is what a block is laid out for.
type page struct {
	theme *theme.Theme
	ink   *ink
	width int  // cells between the margins
	open  bool // unfolded
	now   time.Time
}

// shut returns the page for what does not unfold.
func (p page) shut() page {
	p.open = false
	return p
}

// measure sets how wide text that is read may be; longer lines tire the eye.
const measure = 100

func (p page) prose() int { return min(p.width, measure) }

// Lines shown of what is folded.
const (
	foldOutput = 5
	foldDiff   = 12
	foldText   = 40 // of a message or an error: what a user pasted, what a proxy sent
)

// A manner is how a kind of plain text looks.
type manner struct {
	sign       string
	sets, tone tone // of the sign and of the text
	what       string
}

var (
	said   = manner{"›", accent, text, "message"}
	footed = manner{"", text, faint, "footer"}
	failed = manner{"✗", bad, bad, "error"}
	noted  = [...]manner{
		Info:   {"·", dim, dim, "note"},
		Retry:  {"↻", warn, dim, "note"},
		Switch: {"⇄", accent, dim, "note"},
		Warn:   {"!", warn, warn, "note"},

		Interrupted: {"⊘", warn, dim, "note"},
	}
)

// words holds a block of plain text.
type words struct {
	manner
	text   string
	labels []string // of what is attached
	hint   string   // what the reader can do about it
}

func (b *words) lay(p page) (sign string, lines []string) {
	if b.text == "" && b.hint == "" && len(b.labels) == 0 {
		return "", nil
	}
	limit := foldText
	if p.open {
		limit = 0
	}
	left := 0
	if b.text != "" || len(b.labels) == 0 {
		if lines = rows(b.text, p.prose()); b.manner != footed || lines == nil {
			lines, left = flow(b.text, p.prose(), limit)
		}
	}
	lines = p.ink.all(b.tone, lines)
	if left > 0 {
		lines = append(lines, p.left(left, "more"))
	}
	for _, label := range b.labels {
		rows, _ := flow(label, p.prose(), 0)
		lines = append(lines, p.ink.all(dim, rows)...)
	}
	if b.hint != "" {
		hints, _ := flow(b.hint, p.prose(), 0)
		lines = append(lines, p.ink.all(dim, hints)...)
	}
	return p.ink.write(b.sets, b.sign), lines
}

// rows breaks a text of parts between dots behind dots only, so that no number is
// torn from its unit; nil if it has lines of its own, or a part is too wide.
func rows(text string, width int) (out []string) {
	if strings.Contains(text, "\n") {
		return nil
	}
	parts := strings.SplitAfter(text, " · ")
	for _, part := range parts {
		part = strings.TrimRight(part, " ")
		last := len(out) - 1
		switch {
		case cells(part) > width:
			return nil
		case last >= 0 && cells(out[last]+" "+part) <= width:
			out[last] += " " + part
		default:
			out = append(out, part)
		}
	}
	return out
}

func (b *words) source() (text, what string) {
	parts := b.labels
	if b.text != "" {
		parts = append([]string{b.text}, b.labels...)
	}
	return strings.Join(parts, "\n"), b.what
}

func (b *words) texts(to []string) []string {
	return append(append(append(to, b.text), b.labels...), b.hint)
}

// summary stands for messages that the model does not get any more.
type summary struct {
	text   string
	hidden int
}

func (b *summary) lay(p page) (sign string, lines []string) {
	lines = []string{p.ink.write(dim, clip(b.title(), p.width))}
	if p.open {
		lines = slices.AppendSeq(lines, strings.SplitSeq(markdown.Render(b.text, min(p.width, answerWidth), p.theme), "\n"))
	}
	return p.ink.write(dim, "≡"), lines
}

func (b *summary) title() string {
	return fmt.Sprintf("earlier conversation summarised (%d message%s)", b.hidden, plural(b.hidden))
}

func (b *summary) source() (text, what string) { return b.text, "summary" }

func (b *summary) texts(to []string) []string { return append(to, b.title(), b.text) }

// left returns how many lines a fold hides.
func (p page) left(n int, which string) string {
	return p.ink.write(faint, clip(fmt.Sprintf("… %d %s line%s (ctrl+o)", n, which, plural(n)), p.width))
}

func plural(n int) string {
	if n == 1 {
		return ""
	}
	return "s"
}

// thinking holds what a model thinks: its last lines while it does, then how long
// it took.
type thinking struct {
	stream sanitize.Stream
	text   strings.Builder
	took   time.Duration
	done   bool

	// Unfolded, text[:at], which ends a paragraph, is laid out once per page.
	at    int
	lines []string // of it, after the title
	ink   *ink
	width int
}

func (b *thinking) add(clean sanitize.Clean) {
	text := clean.String()
	if b.text.Len() == 0 {
		text = strings.TrimLeft(text, " \t\n")
	}
	b.text.WriteString(text)
}

func (b *thinking) lay(p page) (sign string, lines []string) {
	title := p.ink.write(dim, clip(b.title(), p.width))
	switch {
	case b.text.Len() > 0 && p.open:
		lines = b.all(title, p)
	case b.done:
		lines = []string{title}
	default:
		lines = append([]string{title}, p.ink.all(dim, lastLines(b.text.String(), p.prose()))...)
	}
	return p.ink.write(dim, "∴"), lines
}

func (b *thinking) title() string {
	switch {
	case b.done && b.took > 0:
		return "thought for " + elapsed(b.took)
	case b.done:
		return "thought"
	}
	return "thinking"
}

// all lays the whole text out, and only the last paragraph of it each time.
// Lines that were given out before are written over where they differ, which is
// in the title and at the end.
func (b *thinking) all(title string, p page) []string {
	if b.ink != p.ink || b.width != p.prose() {
		b.at, b.lines, b.ink, b.width = 0, []string{title}, p.ink, p.prose()
	}
	b.lines[0] = title
	text := strings.TrimRight(b.text.String(), " \t\n")
	if end := strings.LastIndexByte(text, '\n'); end >= b.at {
		closed, _ := flow(text[b.at:end], b.width, 0)
		b.lines = append(b.lines, p.ink.all(dim, closed)...)
		b.at = end + 1
	}
	last, _ := flow(text[b.at:], b.width, 0)
	all := append(b.lines, p.ink.all(dim, last)...)
	b.lines = all[:len(b.lines)]
	return all
}

func (b *thinking) release() { b.lines, b.ink = nil, nil }

func (b *thinking) source() (text, what string) {
	return strings.TrimRight(b.text.String(), " \t\n"), "thinking"
}

func (b *thinking) texts(to []string) []string { return append(to, b.title(), b.text.String()) }

// tailAt sets how much of the end of a text its last lines are looked for in. It
// is cut at multiples of that, so that a paragraph longer than it does not
// break anew at each word.
const tailAt = 1 << 10

// lastLines wraps the end of a text and gives its last lines.
func lastLines(text string, width int) []string {
	text = strings.TrimRight(text, " \t\n")
	if text == "" {
		return nil
	}
	if len(text) > 2*tailAt {
		text = text[len(text)/tailAt*tailAt-tailAt:]
		text = text[strings.IndexAny(text[:tailAt/2], " \n")+1:]
	}
	lines, _ := flow(strings.ToValidUTF8(text, ""), width, 0)
	return lines[max(0, len(lines)-foldOutput):]
}

// elapsed writes a duration as a user would say it: 40 ms, 1.2 s, 3 s, 12 s,
// 3 min 5 s.
func elapsed(d time.Duration) string {
	switch {
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < 10*time.Second:
		return strconv.FormatFloat(math.Floor(d.Seconds()*10)/10, 'f', -1, 64) + " s"
	case d < time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%d min %d s", int(d.Minutes()), int(d.Seconds())%60)
	}
	return fmt.Sprintf("%d h %d min", int(d.Hours()), int(d.Minutes())%60)
}
