package image

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"

	"parley/providers/llm"
	"parley/providers/llm/works"
	"parley/providers/media"
	"parley/tools/sanitize"
	"parley/ui/app/wording"
	"parley/ui/cli/cmdutil"
	"parley/ui/cli/exit"
	"parley/ui/format"
)

// A savedImage is an image that was generated and saved.
type savedImage struct {
	Path          string // "" if it went to standard output
	MIME          string
	Width, Height int // pixels; 0 if unknown
	Bytes         int
	Note          string // such as the use of another file name
}

// A report prints the results of one request for images.
type report struct {
	cmdutil.Streams
	model    string
	wanted   int // number of images requested
	err      io.Writer
	save     func(works.Blob) (savedImage, error)
	progress func(text string)       // shows a progress text; "" clears it
	picture  func(works.Blob) string // returns the sequence that draws an image; nil to draw none

	saved    []savedImage
	refused  []works.Refusal
	said     []string
	notes    []string
	partials int
	bill     works.Bill
	failed   error
}

// run saves the images in events and reports them. It returns the exit status.
func (p *report) run(events iter.Seq2[works.ImageEvent, error]) int {
	p.line(cmdutil.Object{"type", "start", "model", p.model})
	for e, err := range events {
		if err != nil {
			p.failed = errors.Join(err, p.failed)
			break
		}
		p.event(e)
	}
	p.progress("")
	status, reason := p.outcome()
	p.end(status, reason)
	return status
}

// event reports one event.
func (p *report) event(e works.ImageEvent) {
	switch {
	case e.Partial != nil:
		p.partials++
		p.progress(fmt.Sprintf("unfinished image %d", p.partials))
		p.line(cmdutil.Object{"type", "partial", "bytes", len(e.Partial.Data)})
	case e.Image != nil:
		p.image(*e.Image)
	case e.Refused != nil:
		p.refused = append(p.refused, *e.Refused)
		p.line(append(cmdutil.Object{"type", "refused"}, refusalObject(*e.Refused)...))
		p.warn("%s refused: %s", p.model, refusalText(*e.Refused))
	case e.Note != "":
		p.note(e.Note)
	case e.Text != "":
		p.said = append(p.said, e.Text)
		p.line(cmdutil.Object{"type", "text", "text", e.Text})
		if !p.Quiet {
			p.warn("%s", e.Text)
		}
	case e.Done != nil:
		p.bill = *e.Done
		p.line(append(cmdutil.Object{"type", "usage"}, billObject(p.bill)...))
	}
}

func (p *report) note(text string) {
	p.notes = append(p.notes, text)
	p.line(cmdutil.Object{"type", "notice", "text", text})
	if !p.Quiet {
		p.warn("%s", text)
	}
}

func (p *report) image(b works.Blob) {
	saved, err := p.save(b)
	if err != nil {
		p.failed = errors.Join(p.failed, err)
		return
	}
	if saved.Note != "" {
		p.note(saved.Note)
	}
	p.saved = append(p.saved, saved)
	p.line(append(cmdutil.Object{"type", "image"}, savedObject(saved)...))
	if p.Format == "text" && saved.Path != "" {
		p.progress("")
		fmt.Fprintln(p.Out, sanitize.Line(saved.Path))
		if p.picture != nil {
			io.WriteString(p.Out, p.picture(b))
		}
	}
}

// warn prints a line on Err, in text format only.
func (p *report) warn(format string, args ...any) {
	p.progress("")
	if p.Format == "text" {
		fmt.Fprintf(p.err, "parley: %s\n", sanitize.Text(fmt.Sprintf(format, args...)))
	}
}

// line prints an object on Out, in jsonl format only.
func (p *report) line(o cmdutil.Object) {
	if p.Format == "jsonl" {
		p.failed = errors.Join(p.failed, o.Write(p.Out))
	}
}

