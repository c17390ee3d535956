package print

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/term"

	"parley/providers/llm"
	"parley/tools/sanitize"
	"parley/ui/app"
	"parley/ui/format"
)

// ImageOptions say how to save and report generated images.
type ImageOptions struct {
	Format   string // "text", "json" or "jsonl"
	Model    string
	Wanted   int // number of images requested
	Out, Err io.Writer
	Quiet    bool // only errors and refusals on Err
	Save     func(llm.Blob) (SavedImage, error)
	Unsure   func(error) bool  // reports whether a failed request may still be charged; nil: never
	Progress func(text string) // shows a progress text; "" clears it. nil: no progress
}

// A SavedImage is an image that was generated and saved.
type SavedImage struct {
	Path          string // "" if it went to standard output
	MIME          string
	Width, Height int // pixels; 0 if unknown
	Bytes         int
	Note          string // such as that another file name had to be used
}

// images reports one request for images.
type images struct {
	ImageOptions
	saved    []SavedImage
	refused  []llm.Refusal
	said     []string
	notes    []string
	partials int
	bill     llm.Bill
	err      error
}

// Images saves the images in events and reports them on Out and Err. It returns the exit status and
// the bill.
func Images(events iter.Seq2[llm.ImageEvent, error], o ImageOptions) (status int, spent llm.Bill) {
	p := &images{ImageOptions: o}
	if o.Progress == nil {
		p.Progress = func(string) {}
	}
	p.line(object{{"type", "start"}, {"model", o.Model}})
	for e, err := range events {
		if err != nil {
			p.err = errors.Join(err, p.err)
			break
		}
		p.event(e)
	}
	p.Progress("")
	status, reason := p.outcome()
	p.end(status, reason)
	return status, p.bill
}

// event reports one event.
func (p *images) event(e llm.ImageEvent) {
	switch {
	case e.Partial != nil:
		p.partials++
		p.Progress(fmt.Sprintf("unfinished image %d", p.partials))
		p.line(object{{"type", "partial"}, {"bytes", len(e.Partial.Data)}})
	case e.Image != nil:
		p.image(*e.Image)
	case e.Refused != nil:
		p.refused = append(p.refused, *e.Refused)
		p.line(append(object{{"type", "refused"}}, refusalObject(*e.Refused)...))
		p.warn("%s refused: %s", p.Model, refusalText(*e.Refused))
	case e.Note != "":
		p.note(e.Note)
	case e.Text != "":
		p.said = append(p.said, e.Text)
		p.line(object{{"type", "text"}, {"text", e.Text}})
		if !p.Quiet {
			p.warn("%s", e.Text)
		}
	case e.Done != nil:
		p.bill = *e.Done
		p.line(append(object{{"type", "usage"}}, billObject(p.bill)...))
	}
}

func (p *images) note(text string) {
	p.notes = append(p.notes, text)
	p.line(object{{"type", "notice"}, {"text", text}})
	if !p.Quiet {
		p.warn("%s", text)
	}
}

func (p *images) image(b llm.Blob) {
	saved, err := p.Save(b)
	if err != nil {
		p.err = errors.Join(p.err, err)
		return
	}
	if saved.Note != "" {
		p.note(saved.Note)
	}
	p.saved = append(p.saved, saved)
	p.line(append(object{{"type", "image"}}, savedObject(saved)...))
	if p.Format == "text" && saved.Path != "" {
		p.Progress("")
		fmt.Fprintln(p.Out, sanitize.Line(saved.Path))
	}
}

// warn prints a line on Err, in text format only.
func (p *images) warn(format string, args ...any) {
	p.Progress("")
	if p.Format == "text" {
		fmt.Fprintf(p.Err, "parley: %s\n", sanitize.Text(fmt.Sprintf(format, args...)))
	}
}

// line prints an object on Out, in jsonl format only.
func (p *images) line(o object) {
	if p.Format == "jsonl" {
		p.err = errors.Join(p.err, write(p.Out, o))
	}
}

// outcome returns the exit status and the finish reason.
func (p *images) outcome() (status int, reason string) {
	var fault *llm.Error
	switch {
	case errors.As(p.err, &fault) && fault.Status == 0 && (fault.Fault == llm.Unsupported || fault.Fault == llm.InvalidRequest):
		return Usage, "error"
	case p.err != nil:
		return ErrorStatus(p.err), "error"
	case len(p.refused) > 0:
		return Incomplete, "refused"
	case len(p.saved) < p.Wanted:
		return Incomplete, "incomplete"
	}
	return OK, "stop"
}

// end reports the result as a whole: the error and the bill, and everything else in json format.
func (p *images) end(status int, reason string) {
	switch p.Format {
	case "json":
		write(p.Out, append(p.summary(), field{"finish_reason", reason}, field{"exit", status}))
	case "jsonl":
		if p.err != nil {
			write(p.Out, errorObject(p.err))
		}
		write(p.Out, object{{"type", "done"}, {"finish_reason", reason}, {"exit", status}})
	default:
		if p.err != nil {
			Failure(p.Out, p.Err, p.Format, p.err, status)
			if len(p.saved) == 0 && p.Unsure != nil && p.Unsure(p.err) {
				fmt.Fprintln(p.Err, "  The provider may still charge for it")
			}
		}
		if !p.Quiet && p.bill != (llm.Bill{}) {
			fmt.Fprintln(p.Err, sanitize.Line(p.Model+" · "+BillText(p.bill)))
		}
		return
	}
	if p.err != nil {
		fmt.Fprintf(p.Err, "parley: %s\n", sanitize.Text(app.ShellErrorText(p.err)))
	}
}

