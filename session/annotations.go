package session

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"time"

	"parley/providers/llm"
	"parley/session/store"
	"parley/tools/act"
)

// maxAnnotationText is how many bytes of one text an annotation keeps.
const maxAnnotationText = 64 << 10

// storedEvents maps the kinds of events shown between messages to their zero values.
var storedEvents = map[string]Event{
	"notice": llm.Notice{}, "sandbox": Sandbox{}, "retry": llm.Retry{}, "fallback": Fallback{}, "switch": ModelSwitched{},
	"compacted": Compacted{}, "shell": ShellCommand{}, kindOpinion: Opinion{}, "verdict": Verdict{}, "dropped": DroppedCall{},
	store.KindDone: Done{}, store.KindPersona: Persona{}, store.KindDirectories: AddedDirectories{},
	store.KindSettings: Settings{}, store.KindAbandoned: Abandoned{},
}

// kindOf returns the kind under which e is stored, and e with long texts shortened; "" if e is not
// stored.
func kindOf(e Event) (string, Event) {
	kind := ""
	for k, zero := range storedEvents {
		if reflect.TypeOf(zero) == reflect.TypeOf(e) {
			kind = k
		}
	}
	shorten := func(texts ...*string) {
		for _, text := range texts {
			*text = elideMiddle(*text, maxAnnotationText)
		}
	}
	switch e := e.(type) {
	case llm.Notice:
		shorten(&e.Text)
		return kind, e
	case Sandbox:
		shorten(&e.Text)
		return kind, e
	case ShellCommand:
		shorten(&e.Command, &e.Output, &e.Notes)
		return kind, e
	case Opinion:
		shorten(&e.Question, &e.Answer)
		return kind, e
	case DroppedCall:
		shorten(&e.Name, &e.Input)
		return kind, e
	case Done:
		if e.Err == nil {
			return "", nil
		}
	}
	return kind, e
}

// EndedCommand returns the record of a command with its outcome. Ctx is the command's context.
func EndedCommand(ctx context.Context, command string, out act.Outcome) ShellCommand {
	c := ShellCommand{Command: command, Output: strings.TrimSuffix(out.Text, out.Notes), Notes: out.Notes, Failed: out.Failed, Stopped: out.Failed && ctx.Err() != nil, Ended: true, Duration: out.Duration}
	return c.withNotes()
}

// withNotes returns c with the last line of its output as notes if it has none. That line says how the
// command ended; older records store it in the output.
func (c ShellCommand) withNotes() ShellCommand {
	if c.Ended && c.Notes == "" {
		output := strings.TrimRight(c.Output, "\n")
		at := strings.LastIndexByte(output, '\n') + 1
		c.Output, c.Notes = output[:at], output[at:]
	}
	return c
}

// DecodeAnnotation returns the event that a holds; nil if this version does not know it.
func DecodeAnnotation(a Annotation) Event {
	zero, known := storedEvents[a.Kind]
	if !known {
		return nil
	}
	e := reflect.New(reflect.TypeOf(zero))
	if json.Unmarshal(a.Data, e.Interface()) != nil {
		return nil
	}
	if c, ok := e.Interface().(*ShellCommand); ok {
		return c.withNotes()
	}
	return e.Elem().Interface()
}

// Annotate stores an event that a front end shows between the messages, or
// replaces annotation n, and returns its number. It does not wait for the disk.
// The turn itself stores the events of a turn.
func (c *conversation) Annotate(n int, e Event) int {
	return locked(&c.mu, func() int { return c.annotateBetween(n, e) })
}

// annotateBetween is Annotate with the session locked.
func (c *conversation) annotateBetween(n int, e Event) int {
	a := c.tree.newAnnotation(c.now())
	a.Part, a.Idle = c.partial.visibleParts(), c.turnSeq == 0
	if i, found := slices.BinarySearchFunc(c.tree.annotations, n, compareN); found {
		a = c.tree.annotations[i]
	}
	if c.putAnnotation(a, e) && c.log != nil {
		go func() { _ = c.log.Flush() }() // as in persist
	}
	return a.N
}

