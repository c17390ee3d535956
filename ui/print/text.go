package print

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"strings"

	"parley/providers/llm"
	"parley/session"
	"parley/tools/sanitize"
	"parley/ui/app/blocks"
	"parley/ui/app/wording"
	"parley/ui/cli/cmdutil"
	"parley/ui/format"
	"parley/ui/markdown"
	"parley/ui/textwrap"
)

// textWriter writes the answer to Out as it arrives, and everything else to Err.
type textWriter struct {
	o      cmdutil.PrintOptions
	out    *asyncWriter
	clean  sanitize.Stream
	doc    *rendering // rendered answer so far; nil if it is not rendered
	last   byte       // last byte written to Out; 0 before the first
	gap    bool       // write an empty line before the next answer of the turn
	stderr stderrWriter
	held   []session.Event // events for stderr, until the line of the answer ends

	breaks   llm.Breaks      // in the running response
	blocks   map[string]bool // text blocks of the running response
	rendered bool            // an answer was rendered
	coded    bool            // the code requested by -x was written
	codeless bool            // -x requested code, and there is none so far
}

func newTextWriter(o cmdutil.PrintOptions, out *asyncWriter) *textWriter {
	return &textWriter{o: o, out: out, stderr: stderrWriter{o: o}}
}

func (t *textWriter) event(e session.Event, _ int) error {
	switch e := e.(type) {
	case llm.Delta:
		return t.delta(e)
	case session.Response:
		if err := t.flush(); err != nil {
			return err
		}
		t.gap, t.blocks, t.breaks = t.last != 0, nil, llm.Breaks{}
		if err := t.code(e.Message); err != nil {
			return err
		}
		t.out.flush() // as below
		t.stderr.incomplete(e)
	case llm.Retry:
		if err := t.discard(e.Discards); err != nil {
			return err
		}
	case session.Done:
		if t.codeless { // prose must not be run or written to a file as code
			t.stderr.line(t.o.Theme.Bad, "parley: the answer has no code block: run without -x to print it")
		}
	}
	t.aside(e)
	return nil
}

// aside writes events to Err once no line of the answer is open, because both may go to the same terminal.
func (t *textWriter) aside(events ...session.Event) {
	t.held = append(t.held, events...)
	if len(t.held) == 0 || t.last != 0 && t.last != '\n' {
		return
	}
	t.out.flush()
	for _, e := range t.held {
		t.stderr.event(e)
	}
	t.held = nil
}

// discard ends the output of blocks that were discarded.
func (t *textWriter) discard(blocks []string) error {
	hasText := false
	for _, name := range blocks {
		hasText = hasText || t.blocks[name]
		delete(t.blocks, name)
	}
	if !hasText {
		return nil
	}
	err := t.flush()
	t.gap = t.last != 0
	return err
}

func (t *textWriter) delta(d llm.Delta) error {
	known := t.blocks[d.Block]
	between := !known && t.breaks.Next(&d.Part)
	if d.Kind != llm.Text {
		if known { // it turned out to be thinking
			t.breaks.Break()
		}
		if d.Kind == llm.Thinking && d.Text != "" && t.o.Thinking {
			t.aside(d)
		}
		return nil
	}
	if d.Text == "" {
		return nil
	}
	t.stderr.close()
	if t.o.Code { // code is written once the answer is complete
		return nil
	}
	if !known {
		if t.blocks == nil {
			t.blocks = map[string]bool{}
		}
		if between {
			if err := t.flush(); err != nil {
				return err
			}
			t.gap = t.last != 0
		}
		t.blocks[d.Block] = true
	}
	var err error
	if t.o.Raw {
		err = t.write(d.Text)
	} else {
		err = t.print(t.clean.Add(d.Text))
	}
	t.aside()
	return err
}

