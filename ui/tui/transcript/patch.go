package transcript

import (
	"fmt"
	"strconv"
	"strings"

	"parley/ui/markdown"
)

const (
	splitAt  = 120     // cells from which on old and new stand side by side
	longLine = 2 << 10 // bytes from which on a line is data: not colored, not compared
	clipAt   = 8 << 10 // bytes of a line that are looked at if it is cut to the width
)

// A row is a change that is being laid out.
type row struct {
	change
	body string  // the text without tabs
	code []piece // the body, if it is a line of a file
	mate *row    // the line that this one was, or became
}

// side returns the part of the diff that the row is of.
func (r *row) side() side {
	switch r.sign {
	case '+':
		return added
	case '-':
		return removed
	}
	return both
}

// lay lays a diff out: number, sign, text; side by side if there is room and
// something was taken away.
func (b *patch) lay(p page) []string {
	shown := b.changes
	if !p.open && len(shown) > foldDiff {
		shown = shown[:foldDiff]
	}
	rows := b.rows(shown, p)
	last := 0
	for _, c := range shown {
		last = max(last, c.line, c.was)
	}
	digits := len(strconv.Itoa(last))
	var lines []string
	if p.width >= splitAt && b.removed > 0 {
		lines = split{p, digits, (p.width - 2) / 2}.lay(rows)
	} else {
		for i := range rows {
			lines = rows[i].lay(lines, digits, p)
		}
	}
	switch left := b.left + len(b.changes) - len(shown); {
	case left > 0 && p.open:
		lines = append(lines, p.ink.write(faint, clip(fmt.Sprintf("… %d more line%s (enter)", left, plural(left)), p.width)))
	case left > 0:
		lines = append(lines, p.left(left, "more"))
	}
	return lines
}

// rows prepares changes: the languages of their files give them colors, and
// lines that were changed have the words that differ emphasised.
func (b *patch) rows(shown []change, p page) []row {
	rows := make([]row, len(shown))
	file := b.file
	was, is := markdown.NewScanner(file), markdown.NewScanner(file)
	for i, c := range shown {
		r := &rows[i]
		if c.file != "" {
			file = c.file
		}
		if c.sign == 0 {
			was, is = markdown.NewScanner(file), markdown.NewScanner(file)
		}
		r.change, r.body = c, untab(short(c.text, p), codeTab)
		if c.sign == 0 {
			continue
		}
		tokens := []markdown.Token{{Text: r.body}}
		if len(r.body) <= longLine && c.sign != '+' {
			tokens = was.Line(r.body)
		}
		if len(r.body) <= longLine && c.sign != '-' {
			tokens = is.Line(r.body)
		}
		r.code = p.ink.pieces(r.side(), tokens)
	}
	work := wordsWork
	for from := 0; from < len(rows); {
		minus, plus, size := run(rows[from:])
		mate(minus, plus, &work)
		from += max(size, 1)
	}
	return rows
}

// short returns as much of a line as can be seen of it.
func short(text string, p page) string {
	if p.open || len(text) <= clipAt {
		return text
	}
	return strings.ToValidUTF8(text[:clipAt], "")
}

// run returns what stands at the beginning of rows: lines that were taken away, and
// after them those that came in their place.
func run(rows []row) (minus, plus []row, size int) {
	gone := 0
	for gone < len(rows) && rows[gone].sign == '-' {
		gone++
	}
	size = gone
	for size < len(rows) && rows[size].sign == '+' {
		size++
	}
	return rows[:gone], rows[gone:size], size
}

// mateAhead sets how many lines are tried to find the one that a line became.
const mateAhead = 4

// mate finds which line became which, in their order.
func mate(minus, plus []row, work *int) {
	next := 0
	for i := range minus {
		for j := next; j < min(next+mateAhead, len(plus)); j++ {
			was, is, ok := changedWords(minus[i].body, plus[j].body, work)
			if !ok {
				continue
			}
			minus[i].mate, plus[j].mate = &plus[j], &minus[i]
			minus[i].code, plus[j].code = emphasise(minus[i].code, was), emphasise(plus[j].code, is)
			next = j + 1
			break
		}
	}
}

