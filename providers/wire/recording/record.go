// Package recording writes exchanges with providers to files, and answers requests from such files.
package recording

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

	"parley/providers/wire"
)

// A recorder writes exchanges to a file as they end, one JSON object a line:
//
//	{"version":1,"provider":"openai","kind":"openai-responses","model":"gpt-6.1-sol",
//	 "start":"2026-11-20T16:00:00Z","method":"POST","url":"https://api.openai.com/v1/responses",
//	 "request":{"headers":{"Content-Type":"application/json"},"json":{…}},
//	 "status":200,"headers_ms":310.2,"first_ms":312.9,"total_ms":2204.1,
//	 "response":{"headers":{"Content-Type":"text/event-stream"},"text":"data: {…}\n\n…"},
//	 "chunks":[[412,312],[97,340]]}
//
// The key of a body is json for a request's JSON, text for UTF-8, and otherwise base64; text and
// base64 are byte for byte as sent. Chunks lists the pieces in which an answer came, each as its
// size in bytes and the milliseconds since start. If the answer is missing or incomplete, the line
// has "error":{"category":"network","message":"…"}. For the run of a program, method is RUN, url is
// the program's name, "args" are its arguments, request is its standard input, response its
// standard output, and status its exit status. Secrets are [redacted]. Only headers that describe a
// body, a wait or the request id are written. Readers ignore unknown fields.
// OpenReplay reads the file.
type recorder struct {
	onError func(error)

	mu     sync.Mutex
	to     io.WriteCloser
	failed bool
}

// Record appends to the file at path, which only the user may read. It does not follow a link
// there: anyone who can write to the directory could have placed it. It calls onError once, with
// the first error of writing.
func Record(path string, onError func(error)) (wire.Recorder, error) {
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
	return &recorder{to: f, onError: onError}, nil
}

// endLine ends a line truncated by a full disk, so that only that line is lost.
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

// restrictMode removes the permissions of others from a file, which may be an older one.
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

// Close ends the recording. It does not contain unfinished exchanges.
func (r *recorder) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failed = true // later exchanges cannot be written
	return r.to.Close()
}

const recordVersion = 1

// recordStart is the beginning of every line of a recording.
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

// A recordedMessage holds a body in one of three encodings.
type recordedMessage struct {
	Headers map[string]string `json:"headers,omitempty"`
	JSON    json.RawMessage   `json:"json,omitempty"`
	Text    string            `json:"text,omitempty"`
	Base64  []byte            `json:"base64,omitempty"`
	Cut     int64             `json:"cut,omitempty"` // number of bytes missing
}

type recordedError struct {
	Category string `json:"category"`
	Message  string `json:"message,omitempty"`
}

// Record appends a finished exchange. After its first failure it does nothing.
func (r *recorder) Record(e wire.Exchange, chunks []wire.Chunk) {
	line, err := encodeRecord(e, chunks)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.failed {
		return
	}
	if err == nil {
		_, err = r.to.Write(line) // in one write: others may append to the same file
	}
	if err != nil {
		r.failed = true
		r.onError(fmt.Errorf("the recording has ended: %w", err))
	}
}

func encodeRecord(e wire.Exchange, chunks []wire.Chunk) ([]byte, error) {
	ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
	l := record{
		Version: recordVersion, Provider: e.Provider, Kind: e.Kind, Model: e.Model, Start: e.Start.UTC(),
		Method: e.Method, URL: e.URL, Args: e.Args, Status: e.Status,
		Headers: ms(e.Headers), First: ms(e.FirstByte), Total: ms(e.Duration),
		Request: newRecordedMessage(e.Request, true), Response: newRecordedMessage(e.Response, false),
	}
	for _, c := range chunks {
		l.Chunks = append(l.Chunks, [2]int{c.Bytes, int(c.At.Milliseconds())})
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

func newRecordedMessage(m wire.Message, request bool) recordedMessage {
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

// recordedHeaders returns the headers that are kept in recordings.
func recordedHeaders(h http.Header) map[string]string {
	kept := map[string]string{}
	for name, values := range h {
		lower := strings.ToLower(name)
		for _, part := range []string{"content-type", "retry-after", "should-retry", "ratelimit", "request-id", "location", "date", "stderr", "system-prompt"} {
			if strings.Contains(lower, part) && !wire.IsSecretHeader(name) && len(values) > 0 {
				kept[name] = values[0]
			}
		}
	}
	return kept
}
