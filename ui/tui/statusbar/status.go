// Package statusbar draws the line under the composer: the model on the left;
// the state and the cost on the right.
//
//	gpt-6.1-sol · high        streaming 12 s · 84 tok/s · context 42% · 18.2k tokens · $0.31 · auto mode
//
// The line is never wider than the terminal. If space is tight, words become shorter
// and figures are omitted first. Key hints, the state, and the mode that runs tools
// without asking are omitted last.
package statusbar

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"

	"parley/tools/sanitize"
	"parley/ui/format"
	"parley/ui/theme"
)

// Info holds the facts for the line. Zero fields are not shown.
type Info struct {
	Model   string        // "provider/model"
	Effort  string        // as the user set it
	Badge   string        // such as "tools by prompt", "unknown model"
	Command string        // output of the user's own command
	Mode    string        // approval mode: "ask", "auto", "read-only", "yolo"
	Context float64       // share of the context window in use, 0 to 1; below 0 if unknown
	Tokens  int           // in the session
	Cost    float64       // US dollars, in the session
	Priced  bool          // Cost is complete; otherwise it is a lower bound
	State   string        // "thinking", "streaming", "running shell", "waiting for you", "retrying in 3 s"
	Waiting bool          // State waits for the user: it is shown regardless of the configuration
	Elapsed time.Duration // time in this state
	Rate    float64       // output tokens per second
	Queue   int           // prompts waiting to be sent
	Jobs    int           // background commands
	Hint    string        // key hints
}

// A segment is a piece of the line.
type segment struct {
	text  string
	short string // replaces text if space is tight
	style lipgloss.Style
	right bool
}

// The segments. The mode has one of three positions, by its importance.
const (
	hint = iota
	model
	effort
	badge
	command
	activity
	speed
	queued
	jobs
	window
	used
	spent
	asks // mode "ask"
	mode // other modes
	yolo // mode "yolo"
	segments
)

// Segments returns the names of all segments, in the default order. The first four are on
// the left, the others on the right.
func Segments() []string {
	names := make([]string, len(places))
	for i, p := range places {
		names[i] = p.name
	}
	return names
}

// places maps the names of Segments to segments.
var places = []struct {
	name     string
	segments []int
}{
	{"model", []int{model}}, {"effort", []int{effort}}, {"badge", []int{badge}}, {"command", []int{command}},
	{"activity", []int{activity}}, {"speed", []int{speed}}, {"queue", []int{queued}}, {"jobs", []int{jobs}},
	{"context", []int{window}}, {"tokens", []int{used}}, {"cost", []int{spent}}, {"mode", []int{asks, mode, yolo}},
}

// Minimum widths for words, and for a gauge of the context window.
const (
	wordsFrom = 100
	gaugeFrom = 120
)

// shrinkOrder lists the segments to shorten or omit, in this order, until the rest fits.
var shrinkOrder = []struct {
	segment int
	least   int // cells to keep; 0 to omit the segment
}{
	{asks, shorten}, {mode, shorten}, {yolo, shorten}, {used, shorten}, {window, shorten},
	{used, 0}, {spent, 0}, {speed, 0}, {window, 0}, {command, 10}, {badge, 0}, {command, 0}, {effort, 0}, {queued, 0}, {jobs, 0},
	{model, 10}, {asks, 0}, {model, 0},
	{hint, 10}, {mode, 0}, {activity, 6}, {activity, 0}, {hint, 4}, {hint, 0},
}

// shorten in shrinkOrder makes a segment use its short form.
const shorten = -1

// separator separates segments; gap is the minimum gap between left and right.
const (
	separator = " · "
	gap       = 2
)

// Above this share of the context window, the figure is highlighted.
const crowdedShare = 0.8

// View returns the line in at most width cells, with the segments named in shown, in this
// order; nil means all. Key hints, the state of waiting for the user, the output of the
// user's command, and a mode that allows everything are never omitted.
func View(i Info, shown []string, width int, th *theme.Theme) string {
	if width <= 0 {
		return ""
	}
	line := segmentsOf(i, width, th)
	order := choose(&line, i, shown)
	shrink(&line, width)
	left, right := render(&line, order, false, th), render(&line, order, true, th)
	if right == "" {
		return ansi.Truncate(left, width, "…")
	}
	room := width - ansi.StringWidth(left) - ansi.StringWidth(right)
	return ansi.Truncate(left+strings.Repeat(" ", max(room, 0))+right, width, "…")
}

// A Line caches its last View, so that a frame without changes costs only a
// comparison. The zero value shows all segments.
type Line struct {
	Shown []string // as in View; set before the first View

	info  Info
	width int
	theme *theme.Theme
	view  string
}

// View returns the cached result of the function View.
func (l *Line) View(i Info, width int, th *theme.Theme) string {
	i.Elapsed = i.Elapsed.Truncate(time.Second)
	if i.State == "" {
		i.Elapsed = 0
	}
	if i.Rate >= 10 {
		i.Rate = math.Round(i.Rate)
	}
	if l.theme != th || l.width != width || l.info != i {
		l.info, l.width, l.theme, l.view = i, width, th, View(i, l.Shown, width, th)
	}
	return l.view
}

