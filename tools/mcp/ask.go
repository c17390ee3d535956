package mcp

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"parley/providers/llm"
	"parley/tools/sanitize"
)

//lint:file-ignore SA1019 Roots and sampling are what servers use today: the protocol keeps them until July 2027 at least.

// A Question is a request of a server to the user: to fill in a form, to open a page, or to let the
// model answer. Its text is the server's, sanitized and without its credentials. One of Answer,
// AnswerSample, Decline and Cancel ends it.
type Question struct {
	Server string
	Text   string  // what the server says
	URL    string  // of the page to open; "": it is no page
	Opened bool    // the user agreed to open the page: Answer now means that it is done
	Fields []Field // of the form

	Sample *llm.Request // what the model is to answer, without tools; nil for other questions

	Refused string // why it was declined before a user saw it; "": it waits for an answer

	once   sync.Once
	answer chan reply
	ended  <-chan struct{} // closed when nobody waits for the answer any more
	gone   <-chan struct{} // closed when the connection has ended
	idle   <-chan struct{} // closed when the calls that may have asked have ended; nil: there was none
	done   <-chan struct{} // closed when the server says that the page is done; nil: it does not say
}

// reply is what a user said to a question.
type reply struct {
	action string // as MCP has it
	values map[string]any
	text   string // of the model
	model  string
}

// Answers of a user to a question: MCP's elicitation.
const (
	actionAccept  = "accept"
	actionDecline = "decline"
	actionCancel  = "cancel"
)

// Answer accepts, with the values of the fields by their names; nil without fields.
func (q *Question) Answer(values map[string]any) {
	q.reply(reply{action: actionAccept, values: values})
}

// AnswerSample accepts with the answer text of the model called name.
func (q *Question) AnswerSample(text, name string) {
	q.reply(reply{action: actionAccept, text: text, model: name})
}

// Decline refuses the request.
func (q *Question) Decline() { q.reply(reply{action: actionDecline}) }

// Cancel dismisses the question without an answer.
func (q *Question) Cancel() { q.reply(reply{action: actionCancel}) }

func (q *Question) reply(r reply) { q.once.Do(func() { q.answer <- r }) }

// Ended returns a channel that is closed when the server no longer waits for the answer; nil if it
// never did.
func (q *Question) Ended() <-chan struct{} { return q.ended }

// Done reports whether the server said that the page is done.
func (q *Question) Done() bool { return isClosed(q.done) }

// Over reports whether the server no longer waits for the answer.
func (q *Question) Over() bool { return isClosed(q.ended) }

// WhyOver says why nobody waits for the answer any more; "" if the server does not say, or somebody does.
func (q *Question) WhyOver() string {
	switch {
	case isClosed(q.gone):
		return "its connection has ended"
	case isClosed(q.idle):
		return "the call that asked has ended"
	}
	return ""
}

