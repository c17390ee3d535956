// Package mermaid draws Mermaid's flowcharts and sequence diagrams as text.
//
//	Draw ──► parse ──► layers, positions, lines ──► canvas ──► lines of text
//
// A flowchart is drawn in layers, as Mermaid does: its edges go from layer to layer, in the
// space between them. Lines cross without joining; only edges of the same node share corners
// and branches. Other diagrams, and those that are too wide or too large, are not drawn: the
// reader sees their source.
package mermaid

import (
	"html"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"parley/tools/lazy"
	"parley/tools/sanitize"
	"parley/ui/textwrap"
)

// Limits of a drawing. Layout takes more than linear time.
const (
	maxSource   = 32 << 10 // bytes
	maxLine     = 1000     // bytes
	maxNodes    = 400      // with those of long edges
	maxEdges    = 400
	maxClusters = 50
	maxRows     = 500
)

// Draw returns the lines of a diagram, none wider than width cells; nil if it cannot be drawn.
func Draw(source string, width int) []string {
	if len(source) > maxSource {
		return nil
	}
	lines := statements(strings.ToValidUTF8(source, "�"))
	if len(lines) == 0 {
		return nil
	}
	head, rest, more := strings.Cut(lines[0], ";")
	if lines = lines[1:]; more {
		lines = append([]string{strings.TrimSpace(rest)}, lines...)
	}
	kind, direction, _ := strings.Cut(head, " ")
	switch kind {
	case "graph", "flowchart":
		switch direction = strings.TrimSpace(direction); direction {
		case "LR", "RL":
			if sideways := drawChart(lines, direction, width); sideways != nil {
				return sideways
			}
			return drawChart(lines, "TD", width) // narrower
		case "", "TD", "TB", "BT":
			return drawChart(lines, direction, width)
		}
	case "sequenceDiagram":
		return drawSequence(lines, width)
	}
	return nil
}

// statements returns the lines of a diagram without comments and front matter.
func statements(source string) (all []string) {
	matter := false
	for i, line := range strings.Split(strings.ReplaceAll(source, "\t", " "), "\n") {
		line = strings.TrimRight(strings.TrimSpace(line), "; ")
		switch {
		case len(line) > maxLine:
			return nil
		case line == "---" && (i == 0 || matter):
			matter = !matter
		case matter, line == "", strings.HasPrefix(line, "%%"):
		default:
			all = append(all, line)
		}
	}
	return all
}

var (
	breaks = lazy.NewRegexp(`(?i)<br\s*/?>|\\n`)
	tags   = lazy.NewRegexp(`</?[a-zA-Z]+>`)
	entity = lazy.NewRegexp(`#\w+;`)
)

// label returns the lines of a text in a diagram.
func label(text string) []string {
	text = strings.TrimSpace(text)
	if len(text) > 1 && text[0] == '"' && text[len(text)-1] == '"' {
		text = text[1 : len(text)-1]
	}
	text = unescape(tags.ReplaceAllString(breaks.ReplaceAllString(strings.Trim(text, "`"), "\n"), ""))
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = strings.TrimSpace(line)
	}
	return lines
}

// unescape replaces HTML's entities, and Mermaid's: #quot; and #9829;.
func unescape(text string) string {
	text = entity.ReplaceAllStringFunc(html.UnescapeString(text), func(name string) string {
		for _, escaped := range []string{"&" + name, "&" + name[1:]} {
			if char := html.UnescapeString(escaped); char != escaped {
				return char
			}
		}
		return name
	})
	return strings.NewReplacer("\t", " ", "\u00a0", " ").Replace(sanitize.Text(text))
}

func widest(lines []string) int {
	w := 0
	for _, line := range lines {
		w = max(w, textwrap.Width(line))
	}
	return w
}

// Directions of a line that leaves a cell.
const (
	up = 1 << iota
	down
	left
	right
)

// glyphs holds the characters of lines, by directions.
var glyphs = [16]rune{0, '│', '│', '│', '─', '┘', '┐', '┤', '─', '└', '┌', '├', '─', '┴', '┬', '┼'}

// A style is that of straight lines.
type style uint8

const (
	dotted style = iota + 1
	thick
)

// A canvas is a drawing in cells. It has no cell out of its bounds.
type canvas struct {
	w, h  int
	cells []cell
}

// A cell has a text, or lines: passing ones, which may cross, and corners.
type cell struct {
	text    string
	covered bool // by a text that begins to the left
	across  bool // a line passes from left to right
	along   bool // a line passes from top to bottom
	corner  uint8
	style
}

func newCanvas(w, h int) *canvas { return &canvas{w, h, make([]cell, max(w*h, 0))} }

func (c *canvas) at(x, y int) *cell {
	if x < 0 || y < 0 || x >= c.w || y >= c.h {
		return &cell{}
	}
	return &c.cells[y*c.w+x]
}

// text writes text over everything.
func (c *canvas) text(x, y int, text string) {
	for text != "" {
		cluster, w := ansi.FirstGraphemeCluster(text, ansi.GraphemeWidth)
		for i := range w {
			*c.at(x+i, y) = cell{covered: i > 0}
		}
		if c.at(x, y).text = cluster; w == 0 {
			c.at(x, y).text = ""
		}
		x, text = x+w, text[len(cluster):]
	}
}

// box writes a box with centered lines. corners holds its corners and sides: ┌┐└┘─│.
func (c *canvas) box(x, y, w, h int, corners string, lines []string) {
	r := []rune(corners)
	edge := strings.Repeat(string(r[4]), max(w-2, 0))
	c.text(x, y, string(r[0])+edge+string(r[1]))
	for i := 1; i < h-1; i++ {
		c.text(x, y+i, string(r[5])+strings.Repeat(" ", max(w-2, 0))+string(r[5]))
	}
	c.text(x, y+h-1, string(r[2])+edge+string(r[3]))
	for i, line := range lines {
		c.text(x+(w-textwrap.Width(line))/2, y+(h-len(lines))/2+i, line)
	}
}

func (c *canvas) lines() (all []string) {
	for y := range c.h {
		var b strings.Builder
		for _, p := range c.cells[y*c.w : (y+1)*c.w] {
			switch {
			case p.text != "":
				b.WriteString(p.text)
			case !p.covered:
				b.WriteRune(p.glyph())
			}
		}
		all = append(all, strings.TrimRight(b.String(), " "))
	}
	for len(all) > 0 && all[0] == "" {
		all = all[1:]
	}
	for len(all) > 0 && all[len(all)-1] == "" {
		all = all[:len(all)-1]
	}
	return all
}

func (p *cell) glyph() rune {
	bits := p.corner
	if p.along {
		bits |= up | down
	}
	if p.across && (p.corner != 0 || !p.along) { // otherwise the lines cross
		bits |= left | right
	}
	if bits == 0 {
		return ' '
	}
	crossing := p.along && p.across && p.corner == 0
	switch r := glyphs[bits]; {
	case r == '│' && p.style == dotted && !crossing:
		return '┆'
	case r == '─' && p.style == dotted:
		return '╌'
	case r == '│' && p.style == thick && !crossing:
		return '┃'
	case r == '─' && p.style == thick:
		return '━'
	default:
		return r
	}
}
