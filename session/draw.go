package session

import (
	"context"
	"iter"
	"slices"
	"strings"

	"parley/providers/llm"
	"parley/session/store"
)

// Draw asks an image model, whose Origin is llm.OriginImages, and keeps its answer as any
// other: the next request to the session's model shows it. Parts are the prompt and images to
// change; if there is none of these and the conversation stands at an image that was drawn
// here, that one is changed, unless anew, and goes with the prompt. Without parts the last
// prompt for an image is drawn again. Its events are those of [Session.Turn].
func (s *Session) Draw(ctx context.Context, model llm.Endpoint, anew bool, parts ...llm.Part) iter.Seq[Event] {
	return s.loop(ctx, func(t *turn) error { return draw(t, model, anew, parts) })
}

func draw(t *turn, model llm.Endpoint, anew bool, parts []llm.Part) error {
	if len(parts) == 0 { // what the last prompt was drawn from stands in it
		if err := t.prepareRetry(); err != nil {
			return err
		}
		path := t.Path()
		parts = path[len(path)-1].Parts
	} else {
		if !anew && (!model.Known || model.Vision) {
			parts = append(lastDrawn(t.Path(), parts), parts...)
		}
		n := t.append(llm.Message{Role: llm.RoleUser, Model: model.Name, Parts: parts})
		set(t.Session, &t.turnSeq, n.Seq)
		t.saveInfo()
		t.emit(Prompt{Message: n.Message, Seq: n.Seq})
	}
	if err := checkExpense(t, model); err != nil {
		return err
	}
	t.done.Steps = 1
	request := llm.Request{Session: t.id, Messages: []llm.Message{{Role: llm.RoleUser, Parts: parts}}}
	if _, _, err := streamFrom(t, 1, model, request); err != nil {
		return err
	}
	m, ok := t.dequeue()
	if !ok {
		return nil
	}
	t.prompt(m)
	return answer(t)
}

// lastDrawn returns the images that were drawn in the last message of path; none if prompt
// brings its own.
func lastDrawn(path []store.Node, prompt []llm.Part) (drawn []llm.Part) {
	isImage := func(p llm.Part) bool { return p.Kind == llm.Media && strings.HasPrefix(p.MIME, "image/") }
	for n := len(path); n > 0 && path[n-1].Role == llm.RoleUser && path[n-1].Model != "" && !path[n-1].Summary; n-- {
		path = path[:n-1] // it was refused, or stopped
	}
	if len(path) == 0 || slices.ContainsFunc(prompt, isImage) {
		return nil
	}
	last := path[len(path)-1]
	for _, p := range last.Parts {
		if last.Role == llm.RoleAssistant && isImage(p) && len(p.Data) > 0 {
			drawn = append(drawn, p)
		}
	}
	return drawn
}

// DrawnBy returns the image model that the message seq, or the prompt before it, was meant
// for; "" if it was for the session's model.
func DrawnBy(s *Session, seq int) string {
	n, err := s.At(seq)
	for err == nil && (n.Role != llm.RoleUser || n.Summary) {
		n, err = s.At(n.Parent)
	}
	if err != nil {
		return ""
	}
	return n.Model
}