// segmentsOf returns the segments of a line of this width. The text of an empty
// segment is "".
func segmentsOf(i Info, width int, th *theme.Theme) [segments]segment {
	line := [segments]segment{
		hint:     {i.Hint, "", th.Dim, true},
		model:    {i.Model, "", th.Text, false},
		effort:   {i.Effort, "", th.Dim, false},
		badge:    {i.Badge, "", th.Warn, false},
		command:  {i.Command, "", th.Dim, false},
		activity: {state(i), "", th.Accent, true},
		speed:    {format.Rate(i.Rate), "", th.Dim, true},
		queued:   {queue(i.Queue), "", th.Text, true},
		jobs:     {running(i.Jobs), "", th.Text, true},
		window:   contextSegment(i.Context, width, th),
		used:     {tokens(i.Tokens), format.TokensExact(i.Tokens), th.Dim, true},
		spent:    {cost(i), "", th.Dim, true},
	}
	if i.Context < 0 { // without other segments for context, the figure needs its label
		line[used].short = line[used].text
	}
	place, style, approvals := mode, th.Text, i.Mode+" mode"
	switch i.Mode { // modes that ask less than usual are highlighted
	case "ask":
		place, style = asks, th.Dim
	case "edits":
		style, approvals = th.Accent, "edits allowed"
	case "yolo":
		place, style = yolo, th.Warn.Bold(true)
	}
	if i.Mode != "" {
		line[place] = segment{approvals, i.Mode, style, true}
	}
	for k := range line {
		s := &line[k]
		if s.text != "" && s.short != "" && width < wordsFrom {
			s.text = s.short
		}
		s.text, s.short = sanitize.Line(s.text), sanitize.Line(s.short)
	}
	return line
}

// contextSegment returns the used share of the context window, if it is known.
func contextSegment(share float64, width int, th *theme.Theme) segment {
	if share < 0 {
		return segment{}
	}
	s := segment{"context " + format.Percent(share), "ctx " + format.Percent(share), th.Dim, true}
	if width >= gaugeFrom {
		s.text = "context " + gauge(share) + " " + format.Percent(share)
	}
	if share >= crowdedShare {
		s.style = th.Warn
	}
	return s
}

// gaugeCells is the width of a full gauge, in cells.
const gaugeCells = 8

// gauge draws a share, from 0 to 1, in eighths of a cell. A positive share is always visible.
func gauge(share float64) string {
	eighths := int(math.Round(min(share, 1) * gaugeCells * 8))
	if share > 0 {
		eighths = max(eighths, 1)
	}
	bar := strings.Repeat("█", eighths/8)
	if rest := eighths % 8; rest > 0 {
		bar += string([]rune("▏▎▍▌▋▊▉")[rest-1])
	}
	return bar + strings.Repeat("░", gaugeCells-(eighths+7)/8)
}

// choose empties the segments not named in shown, and returns the order of the others.
func choose(line *[segments]segment, i Info, shown []string) []int {
	if shown == nil {
		shown = Segments()
	}
	order := []int{hint}
	for _, name := range shown {
		for _, p := range places {
			if p.name == name && !slices.Contains(order, p.segments[0]) {
				order = append(order, p.segments...)
			}
		}
	}
	for k := range line {
		switch {
		case slices.Contains(order, k):
		case k == yolo, k == command, k == activity && i.Waiting:
			order = append(order, k)
		default:
			line[k].text = ""
		}
	}
	return order
}

// shrink shortens and omits segments until the rest fits width. The last one stays.
func shrink(line *[segments]segment, width int) {
	for _, y := range shrinkOrder {
		over := totalWidth(line) - width
		if over <= 0 {
			return
		}
		s := &line[y.segment]
		if s.text == "" || totalWidth(line) == ansi.StringWidth(s.text) {
			continue
		}
		if y.least == shorten {
			s.text = cmp.Or(s.short, s.text)
			continue
		}
		if y.segment == model && y.least > 0 {
			over -= ansi.StringWidth(s.text)
			s.text = s.text[strings.LastIndexByte(s.text, '/')+1:] // without the provider
			over += ansi.StringWidth(s.text)
		}
		keep := 0
		if y.least > 0 {
			keep = max(ansi.StringWidth(s.text)-max(over, 0), y.least)
		}
		if y.segment == hint {
			s.text = cutHint(s.text, keep)
		} else {
			s.text = ansi.Truncate(s.text, keep, "…")
		}
	}
	if s := &line[hint]; ansi.StringWidth(s.text) > width {
		s.text = cutHint(s.text, width)
	}
}

// cutHint shortens a key hint to width. It removes whole hints from the end, as long as one fits.
func cutHint(text string, width int) string {
	if ansi.StringWidth(text) <= width {
		return text
	}
	for at := strings.LastIndex(text, separator); at >= 0; at = strings.LastIndex(text[:at], separator) {
		if ansi.StringWidth(text[:at]+" …") <= width {
			return text[:at] + " …"
		}
	}
	return ansi.Truncate(text, width, "…")
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
			sum[side] += len(separator) - 1 // the dot has two bytes
		}
		sum[side] += ansi.StringWidth(s.text)
	}
	if sum[0] > 0 && sum[1] > 0 {
		return sum[0] + gap + sum[1]
	}
	return sum[0] + sum[1]
}

func render(line *[segments]segment, order []int, right bool, th *theme.Theme) string {
	var parts []string
	for _, k := range order {
		if s := line[k]; s.right == right && s.text != "" {
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

func running(jobs int) string {
	if jobs <= 0 {
		return ""
	}
	return format.Plural(jobs, "job")
}

// tokens returns a number of tokens; "" for none.
func tokens(n int) string {
	if n <= 0 {
		return ""
	}
	return format.TokensExact(n) + " token" + format.PluralSuffix(n)
}

// cost returns the cost with two digits, or more below a cent.
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
