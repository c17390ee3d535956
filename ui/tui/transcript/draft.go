package transcript

import (
	"strings"

	"parley/tools/sanitize"
	"parley/ui/markdown"
)

// drafts lists the tools of which more is shown while their arguments arrive than
// the most telling one: the texts that they write, with the signs of a diff.
var drafts = map[string]struct {
	signs map[string]byte
	runs  bool   // they are shown while it runs, too
	file  string // that the texts are of, if no argument says so
}{
	"edit":  {map[string]byte{"old": '-', "new": '+'}, true, ""},
	"write": {map[string]byte{"content": '+'}, true, ""},
	"shell": {map[string]byte{"command": ' '}, false, "command.sh"},
}

// maxDraft sets how much of a text is kept while it arrives.
const maxDraft = 2 << 20

// keepDraft sets how many rows of a draft are kept, at least, of which only the
// last ones are in sight.
const keepDraft = 4 * foldDiff

// A draft is what a call will write, while its arguments arrive. Lines are laid
// out once, when they are complete.
type draft struct {
	args
	tool string

	// What lines are of. They begin with a title, if the page is unfolded.
	page   page
	file   string
	digits int

	lines   []string
	dropped int // rows before those
	field   int // the first one that is not wholly in lines
	at      int // where its first line begins that is not in lines
	looked  int // up to where the end of that was looked for
	number  int // of that line, from 1
	scanner *markdown.Scanner
}

func newDraft(tool string) *draft {
	d := &draft{tool: tool}
	signs := drafts[tool].signs
	d.want = func(name string) int {
		switch {
		case signs[name] != 0:
			return maxDraft
		case rankOf(name) < len(telling):
			return titleAt
		}
		return 0
	}
	return d
}

func (d *draft) read(input string) {
	if d.args.read(input) {
		d.release()
	}
}

// shown reports whether there is something to see. What asks a user about the
// call shows all of it.
func (d *draft) shown(s Status) bool {
	return d != nil && (s == Arriving || s == Running && drafts[d.tool].runs) && len(d.written()) > 0
}

// written returns the fields that are shown.
func (d *draft) written() (some []*field) {
	signs := drafts[d.tool].signs
	for _, f := range d.fields {
		sign, text := signs[f.name], f.text.String()
		oneLine := len(text) <= clipAt && strings.IndexByte(text, '\n') < 0
		if sign == 0 || text == "" || sign == ' ' && oneLine { // which the title has
			continue
		}
		some = append(some, f)
	}
	return some
}

// release lets the lines go. The arguments cannot be had again.
func (d *draft) release() {
	if d != nil {
		d.restart(page{}, "", 0)
	}
}

func (d *draft) restart(p page, file string, digits int) {
	d.page, d.file, d.digits = p, file, digits
	d.lines, d.dropped, d.field, d.at, d.looked, d.number, d.scanner = nil, 0, 0, 0, 0, 1, nil
	if p.open {
		d.lines = []string{""}
	}
}

// lay returns the title and the last lines, or all of them. Lines that were given
// out before are written over where they differ: the title and the end.
func (d *draft) lay(title string, p page) []string {
	p.now = d.page.now
	if file := d.path(); p != d.page || file != d.file {
		d.restart(p, file, d.column())
	}
	fields := d.written()
	rest := d.advance(fields)
	if p.open {
		d.lines[0] = title
		all := append(d.lines, rest...)
		d.lines = all[:len(d.lines)]
		return all
	}
	if len(d.lines) > 2*keepDraft {
		drop := len(d.lines) - keepDraft
		d.dropped += drop
		d.lines = append([]string(nil), d.lines[drop:]...)
	}
	lines := append(d.lines[max(0, len(d.lines)-foldDiff):len(d.lines):len(d.lines)], rest...)
	lines = lines[max(0, len(lines)-foldDiff):]
	all := make([]string, 1, len(lines)+2)
	all[0] = title
	if left := d.dropped + len(d.lines) + len(rest) - len(lines); left > 0 {
		all = append(all, p.left(left, "earlier"))
	}
	return append(all, lines...)
}

// path returns the file that the texts are of.
func (d *draft) path() string {
	if file := drafts[d.tool].file; file != "" {
		return file
	}
	for _, f := range d.fields {
		if f.name == "path" && f.whole {
			return f.text.String()
		}
	}
	return ""
}

// column returns how many digits line numbers have. Where a change goes in a file is
// not known before it is made.
func (d *draft) column() int {
	if d.tool == "write" {
		return 2
	}
	return 0
}

// advance lays out the lines that are complete by now, and gives what there is
// of the next one.
func (d *draft) advance(fields []*field) (rest []string) {
	for d.field < len(fields) {
		f := fields[d.field]
		text := f.text.String()
		n := strings.IndexByte(text[d.looked:], '\n')
		if n < 0 {
			d.looked = len(text)
			if !f.whole {
				break
			}
			if d.at < len(text) {
				d.lines = d.row(d.lines, f, text[d.at:])
			}
			d.field, d.at, d.looked, d.number, d.scanner = d.field+1, 0, 0, 1, nil
			continue
		}
		end := d.looked + n
		d.lines = d.row(d.lines, f, text[d.at:end])
		d.at, d.looked, d.number = end+1, end+1, d.number+1
		if d.digits > 0 && d.number == tenTo(d.digits) { // the column gets wider
			d.restart(d.page, d.file, d.digits+1)
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
	rest = d.row(nil, f, sanitize.Complete(text[:min(len(text), clipAt)]))
	d.scanner = scanner
	return rest
}

// row appends a line of a text as it will look in a diff.
func (d *draft) row(lines []string, f *field, line string) []string {
	r := row{change: change{sign: drafts[d.tool].signs[f.name], line: d.number}}
	r.body = untab(sanitize.Text(short(strings.TrimSuffix(line, "\r"), d.page)), codeTab)
	tokens := []markdown.Token{{Text: r.body}}
	if len(r.body) <= longLine {
		if d.scanner == nil {
			d.scanner = markdown.NewScanner(d.file)
		}
		tokens = d.scanner.Line(r.body)
	}
	r.code = d.page.ink.pieces(r.side(), tokens)
	return r.lay(lines, d.digits, d.page)
}

func (d *draft) texts(to []string) []string {
	for _, f := range d.written() {
		to = append(to, sanitize.Text(f.text.String()))
	}
	return to
}

func tenTo(n int) int {
	p := 1
	for range n {
		p *= 10
	}
	return p
}
