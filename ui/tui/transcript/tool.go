package transcript

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	"parley/tools/act"
	"parley/tools/sanitize"
	"parley/ui/describe"
	"parley/ui/format"
	"parley/ui/textwrap"
	"parley/ui/tui/diffview"
)

// statuses lists the sign, word and style of each status. The word ends the first line,
// before the time.
var statuses = [...]struct {
	sign, word string
	role       role
}{
	Arriving:         {"○", "", roleDim},
	AwaitingApproval: {"?", "needs approval", roleWarn},
	Running:          {"∙", "running", roleVoice},
	Done:             {"✓", "", roleGood},
	Failed:           {"✗", "failed", roleBad},
	Denied:           {"⊘", "denied", roleWarn},
	Canceled:         {"⊘", "stopped", roleDim},
	Lost:             {"⊘", "interrupted", roleWarn},
}

// minLiveBytes is the minimum amount of live output that is kept. At twice as much the
// older half is dropped. The final output replaces it.
const minLiveBytes = 64 << 10

// maxTitleBytes is the maximum length of a title, in bytes. The approval dialog shows all of it.
const maxTitleBytes = 4 << 10

// call is the block of a tool call.
type call struct {
	received Tool           // as passed to SetTool, to detect changes
	tool     Tool           // received, sanitized
	preview  *argsPreview   // preview of the arguments, until the call has ended; nil for none
	diff     *diffview.Diff // tool.Diff once parsed
	stream   sanitize.Stream
	live     []byte // the end of the live output, sanitized
	earlier  int    // number of dropped lines of the live output
}

// set replaces the fields of the call. Only changed fields are sanitized again.
func (b *call) set(t Tool) {
	title, output, diff := b.tool.Title, b.tool.Output, b.tool.Diff
	switch {
	case t.Title != "":
		title = sanitize.Line(sanitize.TruncateBytes(t.Title, maxTitleBytes))
	case t.Input != b.received.Input:
		title = sanitize.Line(b.readTitle(t))
	}
	if t.Output != b.received.Output {
		output = strings.TrimRight(sanitize.Text(t.Output), "\n")
	}
	if t.Diff != b.received.Diff {
		diff = sanitize.Text(t.Diff)
		b.diff = nil
	}
	b.received, b.tool = t, t
	b.tool.Notes = strings.TrimRight(sanitize.Text(t.Notes), "\n")
	b.tool.Name, b.tool.Title, b.tool.Output, b.tool.Diff, b.tool.Hint = sanitize.Line(t.Name), title, output, diff, sanitize.Line(t.Hint)
	b.tool.By = sanitize.Line(t.By)
	if output != "" {
		b.live = nil
	}
	if t.Status > Running {
		b.preview = nil
	}
}

// readTitle returns the title found in the arguments. It reads them as they arrive, until the
// call has ended.
func (b *call) readTitle(t Tool) string {
	if t.Status > Running {
		return titleOf(t.Input)
	}
	if b.preview == nil || b.preview.tool.Name != t.Name {
		b.preview = newArgsPreview(t.Name)
	}
	b.preview.read(t.Input)
	return b.preview.title()
}

// add appends live output.
func (b *call) add(text string) {
	b.live = b.stream.Append(b.live, text)
	if len(b.live) > 2*minLiveBytes {
		_, rest, found := bytes.Cut(b.live[len(b.live)-minLiveBytes:], []byte("\n"))
		if !found {
			rest = bytes.ToValidUTF8(b.live[len(b.live)-minLiveBytes:], nil)
		}
		b.earlier += bytes.Count(b.live[:len(b.live)-len(rest)], []byte("\n"))
		b.live = append([]byte(nil), rest...)
	}
}

func (b *call) render(p renderContext) (sign string, lines []string) {
	status := statuses[b.tool.Status]
	sign = p.styler.apply(status.role, status.sign)
	if b.showsArgs() {
		first := *b // the script is shown below the title
		first.tool.Title, _, _ = strings.Cut(b.tool.Title, lineBreak)
		return sign, b.preview.render(first.title(p.collapsed())[0], p)
	}
	lines = b.title(p)
	switch {
	case b.tool.Name == act.PlanTool && b.tool.Status == Done:
		lines = append(lines, renderPlan(b.tool.Output, p)...)
	case b.isLookup() && !p.open:
	case b.tool.Status != Failed && b.parsedDiff().Len() > 0:
		lines = append(lines, p.renderDiff(b.diff)...)
	case b.tool.Output != "":
		lines = append(lines, b.renderOutput(p)...)
	case len(b.live) > 0:
		lines = append(lines, b.renderLive(p)...)
	}
	return sign, lines
}