// flush writes buffered text at the end of an answer, and ends its last line.
func (t *textWriter) flush() error {
	if !t.o.Raw {
		if err := t.print(t.clean.End()); err != nil {
			return err
		}
	}
	if t.doc != nil {
		err := t.doc.finish(t.o.Out)
		t.doc, t.rendered = nil, true
		return err
	}
	if t.last == 0 || t.last == '\n' {
		return nil
	}
	t.last = '\n' // the next text, here or on Err, begins on a new line
	_, err := io.WriteString(t.o.Out, "\n")
	return err
}

// print writes a piece of the answer, rendered if o.Render is set.
func (t *textWriter) print(piece sanitize.Clean) error {
	if !t.o.Render || piece.String() == "" {
		return t.write(piece.String())
	}
	t.last = '\n' // lines are written whole
	if t.doc == nil {
		if t.rendered { // an answer precedes this one
			if _, err := io.WriteString(t.o.Out, "\n"); err != nil {
				return err
			}
		}
		t.doc = newRendering(cmp.Or(t.o.Markdown, t.o.Theme), cmp.Or(t.o.Width, 80), false)
	}
	return t.doc.add(t.o.Out, piece)
}

func (t *textWriter) write(piece string) error {
	if piece == "" {
		return nil
	}
	if t.gap {
		t.gap = false
		piece = "\n" + piece
	}
	t.last = piece[len(piece)-1]
	_, err := io.WriteString(t.o.Out, piece)
	return err
}

// code writes the first code block of an answer if -x requests one and none was written before.
func (t *textWriter) code(answer llm.Message) error {
	if !t.o.Code || t.coded {
		return nil
	}
	text := answer.Text()
	if !t.o.Raw {
		text = sanitize.Text(text)
	}
	blocks := markdown.Fenced(text)
	t.coded = len(blocks) > 0
	if t.codeless = !t.coded && (t.codeless || text != ""); !t.coded {
		return nil
	}
	_, err := io.WriteString(t.o.Out, strings.TrimSuffix(blocks[0].Text, "\n")+"\n")
	return err
}

// stderrWriter writes everything but the answer to Err.
type stderrWriter struct {
	o           cmdutil.PrintOptions
	thinking    sanitize.Stream
	unwritten   string            // thinking not written yet
	open        bool              // a line of thinking is unfinished
	interrupted *session.Response // interrupted answer whose usage is not printed yet; nil for none
}

// close ends an unfinished line.
func (s *stderrWriter) close() {
	if s.open {
		s.wrapThinking(s.thinking.End().String())
		if s.open = false; s.unwritten != "" {
			fmt.Fprintln(s.o.Err, s.o.Theme.Dim.Render(s.unwritten))
		}
		s.unwritten = ""
	}
}

// incomplete reports why an answer is empty or incomplete, even if o.Quiet is set.
func (s *stderrWriter) incomplete(e session.Response) {
	if n := answerNotice(e); n.Text != "" {
		s.line(s.o.Theme.Dim, "Note: %s", n.Text)
	}
}

func (s *stderrWriter) line(style interface{ Render(...string) string }, format string, args ...any) {
	s.close()
	printLines(s.o.Err, style, fmt.Sprintf(format, args...))
}

// printLines writes each line of text in a style: rendered together, lipgloss pads them to the same width.
func printLines(w io.Writer, style interface{ Render(...string) string }, text string) {
	for line := range strings.SplitSeq(sanitize.Text(text), "\n") {
		fmt.Fprintln(w, style.Render(line))
	}
}

