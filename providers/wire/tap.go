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

// A Tap keeps the last requests and their answers, byte for byte. Its memory is bounded, and bytes
// that do not fit are counted. Secrets are masked when it is read, so that one that came in two
// pieces is found. A nil Tap keeps nothing. It is safe for concurrent use.
type Tap struct {
	Recorder *Recorder // gets each exchange when it is over; nil for none

	mu      sync.Mutex
	all     []*exchange // the oldest first
	count   int         // of those there ever were
	packing bool        // bodies are being compressed
	before  packedBody  // of the last request that was; only what compresses looks at it
}

// Limits of a Tap.
const (
	tapExchanges = 64
	tapBody      = 2 << 20  // bytes of a body, half of them from its end
	tapBytes     = 32 << 20 // of all bodies; those that run come on top
	tapLoose     = 4 << 20  // of those that stay uncompressed for longer than a moment
	tapPacked    = 8 << 20  // of those that are compressed
)

// Run is the method of an exchange with a program.
const Run = "RUN"

// An Exchange is one request and what came back. A retry is one of its own.
type Exchange struct {
	ID       int    // counts from 1
	Provider string // as configured
	Kind     string
	Model    string   // as the provider calls it; "" for requests that ask none, such as for a list
	Key      string   // where the key comes from, such as "OPENAI_API_KEY"; never the key
	Method   string   // of HTTP, or Run
	URL      string   // without what may be secret; for Run the name of the program
	Args     []string // of a program
	Status   int      // of HTTP, or with which the program ended; see Headers
	Error    string   // category, such as "rate_limit"; "" if there is none
	Reason   string   // the same in words

	Timing
	Done bool

	Request, Response Message // without bodies in a list
}

// Timing is when the events of an exchange happened.
type Timing struct {
	Start     time.Time
	Headers   time.Duration // from Start until the headers came; 0: they did not
	FirstByte time.Duration // until the first byte of the body; 0: there was none
	Duration  time.Duration // until the end, or until now
}

// A Message is one side of an exchange.
type Message struct {
	Header  http.Header // secrets are [redacted]
	Body    string      // as it came, secrets masked
	Tail    string      // its end, where Cut bytes before it were not kept
	Omitted int64
	Bytes   int64 // of the body, kept or not
}

// List returns the exchanges that are kept, the newest first, without bodies.
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

// Exchange returns the exchange with this ID, if it is still kept.
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
		half = maxRecordedBody / 2 // a recording has all of it
	}
	told.Start = time.Now()
	x := &exchange{tap: t, info: told, mask: m, request: boundedBody{half: half}, response: boundedBody{half: half}, marksChunks: t.Recorder != nil}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.count++
	x.info.ID = t.count
	t.all = append(t.all, x)
	t.evict()
	t.pack()
	return x
}

// evict drops the oldest ended exchanges until the rest is within the bounds. The tap is locked.
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

// An exchange is an Exchange that the Tap records. A nil one records nothing.
type exchange struct {
	tap  *Tap
	mask mask

	mu                sync.Mutex
	info              Exchange
	request, response boundedBody
	marksChunks       bool // the pieces of the answer are noted
	marks             []chunkEnd
}

// A chunkEnd is the end of a piece of an answer.
type chunkEnd struct {
	bytes int
	at    time.Duration
}

// Write takes a piece of the body of the request.
func (x *exchange) Write(p []byte) (int, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.info.Done { // the server answered before it had all
		return len(p), nil
	}
	return x.request.Write(p)
}

// onHeaders notes the head of the answer.
func (x *exchange) onHeaders(status int, h http.Header) {
	if x == nil {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.info.Status, x.info.Response.Header = status, h.Clone()
	x.info.Headers = max(time.Since(x.info.Start), 1)
}

// onBytes notes a piece of the answer.
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
	if x.marksChunks {
		x.marks = append(x.marks, chunkEnd{len(p), time.Since(x.info.Start)})
	}
}

// end closes the exchange, once. Err is why the answer did not come, or broke
// off.
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
	marks := x.marks
	x.marks = nil
	x.mu.Unlock()
	if x.tap.Recorder != nil {
		x.tap.Recorder.write(x.read(true), marks)
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

// size returns how many bytes of memory the bodies take, and how many of them are compressed.
func (x *exchange) size() [2]int {
	x.mu.Lock()
	defer x.mu.Unlock()
	return [2]int{x.request.size() + x.response.size(), x.request.packed.bytes() + x.response.packed.bytes()}
}

// looseSize returns how many of them could be compressed.
func (x *exchange) looseSize() int {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.request.looseSize() + x.response.looseSize()
}

// read returns a report of the exchange, masked; with its bodies, if
// they are wanted.
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

// errorLine returns what err says, on one line.
func errorLine(err error) string {
	apiErr := (*llm.Error)(nil)
	if errors.As(err, &apiErr) {
		return oneLine(cmp.Or(apiErr.Message, string(apiErr.Fault)), messageLimit)
	}
	return oneLine(err.Error(), messageLimit)
}

// beginExchange begins to keep req, whose body it copies as it is sent.
func (t *transport) beginExchange(req *http.Request) *exchange {
	x := t.Tap.begin(Exchange{
		Provider: t.Provider, Kind: t.Log.Kind, Model: t.Log.Model, Key: t.Key,
		Method: req.Method, URL: publicURL(req.URL), Request: Message{Header: req.Header.Clone()},
	}, t.mask)
	if x == nil || req.Body == nil || req.Body == http.NoBody {
		return x
	}
	if req.GetBody != nil { // it may be sent more than once
		if body, err := req.GetBody(); err == nil {
			_, _ = io.Copy(x, body) // what cannot be read cannot be sent either
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

// A ProgramExchange is another agent's program on its way through one answer, for the
// tap. A nil one is not kept.
type ProgramExchange struct{ x *exchange }

// Program keeps the run of a program: told says what runs with which Args, which
// reads stdin. Secrets are masked.
func (t *Tap) Program(told Exchange, stdin []byte, secrets []string) *ProgramExchange {
	if t == nil {
		return nil
	}
	told.Method = Run
	x := t.begin(told, newMask(secrets))
	_, _ = x.Write(stdin) // into memory
	return &ProgramExchange{x}
}

// WriteLine takes a line of standard output, without its end.
func (p *ProgramExchange) WriteLine(line []byte) {
	if p != nil {
		p.x.onBytes(append(line[:len(line):len(line)], '\n'))
	}
}

// End closes the exchange of a program that ended with status, and with these
// last words on standard error. Err is why there is no answer.
func (p *ProgramExchange) End(status int, said string, err error) {
	if p == nil {
		return
	}
	var h http.Header
	if said != "" {
		h = http.Header{stderrHeader: {said}}
	}
	p.x.onHeaders(status, h)
	p.x.end(err)
}

// Names in the place of headers if a program is asked.
const (
	SystemHeader = "System-Prompt" // of the request: it is in a file of its own
	stderrHeader = "Stderr"        // of the answer: the last words on standard error
)
