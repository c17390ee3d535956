package session

import (
	_ "embed"

	"parley/providers/llm"
)

// Instructions holds parley's own system prompt. It says nothing that changes from
// one request to the next (no clock, no working directory): providers cache it,
// and some bind what they sign to it.
//
//go:embed prompt.md
var Instructions string

// requestSettings holds what the next request asks for.
type requestSettings struct {
	model        llm.Endpoint
	effort       llm.Effort
	system       string
	answerSchema *llm.Schema // nil: free text
	mode         History
	omitsOldest  bool // in this turn, what does not fit is left out in spite of mode
	settings     llm.Settings
}

func get[T any](s *Session, field *T) T {
	return locked(&s.mu, func() T { return *field })
}

func set[T any](s *Session, field *T, value T) {
	s.mu.Lock()
	defer s.mu.Unlock()
	*field = value
}

// Model returns the model that the next request goes to.
func (s *Session) Model() llm.Endpoint { return get(s, &s.model) }

// SetModel makes the next request go to model, also in the middle of a turn, and
// returns what of the conversation has to be adapted for it. Nothing is lost:
// going back restores what the first model said, byte for byte.
func (s *Session) SetModel(model llm.Endpoint) ModelSwitched {
	s.mu.Lock()
	defer s.mu.Unlock()
	from := s.model.Name
	s.model, s.fallback.standIn, s.fallback.stoodIn = model, llm.Endpoint{}, ""
	_, changes := model.Portable(messages(s.tree.Path()))
	return ModelSwitched{From: from, To: model.Name, Changes: changes}
}

// Effort returns what the next request asks for.
func (s *Session) Effort() llm.Effort { return get(s, &s.effort) }

// SetEffort changes what later requests ask for.
func (s *Session) SetEffort(e llm.Effort) { set(s, &s.effort, e) }

// System returns the system prompt of the next request.
func (s *Session) System() string { return get(s, &s.system) }

// SetSystem changes the system prompt. What a provider has in its cache is then of
// no use.
func (s *Session) SetSystem(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.system = text
	s.tokens.reset()
}

// HistoryMode returns what of the conversation requests hold.
func (s *Session) HistoryMode() History { return get(s, &s.mode) }

// SetHistoryMode changes what of the conversation later requests hold.
func (s *Session) SetHistoryMode(h History) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mode = h
	s.tokens.branch = branchCounts{} // what was sent says something else now
}
