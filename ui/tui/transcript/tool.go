package transcript

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	"parley/tools/sanitize"
)

// statuses lists the sign, word and style of each status. The word stands at the end of the first
// line, before the time.
var statuses = [...]struct {
	sign, word string
	tone       tone
}{
	Arriving: {"○", "", dim},
	Asking:   {"?", "asking", warn},
	Running:  {"●", "running", accent},
	Done:     {"✓", "", good},
	Failed:   {"✗", "failed", bad},
	Denied:   {"⊘", "denied", warn},
	Canceled: {"⊘", "stopped", dim},
	Lost:     {"⊘", "interrupted", warn},
}

// keepLive sets how much live output is kept, at least; when there is twice as
// much, the older half goes. The final output replaces it.
const keepLive = 64 << 10

// titleAt sets how much of a title is kept. The dialog that asks shows all of it.
const titleAt = 4 << 10

// call holds a tool call.
type call struct {
	raw    Tool   // as it came, to see what changed
	tool   Tool   // the same, printable
	draft  *draft // of the arguments, until it ends
	patch  *patch // the diff, once it is looked at
	stream sanitize.Stream
	live   []byte // the end of the live output, printable
	breaks int    // newlines of all the live output
}

// set takes what is known now. Only what changed is made printable again.
func (b *call) set(t Tool) {
	title, output, diff := b.tool.Title, b.tool.Output, b.tool.Diff
	switch {
	case t.Title != "":
		title = sanitize.Line(valid(t.Title, titleAt))
	case t.Input != b.raw.Input:
		title = sanitize.Line(b.peek(t))
	}
	if t.Output != b.raw.Output {
		output = strings.TrimRight(sanitize.Text(t.Output), "\n")
	}
	if t.Diff != b.raw.Diff {
		diff = sanitize.Text(t.Diff)
		b.patch = nil
	}
	b.raw, b.tool = t, t
	b.tool.Name, b.tool.Title, b.tool.Output, b.tool.Diff, b.tool.Hint = sanitize.Line(t.Name), title, output, diff, sanitize.Line(t.Hint)
	if output != "" {
		b.live = nil
	}
	if t.Status > Running {
		b.draft = nil
	}
}

// peek returns what the arguments say in one line about the call. Those of a call
// that has not ended are read as they arrive.
func (b *call) peek(t Tool) string {
	if t.Status > Running {
		return peek(t.Input)
	}
	if b.draft == nil || b.draft.tool != t.Name {
		b.draft = newDraft(t.Name)
	}
	b.draft.read(t.Input)
	return b.draft.title()
}

// valid cuts s to at most n bytes and not inside a character.
func valid(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + more
}

// add takes live output.
func (b *call) add(text string) {
	text = b.stream.Add(text).String()
	b.breaks += strings.Count(text, "\n")
	b.live = append(b.live, text...)
	if len(b.live) > 2*keepLive {
		_, rest, found := bytes.Cut(b.live[len(b.live)-keepLive:], []byte("\n"))
		if !found {
			rest = bytes.ToValidUTF8(b.live[len(b.live)-keepLive:], nil)
		}
		b.live = append([]byte(nil), rest...)
	}
}

func (b *call) lay(p page) (sign string, lines []string) {
	look := statuses[b.tool.Status]
	sign = p.ink.write(look.tone, look.sign)
	if b.drafting() {
		first := *b // the script is shown below
		first.tool.Title, _, _ = strings.Cut(b.tool.Title, lineBreak)
		return sign, b.draft.lay(first.title(p.shut())[0], p)
	}
	lines = b.title(p)
	switch {
	case b.looked() && !p.open:
	case b.tool.Status != Failed && len(b.read().changes) > 0:
		lines = append(lines, b.patch.lay(p)...)
	case b.tool.Output != "":
		lines = append(lines, b.output(p)...)
	case len(b.live) > 0:
		lines = append(lines, b.ending(p)...)
	}
	return sign, lines
}

// looked reports whether the call only looked, and found what it looked for: the
// model has read it, and who wants to can unfold it.
func (b *call) looked() bool {
	return b.tool.Status == Done && looks[b.tool.Name].did != ""
}

// drafting reports whether the arguments are what there is to see of the call.
func (b *call) drafting() bool {
	t := &b.tool
	return b.draft.shown(t.Status) && t.Diff == "" && t.Output == "" && len(b.live) == 0
}

// lineBreak stands in a title where its text has one.
const lineBreak = "␊"

// leastTitle sets how much of a title is shown before a hint is.
const leastTitle = 20

