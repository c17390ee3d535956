package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

// A Recorder writes exchanges to a file as they end, one JSON object a line:
//
//	{"version":1,"provider":"openai","kind":"openai-responses","model":"gpt-6.1-sol",
//	 "start":"2026-11-20T16:00:00Z","method":"POST","url":"https://api.openai.com/v1/responses",
//	 "request":{"headers":{"Content-Type":"application/json"},"json":{…}},
//	 "status":200,"headers_ms":310.2,"first_ms":312.9,"total_ms":2204.1,
//	 "response":{"headers":{"Content-Type":"text/event-stream"},"text":"data: {…}\n\n…"},
//	 "chunks":[[412,312],[97,340]]}
//
// A body stands under json if it is a request's and JSON, under text if it is
// UTF-8, and else under base64; text and base64 are byte for byte what was sent.
// Chunks are the pieces in which an answer came, each with its bytes and the
// milliseconds since start. Where no answer came, or it broke off, there is
// "error":{"category":"network","message":"…"}. A run of a program has the method
// RUN, the name of the program as url, "args", standard input as its request,
// standard output as its answer, and the exit status. Secrets are [redacted], and
// of headers only those are written that say what a body is, how long to wait and
// which request it was. Readers ignore what they do not know. Replay reads it.
type Recorder struct {
	OnError func(error) // called once with the first error of writing; nil: errors are dropped

	mu     sync.Mutex
	to     io.WriteCloser
	failed bool
}

// maxRecordedBody bounds how much of a body a recording holds, in bytes.
const maxRecordedBody = 2 * MaxEvent

// Record appends to the file at path, which nobody else may read. It follows no
// link there: who may write to the directory could have put one.
func Record(path string) (*Recorder, error) {
	if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() {
		return nil, notRegularError(path)
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND|openFlags, 0o600)
	if err != nil {
		return nil, err
	}
	if err = restrictMode(f); err == nil {
		err = endLine(f)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return &Recorder{to: f}, nil
}

// endLine ends the line that a full disk cut off, so that it stays the only one that is lost.
func endLine(f *os.File) error {
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil || size == 0 {
		return err
	}
	last := []byte{0}
	if _, err = f.ReadAt(last, size-1); err == nil && last[0] != '\n' {
		_, err = f.WriteString("\n")
	}
	return err
}

// restrictMode takes from others what they may do with a file, which may be of before.
func restrictMode(f *os.File) error {
	info, err := f.Stat()
	switch {
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return notRegularError(f.Name())
	case ownedByUser(info):
		return f.Chmod(0o600)
	case info.Mode().Perm()&0o077 != 0:
		return fmt.Errorf("%s belongs to another user, and others can read it", f.Name())
	}
	return nil
}

func notRegularError(path string) error { return fmt.Errorf("%s is not a regular file", path) }

// Close ends the recording. Exchanges that have not ended are not in it.
func (r *Recorder) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failed = true // what comes after it has nowhere to go
	return r.to.Close()
}

const recordVersion = 1

// recordStart is what every line of a recording begins with.
const recordStart = `{"version":`

// A record is one line of a recording.
type record struct {
	Version  int             `json:"version"`
	Provider string          `json:"provider"`
	Kind     string          `json:"kind,omitempty"`
	Model    string          `json:"model,omitempty"`
	Start    time.Time       `json:"start"`
	Method   string          `json:"method"`
	URL      string          `json:"url"`
	Args     []string        `json:"args,omitempty"`
	Request  recordedMessage `json:"request"`
	Status   int             `json:"status"`
	Headers  float64         `json:"headers_ms,omitempty"`
	First    float64         `json:"first_ms,omitempty"`
	Total    float64         `json:"total_ms,omitempty"`
	Response recordedMessage `json:"response"`
	Chunks   [][2]int        `json:"chunks,omitempty"`
	Error    *recordedError  `json:"error,omitempty"`
}

// A recordedMessage holds one kind of body.
type recordedMessage struct {
	Headers map[string]string `json:"headers,omitempty"`
	JSON    json.RawMessage   `json:"json,omitempty"`
	Text    string            `json:"text,omitempty"`
	Base64  []byte            `json:"base64,omitempty"`
	Cut     int64             `json:"cut,omitempty"` // bytes that are missing
}

type recordedError struct {
	Category string `json:"category"`
	Message  string `json:"message,omitempty"`
}

// write appends an exchange that is over. It fails once, and is silent then.
func (r *Recorder) write(e Exchange, marks []chunkEnd) {
	line, err := encodeRecord(e, marks)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.failed {
		return
	}
	if err == nil {
		_, err = r.to.Write(line) // in one piece: others may append to the same file
	}
	if err != nil {
		r.failed = true
		if r.OnError != nil {
			r.OnError(fmt.Errorf("the recording has ended: %w", err))
		}
	}
}

func encodeRecord(e Exchange, marks []chunkEnd) ([]byte, error) {
	ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
	l := record{
		Version: recordVersion, Provider: e.Provider, Kind: e.Kind, Model: e.Model, Start: e.Start.UTC(),
		Method: e.Method, URL: e.URL, Args: e.Args, Status: e.Status,
		Headers: ms(e.Headers), First: ms(e.FirstByte), Total: ms(e.Duration),
		Request: newRecordedMessage(e.Request, true), Response: newRecordedMessage(e.Response, false),
	}
	for _, m := range marks {
		l.Chunks = append(l.Chunks, [2]int{m.bytes, int(m.at.Milliseconds())})
	}
	if e.Error != "" {
		l.Error = &recordedError{e.Error, e.Reason}
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	err := enc.Encode(l)
	return out.Bytes(), err
}

func newRecordedMessage(m Message, request bool) recordedMessage {
	r := recordedMessage{Headers: recordedHeaders(m.Header), Cut: m.Omitted}
	body := m.Body + m.Tail
	switch {
	case request && json.Valid([]byte(body)):
		r.JSON = json.RawMessage(body)
	case utf8.ValidString(body):
		r.Text = body
	default:
		r.Base64 = []byte(body)
	}
	return r
}

// recordedHeaders returns the headers that matter to somebody who reads an answer again.
func recordedHeaders(h http.Header) map[string]string {
	kept := map[string]string{}
	for name, values := range h {
		lower := strings.ToLower(name)
		for _, part := range []string{"content-type", "retry-after", "should-retry", "ratelimit", "request-id", "location", "date", "stderr", "system-prompt"} {
			if strings.Contains(lower, part) && !IsSecretHeader(name) && len(values) > 0 {
				kept[name] = values[0]
			}
		}
	}
	return kept
}
