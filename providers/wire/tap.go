package wire

import (
	"cmp"
	"errors"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"

	"parley/providers/llm"
)

// A Tap keeps the latest requests and their answers, byte for byte. Its memory is bounded; bytes
// that do not fit are counted. Secrets are masked when it is read, so that a secret that came in
// two pieces is found. A nil Tap keeps nothing. It is safe for concurrent use.
type Tap struct {
	Recorder Recorder // gets each finished exchange; nil for none

	mu      sync.Mutex
	all     []*exchange // oldest first
	count   int         // number of exchanges ever started
	packing bool        // bodies are being compressed
}

// Limits of a Tap.
const (
	tapExchanges = 64
	tapBody      = 2 << 20  // bytes kept of a body, half of them from its end
	tapBytes     = 32 << 20 // of all bodies of finished exchanges; running ones are extra
	tapLoose     = 4 << 20  // of bodies that stay uncompressed
	tapPacked    = 8 << 20  // of compressed bodies
)

// maxRecordedBody bounds the recorded part of a body, in bytes.
const maxRecordedBody = 2 * MaxEvent

// A Recorder keeps finished exchanges.
type Recorder interface {
	Record(Exchange, []Chunk)
	Close() error
}

// A Replay answers requests in place of the network and of programs.
type Replay interface {
	// Transport returns a transport that answers the requests to a model of a provider.
	Transport(provider, model string) http.RoundTripper
	// Program answers for a program that would read stdin. It returns the program's standard output,
	// its exit status and the end of its standard error.
	Program(told Exchange, stdin []byte) (out []byte, status int, said string, err error)
	// Model returns the model of the first request to one, as provider/model; "" if there is none.
	Model() string
	// Remaining returns the number of exchanges with models that have not been replayed yet.
	Remaining() int
	// Err returns the error for the first request to a model that has no answer; nil for none.
	Err() error
}

// PlaceholderKey replaces a key where none is needed.
const PlaceholderKey = "no-key-is-needed-for-a-replay"

// Run is the method of an exchange with a program.
const Run = "RUN"

// An Exchange is one request and its answer. A retry is a separate exchange.
type Exchange struct {
	ID       int    // starts at 1
	Provider string // as configured
	Kind     string
	Model    string   // the provider's name for it; "" for requests without a model, such as for a list
	Key      string   // source of the key, such as "OPENAI_API_KEY"; never the key
	Method   string   // HTTP method, or Run
	URL      string   // without parts that may be secret; the program's name for Run
	Args     []string // arguments of a program
	Status   int      // HTTP status, or exit status of a program; see Headers
	Error    string   // category, such as "rate_limit"; "" for none
	Reason   string   // error message

	Timing
	Done bool

	Request, Response Message // without bodies in a list
}

// Timing holds the times of an exchange's events.
type Timing struct {
	Start     time.Time
	Headers   time.Duration // from Start to the headers; 0 if they did not come
	FirstByte time.Duration // from Start to the first byte of the body; 0 if there was none
	Duration  time.Duration // from Start to the end, or until now
}

// A Message is one side of an exchange.
type Message struct {
	Header  http.Header // secrets are [redacted]
	Body    string      // secrets are masked
	Tail    string      // end of the body, if Omitted bytes before it were dropped
	Omitted int64
	Bytes   int64 // size of the body, including omitted bytes
}

// List returns the kept exchanges, newest first, without bodies.
func (t *Tap) List() []Exchange {
	if t == nil {
		return nil
	}
	t.mu.Lock()
	kept := slices.Clone(t.all)
	t.mu.Unlock()
	slices.Reverse(kept)
	list := make([]Exchange, len(kept))
	for i, x := range kept {
		list[i] = x.read(false)
	}
	return list
}

