// Package statusbar draws the line under the composer: the model and the directory on the left;
// the state, the context window and the cost on the right.
//
//	openai/gpt-6.1-sol · parley · main                answering esc stops · 9% of 200k · $0.31 · auto
//
// The line is never wider than the terminal. If space is tight, details are omitted first: the
// branch, the cost, the folder. Key hints, the state, and modes other than asking are omitted last.
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
	Model    string        // "provider/model"
	Effort   string        // as the user set it
	Badge    string        // such as "tools by prompt", "unknown model"
	Folder   string        // name of the directory
	Branch   string        // of git
	Command  string        // output of the user's own command
	Mode     string        // approval mode: "ask", "edits", "auto", "read-only", "yolo"
	Window   int           // tokens of the context window; 0 if unknown
	Tokens   int           // in the session
	Draft    int           // tokens of the prompt being written; few are not shown
	Cost     float64       // US dollars, in the session
	Priced   bool          // Cost is complete; otherwise it is a lower bound
	State    string        // "thinking", "answering", "running shell", "waiting for you", "retrying in 3 s"
	Waiting  bool          // State waits for the user: it is shown regardless of the configuration
	Retrying bool          // State waits for another attempt
	Stop     string        // what ends the state, such as "esc stops"
	Elapsed  time.Duration // time in this state
	Rate     float64       // output tokens per second
	Queue    int           // prompts waiting to be sent
	Jobs     int           // background commands
	Hint     string        // key hints
}

// A segment is a piece of the line.
type segment struct {
	text  string
	short string // replaces text and more if space is tight
	style lipgloss.Style
	right bool
	more  string // follows text, in the style of Dim
}

// The segments. The mode has one of three positions, by its importance.
const (
	hint = iota
	model
	effort
	badge
	folder
	branch
	command
	activity
	speed
	queued
	jobs
	draft
	window
	used
	spent
	asks // mode "ask"
	mode // other modes
	yolo // mode "yolo"
	segments
)

// Segments returns the names of all segments, in the default order. The first six are on
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
	{"model", []int{model}}, {"effort", []int{effort}}, {"badge", []int{badge}}, {"folder", []int{folder}}, {"branch", []int{branch}}, {"command", []int{command}},
	{"activity", []int{activity}}, {"speed", []int{speed}}, {"queue", []int{queued}}, {"jobs", []int{jobs}},
	{"context", []int{draft, window}}, {"tokens", []int{used}}, {"cost", []int{spent}}, {"mode", []int{asks, mode, yolo}},
}

// shrinkOrder lists the segments to shorten or omit, in this order, until the rest fits.
var shrinkOrder = []struct {
	segment int
	least   int // cells to keep; 0 to omit the segment
}{
	{speed, 0}, {draft, 0}, {branch, 0}, {used, shorten}, {used, 0}, {spent, 0}, {folder, 0}, {window, shorten}, {asks, 0}, {activity, shorten}, {mode, shorten},
	{command, 10}, {badge, 0}, {command, 0}, {effort, 0}, {queued, 0}, {jobs, 0}, {model, 10}, {window, 0}, {model, 0},
	{hint, 10}, {mode, 0}, {activity, 6}, {activity, 0}, {hint, 4}, {hint, 0},
}

// shorten in shrinkOrder makes a segment use its short form.
const shorten = -1

// longDraft is the number of tokens from which the size of a draft is shown.
const longDraft = 1000

// separator separates segments; gap is the minimum gap between left and right.
const (
	separator = " · "
	gap       = 2
)

// From these shares of the context window on, the figure is highlighted.
const (
	crowdedShare = 0.8
	fullShare    = 0.95
)

