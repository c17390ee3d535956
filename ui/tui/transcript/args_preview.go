package transcript

import (
	"slices"
	"strings"

	"parley/tools/act"
	"parley/tools/sanitize"
	"parley/ui/markdown"
	"parley/ui/tui/diffview"
)

// maxPreviewBytes is how many bytes of an argument are kept while it arrives.
const maxPreviewBytes = 2 << 20

// minPreviewRows is the minimum number of rows kept for a preview that shows only the last ones.
const minPreviewRows = 4 * foldDiff

// An argsPreview shows the text that a call will write while its arguments arrive.
// Each line is rendered once, when it is complete.
type argsPreview struct {
	argsReader
	tool act.Facts // its Preview lists the arguments shown as diff lines

	// The lines were rendered for these conditions. They begin with a title if the block is unfolded.
	context renderContext
	file    string
	digits  int

	lines   []string
	dropped int // number of rows dropped before lines
	field   int // index of the first field not yet completely in lines
	at      int // offset in the field of the first line that is not in lines
	scanned int // offset up to which a newline was searched
	number  int // number of that line, from 1
	scanner *markdown.Scanner
}

func newArgsPreview(tool string) *argsPreview {
	d := &argsPreview{tool: act.FactsOf(tool)}
	d.limitOf = func(name string) int {
		switch {
		case d.signOf(name) != 0:
			return maxPreviewBytes
		case slices.Contains(titleArgs, name):
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

// signOf returns the diff sign for lines of an argument, or 0 if the argument is not shown.
func (d *argsPreview) signOf(argument string) byte {
	for _, p := range d.tool.Preview {
		if p.Argument == argument {
			return p.Sign
		}
	}
	return 0
}

// isShown reports whether a preview is shown with status s. The approval dialog shows the
// complete arguments.
func (d *argsPreview) isShown(s Status) bool {
	return d != nil && (s == Arriving || s == Running && d.tool.Kind == "edit") && len(d.previewFields()) > 0
}

// previewFields returns the shown fields that are not empty.
func (d *argsPreview) previewFields() (some []*argField) {
	for _, f := range d.fields {
		sign, text := d.signOf(f.name), f.text.String()
		oneLine := len(text) <= diffview.MaxClipBytes && strings.IndexByte(text, '\n') < 0
		if sign == 0 || text == "" || sign == ' ' && oneLine { // it is the title
			continue
		}
		some = append(some, f)
	}
	return some
}

// release frees the lines. The arguments stay, because they do not arrive again.
func (d *argsPreview) release() {
	if d != nil {
		d.reset(renderContext{}, "", 0)
	}
}

func (d *argsPreview) reset(p renderContext, file string, digits int) {
	d.context, d.file, d.digits = p, file, digits
	d.lines, d.dropped, d.field, d.at, d.scanned, d.number, d.scanner = nil, 0, 0, 0, 0, 1, nil
	if p.open {
		d.lines = []string{""}
	}
}

// render returns the title and the last lines, or all lines if unfolded. It overwrites the
// title and the last line of the slice that it returned before.
func (d *argsPreview) render(title string, p renderContext) []string {
	p.now = d.context.now
	if file := d.path(); p != d.context || file != d.file {
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

// path returns the name of the file that the texts belong to, or "" if it is not known yet.
func (d *argsPreview) path() string {
	if file := d.tool.Language; file != "" {
		return file
	}
	for _, f := range d.fields {
		if f.name == "path" && f.whole {
			return f.text.String()
		}
	}
	return ""
}

// numberDigits returns how many digits line numbers have, or 0 for no numbers: those of an
// edit are unknown until it is made.
func (d *argsPreview) numberDigits() int {
	if d.tool.Name == "write" {
		return 2
	}
	return 0
}

// renderComplete renders the complete lines, and returns the beginning of the next one.
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
		if d.digits > 0 && d.number == pow10(d.digits) { // numbers need one more digit
			d.reset(d.context, d.file, d.digits+1)
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
	rest = d.renderLine(nil, f, sanitize.Complete(text[:min(len(text), diffview.MaxClipBytes)]))
	d.scanner = scanner
	return rest
}

// renderLine appends a line of a text, formatted as in a diff.
func (d *argsPreview) renderLine(lines []string, f *argField, line string) []string {
	if d.scanner == nil {
		d.scanner = markdown.NewScanner(d.file)
	}
	text := sanitize.Text(strings.TrimSuffix(diffview.Visible(line, d.context.open), "\r"))
	return d.context.diffView().Line(lines, d.signOf(f.name), d.number, d.digits, text, d.scanner)
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
