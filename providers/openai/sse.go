package openai

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// maxEvent bounds one event, so that a hostile server cannot fill the memory.
// Whole answers and images come in one line of many megabytes.
const maxEvent = 64 << 20

var errTooLong = errors.New("an event of the answer is longer than 64 MiB")

// events reads server-sent events. The SDK's reader would do but for four
// things that real servers do: a last event without an empty line behind it,
// lines that end in a carriage return alone, a byte order mark, and lines of 32
// MiB and more.
type events struct {
	r    *bufio.Reader
	data []byte // of the current event, reused
	name string // of the current event; mostly ""
	skip bool   // the last line ended in \r; a \n that follows belongs to it
}

// next reads up to the end of an event that holds data, and returns the data,
// valid until the following call. At the end of the stream it returns what is
// left, and then io.EOF.
func (e *events) next() ([]byte, error) {
	e.data, e.name = e.data[:0], ""
	got := false
	for {
		start := len(e.data)
		err := e.line()
		line := e.data[start:]
		e.data = e.data[:start]
		switch {
		case err != nil && err != io.EOF:
			return nil, err
		case len(line) == 0 && got, err == io.EOF && len(line) == 0:
			if got {
				return e.data[1:], nil
			}
			if err != nil {
				return nil, err
			}
			e.name = ""
			continue
		}
		field, value, _ := bytes.Cut(line, colon)
		if len(value) > 0 && value[0] == ' ' {
			value = value[1:]
		}
		switch string(field) {
		case "data":
			got = true
			e.data = append(append(e.data, '\n'), value...)
		case "event":
			e.name = string(value)
		}
	}
}

var colon = []byte{':'}

// line appends the next line to e.data, without its end: \n, \r\n or \r.
func (e *events) line() error {
	start := len(e.data)
	for {
		// Data is looked at as it comes: a server may be silent after \r.
		if e.r.Buffered() == 0 {
			if _, err := e.r.Peek(1); err != nil {
				return err
			}
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
		if end < 0 {
			end = len(chunk)
			e.data = append(e.data, chunk...)
			e.r.Discard(end)
			if len(e.data)-start > maxEvent || len(e.data) > maxEvent {
				return errTooLong
			}
			continue
		}
		e.data = append(e.data, chunk[:end]...)
		e.skip = chunk[end] == '\r'
		e.r.Discard(end + 1)
		return nil
	}
}