func (s *stderrWriter) event(e session.Event) {
	th := s.o.Theme
	if done, ok := e.(session.Done); ok {
		s.done(done)
		return
	}
	if saved, ok := e.(savedMedia); ok {
		s.line(th.Dim, "%s", saved)
		return
	}
	if s.o.Quiet {
		return
	}
	s.interruptedUsage()
	switch e := e.(type) {
	case llm.Delta:
		if e.Kind == llm.Thinking && e.Text != "" && s.o.Thinking {
			s.wrapThinking(s.thinking.Add(e.Text).String())
		}
	case llm.Notice:
		s.line(th.Dim, "Note: %s", format.Capital(e.Text))
	case llm.Retry:
		text := wording.Retry(e, e.Wait)
		if len(e.Discards) > 0 {
			text += " · the answer begins again"
		}
		s.line(th.Dim, "%s", text)
	case session.Sandbox:
		for line := range strings.SplitSeq(e.Text, "\n") { // a style would pad several lines
			s.line(th.Warn, "%s", format.Capital(line))
		}
	case session.Fallback:
		s.line(th.Warn, "%s", wording.Event(e))
	case session.ModelSwitched, session.Compacted:
		s.line(th.Dim, "%s", wording.Event(e))
	case session.Call:
		s.line(th.Dim, "%s %s", e.Part.Name, short(e.Part.Input))
	case session.Result:
		if e.Part.Failed {
			s.line(th.Warn, "%s failed: %s", e.Part.Name, short(e.Part.Text))
		}
	case session.Response:
		s.close()
		for n, p := range blocks.Sources(e.Message) {
			s.line(th.Dim, "%s", blocks.SourceText(blocks.Change{Part: &p, Count: n + 1}))
		}
		switch {
		case !e.UsageKnown:
		case e.Message.Interrupted: // printed later, unless Done reports that the reader has closed the pipe
			s.interrupted = &e
		default:
			s.line(th.Faint, "%s", usageLine(e))
		}
	}
}

// wrapThinking writes the complete lines of thinking, wrapped at words. The first line has a
// label.
func (s *stderrWriter) wrapThinking(piece string) {
	if !s.open {
		s.open, s.unwritten = true, "Thinking: "
	}
	whole := s.unwritten + piece
	text := strings.TrimRight(whole, " ") // a word may follow the spaces
	rows := textwrap.Lines(text, max(cmp.Or(s.o.Width, 80), 10))
	last := len(rows) - 1
	for _, row := range rows[:last] {
		fmt.Fprintln(s.o.Err, s.o.Theme.Dim.Render(row))
	}
	s.unwritten = rows[last] + whole[len(text):]
}

func (s *stderrWriter) done(d session.Done) {
	s.close()
	if !errors.Is(d.Err, wording.ErrPipe) {
		s.interruptedUsage()
	}
	writeError(s.o, d.Err)
}

// writeError writes the reason why a turn ended early to Err, in any format.
func writeError(o cmdutil.PrintOptions, err error) {
	if err == nil || llm.Canceled(err) || errors.Is(err, wording.ErrPipe) {
		return // the user stopped it: nothing to report
	}
	printLines(o.Err, o.Theme.Bad, "parley: "+wording.ShellError(err))
	if hint := wording.ShellHint(err); hint != "" {
		printLines(o.Err, o.Theme.Dim, "  "+hint)
	}
}

// interruptedUsage prints the usage of an interrupted answer, once.
func (s *stderrWriter) interruptedUsage() {
	if s.interrupted != nil {
		s.line(s.o.Theme.Faint, "%s", usageLine(*s.interrupted))
		s.interrupted = nil
	}
}

func usageLine(a session.Response) string {
	u := a.Usage
	line := fmt.Sprintf("%s: %d in, %d out", a.Message.Model, u.Input, u.Output)
	if u.CacheRead > 0 {
		line += fmt.Sprintf(", %d cached", u.CacheRead)
	}
	if u.Thinking > 0 {
		line += fmt.Sprintf(", %d thinking", u.Thinking)
	}
	if u.Priced {
		line += fmt.Sprintf(", $%.4f", u.Cost)
	}
	return line + fmt.Sprintf(", %.1f s", a.Duration.Seconds())
}

// short returns s as one line, truncated.
func short(s string) string {
	const most = 160
	return sanitize.Truncate(sanitize.Line(strings.ReplaceAll(strings.TrimSpace(s), "\n", " ")), most)
}