// isClosed reports whether a channel is closed; one that is nil is not.
func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// Waiting returns a context that ends with ctx, or when the server no longer waits for the answer.
func (q *Question) Waiting(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		select {
		case <-q.ended:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

// maxQuestions bounds the questions of one server that wait at a time.
const maxQuestions = 4

// questions holds the questions of all servers that no user has seen yet.
type questions struct {
	mu      sync.Mutex
	waiting []*Question
}

// add queues a question, and reports false if too many of its server wait.
func (all *questions) add(q *Question) bool {
	all.mu.Lock()
	defer all.mu.Unlock()
	all.waiting = slices.DeleteFunc(all.waiting, (*Question).Over)
	n := 0
	for _, other := range all.waiting {
		if other.Server == q.Server {
			n++
		}
	}
	if n < maxQuestions {
		all.waiting = append(all.waiting, q)
	}
	return n < maxQuestions
}

// NextQuestion removes and returns the first waiting question; nil if none waits.
func (all *Servers) NextQuestion() *Question {
	all.questions.mu.Lock()
	defer all.questions.mu.Unlock()
	for len(all.questions.waiting) > 0 {
		q := all.questions.waiting[0]
		all.questions.waiting = all.questions.waiting[1:]
		if !q.Over() {
			return q
		}
	}
	return nil
}

// inFlight counts the calls and questions of a server that have not ended.
type inFlight struct {
	asking atomic.Int32 // questions that wait

	mu    sync.Mutex
	calls int
	idle  chan struct{} // closed when no call is under way any more; nil: none is
	pages []*pageWait   // that requests wait for
}

// begin counts a call until end.
func (f *inFlight) begin() (end func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.calls++; f.calls == 1 {
		f.idle = make(chan struct{})
	}
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.calls--; f.calls == 0 {
			close(f.idle)
			f.idle = nil
		}
	}
}

// untilIdle calls then once no call is in flight, unless ctx ends before; never if none is now. It
// returns a channel that is closed by then; nil if none is in flight.
func (f *inFlight) untilIdle(ctx context.Context, then func()) (idle <-chan struct{}) {
	f.mu.Lock()
	idle = f.idle
	f.mu.Unlock()
	if idle == nil {
		return nil
	}
	go func() {
		select {
		case <-idle:
			then()
		case <-ctx.Done():
		}
	}()
	return idle
}

// askUser queues a question, with its text sanitized, and waits for the answer until ctx, the
// connection or the calls in flight end. Meanwhile the time limit of the call that it belongs to
// stands still.
func askUser(ctx context.Context, s *server, q *Question) reply {
	if !s.opts.Interactive {
		return reply{action: actionDecline}
	}
	s.mu.Lock()
	life := s.life
	s.mu.Unlock()
	if life == nil { // it asks before it is connected
		return reply{action: actionCancel}
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(life, cancel)()
	q.gone, q.idle = life.Done(), s.untilIdle(ctx, cancel) // a server need not take back what it asked for a call that was canceled
	q.Server, q.Text = s.name, s.lockedSecrets().sanitizeText(q.Text, maxQuestionText)
	q.answer = make(chan reply, 1)
	if q.Refused == "" {
		q.ended = ctx.Done()
	}
	s.asking.Add(1) // before anybody sees the question
	defer s.asking.Add(-1)
	if !s.questions.add(q) || q.Refused != "" {
		s.notifyChange()
		return reply{action: actionDecline}
	}
	s.notifyChange()
	select {
	case r := <-q.answer:
		return r
	case <-q.done:
		return reply{action: actionAccept}
	case <-ctx.Done():
		return reply{action: actionCancel}
	}
}

// maxQuestionText bounds what a server says in a question, in characters.
const maxQuestionText = 2000

// elicit handles an elicitation request of a server.
func elicit(ctx context.Context, s *server, p *sdk.ElicitParams) (*sdk.ElicitResult, error) {
	q := &Question{Text: p.Message}
	var err error
	if p.URL != "" || p.Mode == "url" {
		q.URL, err = pageURL(p.URL, s.lockedSecrets())
	} else {
		q.Fields, err = parseFields(p.RequestedSchema, s.lockedSecrets())
	}
	var secret *secretFieldError
	switch {
	case errors.As(err, &secret):
		q.Refused = err.Error()
	case err != nil:
		return nil, err
	}
	answer := askUser(ctx, s, q)
	return &sdk.ElicitResult{Action: answer.action, Content: answer.values}, nil
}

// samplingLimit bounds what a server has the model answer, in tokens.
const samplingLimit = 16_000

// sample handles a sampling request of a server: the model answers if the user agrees.
func sample(ctx context.Context, s *server, p *sdk.CreateMessageParams) (*sdk.CreateMessageResult, error) {
	req, err := sampleRequest(p, s.lockedSecrets())
	if err != nil {
		return nil, err
	}
	answer := askUser(ctx, s, &Question{Sample: req})
	if answer.action != actionAccept {
		return nil, errors.New("the user did not allow this")
	}
	return &sdk.CreateMessageResult{Role: "assistant", Model: answer.model, StopReason: "endTurn", Content: &sdk.TextContent{Text: answer.text}}, nil
}

// sampleRequest returns what a server wants the model to answer, as a user can see it.
func sampleRequest(p *sdk.CreateMessageParams, mask secretMask) (*llm.Request, error) {
	req := &llm.Request{System: mask.sanitizeText(p.SystemPrompt, maxText)}
	left := maxText
	for _, m := range p.Messages {
		if m == nil {
			continue
		}
		text, ok := m.Content.(*sdk.TextContent)
		if !ok {
			return nil, errors.New("only text can be sent to the model here")
		}
		role := llm.RoleUser
		if m.Role == "assistant" {
			role = llm.RoleAssistant
		}
		plain := mask.sanitizeText(text.Text, max(left, 1))
		if left -= len([]rune(plain)); left <= 0 {
			return nil, fmt.Errorf("more than %d characters cannot be sent to the model here", maxText)
		}
		if n := len(req.Messages); n > 0 && req.Messages[n-1].Role == role {
			req.Messages[n-1].Parts[0].Text += "\n\n" + plain
			continue
		}
		req.Messages = append(req.Messages, llm.Message{Role: role, Parts: []llm.Part{{Kind: llm.Text, Text: plain}}})
	}
	if len(req.Messages) == 0 || req.Messages[len(req.Messages)-1].Role != llm.RoleUser {
		return nil, errors.New("the last message to the model must be the user's")
	}
	req.MaxTokens = int(min(max(p.MaxTokens, 1), samplingLimit))
	if p.Temperature > 0 {
		req.Temperature = &p.Temperature
	}
	for _, stop := range p.StopSequences[:min(len(p.StopSequences), 4)] {
		req.Stop = append(req.Stop, mask.sanitizeText(stop, 100))
	}
	req.Stop = slices.DeleteFunc(req.Stop, func(stop string) bool { return stop == "" })
	return req, nil
}

// SampleText returns what a server has the model answer, for the user who allows it: what it wrote
// is quoted, so that none of it passes for the role above it.
func (q *Question) SampleText() string {
	var b strings.Builder
	if q.Sample.System != "" {
		fmt.Fprintf(&b, "── System prompt\n%s\n\n", sanitize.Quote(q.Sample.System))
	}
	for _, m := range q.Sample.Messages {
		fmt.Fprintf(&b, "── %s\n%s\n\n", map[llm.Role]string{llm.RoleUser: "User", llm.RoleAssistant: "Assistant"}[m.Role], sanitize.Quote(m.Text()))
	}
	return strings.TrimSpace(b.String())
}