// Exchange returns the exchange with this ID; false if it is not kept.
func (t *Tap) Exchange(id int) (Exchange, bool) {
	if t == nil {
		return Exchange{}, false
	}
	t.mu.Lock()
	i := slices.IndexFunc(t.all, func(x *exchange) bool { return x.info.ID == id })
	if i < 0 {
		t.mu.Unlock()
		return Exchange{}, false
	}
	x := t.all[i]
	t.mu.Unlock()
	return x.read(true), true
}

// begin adds an exchange.
func (t *Tap) begin(told Exchange, m mask) *exchange {
	if t == nil {
		return nil
	}
	half := tapBody / 2
	if t.Recorder != nil {
		half = maxRecordedBody / 2 // a recording contains the whole body
	}
	told.Start = time.Now()
	x := &exchange{tap: t, info: told, mask: m, request: boundedBody{half: half}, response: boundedBody{half: half}, keepsChunks: t.Recorder != nil}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.count++
	x.info.ID = t.count
	t.all = append(t.all, x)
	t.evict()
	t.pack()
	return x
}

// evict drops the oldest finished exchanges until the rest is within the limits. The tap must be
// locked.
func (t *Tap) evict() {
	sum, packed, sizes := 0, 0, make([][2]int, len(t.all))
	for i, x := range t.all {
		sizes[i] = x.size()
		sum += sizes[i][0]
		packed += sizes[i][1]
	}
	n := len(t.all)
	var stay []*exchange
	for i, x := range t.all {
		if (n > tapExchanges || sum > tapBytes || packed > tapPacked) && i < len(t.all)-1 && x.isDone() {
			sum -= sizes[i][0]
			packed -= sizes[i][1]
			n--
			continue
		}
		stay = append(stay, x)
	}
	t.all = stay
}

// An exchange is an Exchange being recorded by a Tap. A nil one records nothing.
type exchange struct {
	tap  *Tap
	mask mask

	mu                sync.Mutex
	info              Exchange
	request, response boundedBody
	keepsChunks       bool // record the pieces of the answer
	chunks            []Chunk
}

// A Chunk is a piece of an answer.
type Chunk struct {
	Bytes int
	At    time.Duration // since the start of the exchange
}

// Write adds a piece of the request body.
func (x *exchange) Write(p []byte) (int, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.info.Done { // the server answered before the request was complete
		return len(p), nil
	}
	return x.request.Write(p)
}

