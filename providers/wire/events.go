package wire

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"io"
	"slices"
	"strings"

	"parley/providers/llm"
)

// MaxEvent bounds one event, and an answer sent in one piece, in bytes, so that a hostile server
// cannot exhaust the memory. Images come in one line of many megabytes.
const MaxEvent = 64 << 20

// ErrTooLong is the error for an event longer than MaxEvent.
var ErrTooLong error = &llm.Error{Fault: llm.Server, Message: "an event of the answer is longer than 64 MiB"}

// Sniff returns a reader of a response body and its first byte after a byte order mark and white
// space; 0 if there is none. The reader still returns that byte. '{' and '[' begin JSON; other
// bytes begin events. The requested format does not matter, since some servers know only one.
func Sniff(body io.Reader) (r *bufio.Reader, first byte) {
	r = bufio.NewReaderSize(body, 16<<10)
	if bom, _ := r.Peek(3); string(bom) == "\ufeff" {
		r.Discard(3)
	}
	for {
		b, err := r.Peek(1)
		if err != nil {
			return r, 0
		}
		if strings.IndexByte(" \t\r\n", b[0]) < 0 {
			return r, b[0]
		}
		r.Discard(1)
	}
}

// ReadAll reads an answer sent in one piece.
func ReadAll(r io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, MaxEvent+1))
	if err == nil && len(data) > MaxEvent {
		err = ErrTooLong
	}
	return data, err
}

// Events reads the server-sent events of an answer. Unlike the readers of SDKs, it accepts
// everything that real servers send: a last event without an empty line after it, lines that end
// with \r alone, a byte order mark, comments, and lines of 32 MiB and more.
type Events struct {
	Name string // name of the last event read; usually ""
	Done bool   // the server marked the end of the events

	r    *bufio.Reader
	data []byte // data of the current event; reused
	skip bool   // the last line ended with \r; a following \n belongs to it

	next     []byte // data of the next event if no empty line precedes it; nil for none
	nextName string

	began bool   // an event was read
	prose []byte // beginning of the lines that are not fields
	words error  // error for the first event that contains plain text instead of JSON
	cut   bool   // the stream ended inside the last event
}

// NewEvents returns the events in r.
func NewEvents(r *bufio.Reader) *Events { return &Events{r: r} }

// Next returns the data of the next event that has any, without surrounding white space; it is valid
// until the next call. At the end of the stream it returns the remaining data, and then io.EOF.
// "[DONE]" is also an end: OpenAI ends a stream with it, and gateways end the streams of others. A
// body of plain text instead of events, such as a gateway's error or a web page, returns an
// *llm.Error with the text. Data that begins with a colon is a comment. Other plain text instead of
// JSON is skipped; the first such event becomes the error at the end of the stream.
func (e *Events) Next() ([]byte, error) {
	for !e.Done {
		data, err := e.readEvent()
		if err == io.EOF && !e.began && len(e.prose) > 0 {
			return nil, proseError(e.prose)
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
		e.began = true
		data = bytes.TrimSpace(data)
		e.Done = bytes.HasPrefix(data, doneMarker)
		switch {
		case len(data) == 0, e.Done, data[0] == ':':
		case data[0] == '{', e.Name == "error", json.Valid(data):
			return data, nil
		case e.words == nil:
			e.words = NotJSON(data)
		}
	}
	return nil, cmp.Or(e.words, io.EOF)
}

// Blame returns the error for the last event, given the decoder's err for data. If the event arrived
// completely but its JSON is incomplete, the error is not ErrInterrupted, since the connection did
// not break.
func (e *Events) Blame(data []byte, err error) error {
	if err == ErrInterrupted && !e.cut && !json.Valid(data) {
		return NotJSON(data)
	}
	return err
}

var (
	doneMarker = []byte("[DONE]")
	colon      = []byte{':'}
)

// readEvent reads up to the end of an event that has a data field, even an empty one.
func (e *Events) readEvent() ([]byte, error) {
	e.data, e.Name = e.data[:0], e.nextName
	got := e.next != nil
	if got {
		e.data = append(append(e.data, '\n'), e.next...)
	}
	e.next, e.nextName = nil, ""
	for {
		start := len(e.data)
		err := e.readLine()
		line := e.data[start:]
		e.data = e.data[:start]
		switch {
		case err != nil && err != io.EOF:
			return nil, err
		case len(line) == 0 && got:
			e.cut = err != nil
			e.Name, e.nextName = cmp.Or(e.nextName, e.Name), ""
			return e.data[1:], nil
		case len(line) == 0 && err != nil:
			return nil, err
		case len(line) == 0:
			e.Name = ""
			continue
		}
		field, value, _ := bytes.Cut(line, colon)
		if len(value) > 0 && value[0] == ' ' {
			value = value[1:]
		}
		switch string(field) {
		case "data":
			if got && beginsEvent(e.data[1:], value) {
				e.next = bytes.Clone(value)
				return e.data[1:], nil
			}
			got = true
			e.data = append(append(e.data, '\n'), value...)
		case "event":
			if e.nextName = string(value); !got {
				e.Name, e.nextName = e.nextName, ""
			}
		case "", "id", "retry":
		default:
			e.addProse(line, err == io.EOF)
		}
	}
}

// maxProse bounds Events.prose, in bytes.
const maxProse = 16 << 10

// addProse stores a line that is not a field. The last one may be the beginning of a field.
func (e *Events) addProse(line []byte, last bool) {
	room := maxProse - len(e.prose)
	if e.began || room <= 0 || last && (bytes.HasPrefix([]byte("event"), line) || bytes.HasPrefix([]byte("data"), line)) {
		return
	}
	e.prose = append(append(e.prose, line[:min(len(line), room)]...), '\n')
}

// beginsEvent reports whether a line of data starts a new event without an empty line before it
// (github.com/anomalyco/opencode issue 27365). It does if both data and line are JSON.
func beginsEvent(data, line []byte) bool {
	data = bytes.TrimSpace(data) // as Next does
	return len(data) > 0 && len(line) > 0 && strings.IndexByte("}]", data[len(data)-1]) >= 0 && strings.IndexByte("{[", line[0]) >= 0 && json.Valid(data)
}

// readLine appends the next line to e.data without its end: \n, \r\n or \r.
func (e *Events) readLine() error {
	for {
		// Data is processed as it comes: a server may go silent after \r.
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
		line := chunk
		for _, end := range []byte("\n\r") {
			if at := bytes.IndexByte(line, end); at >= 0 {
				line = line[:at]
			}
		}
		if len(e.data)+len(line) > MaxEvent {
			return ErrTooLong
		}
		if len(line) > cap(e.data)-len(e.data) { // doubled: append grows by a quarter, which copies a long line four times
			e.data = slices.Grow(e.data, max(len(line), min(len(e.data), MaxEvent-len(e.data))))
		}
		e.data = append(e.data, line...)
		if len(line) == len(chunk) {
			e.r.Discard(len(line))
			continue
		}
		e.skip = chunk[len(line)] == '\r'
		e.r.Discard(len(line) + 1)
		return nil
	}
}
