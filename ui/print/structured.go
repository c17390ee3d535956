package print

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"

	"parley/providers/llm"
	"parley/session"
	"parley/tools/sanitize"
)

// maxSchema sets how large a schema may be, in bytes.
const maxSchema = 1 << 20

// ReadSchema reads what an answer has to look like: from arg itself if that begins
// like JSON, or else from the file of this name.
func ReadSchema(arg string) (*llm.Schema, error) {
	if text := strings.TrimSpace(arg); strings.HasPrefix(text, "{") {
		return session.ParseAnswerSchema([]byte(text))
	}
	f, err := os.Open(arg)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxSchema+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxSchema {
		return nil, fmt.Errorf("%s has more than %d MB", arg, maxSchema>>20)
	}
	s, err := session.ParseAnswerSchema(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", arg, err)
	}
	return s, nil
}

// structured writes the answer once it is known to fit its schema, and nothing
// else. What does not fit goes to Err when all is over.
type structured struct {
	o    Options
	out  *asyncWriter
	text strings.Builder // of the running answer; none of one that fits
	side stderrWriter
}

func (p *structured) start(*session.Session) {}

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

// rejected shows an answer that does not fit, or that broke off.
func (p *structured) rejected() {
	text := strings.TrimRight(p.text.String(), "\n")
	if text == "" {
		return
	}
	p.out.flush()
	p.side.close()
	fmt.Fprintln(p.o.Err, sanitize.Text(text))
}
