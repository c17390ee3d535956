package mermaid

import (
	"slices"
	"strings"

	"parley/tools/lazy"
	"parley/ui/textwrap"
)

var (
	participant = lazy.NewRegexp(`^(?:create\s+)?(?:participant|actor)\s+([^@]+?)(?:@\{[^}]*\})?(?:\s+as\s+(.+))?$`)
	message     = lazy.NewRegexp(`^([^-<>:]+?)\s*(<<)?(--?)(>>|>|x|\))\s*[+-]?\s*([^:]+?)\s*:\s*(.*)$`)
	note        = lazy.NewRegexp(`(?i)^note\s+(left of|right of|over)\s+([^:,]+?)\s*(?:,\s*([^:]+?)\s*)?:\s*(.*)$`)
	block       = lazy.NewRegexp(`^(loop|alt|opt|par|critical|break|rect|box)\b\s*(.*)$`)
	divider     = lazy.NewRegexp(`^(else|and|option)\b\s*(.*)$`)
	unseen      = lazy.NewRegexp(`^(?:autonumber|activate|deactivate|destroy|title|accTitle|accDescr|links?|properties)\b`)
)

// A step is one row of a sequence diagram: a message, a note, or a border of a frame.
type step struct {
	kind       byte // '>' message, 'n' note, '[' begin, '|' divider, ']' end
	from, to   int  // participants
	lines      []string
	head, tail string
	dotted     bool
	place      string // of a note
	depth      int
}

// A sequence is a parsed sequence diagram.
type sequence struct {
	index map[string]int
	names [][]string
	steps []step
	depth int // of frames
}

func (q *sequence) participant(id string) int {
	if _, ok := q.index[id]; !ok {
		q.index[id] = len(q.names)
		q.names = append(q.names, label(id))
	}
	return q.index[id]
}

// parse parses the statements; false for what is not known.
func (q *sequence) parse(lines []string) bool {
	var open []string
	for _, line := range lines {
		if m := participant.FindStringSubmatch(line); m != nil {
			if i := q.participant(m[1]); m[2] != "" {
				q.names[i] = label(m[2])
			}
		} else if m := block.FindStringSubmatch(line); m != nil {
			if open = append(open, m[1]); m[1] != "rect" && m[1] != "box" {
				q.steps = append(q.steps, step{kind: '[', lines: label(m[1] + " " + m[2]), depth: q.frames(open) - 1})
			}
		} else if m := divider.FindStringSubmatch(line); m != nil {
			if len(open) == 0 {
				return false
			}
			q.steps = append(q.steps, step{kind: '|', lines: label(m[1] + " " + m[2]), depth: q.frames(open) - 1})
		} else if line == "end" {
			if len(open) == 0 {
				return false
			}
			if last := open[len(open)-1]; last != "rect" && last != "box" {
				q.steps = append(q.steps, step{kind: ']', depth: q.frames(open) - 1})
			}
			open = open[:len(open)-1]
		} else if m := note.FindStringSubmatch(line); m != nil {
			s := step{kind: 'n', place: strings.ToLower(m[1]), from: q.participant(m[2]), lines: label(m[4])}
			if s.to = s.from; m[3] != "" {
				s.to = q.participant(m[3])
			}
			s.from, s.to = min(s.from, s.to), max(s.from, s.to)
			q.steps = append(q.steps, s)
		} else if unseen.MatchString(line) {
			continue
		} else if m := message.FindStringSubmatch(line); m != nil {
			s := step{kind: '>', from: q.participant(m[1]), to: q.participant(m[5]), lines: label(m[6]), dotted: m[3] == "--"}
			s.head = map[string]string{">>": ">", "x": "×", ")": ">"}[m[4]]
			if m[2] != "" {
				s.tail = ">"
			}
			q.steps = append(q.steps, s)
		} else {
			return false
		}
		if len(q.names) > maxEdges || len(q.steps) > maxEdges {
			return false
		}
	}
	return len(open) == 0 && len(q.names) > 0
}

// frames returns the number of open frames, and keeps the largest one.
func (q *sequence) frames(open []string) int {
	n := 0
	for _, kind := range open {
		if kind != "rect" && kind != "box" {
			n++
		}
	}
	q.depth = max(q.depth, n)
	return n
}

func drawSequence(lines []string, width int) []string {
	q := &sequence{index: map[string]int{}}
	if !q.parse(lines) {
		return nil
	}
	columns, right := q.columns()
	w := right + 2*q.depth
	if w > width {
		return nil
	}
	head := 0
	for _, name := range q.names {
		head = max(head, len(name)+2)
	}
	h := head
	for _, s := range q.steps {
		h += s.height()
	}
	if h++; h > maxRows {
		return nil
	}
	c := newCanvas(w, h)
	for i, name := range q.names {
		size := widest(name) + 4
		p := &pen{canvas: c}
		p.run(columns[i], head-1, columns[i], h-1, 0)
		c.box(columns[i]-size/2, head-len(name)-2, size, len(name)+2, "┌┐└┘─│", name)
		c.text(columns[i], head-1, "┬")
	}
	var open []int // rows where frames begin
	y := head
	for _, s := range q.steps {
		switch s.kind {
		case '[':
			open = append(open, y)
			s.border(c, y, "┌┐─", w)
		case '|':
			s.border(c, y, "├┤╌", w)
		case ']':
			s.border(c, y, "└┘─", w)
			for row := open[len(open)-1] + 1; row < y; row++ {
				for _, x := range []int{2 * s.depth, w - 1 - 2*s.depth} {
					if c.at(x, row).text == "" {
						c.text(x, row, "│")
					}
				}
			}
			open = open[:len(open)-1]
		case 'n':
			s.note(c, columns, y)
		default:
			s.arrow(c, columns, y)
		}
		y += s.height()
	}
	return c.lines()
}