// lay appends the row. Unfolded, a long line is wrapped instead of cut.
func (r *row) lay(lines []string, digits int, p page) []string {
	if r.sign == 0 {
		return r.remark(lines, digits, p)
	}
	room := p.width - digits - 3
	if digits == 0 {
		room++
	}
	if room < 1 {
		return append(lines, p.ink.write(signTone[r.side()], clip(string(r.sign)+r.body, p.width)))
	}
	number := column(r.line, digits)
	for i, part := range r.parts(room, p) {
		if i > 0 {
			number = strings.Repeat(" ", len(number))
		}
		lines = append(lines, p.ink.write(faint, number)+part)
	}
	return lines
}

// remark returns a line about the diff itself.
func (r *row) remark(lines []string, digits int, p page) []string {
	margin := strings.Repeat(" ", digits+1)
	parts := []string{clip(r.body, max(p.width-len(margin), 1))}
	if p.open {
		parts = wrap(nil, r.body, max(p.width-len(margin), 1))
	}
	for _, part := range parts {
		lines = append(lines, p.ink.write(faint, clip(margin+part, p.width)))
	}
	return lines
}

// column returns a line number, right-aligned, and the space after it; nothing if the
// numbers take no digits.
func column(n, digits int) string {
	if digits == 0 {
		return ""
	}
	number := ""
	if n > 0 {
		number = strconv.Itoa(n)
	}
	return strings.Repeat(" ", max(0, digits-len(number))) + number + " "
}

// parts returns the sign and the text in lines of room cells for the text. On a
// background they are as wide as that.
func (r *row) parts(room int, p page) []string {
	s := r.side()
	texts := []string{clip(r.body, room)}
	if p.open {
		texts = wrap(nil, r.body, room)
	}
	parts := make([]string, len(texts))
	at, sign := 0, string(r.sign)
	for i, t := range texts {
		kept, end := t, ""
		if !strings.HasPrefix(r.body[at:], t) {
			if begin, ok := strings.CutSuffix(t, more); ok && !p.open {
				kept, end = begin, more
			} else { // spaces vanished where the line was broken
				at += len(r.body[at:]) - len(strings.TrimLeft(r.body[at:], " "))
			}
		}
		line := make([]piece, 1, len(r.code)+3)
		line[0] = piece{text: sign + " ", tone: signTone[s]}
		line = cut(line, r.code, at, at+len(kept))
		line = append(line, piece{text: end, tone: signTone[s]})
		if p.ink.tinted[s] {
			line = append(line, piece{text: strings.Repeat(" ", max(0, room-cells(t))), tone: signTone[s]})
		}
		parts[i] = p.ink.line(s, line...)
		at, sign = at+len(kept), " "
	}
	return parts
}

// A split lays the old lines out on the left and the new ones on the right.
type split struct {
	page   page
	digits int
	half   int // cells of a half
}

func (v split) lay(rows []row) (lines []string) {
	for from := 0; from < len(rows); {
		minus, plus, size := run(rows[from:])
		if size == 0 {
			r := &rows[from]
			from++
			if r.sign == 0 {
				lines = r.remark(lines, v.digits, v.page)
				continue
			}
			lines = v.join(lines, r, r)
			continue
		}
		from += size
		for len(minus) > 0 || len(plus) > 0 {
			var left, right *row
			if len(minus) > 0 && (minus[0].mate == nil || len(plus) > 0 && plus[0].mate == &minus[0]) {
				left = &minus[0]
			}
			if len(plus) > 0 && (plus[0].mate == nil || plus[0].mate == left) {
				right = &plus[0]
			}
			if left != nil {
				minus = minus[1:]
			}
			if right != nil {
				plus = plus[1:]
			}
			lines = v.join(lines, left, right)
		}
	}
	return lines
}

// join appends the lines of a row; either side may be missing.
func (v split) join(lines []string, left, right *row) []string {
	l, r := v.column(left, false), v.column(right, true)
	for i := range max(len(l), len(r)) {
		line := strings.Repeat(" ", v.half)
		if i < len(l) {
			line = l[i] + strings.Repeat(" ", max(0, v.half-cells(l[i])))
		}
		line += v.page.ink.write(faint, "│")
		if i < len(r) {
			line += " " + r[i]
		}
		lines = append(lines, line)
	}
	return lines
}

// column returns one side of a row.
func (v split) column(r *row, is bool) []string {
	if r == nil {
		return nil
	}
	side := *r
	if !is && r.sign == ' ' {
		side.line = r.was
	}
	p := v.page
	p.width = v.half
	return side.lay(nil, v.digits, p)
}
