package recording

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"

	"parley/providers/llm"
	"parley/providers/wire"
)

// A replay answers requests from a recording instead of the network. Requests to one model, by one
// method and path, must come in the recorded order and with the same bodies. Requests to different
// models may come in any order, since they may have run at the same time. It is safe for concurrent
// use.
type replay struct {
	mu      sync.Mutex
	records []record
	used    []bool
	err     *llm.Error // for the first request that is not in the recording
}

// maxRecording bounds the size of a recording to replay, in bytes.
const maxRecording = 1 << 30

// OpenReplay reads the recording at path.
func OpenReplay(path string) (wire.Replay, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxRecording {
		return nil, fmt.Errorf("%s is not a regular file of at most 1 GiB", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	r, err := readReplay(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return r, nil
}

func readReplay(from io.Reader) (*replay, error) {
	text, err := io.ReadAll(from)
	if err != nil {
		return nil, err
	}
	r := &replay{}
	number := 0
	for line := range bytes.Lines(text) {
		number++
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		var l record
		err := json.Unmarshal(line, &l)
		var cut *json.SyntaxError
		if errors.As(err, &cut) && cut.Offset == int64(len(line)) && bytes.HasPrefix(line, []byte(recordStart)) {
			continue // truncated by a full disk
		}
		if err != nil || l.Method == "" || l.URL == "" {
			return nil, fmt.Errorf("line %d was not written by --record", number)
		}
		if l.Version != recordVersion {
			return nil, fmt.Errorf("line %d is of version %d, and this parley reads %d", number, l.Version, recordVersion)
		}
		r.records = append(r.records, l)
	}
	if len(r.records) == 0 {
		return nil, errors.New("it has no exchanges")
	}
	r.used = make([]bool, len(r.records))
	return r, nil
}

// Model returns the model of the first recorded request to a model, as provider/model; "" if there
// is none.
func (r *replay) Model() string {
	for _, l := range r.records {
		if l.Model != "" {
			return l.Provider + "/" + l.Model
		}
	}
	return ""
}

// Remaining returns the number of recorded exchanges with models that have not been replayed yet.
func (r *replay) Remaining() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := 0
	for i, l := range r.records {
		if !r.used[i] && l.Model != "" {
			n++
		}
	}
	return n
}

// Err returns the error for the first request to a model that is not in the recording; nil if all
// were found.
func (r *replay) Err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err == nil {
		return nil
	}
	return r.err
}

// Transport returns a transport that answers the requests to a model of a provider.
func (r *replay) Transport(provider, model string) http.RoundTripper {
	return replayTransport{r, provider, model}
}

type replayTransport struct {
	*replay
	provider, model string
}

// RoundTrip answers req from the recording.
func (c replayTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	var body []byte
	if req.Body != nil {
		var err error
		body, err = io.ReadAll(req.Body)
		req.Body.Close()
		if err != nil {
			return nil, err
		}
	}
	l, err := c.match(replayRequest{c.provider, c.model, req.Method, req.URL.Path, nil, body})
	if err != nil {
		return nil, err
	}
	if l.Status == 0 {
		return nil, l.fault()
	}
	h := http.Header{}
	for name, value := range l.Response.Headers {
		h.Set(name, value)
	}
	return &http.Response{
		Status: fmt.Sprintf("%d %s", l.Status, http.StatusText(l.Status)), StatusCode: l.Status,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: h, ContentLength: -1, Request: req, Body: io.NopCloser(l.chunks()),
	}, nil
}

// Program answers for a program that would read stdin. It returns the program's standard output,
// its exit status and the end of its standard error.
func (r *replay) Program(told wire.Exchange, stdin []byte) (out []byte, status int, said string, err error) {
	l, err := r.match(replayRequest{told.Provider, told.Model, wire.Run, told.URL, append(slices.Clone(told.Args), told.Request.Header.Get(wire.SystemHeader)), stdin})
	if err != nil {
		return nil, 0, "", err
	}
	return l.Response.body(), l.Status, l.Response.Headers[wire.StderrHeader], nil
}

// A replayRequest is a request to find in the recording.
type replayRequest struct {
	provider, model, method, path string
	args                          []string
	body                          []byte
}

// match removes the record that answers q from the unused ones and returns it.
func (r *replay) match(q replayRequest) (record, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	fits := 0
	for i, l := range r.records {
		if l.Provider != q.provider || l.Model != q.model || l.Method != q.method || l.path() != q.path {
			continue
		}
		fits++
		if r.used[i] {
			continue
		}
		if l.Request.Cut > 0 || l.Response.Cut > 0 {
			return record{}, r.mismatch(q, "exchange %d was too long to be recorded whole", i+1)
		}
		if d := cmp.Or(diffValues("the arguments", toAny(l.args()), toAny(q.args)), diffBodies(l.Request.body(), q.body)); d != "" {
			return record{}, r.mismatch(q, "request %d is not the one that was recorded: %s", i+1, d)
		}
		r.used[i] = true
		return l, nil
	}
	who := strings.Trim(q.provider+"/"+q.model, "/")
	if fits > 0 {
		return record{}, r.mismatch(q, "the recording ends before this: it has %d of %s %s for %s", fits, q.method, q.path, who)
	}
	first := r.records[0]
	return record{}, r.mismatch(q, "the recording has no %s %s for %s: it begins with %s %s for %s", q.method, q.path, who,
		first.Method, first.path(), strings.Trim(first.Provider+"/"+first.Model, "/"))
}

// mismatch returns the error for a request that is not in the recording. The replay must be locked.
func (r *replay) mismatch(q replayRequest, format string, args ...any) error {
	e := &llm.Error{Fault: llm.Mismatch, Message: fmt.Sprintf(format, args...)}
	if r.err == nil && q.model != "" { // requests for model lists do not count
		r.err = e
	}
	return e
}

// path returns the request path, or the name of a program.
func (l record) path() string {
	if u, err := url.Parse(l.URL); err == nil && l.Method != wire.Run {
		return u.Path
	}
	return l.URL
}

// args returns a program's arguments, followed by the system prompt that it gets in a file.
func (l record) args() []string {
	if l.Method != wire.Run {
		return nil
	}
	return append(slices.Clone(l.Args), l.Request.Headers[wire.SystemHeader])
}

// fault returns the recorded error of a missing answer; nil for none.
func (l record) fault() error {
	if l.Error == nil || l.Error.Category == wire.Canceled || l.Error.Category == wire.Deadline {
		return &llm.Error{Fault: llm.Network, Message: "the recording has no answer: the request was canceled"}
	}
	return &llm.Error{Fault: llm.Fault(l.Error.Category), Message: l.Error.Message}
}

// body returns the recorded bytes; JSON is equivalent to them.
func (m recordedMessage) body() []byte {
	switch {
	case m.JSON != nil:
		return m.JSON
	case m.Base64 != nil:
		return m.Base64
	}
	return []byte(m.Text)
}

// chunks returns a reader of the answer in its recorded pieces. An interrupted answer is
// interrupted again.
func (l record) chunks() io.Reader {
	body := l.Response.body()
	var pieces []io.Reader
	for _, c := range l.Chunks { // a masked secret may have changed the size
		n := max(min(c[0], len(body)), 0)
		pieces, body = append(pieces, bytes.NewReader(body[:n])), body[n:]
	}
	pieces = append(pieces, bytes.NewReader(body))
	if l.Error != nil && slices.Contains(interruptedCategories, l.Error.Category) {
		pieces = append(pieces, interrupted{})
	}
	return io.MultiReader(pieces...)
}

// An interrupted is the end of an answer whose connection broke.
type interrupted struct{}

func (interrupted) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// interruptedCategories lists the error categories of incomplete answers.
var interruptedCategories = []string{string(llm.Network), wire.Canceled, wire.Deadline}