// isLookup reports whether the call only read and succeeded. Its output is shown only when unfolded.
func (b *call) isLookup() bool {
	return b.tool.Status == Done && act.FactsOf(b.tool.Name).Did != ""
}

// showsArgs reports whether the block shows the arguments.
func (b *call) showsArgs() bool {
	t := &b.tool
	return b.preview.isShown(t.Status) && t.Diff == "" && t.Output == "" && len(b.live) == 0
}

// lineBreak replaces a newline in a title.
const lineBreak = "␊"

// minTitleWidth is how many cells of the title must fit for a hint to be shown.
const minTitleWidth = 20

// title returns the first line: name, title, status. Unfolded it may take more lines, to show
// a whole command.
func (b *call) title(p renderContext) []string {
	name, state := textwrap.Truncate(b.tool.Name, p.width), b.status(p.now)
	room := p.width - textwrap.Width(name)
	if hinted := state + " · " + b.tool.Hint; b.tool.Status == Running && b.tool.Hint != "" &&
		room-textwrap.Width(hinted)-3 >= min(textwrap.Width(b.tool.Title), minTitleWidth) {
		state = hinted
	}
	if room < 2 {
		return []string{p.styler.apply(roleStrong, name)}
	}
	if script := strings.Contains(b.tool.Title, lineBreak); p.open && (script || textwrap.Width(b.tool.Title)+textwrap.Width(state)+3 > room) {
		lines, _ := wrapText(strings.ReplaceAll(b.tool.Title, lineBreak, "\n"), p.width-2, 0)
		for i, line := range lines {
			lines[i] = "  " + p.styler.apply(roleText, line)
		}
		first := p.styler.apply(roleStrong, name) + "  " + p.state(b.tool.Status, textwrap.Truncate(state, room-2))
		return append([]string{first}, lines...)
	}
	state = textwrap.Truncate(state, room-2)
	line := p.styler.apply(roleStrong, name)
	if room -= textwrap.Width(state) + 3; b.tool.Title != "" && room > 0 {
		line += " " + p.styler.apply(roleText, textwrap.Truncate(b.tool.Title, room))
	}
	if state != "" {
		line += "  " + p.state(b.tool.Status, state)
	}
	return []string{line}
}

// state returns the status of a call in its colors: those of its word, and of the numbers of added
// and removed lines.
func (p renderContext) state(of Status, text string) string {
	words := strings.Split(text, " ")
	for i, word := range words {
		role := roleDim
		switch {
		case strings.HasPrefix(word, "+"):
			role = roleGood
		case strings.HasPrefix(word, "−"):
			role = roleBad
		case of != Running && statuses[of].word != "" && strings.Contains(statuses[of].word, word):
			role = statuses[of].role
		}
		words[i] = p.styler.apply(role, word)
	}
	return strings.Join(words, " ")
}

// status returns the status of the call, with its time and size, as text.
func (b *call) status(now time.Time) string {
	t := b.tool
	word := statuses[t.Status].word
	if t.Name == act.PlanTool && t.Status == Denied {
		word = "not accepted"
	}
	parts := []string{word}
	if d := b.parsedDiff(); d.Added+d.Removed > 0 {
		parts = append(parts, fmt.Sprintf("+%d −%d", d.Added, d.Removed))
	}
	between := " "
	if t.By != "" {
		parts, between = append(parts, t.By), " · "
	}
	switch {
	case t.Status == Arriving && len(t.Input) >= 1<<10:
		parts = append(parts, fmt.Sprintf("%d KB", len(t.Input)>>10))
	case t.Status == Running && !t.Started.IsZero() && now.Sub(t.Started) >= time.Second:
		parts = append(parts, format.Elapsed(now.Sub(t.Started)))
	case t.Status > Running && t.Duration >= time.Millisecond:
		parts = append(parts, format.Duration(t.Duration))
	}
	if b.isLookup() && t.Output != "" {
		n := countLines(t.Output, true)
		parts = append(parts, fmt.Sprintf("%d line%s", n, format.PluralSuffix(n)))
	}
	return format.Join(between, parts...)
}

// parsedDiff returns the diff, parsed on first use.
func (b *call) parsedDiff() *diffview.Diff {
	if b.diff == nil {
		d := diffview.Read(b.tool.Diff, maxDiffLines)
		b.diff = &d
	}
	return b.diff
}

// maxDiffLines is the maximum number of rendered lines of a diff. The details view of
// the call shows all.
const maxDiffLines = 500

// diffView returns the form of diffs and code.
func (p renderContext) diffView() diffview.View {
	return diffview.View{Styles: p.styler.diff(), Width: p.width, Wrap: p.open}
}