// outcome returns the exit status and the finish reason.
func (p *report) outcome() (status int, reason string) {
	var fault *llm.Error
	switch {
	case errors.As(p.failed, &fault) && fault.Status == 0 && (fault.Fault == llm.Unsupported || fault.Fault == llm.InvalidRequest):
		return exit.Usage, "error"
	case p.failed != nil:
		return exit.Of(p.failed), "error"
	case len(p.refused) > 0:
		return exit.Incomplete, "refused"
	case len(p.saved) < p.wanted:
		return exit.Incomplete, "incomplete"
	}
	return exit.OK, "stop"
}

// end reports the whole result: the error and the bill or, in json format, everything.
func (p *report) end(status int, reason string) {
	switch p.Format {
	case "json":
		append(p.summary(), "finish_reason", reason, "exit", status).Write(p.Out)
	case "jsonl":
		if p.failed != nil {
			cmdutil.ErrorObject(p.failed).Write(p.Out)
		}
		cmdutil.Object{"type", "done", "finish_reason", reason, "exit", status}.Write(p.Out)
	default:
		if p.failed != nil {
			cmdutil.Failure(p.Out, p.err, p.Format, p.failed, status)
			if len(p.saved) == 0 && media.MayBePaid(p.failed) {
				fmt.Fprintln(p.err, "  The provider may still charge for it")
			}
		}
		if !p.Quiet && p.bill != (works.Bill{}) {
			fmt.Fprintln(p.err, sanitize.Line(p.model+" · "+billText(p.bill)))
		}
		return
	}
	if p.failed != nil {
		fmt.Fprintf(p.err, "parley: %s\n", sanitize.Text(wording.ShellError(p.failed)))
	}
}

// summary returns the whole result as an object.
func (p *report) summary() cmdutil.Object {
	list := []cmdutil.Object{}
	for _, s := range p.saved {
		list = append(list, savedObject(s))
	}
	o := cmdutil.Object{"model", p.model, "images", list}
	if len(p.refused) > 0 {
		var refused []cmdutil.Object
		for _, r := range p.refused {
			refused = append(refused, refusalObject(r))
		}
		o = append(o, "refused", refused)
	}
	if len(p.said) > 0 {
		o = append(o, "text", strings.Join(p.said, "\n"))
	}
	if len(p.notes) > 0 {
		o = append(o, "notices", p.notes)
	}
	if p.bill != (works.Bill{}) {
		o = append(o, "usage", billObject(p.bill))
	}
	if p.failed != nil {
		o = append(o, "error", cmdutil.ErrorObject(p.failed)[2:])
	}
	return o
}

func savedObject(s savedImage) cmdutil.Object {
	o := cmdutil.Object{"file", s.Path, "mime", s.MIME, "bytes", s.Bytes}
	if s.Width > 0 {
		o = append(o, "width", s.Width, "height", s.Height)
	}
	return o
}

func refusalObject(r works.Refusal) cmdutil.Object {
	return cmdutil.Object{"stage", r.Stage, "code", r.Code, "text", r.Text, "billed", r.Billed}
}

// refusalText describes a refusal.
func refusalText(r works.Refusal) string {
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

func billObject(b works.Bill) cmdutil.Object {
	o := cmdutil.Object{"images", b.Images, "input_tokens", b.Tokens, "output_tokens", b.Output}
	if b.Priced {
		o = append(o, "cost_usd", b.USD, "cost_exact", b.Reported)
	}
	return o
}

// billText describes the images, tokens and cost of b.
func billText(b works.Bill) string {
	cost := format.Cost(b.USD, b.Priced)
	if b.Priced && cost == "" {
		cost = "free"
	} else if b.Priced && !b.Reported {
		cost = "about " + cost
	} else if !b.Priced {
		cost = "price unknown"
	}
	return format.Join(" · ", format.When(b.Images > 0, format.Plural(b.Images, "image")), format.When(b.Tokens > 0, format.Tokens(b.Tokens)+" in"), format.When(b.Output > 0, format.Tokens(b.Output)+" out"), cost)
}