// View returns the line in at most width cells, with the segments named in shown, in this
// order; nil means all but those that others tell already. Key hints, the state of waiting for the user, the output of the
// user's command, and a mode that allows everything are never omitted.
func View(i Info, shown []string, width int, th *theme.Theme) string {
	if width <= 0 {
		return ""
	}
	line := segmentsOf(i, th)
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
	Shown []string // as in View

	shown []string
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
	if l.theme != th || l.width != width || l.info != i || !slices.Equal(l.shown, l.Shown) {
		l.shown = l.Shown
		l.info, l.width, l.theme, l.view = i, width, th, View(i, l.Shown, width, th)
	}
	return l.view
}

// segmentsOf returns the segments of the line. The text of an empty segment is "".
func segmentsOf(i Info, th *theme.Theme) [segments]segment {
	dim := func(text, short string, right bool) segment {
		return segment{text: text, short: short, style: th.Dim, right: right}
	}
	line := [segments]segment{
		hint:     dim(i.Hint, "", true),
		model:    {text: i.Model, style: th.Text},
		effort:   dim(i.Effort, "", false),
		badge:    {text: i.Badge, style: th.Warn},
		folder:   dim(i.Folder, "", false),
		branch:   dim(i.Branch, "", false),
		command:  dim(i.Command, "", false),
		activity: {text: state(i), short: state(i), style: th.Voice, right: true, more: i.Stop},
		speed:    dim(format.Rate(i.Rate), "", true),
		queued:   {text: queue(i.Queue), style: th.Text, right: true},
		jobs:     {text: running(i.Jobs), style: th.Text, right: true},
		window:   contextSegment(i, th),
		used:     dim(tokens(i.Tokens), format.TokensExact(i.Tokens), true),
		spent:    dim(cost(i), "", true),
	}
	if i.Draft >= longDraft {
		line[draft] = dim("~"+tokens(i.Draft), "", true)
	}
	if i.Window == 0 { // without another segment for context, the figure needs its label
		line[used].short = line[used].text
	}
	if i.Waiting || i.Retrying {
		line[activity].style = th.Warn
	}
	place, style, approvals := mode, th.Accent, i.Mode
	switch i.Mode {
	case "ask":
		place, style = asks, th.Dim
	case "edits":
		approvals = "edits allowed"
	case "plan", "read-only": // ask less because they allow less
		style = th.Voice
	case "yolo":
		place, style = yolo, th.Bad.Bold(true)
	}
	if i.Mode != "" {
		line[place] = segment{text: approvals, short: i.Mode, style: style, right: true}
	}
	for k := range line {
		s := &line[k]
		s.text, s.short, s.more = sanitize.Line(s.text), sanitize.Line(s.short), sanitize.Line(s.more)
	}
	return line
}

// contextSegment returns the used share of the context window, if it is known.
func contextSegment(i Info, th *theme.Theme) segment {
	if i.Window <= 0 {
		return segment{}
	}
	share := float64(i.Tokens) / float64(i.Window)
	s := segment{text: format.Percent(share) + " of " + format.Tokens(i.Window), short: format.Percent(share), style: th.Dim, right: true}
	switch {
	case share >= fullShare:
		s.style = th.Bad
	case share >= crowdedShare:
		s.style = th.Warn
	}
	return s
}

// choose empties the segments not named in shown, and returns the order of the others.
func choose(line *[segments]segment, i Info, shown []string) []int {
	if shown == nil {
		shown = slices.DeleteFunc(Segments(), func(name string) bool {
			return name == "speed" || name == "tokens" && i.Window > 0
		})
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
			line[k].text, line[k].more = "", ""
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
		if s.text == "" {
			continue
		}
		if y.least == shorten {
			s.text, s.more = cmp.Or(s.short, s.text), ""
			continue
		}
		if totalWidth(line) == s.width() {
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

// width returns the number of cells of s.
func (s *segment) width() int {
	if s.more == "" {
		return ansi.StringWidth(s.text)
	}
	return ansi.StringWidth(s.text) + 1 + ansi.StringWidth(s.more)
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
		sum[side] += s.width()
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
			text := s.style.Render(s.text)
			if s.more != "" {
				text += " " + th.Dim.Render(s.more)
			}
			parts = append(parts, text)
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
