// Package status draws the one line under the composer: what answers, on the
// left; how it goes and what it costs, on the right.
//
//	gpt-6.1-sol · high                      streaming 12 s · 84 tok/s · 42 % · 18.2k · $0.31 · auto
//
// The line is never wider than the terminal. When room gets short, what matters
// least goes first; the mode that lets tools run unasked goes last.
package status

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"

	"parley/ui/safe"
	"parley/ui/theme"
)

// Info is what the line tells. The zero value of a field is not told.
type Info struct {
	Model   string        // "provider/model"
	Effort  string        // as the user set it
	Badge   string        // such as "tools by prompt", "unknown model"
	Mode    string        // approval mode: "ask", "auto", "read-only", "yolo"
	Context float64       // share of the context window in use, 0 to 1; below 0 if unknown
	Tokens  int           // of the session
	Cost    float64       // US dollars, of the session
	Priced  bool          // Cost is known
	State   string        // "thinking", "streaming", "running shell", "waiting for you", "retrying in 3 s"
	Elapsed time.Duration // in this state
	Rate    float64       // output tokens per second
	Queue   int           // prompts that wait to be sent
	Hint    string        // what a key would do now
}

// A segment is one piece of the line.
type segment struct {
	text  string
	style lipgloss.Style
	right bool
	rank  int // the highest goes first when room gets short
}

// separator stands between segments, gap at least between left and right.
const (
	separator = " · "
	gap       = 2
)

// Near the end of the context window the share stands out.
const crowded = 0.8

// View is the line in at most width cells.
func View(i Info, width int, th *theme.Theme) string {
	if width <= 0 {
		return ""
	}
	kept := fit(segments(i, th), width)
	left, right := draw(kept, false, th), draw(kept, true, th)
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

// View is View, kept.
func (l *Line) View(i Info, width int, th *theme.Theme) string {
	i.Elapsed = i.Elapsed.Truncate(time.Second)
	if i.Rate >= 10 {
		i.Rate = math.Round(i.Rate)
	}
	if l.theme != th || l.width != width || l.info != i {
		l.info, l.width, l.theme, l.view = i, width, th, View(i, width, th)
	}
	return l.view
}

// segments are the pieces that have something to tell, in the order in which
// they stand.
func segments(i Info, th *theme.Theme) []segment {
	all := []segment{
		{i.Model, th.Text, false, 1},
		{i.Effort, th.Dim, false, 7},
		{i.Badge, th.Warn, false, 6},
		{i.Hint, th.Dim, true, 10},
		{state(i), th.Accent, true, 2},
		{rate(i.Rate), th.Dim, true, 9},
		{queue(i.Queue), th.Text, true, 5},
		{share(i.Context), th.Dim, true, 3},
		{tokens(i.Tokens), th.Dim, true, 8},
		{cost(i), th.Dim, true, 4},
		mode(i.Mode, th),
	}
	if i.Context >= crowded {
		all[7].style = th.Warn
	}
	told := all[:0]
	for _, s := range all {
		if s.text = safe.Line(s.text); s.text != "" {
			told = append(told, s)
		}
	}
	return told
}

// fit drops the least important segments until the rest has room.
func fit(all []segment, width int) []segment {
	for len(all) > 1 && total(all) > width {
		least := 0
		for k, s := range all {
			if s.rank > all[least].rank {
				least = k
			}
		}
		all = slices.Delete(all, least, least+1)
	}
	return all
}

func total(all []segment) int {
	var sum [2]int // left, right
	for _, s := range all {
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

func draw(all []segment, right bool, th *theme.Theme) string {
	var parts []string
	for _, s := range all {
		if s.right == right {
			parts = append(parts, s.style.Render(s.text))
		}
	}
	return strings.Join(parts, th.Faint.Render(separator))
}

// mode is always told, the modes that ask less than usual stand out, and the
// one that never asks outlives everything else on the line.
func mode(name string, th *theme.Theme) segment {
	s := segment{name, th.Text, true, 1}
	switch name {
	case "ask":
		s.style, s.rank = th.Dim, 7
	case "yolo":
		s.style, s.rank = th.Warn.Bold(true), 0
	}
	return s
}

func state(i Info) string {
	if i.State == "" || i.Elapsed < time.Second {
		return i.State
	}
	return i.State + " " + elapsed(i.Elapsed)
}

func elapsed(d time.Duration) string {
	s := int(d / time.Second)
	switch {
	case s < 60:
		return fmt.Sprintf("%d s", s)
	case s < 3600:
		return fmt.Sprintf("%d m %02d s", s/60, s%60)
	}
	return fmt.Sprintf("%d h %02d m", s/3600, s/60%60)
}

func rate(r float64) string {
	switch {
	case r <= 0:
		return ""
	case r < 10:
		return fmt.Sprintf("%.1f tok/s", r)
	}
	return fmt.Sprintf("%.0f tok/s", r)
}

func queue(n int) string {
	if n <= 0 {
		return ""
	}
	return fmt.Sprintf("%d queued", n)
}

func share(c float64) string {
	if c < 0 {
		return ""
	}
	return fmt.Sprintf("%.0f %%", c*100)
}

func tokens(n int) string {
	switch {
	case n <= 0:
		return ""
	case n < 1000:
		return strconv.Itoa(n)
	case n < 99_950:
		return fmt.Sprintf("%.1fk", float64(n)/1e3)
	case n < 999_500:
		return fmt.Sprintf("%.0fk", float64(n)/1e3)
	}
	return fmt.Sprintf("%.1fM", float64(n)/1e6)
}

// cost has as many digits as say something: cents, or more where there are none.
func cost(i Info) string {
	switch {
	case !i.Priced:
		return ""
	case i.Cost > 0 && i.Cost < 0.00005:
		return "<$0.0001"
	case i.Cost > 0 && i.Cost < 0.01:
		return fmt.Sprintf("$%.4f", i.Cost)
	}
	return fmt.Sprintf("$%.2f", i.Cost)
}
