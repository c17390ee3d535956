// Package statusbar draws the one line under the composer: what answers, on the
// left; how it goes and what it costs, on the right.
//
//	gpt-6.1-sol · high                      streaming 12 s · 84 tok/s · 42 % · 18.2k · $0.31 · auto
//
// The line is never wider than the terminal. When room gets short, figures go
// first. What keys do now, the state, and the mode that lets tools run unasked go
// last.
package statusbar

import (
	"fmt"
	"math"
	"strings"
	"time"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"

	"parley/tools/sanitize"
	"parley/ui/format"
	"parley/ui/theme"
)

// Info holds what the line tells. The zero value of a field is not told.
type Info struct {
	Model   string        // "provider/model"
	Effort  string        // as the user set it
	Badge   string        // such as "tools by prompt", "unknown model"
	Mode    string        // approval mode: "ask", "auto", "read-only", "yolo"
	Context float64       // share of the context window in use, 0 to 1; below 0 if unknown
	Tokens  int           // of the session
	Cost    float64       // US dollars, of the session
	Priced  bool          // Cost is all; otherwise it is what is known, and there is more
	State   string        // "thinking", "streaming", "running shell", "waiting for you", "retrying in 3 s"
	Elapsed time.Duration // in this state
	Rate    float64       // output tokens per second
	Queue   int           // prompts that wait to be sent
	Hint    string        // what keys do now
}

// A segment is one piece of the line.
type segment struct {
	text  string
	style lipgloss.Style
	right bool
}

// The segments, in the order in which they stand. The mode has one of three
// places, by how much it matters that it is seen.
const (
	model = iota
	effort
	badge
	hint
	activity
	speed
	queued
	window
	used
	spent
	asks // mode "ask"
	mode // other modes
	yolo // mode "yolo"
	segments
)

// shrinkOrder holds what gives way, in this order and each as far as it says, until
// the rest has room.
var shrinkOrder = []struct {
	segment int
	least   int // cells that it keeps; 0: it goes
}{
	{used, 0}, {spent, 0}, {speed, 0}, {window, 0}, {badge, 0}, {effort, 0}, {queued, 0},
	{model, 10}, {asks, 0}, {model, 0},
	{hint, 10}, {mode, 0}, {activity, 6}, {activity, 0}, {hint, 4}, {hint, 0},
}

// separator stands between segments, gap at least between left and right.
const (
	separator = " · "
	gap       = 2
)

// Near the end of the context window the share stands out.
const crowdedShare = 0.8

// View returns the line in at most width cells.
func View(i Info, width int, th *theme.Theme) string {
	if width <= 0 {
		return ""
	}
	line := segmentsOf(i, th)
	shrink(&line, width)
	left, right := render(&line, false, th), render(&line, true, th)
	if right == "" {
		return ansi.Truncate(left, width, "…")
	}
	room := width - ansi.StringWidth(left) - ansi.StringWidth(right)
	return ansi.Truncate(left+strings.Repeat(" ", max(room, 0))+right, width, "…")
}

// A Line keeps its last View, so that a frame in which nothing that is told
// changed costs a comparison. The zero value is ready.
type Line struct {
	info  Info
	width int
	theme *theme.Theme
	view  string
}

// View returns View, kept.
func (l *Line) View(i Info, width int, th *theme.Theme) string {
	i.Elapsed = i.Elapsed.Truncate(time.Second)
	if i.State == "" {
		i.Elapsed = 0
	}
	if i.Rate >= 10 {
		i.Rate = math.Round(i.Rate)
	}
	if l.theme != th || l.width != width || l.info != i {
		l.info, l.width, l.theme, l.view = i, width, th, View(i, width, th)
	}
	return l.view
}

// segmentsOf returns what there is to tell; the text of a segment that tells nothing is "".
func segmentsOf(i Info, th *theme.Theme) [segments]segment {
	line := [segments]segment{
		model:    {i.Model, th.Text, false},
		effort:   {i.Effort, th.Dim, false},
		badge:    {i.Badge, th.Warn, false},
		hint:     {i.Hint, th.Dim, true},
		activity: {state(i), th.Accent, true},
		speed:    {format.Rate(i.Rate), th.Dim, true},
		queued:   {queue(i.Queue), th.Text, true},
		window:   {format.Percent(i.Context), th.Dim, true},
		used:     {tokens(i.Tokens), th.Dim, true},
		spent:    {cost(i), th.Dim, true},
	}
	if i.Context >= crowdedShare {
		line[window].style = th.Warn
	}
	// The modes that ask less than usual stand out.
	switch i.Mode {
	case "ask":
		line[asks] = segment{i.Mode, th.Dim, true}
	case "yolo":
		line[yolo] = segment{i.Mode, th.Warn.Bold(true), true}
	default:
		line[mode] = segment{i.Mode, th.Text, true}
	}
	for k := range line {
		line[k].text = sanitize.Line(line[k].text)
	}
	return line
}

// shrink makes segments give way until the rest fits width. The last one stays.
func shrink(line *[segments]segment, width int) {
	for _, y := range shrinkOrder {
		over := totalWidth(line) - width
		if over <= 0 {
			return
		}
		s := &line[y.segment]
		if totalWidth(line) == ansi.StringWidth(s.text) {
			return
		}
		if y.segment == model && y.least > 0 {
			over -= ansi.StringWidth(s.text)
			s.text = s.text[strings.LastIndexByte(s.text, '/')+1:] // without its provider
			over += ansi.StringWidth(s.text)
		}
		keep := 0
		if y.least > 0 {
			keep = max(ansi.StringWidth(s.text)-max(over, 0), y.least)
		}
		s.text = ansi.Truncate(s.text, keep, "…")
	}
}

func totalWidth(line *[segments]segment) int {
	var sum [2]int // left, right
	for _, s := range line {
		if s.text == "" {
			continue
		}
		side := 0
		if s.right {
			side = 1
		}
		if sum[side] > 0 {
			sum[side] += len(separator) - 1 // the dot is two bytes wide
		}
		sum[side] += ansi.StringWidth(s.text)
	}
	if sum[0] > 0 && sum[1] > 0 {
		return sum[0] + gap + sum[1]
	}
	return sum[0] + sum[1]
}

func render(line *[segments]segment, right bool, th *theme.Theme) string {
	var parts []string
	for _, s := range line {
		if s.right == right && s.text != "" {
			parts = append(parts, s.style.Render(s.text))
		}
	}
	return strings.Join(parts, th.Faint.Render(separator))
}

func state(i Info) string {
	if i.State == "" || i.Elapsed < time.Second {
		return i.State
	}
	return i.State + " " + format.Elapsed(i.Elapsed)
}

func queue(n int) string {
	if n <= 0 {
		return ""
	}
	return fmt.Sprintf("%d queued", n)
}

// tokens returns a number of tokens; "" for none.
func tokens(n int) string {
	if n <= 0 {
		return ""
	}
	return format.TokensExact(n)
}

// cost returns as many digits as say something: cents, or more where there are none.
func cost(i Info) string {
	switch {
	case !i.Priced && i.Cost > 0:
		i.Priced = true
		return "≥" + strings.TrimPrefix(cost(i), "<")
	case !i.Priced:
		return ""
	case i.Cost > 0 && i.Cost < 0.00005:
		return "<$0.0001"
	case i.Cost > 0 && i.Cost < 0.01:
		return fmt.Sprintf("$%.4f", i.Cost)
	}
	return fmt.Sprintf("$%.2f", i.Cost)
}
