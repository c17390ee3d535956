package session

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"parley/providers/llm"
	"parley/session/store"
)

// maxAnnotated is how many bytes of one text an annotation keeps.
const maxAnnotated = 64 << 10

// stays maps the kinds of events that stay in sight between the messages to how
// they are read back.
var stays = map[string]func(data []byte) (Event, error){
	"notice": read[llm.Notice], "retry": read[llm.Retry], "fallback": read[Fallback], "switch": read[Switched],
	"compacted": read[Compacted], "shell": read[Shell], "dropped": read[Dropped], store.Left: read[Left], "done": read[Done],
}

func read[T Event](data []byte) (Event, error) {
	var e T
	err := json.Unmarshal(data, &e)
	return e, err
}

// kindOf returns the kind under which e is stored, and e without what is stored
// elsewhere or is too long; "" for an event that does not stay.
func kindOf(e Event) (string, Event) {
	switch e := e.(type) {
	case llm.Notice:
		e.Text = middle(e.Text, maxAnnotated)
		return "notice", e
	case llm.Retry:
		return "retry", e
	case Fallback:
		return "fallback", e
	case Switched:
		return "switch", e
	case Compacted:
		return "compacted", e
	case Shell:
		e.Command, e.Output = middle(e.Command, maxAnnotated), middle(e.Output, maxAnnotated)
		return "shell", e
	case Dropped:
		e.Name, e.Input = middle(e.Name, maxAnnotated), middle(e.Input, maxAnnotated)
		return "dropped", e
	case Left:
		return store.Left, e
	case Done:
		if e.Err != nil {
			return "done", e
		}
	}
	return "", nil
}

// EventOf returns the event that a holds; nil if this version does not know it.
func EventOf(a Annotation) Event {
	if read := stays[a.Kind]; read != nil {
		if e, err := read(a.Data); err == nil {
			return e
		}
	}
	return nil
}

// Annotate keeps an event that a front end shows between the messages, or puts it
// in the place of annotation n, and returns its number. It does not wait for the
// disk. Events of a turn are kept by the turn.
func (s *Session) Annotate(n int, e Event) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.tree.annotation(s.now())
	a.Idle = s.began == 0
	if i, found := slices.BinarySearchFunc(s.tree.annotations, n, byN); found {
		a = s.tree.annotations[i]
	}
	if s.tree.annotate(s.log, a, e) && s.log != nil {
		go func() { _ = s.log.Flush() }() // as in write
	}
	return a.N
}

// annotate keeps an event of the turn if it stays in sight. Part is how many parts
// of the running answer stand in front of it.
func (t *turn) annotate(e Event, part int) {
	t.mu.Lock()
	a := t.tree.annotation(t.now())
	a.Part = part
	kept := t.tree.annotate(t.log, a, e)
	t.mu.Unlock()
	if kept && t.log != nil {
		_ = t.log.Flush() // as in write
	}
}

// annotation returns an annotation for what is shown where the conversation stands.
func (t *Tree) annotation(at time.Time) store.Annotation {
	a := store.Annotation{N: 1, After: t.head, Next: len(t.nodes) + 1, At: at}
	if n := len(t.annotations); n > 0 {
		a.N = t.annotations[n-1].N + 1
	}
	return a
}

// annotate adds a, which holds e, or replaces the annotation with the same N, in
// the log as well, and reports whether e is of a kind that stays.
func (t *Tree) annotate(log *store.Log, a store.Annotation, e Event) bool {
	var err error
	a.Kind, e = kindOf(e)
	if a.Data, err = json.Marshal(e); err != nil || a.Kind == "" {
		return false
	}
	keep := func(a store.Annotation) {
		if log != nil {
			log.Annotate(a)
		}
	}
	keep(a)
	if i, found := slices.BinarySearchFunc(t.annotations, a.N, byN); found {
		t.annotations[i] = a
		return true
	}
	t.annotations = append(t.annotations, a)
	oldest, here := -1, 0
	for i, b := range t.annotations {
		if b.After == a.After && b.Next == a.Next {
			if here++; oldest < 0 {
				oldest = i
			}
		}
	}
	if here > store.MaxHere {
		keep(store.Annotation{N: t.annotations[oldest].N})
		t.annotations = slices.Delete(t.annotations, oldest, oldest+1)
	}
	return true
}

func byN(a store.Annotation, n int) int { return cmp.Compare(a.N, n) }

// Annotations returns what was shown between the messages of a path: at i in front
// of path[i] or between its parts, and last behind its end; see store.Along.
func (s *Session) Annotations(path []Node) [][]Annotation {
	s.mu.Lock()
	defer s.mu.Unlock()
	return store.Along(path, s.tree.annotations, func(seq int) (int, bool) {
		n, err := s.tree.At(seq)
		return n.Parent, err == nil
	})
}

// leave goes on from in front of the last answer if that broke off. It stays in
// sight, but on a branch of its own.
func (t *Tree) leave(log *store.Log, now time.Time) {
	if last, ok := t.Last(); ok && last.Role == llm.RoleAssistant && last.Interrupted {
		t.head = last.Parent
		t.annotate(log, t.annotation(now), Left{Seq: last.Seq})
	}
}

// dropCalls keeps the calls in sight that an answer that broke off had begun.
func (a *arriving) dropCalls(t *turn) {
	for i, p := range a.draft.Visible() {
		if p.Kind == llm.Call && !p.Remote {
			t.annotate(Dropped{Name: p.Name, Input: p.Input}, i)
		}
	}
}

// storedEnd is how Done is stored: what it says, and what hints are made of.
type storedEnd struct {
	Text  string     `json:"text"`
	Is    string     `json:"is,omitempty"`    // one of ends
	Error *llm.Error `json:"error,omitempty"` // without its words, which Text has
}

// ends are the errors besides those of models that front ends tell apart.
var ends = []error{ErrSteps, ErrBudget, ErrSchema, context.Canceled}

// MarshalJSON implements json.Marshaler. Of a turn that ended early it keeps how.
func (d Done) MarshalJSON() ([]byte, error) {
	s := storedEnd{Text: middle(d.Err.Error(), maxAnnotated)}
	for _, end := range ends {
		if errors.Is(d.Err, end) {
			s.Is = end.Error()
		}
	}
	var e *llm.Error
	if errors.As(d.Err, &e) {
		bare := *e
		bare.Message, bare.Err = "", nil
		s.Error = &bare
	}
	return json.Marshal(s)
}

// UnmarshalJSON implements json.Unmarshaler.
func (d *Done) UnmarshalJSON(data []byte) error {
	var s storedEnd
	if err := json.Unmarshal(data, &s); err != nil {
		return err
	}
	e := &earlyEnd{text: s.Text}
	for _, end := range ends {
		if s.Is == end.Error() {
			e.is = append(e.is, end)
		}
	}
	if s.Error != nil {
		e.is = append(e.is, s.Error)
	}
	d.Err = e
	return nil
}

// An earlyEnd is an error that ended a turn, read back.
type earlyEnd struct {
	text string
	is   []error
}

func (e *earlyEnd) Error() string   { return e.text }
func (e *earlyEnd) Unwrap() []error { return e.is }