// renderDiff returns the lines of a diff: the first ones, unless the block is unfolded.
func (p renderContext) renderDiff(d *diffview.Diff) []string {
	most := min(foldDiff, d.Len())
	if p.open {
		most = d.Len()
	}
	lines := d.Render(p.diffView(), most)
	switch left := d.Dropped + d.Len() - most; {
	case left > 0 && p.open:
		lines = append(lines, p.styler.apply(roleDim, textwrap.Truncate(fmt.Sprintf("… %d more line%s (enter)", left, format.PluralSuffix(left)), p.width)))
	case left > 0:
		lines = append(lines, p.foldNote(left, "more"))
	}
	return lines
}

func (b *call) release() {
	b.diff = nil
	b.preview.release()
}

// renderPlan returns the lines of a plan, formatted as in its dialog.
func renderPlan(text string, p renderContext) (rows []string) {
	tones := map[describe.Style]role{describe.Dim: roleDim, describe.Strong: roleStrong}
	for line := range strings.Lines(text) {
		l := describe.PlanLine(line)
		tone, emphasized := tones[l.Style]
		if !emphasized {
			tone = roleText
		}
		wrapped, _ := wrapText(l.Text, max(1, p.width-textwrap.Width(l.Gutter)), 0)
		for i, row := range wrapped {
			if i > 0 {
				l.Gutter = strings.Repeat(" ", textwrap.Width(l.Gutter))
			}
			rows = append(rows, p.styler.apply(tone, l.Gutter+row))
		}
	}
	return rows
}

// renderOutput returns the final output: its first lines, or its last lines if a
// program wrote it or the call failed.
func (b *call) renderOutput(p renderContext) []string {
	written, said, notes := b.tool.Output, b.tool.Notes, []string(nil)
	if b.tool.Status == Done { // its sign says so
		written, said = withoutSuccess(written), withoutSuccess(said)
	}
	if p.open || b.tool.Whole {
		lines, _ := wrapText(written, p.width, 0)
		return p.styler.applyAll(roleDim, lines)
	}
	if said != "" {
		written = strings.TrimSuffix(strings.TrimSuffix(written, said), "\n")
		notes, _ = wrapText(said, p.width, 0)
		notes = p.styler.applyAll(roleDim, notes)
	}
	var lines []string
	left := 0
	if b.tool.Status == Failed || act.FactsOf(b.tool.Name).Program {
		if written != "" {
			lines, left = lastLines(written, p.width, foldOutput)
		}
		return append(p.withEarlier(lines, left), notes...)
	}
	if written != "" {
		lines, left = firstLines(written, p.width, foldOutput)
	}
	lines = p.styler.applyAll(roleDim, lines)
	if left > 0 {
		return append(lines, p.foldNote(left, "more"))
	}
	return append(lines, notes...)
}

// withoutSuccess returns the output of a command without the last line that says it succeeded.
func withoutSuccess(output string) string {
	return strings.TrimSuffix(strings.TrimSuffix(output, "[exit status 0]"), "\n")
}

// renderLive returns the end of the live output.
func (b *call) renderLive(p renderContext) []string {
	if p.open {
		lines, _ := wrapText(strings.TrimSuffix(string(b.live), "\n"), p.width, 0)
		return p.styler.applyAll(roleDim, lines)
	}
	end := bytes.TrimSuffix(b.live, []byte("\n"))
	left := b.earlier + bytes.Count(end, []byte("\n")) + 1
	end = bytes.ToValidUTF8(end[max(0, len(end)-liveTailBytes):], nil)
	lines, _ := lastLines(string(end), p.width, foldOutput)
	return p.withEarlier(lines, left-len(lines))
}

// liveTailBytes is how many bytes at the end of live output are read to get its last lines.
const liveTailBytes = 8 << 10

// withEarlier returns lines, after a note about the left lines before them.
func (p renderContext) withEarlier(lines []string, left int) []string {
	lines = p.styler.applyAll(roleDim, lines)
	if left > 0 {
		lines = append([]string{p.foldNote(left, "earlier")}, lines...)
	}
	return lines
}

func (b *call) source() (text, what string) {
	switch {
	case b.tool.Diff != "":
		return b.tool.Diff, "diff"
	case b.tool.Output != "":
		return b.tool.Output, "output"
	case len(b.live) > 0:
		return string(b.live), "output"
	}
	return b.tool.Title, "call"
}

func (b *call) texts(to []string) []string {
	to = append(to, b.tool.Name, b.tool.Title, b.status(time.Time{}))
	switch d := b.parsedDiff(); {
	case d.Len() > 0 && b.tool.Status != Failed:
		to = d.Texts(to)
	case b.showsArgs():
		to = b.preview.texts(to)
	case b.tool.Output != "":
		to = append(to, b.tool.Output)
	case len(b.live) > 0:
		to = append(to, string(b.live))
	}
	return to
}
