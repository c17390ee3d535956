package print

import (
	"bytes"
	"fmt"
	"strings"

	"parley/providers/llm"
	"parley/session"
	"parley/tools/sanitize"
	"parley/ui/cli/cmdutil"
)

// structured writes only an answer that matches its schema to Out. If none does, the last answer
// goes to Err at the end of the turn.
type structured struct {
	o    cmdutil.PrintOptions
	out  *asyncWriter
	text strings.Builder // the running answer; empty once an answer matches
	side stderrWriter
}

func (p *structured) event(e session.Event, _ int) error {
	switch e := e.(type) {
	case session.Step:
		p.text.Reset()
	case session.StructuredOutput:
		p.text.Reset()
		return p.write(e.JSON)
	case llm.Delta:
		if e.Kind == llm.Text {
			p.text.WriteString(e.Text)
			return nil
		}
	case llm.Retry:
		if len(e.Discards) > 0 {
			p.text.Reset()
		}
	case session.Response:
		p.side.incomplete(e)
	case session.Done:
		p.rejected()
	}
	p.out.flush() // both may go to the same terminal
	p.side.event(e)
	return nil
}

func (p *structured) write(value []byte) error {
	if !p.o.Raw {
		value = sanitize.JSON(value)
	}
	_, err := p.o.Out.Write(append(bytes.Clone(value), '\n'))
	return err
}

// rejected writes an answer that does not match, or that broke off, to Err.
func (p *structured) rejected() {
	text := strings.TrimRight(p.text.String(), "\n")
	if text == "" {
		return
	}
	p.out.flush()
	p.side.close()
	fmt.Fprintln(p.o.Err, sanitize.Text(text))
}
