package transcript

import (
	"strings"

	"parley/tools/sanitize"
	"parley/ui/markdown"
)

// previewTools lists the tools of which more is shown while their arguments arrive than
// the most telling one: the texts that they write, with the signs of a diff.
var previewTools = map[string]struct {
	signs map[string]byte
	runs  bool   // they are shown while it runs, too
	file  string // that the texts are of, if no argument says so
}{
	"edit":  {map[string]byte{"old": '-', "new": '+'}, true, ""},
	"write": {map[string]byte{"content": '+'}, true, ""},
	"shell": {map[string]byte{"command": ' '}, false, "command.sh"},
}

// maxPreviewBytes sets how much of a text is kept while it arrives.
const maxPreviewBytes = 2 << 20

// minPreviewRows sets how many rows of a draft are kept, at least, of which only the
// last ones are in sight.
const minPreviewRows = 4 * foldDiff

// A argsPreview is what a call will write, while its arguments arrive. Lines are laid
// out once, when they are complete.
type argsPreview struct {
	argsReader
	tool string

	// What lines are of. They begin with a title, if the page is unfolded.
	page   renderContext
	file   string
	digits int

	lines   []string
	dropped int // rows before those
	field   int // the first one that is not wholly in lines
	at      int // where its first line begins that is not in lines
	scanned int // up to where the end of that was looked for
	number  int // of that line, from 1
	scanner *markdown.Scanner
}

func newArgsPreview(tool string) *argsPreview {
	d := &argsPreview{tool: tool}
	signs := previewTools[tool].signs
	d.limitOf = func(name string) int {
		switch {
		case signs[name] != 0:
			return maxPreviewBytes
		case titleRank(name) < len(titleArgs):
			return maxTitleBytes
		}
		return 0
	}
	return d
}

func (d *argsPreview) read(input string) {
	if d.argsReader.read(input) {
		d.release()
	}
}

// isShown reports whether there is something to see. What asks a user about the
// call shows all of it.
func (d *argsPreview) isShown(s Status) bool {
	return d != nil && (s == Arriving || s == Running && previewTools[d.tool].runs) && len(d.previewFields()) > 0
}

// previewFields returns the fields that are shown.
func (d *argsPreview) previewFields() (some []*argField) {
	signs := previewTools[d.tool].signs
	for _, f := range d.fields {
		sign, text := signs[f.name], f.text.String()
		oneLine := len(text) <= maxClipBytes && strings.IndexByte(text, '\n') < 0
		if sign == 0 || text == "" || sign == ' ' && oneLine { // which the title has
			continue
		}
		some = append(some, f)
	}
	return some
}

// release lets the lines go. The arguments cannot be had again.
func (d *argsPreview) release() {
	if d != nil {
		d.reset(renderContext{}, "", 0)
	}
}

func (d *argsPreview) reset(p renderContext, file string, digits int) {
	d.page, d.file, d.digits = p, file, digits
	d.lines, d.dropped, d.field, d.at, d.scanned, d.number, d.scanner = nil, 0, 0, 0, 0, 1, nil
	if p.open {
		d.lines = []string{""}
	}
}

// render returns the title and the last lines, or all of them. Lines that were given
// out before are written over where they differ: the title and the end.
func (d *argsPreview) render(title string, p renderContext) []string {
	p.now = d.page.now
	if file := d.path(); p != d.page || file != d.file {
		d.reset(p, file, d.numberDigits())
	}
	fields := d.previewFields()
	rest := d.renderComplete(fields)
	if p.open {
		d.lines[0] = title
		all := append(d.lines, rest...)
		d.lines = all[:len(d.lines)]
		return all
	}
	if len(d.lines) > 2*minPreviewRows {
		drop := len(d.lines) - minPreviewRows
		d.dropped += drop
		d.lines = append([]string(nil), d.lines[drop:]...)
	}
	lines := append(d.lines[max(0, len(d.lines)-foldDiff):len(d.lines):len(d.lines)], rest...)
	lines = lines[max(0, len(lines)-foldDiff):]
	all := make([]string, 1, len(lines)+2)
	all[0] = title
	if left := d.dropped + len(d.lines) + len(rest) - len(lines); left > 0 {
		all = append(all, p.foldNote(left, "earlier"))
	}
	return append(all, lines...)
}

// path returns the file that the texts are of.
func (d *argsPreview) path() string {
	if file := previewTools[d.tool].file; file != "" {
		return file
	}
	for _, f := range d.fields {
		if f.name == "path" && f.whole {
			return f.text.String()
		}
	}
	return ""
}

// numberDigits returns how many digits line numbers have. Where a change goes in a file is
// not known before it is made.
func (d *argsPreview) numberDigits() int {
	if d.tool == "write" {
		return 2
	}
	return 0
}

// renderComplete lays out the lines that are complete by now, and gives what there is
// of the next one.
func (d *argsPreview) renderComplete(fields []*argField) (rest []string) {
	for d.field < len(fields) {
		f := fields[d.field]
		text := f.text.String()
		n := strings.IndexByte(text[d.scanned:], '\n')
		if n < 0 {
			d.scanned = len(text)
			if !f.whole {
				break
			}
			if d.at < len(text) {
				d.lines = d.renderLine(d.lines, f, text[d.at:])
			}
			d.field, d.at, d.scanned, d.number, d.scanner = d.field+1, 0, 0, 1, nil
			continue
		}
		end := d.scanned + n
		d.lines = d.renderLine(d.lines, f, text[d.at:end])
		d.at, d.scanned, d.number = end+1, end+1, d.number+1
		if d.digits > 0 && d.number == pow10(d.digits) { // the column gets wider
			d.reset(d.page, d.file, d.digits+1)
		}
	}
	if d.field == len(fields) {
		return nil
	}
	f := fields[d.field]
	text := f.text.String()[d.at:]
	if text == "" {
		return nil
	}
	scanner := d.scanner
	if scanner != nil {
		fork := *scanner
		d.scanner = &fork
	}
	rest = d.renderLine(nil, f, sanitize.Complete(text[:min(len(text), maxClipBytes)]))
	d.scanner = scanner
	return rest
}

// renderLine appends a line of a text as it will look in a diff.
func (d *argsPreview) renderLine(lines []string, f *argField, line string) []string {
	r := diffRow{diffLine: diffLine{sign: previewTools[d.tool].signs[f.name], line: d.number}}
	r.body = expandTabs(sanitize.Text(visiblePart(strings.TrimSuffix(line, "\r"), d.page)), codeTab)
	tokens := []markdown.Token{{Text: r.body}}
	if len(r.body) <= maxHighlightBytes {
		if d.scanner == nil {
			d.scanner = markdown.NewScanner(d.file)
		}
		tokens = d.scanner.Line(r.body)
	}
	r.code = d.page.styler.pieces(r.side(), tokens)
	return r.render(lines, d.digits, d.page)
}

func (d *argsPreview) texts(to []string) []string {
	for _, f := range d.previewFields() {
		to = append(to, sanitize.Text(f.text.String()))
	}
	return to
}

func pow10(n int) int {
	p := 1
	for range n {
		p *= 10
	}
	return p
}
