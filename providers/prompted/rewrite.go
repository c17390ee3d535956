package prompted

import (
	"parley/providers/filter"
	"parley/providers/llm"
)

// A rewriter is where a rewriter writes.
type rewriter struct {
	*llm.Out

	event       llm.Event // that is being read, if it is nothing but text
	block, text string    // of event
}

func (s *rewriter) emit(block string, kind llm.Kind, text string) {
	if text == "" {
		return
	}
	if s.event != nil && kind == llm.Text && block == s.block && text == s.text {
		s.Send(s.event) // it comes out as it went in, as most of a plain answer does
		return
	}
	p := llm.Part{Kind: kind, Text: text}
	if kind == llm.Thinking {
		p.Name = filter.Thought
	}
	s.Send(llm.Delta{Block: block, Part: p})
}

func (s *rewriter) call(block string, c call) {
	s.Send(llm.Delta{Block: block, Part: llm.Part{
		Kind: llm.Call, ID: filter.NewID(), Name: c.name, Input: string(c.args), Failed: c.unreadable,
	}})
}

// A reader turns the text of blocks into other events.
type reader interface {
	begin(block string)           // text of another block follows
	text(s string)                // more of it
	end(well bool)                // no more; well says that the model ended it
	finish(llm.Reason) llm.Reason // the answer has ended
}

// rewriteText passes s on, with the text of its blocks through r.
func rewriteText(s llm.Stream, out *rewriter, r reader) {
	block, open := "", false
	for e, err := range s {
		if err != nil {
			r.end(false)
			out.Fail(err)
			return
		}
		switch d := e.(type) {
		case llm.Delta:
			same := open && d.Block == block
			if d.Kind != llm.Text && !(same && d.Kind == "") {
				out.Send(e)
				break
			}
			if !same {
				if open {
					r.end(false)
				}
				block, open = d.Block, true
				r.begin(block)
			}
			text := d.Text
			if d.Text = ""; !d.OnlyText() {
				out.Send(d)
			} else if d.Kind == llm.Text {
				out.event, out.block, out.text = e, block, text
			}
			r.text(text)
			out.event = nil
		case llm.Finish:
			if open {
				r.end(d.Reason == llm.Stop || d.Reason == llm.Calls)
			}
			d.Reason = r.finish(d.Reason)
			out.Send(d)
		default:
			out.Send(e)
		}
		if out.Stopped() {
			return
		}
	}
}
