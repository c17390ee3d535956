package session

import (
	"context"
	"iter"
	"slices"
	"strings"

	"parley/providers/llm"
	"parley/session/store"
)

// GenerateImage sends parts to an image model, whose Origin is llm.OriginImages, and stores its
// answer like any other, so that the session's model gets it with the next request. Parts are
// the prompt and the images to edit. Without images among them, those of the last answer are
// edited, unless anew is set. Without parts the last prompt is sent again. Its events are those
// of [Session.Turn].
func (s *Session) GenerateImage(ctx context.Context, model llm.Endpoint, anew bool, parts ...llm.Part) iter.Seq[Event] {
	return s.loop(ctx, func(t *turn) error { return generateImage(t, model, anew, parts) })
}

func generateImage(t *turn, model llm.Endpoint, anew bool, parts []llm.Part) error {
	if len(parts) == 0 { // the last prompt includes its source images
		if err := t.prepareRetry(); err != nil {
			return err
		}
		path := t.Path()
		parts = path[len(path)-1].Parts
	} else {
		own := parts
		if !anew && model.Accepts("image/") {
			parts = append(lastImages(t.Path(), parts), parts...)
		}
		m, err := t.given.submit(llm.Message{Role: llm.RoleUser, Model: model.Name, Parts: parts}, own...)
		if err != nil {
			return err
		}
		parts = m.Parts
		t.session.Branch.StoreGivenBack()
		t.session.saveInfo()
		n := t.append(m)
		set(&t.mu, &t.turnSeq, n.Seq)
		t.given.Seq = n.Seq
		t.emit(Prompt{Message: n.Message, Seq: n.Seq, At: n.At})
	}
	if err := t.budget.checkExpense(model); err != nil {
		return err
	}
	t.done.Steps = 1
	request := llm.Request{Session: t.id, Messages: []llm.Message{{Role: llm.RoleUser, Parts: parts}}}
	if _, _, err := streamFrom(t, model, request); err != nil {
		return err
	}
	m, ok, err := nextPrompt(t, false)
	if !ok {
		return err
	}
	t.given.enter(m)
	return answer(t)
}

// lastImages returns the images of the last answer of path; none if prompt has images.
func lastImages(path []store.Node, prompt []llm.Part) (drawn []llm.Part) {
	isImage := func(p llm.Part) bool { return p.Kind == llm.Media && strings.HasPrefix(p.MIME, "image/") }
	for n := len(path); n > 0 && path[n-1].Role == llm.RoleUser && path[n-1].Model != "" && !path[n-1].Summary; n-- {
		path = path[:n-1] // an answer that was refused or stopped
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