// title returns the first line: name, title, state. Unfolded it may take more lines,
// so that nothing of a command stays hidden.
func (b *call) title(p page) []string {
	name, state := clip(b.tool.Name, p.width), b.state(p.now)
	room := p.width - cells(name)
	if hinted := state + " · " + b.tool.Hint; b.tool.Status == Running && b.tool.Hint != "" &&
		room-cells(hinted)-3 >= min(cells(b.tool.Title), leastTitle) {
		state = hinted
	}
	if room < 2 {
		return []string{p.ink.write(strong, name)}
	}
	if script := strings.Contains(b.tool.Title, lineBreak); p.open && (script || cells(b.tool.Title)+cells(state)+3 > room) {
		lines, _ := flow(strings.ReplaceAll(b.tool.Title, lineBreak, "\n"), p.width-2, 0)
		for i, line := range lines {
			lines[i] = "  " + p.ink.write(text, line)
		}
		first := p.ink.write(strong, name) + p.ink.write(faint, clip("  "+state, room))
		return append([]string{first}, lines...)
	}
	state = clip(state, room-2)
	line := p.ink.write(strong, name)
	if room -= cells(state) + 3; b.tool.Title != "" && room > 0 {
		line += " " + p.ink.write(text, clip(b.tool.Title, room))
	}
	if state != "" {
		line += "  " + p.ink.write(faint, state)
	}
	return []string{line}
}

// state returns how the call stands, in words.
func (b *call) state(now time.Time) string {
	t := b.tool
	var parts []string
	if word := statuses[t.Status].word; word != "" {
		parts = append(parts, word)
	}
	switch {
	case t.Status == Arriving && len(t.Input) >= 1<<10:
		parts = append(parts, fmt.Sprintf("%d KB", len(t.Input)>>10))
	case t.Status == Running && !t.Started.IsZero() && now.After(t.Started):
		parts = append(parts, elapsed(now.Sub(t.Started).Truncate(time.Second)))
	case t.Status > Running && t.Took >= time.Millisecond:
		parts = append(parts, elapsed(t.Took))
	}
	if b.looked() && t.Output != "" {
		n := count(t.Output, true)
		parts = append(parts, fmt.Sprintf("%d line%s", n, plural(n)))
	}
	if d := b.read(); d.added+d.removed > 0 {
		parts = append(parts, fmt.Sprintf("+%d -%d", d.added, d.removed))
	}
	return strings.Join(parts, " ")
}

// read returns the diff, read when it is first needed.
func (b *call) read() *patch {
	if b.patch == nil {
		d := readDiff(b.tool.Diff)
		b.patch = &d
	}
	return b.patch
}

func (b *call) release() {
	b.patch = nil
	b.draft.release()
}

// programs lists the tools that run one, whose output ends with what matters and
// whose end is in sight while they run.
var programs = map[string]bool{"shell": true}

// output returns the final output: its first lines, or its last ones if a program
// wrote it or it tells why the call failed.
func (b *call) output(p page) []string {
	switch {
	case p.open:
		lines, _ := flow(b.tool.Output, p.width, 0)
		return p.ink.all(dim, lines)
	case b.tool.Status == Failed || programs[b.tool.Name]:
		return p.last(tail(b.tool.Output, p.width, foldOutput))
	}
	lines, left := head(b.tool.Output, p.width, foldOutput)
	lines = p.ink.all(dim, lines)
	if left > 0 {
		lines = append(lines, p.left(left, "more"))
	}
	return lines
}

// ending returns the end of the live output.
func (b *call) ending(p page) []string {
	if p.open {
		lines, _ := flow(strings.TrimSuffix(string(b.live), "\n"), p.width, 0)
		return p.ink.all(dim, lines)
	}
	end := bytes.TrimSuffix(b.live, []byte("\n"))
	left := b.breaks - (len(b.live) - len(end)) + 1
	end = bytes.ToValidUTF8(end[max(0, len(end)-endAt):], nil)
	lines, _ := tail(string(end), p.width, foldOutput)
	return p.last(lines, left-len(lines))
}

// endAt sets how much of the end of live output its last lines are looked for in.
const endAt = 8 << 10

// last returns the last lines of something, after a word on the ones before.
func (p page) last(lines []string, left int) []string {
	lines = p.ink.all(dim, lines)
	if left > 0 {
		lines = append([]string{p.left(left, "earlier")}, lines...)
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
	to = append(to, b.tool.Name, b.tool.Title, b.state(time.Time{}))
	switch d := b.read(); {
	case len(d.changes) > 0 && b.tool.Status != Failed:
		for _, c := range d.changes {
			to = append(to, c.text)
		}
	case b.drafting():
		to = b.draft.texts(to)
	case b.tool.Output != "":
		to = append(to, b.tool.Output)
	case len(b.live) > 0:
		to = append(to, string(b.live))
	}
	return to
}
