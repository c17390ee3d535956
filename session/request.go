package session

import (
	"fmt"

	"parley/providers/llm"
	"parley/session/store"
)

// perMessage is about what a message takes beside its text, and each call and
// result in it; image what a picture does.
const (
	messageOverhead = 10
	imageTokens     = 1500
)

// messages is what path holds for a model: a summary stands for everything in
// front of it.
func messages(path []store.Node) []llm.Message {
	from := 0
	for i, n := range path {
		if n.Summary {
			from = i
		}
	}
	out := make([]llm.Message, 0, len(path)-from)
	for _, n := range path[from:] {
		if len(n.Parts) > 0 {
			out = append(out, n.Message)
		}
	}
	return out
}

// messages is the current branch, whole.
func (t *Tree) messages() []llm.Message {
	var out []llm.Message
	for _, n := range t.Path() {
		if len(n.Parts) > 0 && !n.Summary {
			out = append(out, n.Message)
		}
	}
	return out
}

// Request is what the next request would be if parts were sent now. It changes
// nothing.
func (s *Session) Request(parts ...llm.Part) (llm.Endpoint, llm.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	req, _ := s.compile(parts)
	return s.model, req
}

// request is the next request of the turn. What the history mode leaves out of
// it is told when it changes.
func (t *turn) request() (llm.Endpoint, llm.Request) {
	t.mu.Lock()
	model := t.model
	req, left := t.compile(nil)
	t.mu.Unlock()
	if left > t.omittedTurns {
		what := "turn is"
		if left > 1 {
			what = "turns are"
		}
		t.emit(llm.Notice{Text: fmt.Sprintf("the oldest %d %s left out of requests: %s has room for %d tokens", left, what, model.Name, model.Context)})
	}
	t.omittedTurns = left
	return model, req
}

// compile makes a request of the current branch, with parts behind it, and says
// how many turns were left out of it. The session is locked.
func (s *Session) compile(parts []llm.Part) (req llm.Request, left int) {
	path := s.tree.Path()
	if len(parts) > 0 {
		path = append(path, store.Node{Message: llm.Message{Role: llm.RoleUser, Parts: parts}})
	}
	req = s.emptyRequest()
	switch s.mode {
	case HistoryStateless:
		path = path[turnStart(path, s.turnSeq):]
	case HistoryDynamic:
		path, left = s.newestTurns(path, s.messageBudget(req))
	}
	req.Messages, _ = s.model.Portable(messages(path))
	return req, left
}

// turnStart is where in path the turn begins that runs or is to run. Began is as in
// Session.
func turnStart(path []store.Node, began int) int {
	from := 0
	for i, n := range path {
		if n.Role == llm.RoleUser && !n.Summary && (began == 0 || n.Seq <= began) {
			from = i
		}
	}
	return from
}

// messageBudget is how many tokens of the model's window messages may take; 0 if the
// window is unknown. A share stays free for the answer and for what the
// estimate is wrong by.
func (s *Session) messageBudget(req llm.Request) int {
	if s.model.Context <= 0 {
		return 0
	}
	answer := min(s.model.Context/4, 16<<10)
	if req.MaxTokens > 0 {
		answer = min(req.MaxTokens, s.model.Context/2)
	}
	return max(s.model.Context*9/10-answer-s.overhead(req), 1)
}

// overhead is about what a request takes beside its messages. It is the same
// throughout a session, but for a model that gets no tools.
func (s *Session) overhead(req llm.Request) int {
	if s.extra[0] == 0 {
		s.extra[0] = s.estimateTokens(req.System) + 1
	}
	if len(req.Tools) == 0 {
		return s.extra[0]
	}
	if s.extra[1] == 0 || s.known != len(req.Tools) {
		s.extra[1], s.known = s.extra[0], len(req.Tools)
		for _, t := range req.Tools {
			s.extra[1] += s.estimateTokens(t.Description) + s.estimateTokens(string(t.Schema)) + messageOverhead
		}
	}
	return s.extra[1]
}

// newestTurns leaves out the oldest whole turns of path until the rest takes no more
// than room; the last one always stays.
func (s *Session) newestTurns(path []store.Node, room int) (rest []store.Node, left int) {
	if room == 0 {
		return path, 0
	}
	last, size := turnStart(path, s.turnSeq), 0
	cut := len(path)
	for i := len(path) - 1; i >= 0; i-- {
		size += s.messageTokens(path[i])
		if path[i].Role != llm.RoleUser {
			continue
		}
		if size > room && i < last {
			break
		}
		cut = i
	}
	cut = min(cut, last)
	for _, n := range path[:cut] {
		if n.Role == llm.RoleUser {
			left++
		}
	}
	return path[cut:], left
}

// messageTokens is about how many tokens a message takes in a request. What will be
// thought of as private by the next model is counted all the same: too much is
// left out rather than too little.
func (s *Session) messageTokens(n store.Node) int {
	if size, ok := s.sizes[n.Seq]; ok && n.Seq > 0 {
		return size
	}
	size := messageOverhead
	for _, p := range n.Parts {
		switch p.Kind {
		case llm.Media:
			size += imageTokens
		case llm.Call, llm.Result:
			size += messageOverhead
		}
		size += s.estimateTokens(p.Text) + s.estimateTokens(p.Input)
	}
	if n.Seq > 0 && n.Seq <= len(s.tree.nodes) {
		s.sizes[n.Seq] = size
	}
	return size
}

// ContextTokens is about how many tokens the next request takes: what the provider
// counted last, and an estimate of what came after it.
func (s *Session) ContextTokens() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.contextTokens()
}

func (s *Session) contextTokens() int {
	size := 0
	for i := s.tree.head; i > 0; i = s.tree.nodes[i-1].Parent {
		n := s.tree.nodes[i-1]
		if n.Usage != nil && !n.Summary && n.Usage.Input > 0 {
			if n.Usage.Shared {
				return size + n.Usage.Input + s.messageTokens(n)
			}
			return size + n.Usage.Input + n.Usage.Output
		}
		size += s.messageTokens(n)
		if n.Summary {
			break
		}
	}
	if size == 0 {
		return 0
	}
	return size + s.overhead(s.emptyRequest())
}

// emptyRequest is a request without messages.
func (s *Session) emptyRequest() llm.Request {
	req := llm.Request{System: s.system, Effort: s.effort, Session: s.id, Settings: s.settings, AnswerSchema: s.answerSchema}
	set := s.turnTools
	if set == nil {
		set = s.tools
	}
	if set != nil && s.model.Strategy != "none" {
		req.Tools = set.Tools()
	}
	return req
}

// HistoryMode is what of the conversation requests hold.
func (s *Session) HistoryMode() History {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mode
}

// SetHistoryMode changes what later requests hold.
func (s *Session) SetHistoryMode(h History) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mode = h
}
