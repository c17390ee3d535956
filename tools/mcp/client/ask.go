package client

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"parley/providers/llm"
	"parley/tools/mcp"
)

//lint:file-ignore SA1019 Roots and sampling are what servers use today: the protocol keeps them until July 2027 at least.

// isClosed reports whether a channel is closed; a nil channel is not.
func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// maxQuestions bounds the waiting questions of one server.
const maxQuestions = 4

// questions holds the questions of all servers that the user has not seen.
type questions struct {
	mu      sync.Mutex
	waiting []*mcp.Question
}

// add queues a question; it returns false if its server has too many waiting.
func (all *questions) add(q *mcp.Question) bool {
	all.mu.Lock()
	defer all.mu.Unlock()
	all.waiting = slices.DeleteFunc(all.waiting, (*mcp.Question).Over)
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

// NextQuestion implements mcp.Servers.
func (all *servers) NextQuestion() *mcp.Question {
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

// inFlight counts the running calls and questions of a server.
type inFlight struct {
	asking atomic.Int32 // questions that wait

	mu    sync.Mutex
	calls int
	idle  chan struct{} // closed when no call is running any more; nil: none is running
	pages []*pageWait   // pages that requests wait for
}

// begin counts a call until end is called.
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

// untilIdle calls then once no call is running, unless ctx ends first; it never does if none is
// running now. It returns a channel that is closed by then; nil if none is running.
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

// askUser queues a question with sanitized text, and waits for the answer until ctx, the
// connection or the running calls end. The time limit of the call is paused meanwhile.
func askUser(ctx context.Context, s *server, q *mcp.Question) mcp.Reply {
	if !s.opts.Interactive {
		return mcp.Reply{Action: mcp.ActionDecline}
	}
	s.mu.Lock()
	life := s.conn.life
	s.mu.Unlock()
	if life == nil { // the server asks before it is connected
		return mcp.Reply{Action: mcp.ActionCancel}
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(life, cancel)()
	idle := s.calls.untilIdle(ctx, cancel) // a server may not withdraw a question of a canceled call
	q.WhyOver = func() string {
		switch {
		case life.Err() != nil:
			return "its connection has ended"
		case isClosed(idle):
			return "the call that asked has ended"
		}
		return ""
	}
	q.Server, q.Text = s.name, s.lockedSecrets().sanitizeText(q.Text, maxQuestionText)
	answer := make(chan mcp.Reply, 1)
	q.Reply = func(r mcp.Reply) {
		select {
		case answer <- r:
		default: // one is waiting already
		}
	}
	if q.Refused == "" {
		q.Ended = ctx.Done()
	}
	s.calls.asking.Add(1) // count it before the user sees the question
	defer s.calls.asking.Add(-1)
	if !s.questions.add(q) || q.Refused != "" {
		s.notifyChange()
		return mcp.Reply{Action: mcp.ActionDecline}
	}
	s.notifyChange()
	select {
	case r := <-answer:
		return r
	case <-q.PageDone:
		return mcp.Reply{Action: mcp.ActionAccept}
	case <-ctx.Done():
		return mcp.Reply{Action: mcp.ActionCancel}
	}
}

// maxQuestionText is the longest text of a question, in characters.
const maxQuestionText = 2000

// elicit handles an elicitation request of a server.
func elicit(ctx context.Context, s *server, p *sdk.ElicitParams) (*sdk.ElicitResult, error) {
	q := &mcp.Question{Text: p.Message}
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
	return &sdk.ElicitResult{Action: answer.Action, Content: answer.Values}, nil
}

// samplingLimit is the longest answer to a server's sampling request, in
// tokens.
const samplingLimit = 16_000

// sample handles a sampling request of a server: the model answers if the user approves.
func sample(ctx context.Context, s *server, p *sdk.CreateMessageParams) (*sdk.CreateMessageResult, error) {
	req, err := sampleRequest(p, s.lockedSecrets())
	if err != nil {
		return nil, err
	}
	answer := askUser(ctx, s, &mcp.Question{Sample: req})
	if answer.Action != mcp.ActionAccept {
		return nil, errors.New("the user did not allow this")
	}
	return &sdk.CreateMessageResult{Role: "assistant", Model: answer.Model, StopReason: "endTurn", Content: &sdk.TextContent{Text: answer.Text}}, nil
}

// sampleRequest converts a server's sampling request into a request that the user can see.
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