// height returns the number of rows.
func (s *step) height() int {
	switch s.kind {
	case '>':
		if s.from == s.to {
			return max(len(s.lines), 1) + 2
		}
		return len(s.lines) + 1
	case 'n':
		return len(s.lines) + 2
	}
	return 1
}

// columns returns where the lines of the participants are, and the width that they need without
// the right sides of frames.
func (q *sequence) columns() (at []int, right int) {
	space := make([]int, len(q.names)+1) // before each participant, and after the last one
	half := func(i int) int { return widest(q.names[i])/2 + 2 }
	for i := range q.names {
		if space[i] = half(i) + 1; i > 0 {
			space[i] += half(i-1) + 1
		}
	}
	space[0] = half(0)
	space[len(q.names)] = half(len(q.names)-1) + 1
	grow := func(from, to, want int) { // the space between two participants
		have := 0
		for i := from + 1; i <= to; i++ {
			have += space[i]
		}
		space[to] += max(want-have, 0)
	}
	for _, s := range q.steps {
		size := widest(s.lines)
		from, to := min(s.from, s.to), max(s.from, s.to)
		switch {
		case s.kind == '>' && from < to:
			grow(from, to, size+4)
		case s.kind == '>':
			space[to+1] = max(space[to+1], size+8)
		case s.kind == 'n' && s.place == "over":
			space[from] = max(space[from], size/2+3)
			space[to+1] = max(space[to+1], size/2+4)
		case s.kind == 'n' && s.place == "left of":
			space[from] = max(space[from], size+7)
		case s.kind == 'n':
			space[to+1] = max(space[to+1], size+7)
		}
	}
	x := 2 * q.depth
	for i := range q.names {
		x += space[i]
		at = append(at, x)
	}
	right = x + space[len(q.names)] + 1
	for _, s := range q.steps {
		if s.kind == '[' || s.kind == '|' {
			right = max(right, widest(s.lines)+4*s.depth+6-2*q.depth)
		}
	}
	return at, right
}

// border draws a border of a frame, with its text.
func (s *step) border(c *canvas, y int, chars string, w int) {
	r := []rune(chars)
	x, end := 2*s.depth, w-1-2*s.depth
	c.text(x, y, string(r[0])+strings.Repeat(string(r[2]), end-x-1)+string(r[1]))
	if text := strings.TrimSpace(strings.Join(s.lines, " ")); text != "" {
		c.text(x+2, y, " "+text+" ")
	}
}

// note draws a note beside or over lines.
func (s *step) note(c *canvas, columns []int, y int) {
	size := widest(s.lines) + 4
	x := columns[s.to] + 2
	switch s.place {
	case "left of":
		x = columns[s.from] - 1 - size
	case "over":
		size = max(size, columns[s.to]-columns[s.from]+5)
		x = (columns[s.from]+columns[s.to])/2 - size/2
	}
	c.box(x, y, size, len(s.lines)+2, "┌┐└┘╌┆", s.lines)
}

// arrow draws a message: its text over an arrow.
func (s *step) arrow(c *canvas, columns []int, y int) {
	line := "─"
	if s.dotted {
		line = "╌"
	}
	from, to := columns[s.from], columns[s.to]
	if from == to {
		rows := s.height() - 2
		c.text(from, y, "├"+line+line+"┐")
		for i := range rows {
			c.text(from+3, y+1+i, "│")
			if i < len(s.lines) {
				c.text(from+5, y+1+i, s.lines[i])
			}
		}
		c.text(from+1, y+1+rows, pointed(s.head, "◀", line)+line+"┘")
		return
	}
	low, high := min(from, to), max(from, to)
	for i, text := range s.lines {
		c.text(low+1+(high-low-1-textwrap.Width(text))/2, y+i, text)
	}
	row := slices.Repeat([]string{line}, high-low-1)
	if from < to {
		row[len(row)-1], row[0] = pointed(s.head, "▶", line), pointed(s.tail, "◀", row[0])
		c.text(from, y+len(s.lines), "├")
	} else {
		row[0], row[len(row)-1] = pointed(s.head, "◀", line), pointed(s.tail, "▶", row[len(row)-1])
		c.text(from, y+len(s.lines), "┤")
	}
	c.text(low+1, y+len(s.lines), strings.Join(row, ""))
}

// pointed returns an arrowhead, or the line if there is none.
func pointed(head, arrow, line string) string {
	switch head {
	case "":
		return line
	case ">":
		return arrow
	}
	return head
}