// annotate stores an event of the turn if it is of a stored kind. Part is the
// number of parts of the running response before it.
func (t *turn) annotate(e Event, part int) {
	t.mu.Lock()
	a := t.tree.newAnnotation(t.now())
	a.Part, a.Idle = part, t.turnSeq == 0 // such as a summary that the user asked for
	stored := t.putAnnotation(a, e)
	t.mu.Unlock()
	if stored && t.log != nil {
		_ = t.log.Flush() // as in persist
	}
}

// newAnnotation returns an annotation at the end of the current branch.
func (t *tree) newAnnotation(at time.Time) store.Annotation {
	a := store.Annotation{N: 1, After: t.head, Next: t.count + 1, At: at}
	if n := len(t.annotations); n > 0 {
		a.N = t.annotations[n-1].N + 1
	}
	return a
}

// putAnnotation adds a, which holds e, or replaces the annotation with the same N,
// also in the log. It reports whether e is of a stored kind. The caller locks the
// session.
func (c *conversation) putAnnotation(a store.Annotation, e Event) bool {
	var err error
	a.Kind, e = kindOf(e)
	if a.Data, err = json.Marshal(e); err != nil || a.Kind == "" {
		return false
	}
	changed := []store.Annotation{a}
	if dropped, ok := c.tree.annotate(a); ok {
		changed = append(changed, store.Annotation{N: dropped})
	}
	if c.log != nil {
		for _, a := range changed {
			c.log.Annotate(a)
		}
	}
	return true
}

// annotate adds a, or replaces the annotation with the same N. If one place has too
// many, it drops the oldest and returns its N.
func (t *tree) annotate(a store.Annotation) (dropped int, ok bool) {
	if i, found := slices.BinarySearchFunc(t.annotations, a.N, compareN); found {
		t.annotations[i] = a
		return 0, false
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
	if here <= store.MaxAnnotationsPerPlace {
		return 0, false
	}
	dropped = t.annotations[oldest].N
	t.annotations = slices.Delete(t.annotations, oldest, oldest+1)
	return dropped, true
}

func compareN(a store.Annotation, n int) int { return cmp.Compare(a.N, n) }

// recordDroppedCalls records the calls of an interrupted response, so that they stay visible.
func (t *turn) recordDroppedCalls(p *partialResponse) {
	for i, part := range p.draft.Visible() {
		if part.Kind == llm.Call && !part.Remote {
			t.annotate(DroppedCall{Name: part.Name, Input: part.Input}, i)
		}
	}
}

// storedDone is the stored form of Done: its text, and the facts that hints need.
type storedDone struct {
	Text  string     `json:"text"`
	Is    string     `json:"is,omitempty"`    // one of ends
	Error *llm.Error `json:"error,omitempty"` // without its text, which is in Text
	Whole bool       `json:"whole,omitempty"`
	Ended bool       `json:"ended,omitempty"` // the error is ErrProgramEnded
}

// endErrors holds the errors, besides those of models, that front ends distinguish.
var endErrors = []error{ErrSteps, ErrBudget, ErrSchema, context.Canceled}

// MarshalJSON implements json.Marshaler. It stores the reason if the turn ended early.
func (d Done) MarshalJSON() ([]byte, error) {
	s := storedDone{Text: elideMiddle(d.Err.Error(), maxAnnotationText), Whole: d.AnswerComplete, Ended: errors.Is(d.Err, ErrProgramEnded)}
	for _, end := range endErrors {
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
	var s storedDone
	if err := json.Unmarshal(data, &s); err != nil {
		return err
	}
	e := &restoredError{text: s.Text}
	for _, end := range endErrors {
		if s.Is == end.Error() {
			e.is = append(e.is, end)
		}
	}
	if s.Ended {
		e.is = append(e.is, ErrProgramEnded)
	}
	if s.Error != nil {
		e.is = append(e.is, s.Error)
	}
	d.Err, d.AnswerComplete = e, s.Whole
	return nil
}

// A restoredError is a decoded error that ended a turn.
type restoredError struct {
	text string
	is   []error
}

func (e *restoredError) Error() string   { return e.text }
func (e *restoredError) Unwrap() []error { return e.is }