// summary returns the result as one object.
func (p *images) summary() object {
	list := []json.RawMessage{}
	for _, s := range p.saved {
		list = append(list, encode(savedObject(s)))
	}
	o := object{{"model", p.Model}, {"images", list}}
	if len(p.refused) > 0 {
		var refused []json.RawMessage
		for _, r := range p.refused {
			refused = append(refused, encode(refusalObject(r)))
		}
		o = append(o, field{"refused", refused})
	}
	if len(p.said) > 0 {
		o = append(o, field{"text", strings.Join(p.said, "\n")})
	}
	if len(p.notes) > 0 {
		o = append(o, field{"notices", p.notes})
	}
	if p.bill != (llm.Bill{}) {
		o = append(o, field{"usage", json.RawMessage(encode(billObject(p.bill)))})
	}
	if p.err != nil {
		o = append(o, field{"error", json.RawMessage(encode(errorObject(p.err)[1:]))})
	}
	return o
}

func savedObject(s SavedImage) object {
	o := object{{"file", s.Path}, {"mime", s.MIME}, {"bytes", s.Bytes}}
	if s.Width > 0 {
		o = append(o, field{"width", s.Width}, field{"height", s.Height})
	}
	return o
}

func refusalObject(r llm.Refusal) object {
	return object{{"stage", r.Stage}, {"code", r.Code}, {"text", r.Text}, {"billed", r.Billed}}
}

// refusalText returns the reason of a refusal in words.
func refusalText(r llm.Refusal) string {
	switch text := strings.TrimSpace(r.Text); {
	case text == "" && r.Code == "":
		return "no reason given"
	case text == "":
		return r.Code
	case r.Code == "" || strings.Contains(text, r.Code):
		return text
	default:
		return text + " (" + r.Code + ")"
	}
}

func billObject(b llm.Bill) object {
	o := object{{"images", b.Images}, {"input_tokens", b.Tokens}, {"output_tokens", b.Output}}
	if b.Priced {
		o = append(o, field{"cost_usd", b.USD}, field{"cost_exact", b.Reported})
	}
	return o
}

// BillText returns images, tokens and cost of b in words.
func BillText(b llm.Bill) string {
	var words []string
	add := func(has bool, text string) {
		if has {
			words = append(words, text)
		}
	}
	add(b.Images > 0, format.Plural(b.Images, "image"))
	add(b.Tokens > 0, format.Tokens(b.Tokens)+" in")
	add(b.Output > 0, format.Tokens(b.Output)+" out")
	cost := format.Cost(b.USD, b.Priced)
	if b.Priced && cost == "" {
		cost = "free"
	} else if b.Priced && !b.Reported {
		cost = "about " + cost
	} else if !b.Priced {
		cost = "price unknown"
	}
	return strings.Join(append(words, cost), " · ")
}

// A Progress is a line on a terminal about a long operation, redrawn each second. A nil one shows
// nothing.
type Progress struct {
	w     *os.File
	begun time.Time
	line  func(elapsed, text string) string

	mu    sync.Mutex // guards the fields below
	text  string
	drawn time.Time
	done  chan struct{} // closed by Stop, and then nil
}

// progressInterval is the shortest time between two lines.
const progressInterval = 100 * time.Millisecond

// NewProgress shows a line on w, a terminal, until Stop. The function line returns its text from the
// time elapsed since begun and the text of Show.
func NewProgress(w *os.File, begun time.Time, line func(elapsed, text string) string) *Progress {
	p := &Progress{w: w, begun: begun, line: line, done: make(chan struct{})}
	go p.run(p.done)
	return p
}

// Show draws the line with text. With "" it clears the line until the next second.
func (p *Progress) Show(text string) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.text = sanitize.Line(text)
	switch {
	case p.done == nil:
	case text == "":
		p.drawn = time.Time{}
		fmt.Fprint(p.w, "\r\x1b[K")
	case time.Since(p.drawn) >= progressInterval:
		p.draw()
	}
}

// Stop clears the line for good.
func (p *Progress) Stop() {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.done != nil {
		close(p.done)
		p.done = nil
		fmt.Fprint(p.w, "\r\x1b[K")
	}
}

func (p *Progress) run(done <-chan struct{}) {
	second := time.NewTicker(time.Second)
	defer second.Stop()
	for {
		select {
		case <-second.C:
			p.mu.Lock()
			if p.done != nil {
				p.draw()
			}
			p.mu.Unlock()
		case <-done:
			return
		}
	}
}

// draw draws the line, truncated to the width of the terminal. p.mu is held.
func (p *Progress) draw() {
	p.drawn = time.Now()
	line := p.line(format.Elapsed(time.Since(p.begun)), p.text)
	if width, _, err := term.GetSize(p.w.Fd()); err == nil && width > 1 {
		line = ansi.Truncate(line, width-1, "…")
	}
	fmt.Fprint(p.w, "\r\x1b[K"+line)
}

// EstimateText says that the named things are estimated to cost usd, more than limit; both are in US dollars.
func EstimateText(what string, usd, limit float64) string {
	return fmt.Sprintf("%s cost about %s, more than %s", what, format.Cost(usd, true), cmp.Or(format.Cost(limit, true), "$0"))
}
