package gemini

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"unicode/utf8"

	"parley/providers/llm"
	"parley/providers/wire"
)

// maxEvent bounds one event, so that a hostile server cannot fill the memory.
// Images come in one line of many megabytes.
const maxEvent = 64 << 20

var errTooLong = &llm.Error{Fault: llm.Server, Message: "an event of the answer is longer than 64 MiB"}

// read turns the body of a response into events. It may be a stream of events,
// a list of chunks, which is what the API sends unless it is asked for events,
// or one chunk.
func (a *answer) read(body io.Reader) error {
	r := bufio.NewReaderSize(body, 16<<10)
	if bom, _ := r.Peek(3); string(bom) == "\ufeff" {
		r.Discard(3)
	}
	var err error
	switch opening(r) {
	case '{', '[':
		err = a.values(r)
	default:
		err = a.stream(r)
	}
	if a.finish != "" && llm.FaultOf(err) == llm.Network {
		return nil // the answer was complete
	}
	return err
}

// cut is err as the reason why an answer broke off.
func cut(err error) error {
	if told := (*llm.Error)(nil); errors.As(err, &told) {
		return err
	}
	return &llm.Error{Fault: llm.Network, Message: "the answer broke off before it was complete", Err: err}
}

// opening looks for the first byte that is not white space, without taking it.
func opening(r *bufio.Reader) byte {
	for {
		b, err := r.Peek(1)
		if err != nil {
			return 0
		}
		if !bytes.Contains([]byte(" \t\r\n"), b) {
			return b[0]
		}
		r.Discard(1)
	}
}

// values reads a chunk, or a list of them.
func (a *answer) values(r *bufio.Reader) error {
	bounded := &io.LimitedReader{R: r}
	d := json.NewDecoder(bounded)
	list := opening(r) == '['
	if list {
		bounded.N = maxEvent
		d.Token()
	}
	for !a.out.Stopped() {
		bounded.N = maxEvent
		if list && !d.More() {
			if _, err := d.Token(); err != nil && err != io.EOF {
				return cut(err)
			}
			return nil
		}
		var data json.RawMessage
		switch err := d.Decode(&data); {
		case err == io.EOF:
			return nil
		case err != nil && bounded.N <= 0:
			return errTooLong
		case truncated(err):
			return cut(err)
		case err != nil:
			return garbled(err, nil)
		}
		if err := a.chunk(data); err != nil {
			return err
		}
	}
	return nil
}

// truncated reports whether JSON ended too early, and not in the wrong way.
func truncated(err error) bool {
	if err == nil {
		return false
	}
	syntax := (*json.SyntaxError)(nil)
	return !errors.As(err, &syntax) || syntax.Error() == "unexpected end of JSON input"
}

func garbled(err error, data []byte) error {
	return &llm.Error{Fault: llm.Server, Message: "not JSON: " + excerpt(string(data)), Err: err}
}

// stream reads chunks that come in events.
func (a *answer) stream(r *bufio.Reader) error {
	e := events{r: r}
	for !a.out.Stopped() {
		data, err := e.next()
		switch {
		case err == io.EOF:
			return nil
		case err == errTooLong:
			return err
		case err != nil:
			return cut(err)
		}
		data = bytes.TrimSpace(data)
		switch {
		case len(data) == 0:
			continue
		case bytes.HasPrefix(data, []byte("[DONE]")): // of gateways
			return nil
		}
		if err := a.chunk(data); err != nil {
			return err
		}
	}
	return nil
}

// chunk reads one chunk, which may hold an error instead of an answer.
func (a *answer) chunk(data []byte) error {
	c := &a.last
	if data[0] == '[' { // an error, wrapped in a list
		*c = chunk{}
	} else if err := c.decode(data, &a.usage); truncated(err) {
		return cut(err)
	} else if err != nil {
		return garbled(err, data)
	}
	if a.label.ID == "" && a.looked < 8 { // gateways may leave it out
		a.looked++
		lenient(data, &a.label)
	}
	a.take(c, data)
	if present(c.Error) || len(c.Candidates) == 0 {
		if fault := wire.EventFault(data); fault != nil {
			return fault
		}
	}
	if present(c.Error) {
		return &llm.Error{Fault: llm.Server, Message: excerpt(string(data))}
	}
	return nil
}

// excerpt is as much of s as fits into a message.
func excerpt(s string) string {
	const limit = 300
	if len(s) <= limit {
		return s
	}
	end := limit
	for !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + "…"
}

// events reads the data of server-sent events. Lines end in \n, \r\n or \r.
type events struct {
	r    *bufio.Reader
	data []byte // of the current event, reused
	skip bool   // the last line ended in \r; a \n that follows belongs to it
}

// next returns the data of an event that holds any, valid until the following
// call. At the end of the stream it returns what is left, and then io.EOF.
func (e *events) next() ([]byte, error) {
	e.data = e.data[:0]
	got := false
	for {
		start := len(e.data)
		err := e.line()
		line := e.data[start:]
		e.data = e.data[:start]
		switch {
		case err != nil && err != io.EOF:
			return nil, err
		case len(line) == 0 && got:
			return e.data[1:], nil
		case len(line) == 0 && err == io.EOF:
			return nil, err
		}
		if field, value, _ := bytes.Cut(line, []byte{':'}); string(field) == "data" {
			got = true
			e.data = append(append(e.data, '\n'), value...)
		}
	}
}

// line appends the next line to e.data, without its end.
func (e *events) line() error {
	start := len(e.data)
	for {
		// Data is looked at as it comes: a server may be silent after \r.
		if _, err := e.r.Peek(1); err != nil {
			return err
		}
		chunk, _ := e.r.Peek(e.r.Buffered())
		if e.skip {
			e.skip = false
			if chunk[0] == '\n' {
				e.r.Discard(1)
				continue
			}
		}
		end := bytes.IndexAny(chunk, "\r\n")
		if end >= 0 {
			e.data = append(e.data, chunk[:end]...)
			e.skip = chunk[end] == '\r'
			e.r.Discard(end + 1)
			return nil
		}
		e.data = append(e.data, chunk...)
		e.r.Discard(len(chunk))
		if len(e.data)-start > maxEvent || len(e.data) > maxEvent {
			return errTooLong
		}
	}
}