// onHeaders records the head of the answer.
func (x *exchange) onHeaders(status int, h http.Header) {
	if x == nil {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.info.Status, x.info.Response.Header = status, h.Clone()
	x.info.Headers = max(time.Since(x.info.Start), 1)
}

// onBytes records a piece of the answer.
func (x *exchange) onBytes(p []byte) {
	if x == nil || len(p) == 0 {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.info.Done {
		return
	}
	if x.info.FirstByte == 0 {
		x.info.FirstByte = max(time.Since(x.info.Start), 1)
	}
	x.response.Write(p)
	if x.keepsChunks {
		x.chunks = append(x.chunks, Chunk{len(p), time.Since(x.info.Start)})
	}
}

// end finishes the exchange, once. Err is why the answer is missing or incomplete.
func (x *exchange) end(err error) {
	if x == nil {
		return
	}
	x.mu.Lock()
	if x.info.Done {
		x.mu.Unlock()
		return
	}
	x.info.Done, x.info.Duration = true, time.Since(x.info.Start)
	if x.info.Error = Category(err); err != nil {
		x.info.Reason = errorLine(err)
	}
	chunks := x.chunks
	x.chunks = nil
	x.mu.Unlock()
	if x.tap.Recorder != nil {
		x.tap.Recorder.Record(x.read(true), chunks)
		x.mu.Lock()
		x.request.shrink(tapBody / 2)
		x.response.shrink(tapBody / 2)
		x.mu.Unlock()
	}
	x.tap.mu.Lock()
	x.tap.evict()
	x.tap.mu.Unlock()
}

func (x *exchange) isDone() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.info.Done
}

// size returns the memory used by the bodies, in bytes, and how much of it is compressed.
func (x *exchange) size() [2]int {
	x.mu.Lock()
	defer x.mu.Unlock()
	return [2]int{x.request.size() + x.response.size(), x.request.packed.bytes() + x.response.packed.bytes()}
}

// looseSize returns the number of bytes that could be compressed.
func (x *exchange) looseSize() int {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.request.looseSize() + x.response.looseSize()
}

// read returns the exchange as an Exchange with its secrets masked, including the bodies if bodies
// is set.
func (x *exchange) read(bodies bool) Exchange {
	x.mu.Lock()
	e := x.info
	e.Request.Bytes, e.Response.Bytes = x.request.total, x.response.total
	if !e.Done {
		e.Duration = time.Since(e.Start)
	}
	var parts [2]bodyCopy
	if bodies {
		parts = [2]bodyCopy{x.request.copy(), x.response.copy()}
	}
	x.mu.Unlock()
	e.Args = slices.Clone(e.Args)
	for i, arg := range e.Args {
		e.Args[i] = x.mask.Text(arg)
	}
	e.URL, e.Reason = x.mask.Text(e.URL), x.mask.Text(e.Reason)
	for i, side := range []*Message{&e.Request, &e.Response} {
		side.Header = x.mask.secretHeaders(side.Header)
		if bodies {
			side.Body, side.Tail, side.Omitted = x.mask.body(parts[i], i == 1 && (!e.Done || e.Error != ""))
		}
	}
	return e
}

// errorLine returns the text of err on one line.
func errorLine(err error) string {
	apiErr := (*llm.Error)(nil)
	if errors.As(err, &apiErr) {
		return oneLine(cmp.Or(apiErr.Message, string(apiErr.Fault)), messageLimit)
	}
	return oneLine(err.Error(), messageLimit)
}

// beginExchange starts an exchange for req and copies its body.
func (t *transport) beginExchange(req *http.Request) *exchange {
	x := t.Tap.begin(Exchange{
		Provider: t.Provider, Kind: t.Log.Kind, Model: t.Log.Model, Key: t.Key,
		Method: req.Method, URL: publicURL(req.URL), Request: Message{Header: req.Header.Clone()},
	}, t.mask)
	if x == nil || req.Body == nil || req.Body == http.NoBody {
		return x
	}
	if req.GetBody != nil { // the body may be sent more than once
		if body, err := req.GetBody(); err == nil {
			_, _ = io.Copy(x, body) // a body that cannot be read cannot be sent either
			body.Close()
			return x
		}
	}
	req.Body = struct {
		io.Reader
		io.Closer
	}{io.TeeReader(req.Body, x), req.Body}
	return x
}

// A ProgramExchange is the run of another agent's program for one answer, as recorded by a tap. A
// nil one records nothing.
type ProgramExchange struct{ x *exchange }

// Program starts an exchange for a program. Told has its name and Args; stdin is its standard
// input. Secrets are masked.
func (t *Tap) Program(told Exchange, stdin []byte, secrets []string) *ProgramExchange {
	if t == nil {
		return nil
	}
	told.Method = Run
	x := t.begin(told, newMask(secrets))
	_, _ = x.Write(stdin) // into memory
	return &ProgramExchange{x}
}

// WriteLine adds a line of standard output, without its line end.
func (p *ProgramExchange) WriteLine(line []byte) {
	if p != nil {
		p.x.onBytes(append(line[:len(line):len(line)], '\n'))
	}
}

// End finishes the exchange of a program that exited with status; said is the end of its standard
// error. Err is why there is no answer.
func (p *ProgramExchange) End(status int, said string, err error) {
	if p == nil {
		return
	}
	var h http.Header
	if said != "" {
		h = http.Header{StderrHeader: {said}}
	}
	p.x.onHeaders(status, h)
	p.x.end(err)
}

// Names that a program's exchange uses in place of header names.
const (
	SystemHeader = "System-Prompt" // of the request: the prompt is in a separate file
	StderrHeader = "Stderr"        // of the answer: the end of standard error
)
