package plain

import (
	"parley/providers/llm"
	"parley/ui/app"
)

// A sender sends messages.
type sender struct {
	*desk
	transcript *transcript
	drafts     *drafts
	turns      *turns
}

// send sends a message with the files it mentions.
func (s *sender) send(text string) {
	if !s.app.Mentions(text) {
		s.dispatch(text, nil)
		return
	}
	o, ctx := s.app.Options, s.ctx
	s.async(func() func() {
		parts, notes, err := o.Expand(ctx, text)
		return func() { s.expanded(text, parts, notes, err) }
	})
}

func (s *sender) expanded(text string, parts []llm.Part, notes []string, err error) {
	if err != nil {
		s.notSent(text, err)
		return
	}
	for _, n := range append(notes, s.app.VisionNotes(parts)...) {
		s.transcript.note(n)
	}
	s.dispatch(text, parts)
}

// dispatch sends a message, or queues it while a reply is running.
func (s *sender) dispatch(text string, mentioned []llm.Part) {
	var names []string
	var models []llm.Endpoint
	if !s.app.Busy() {
		var err error
		if names, models, err = app.TakeCompared(s.app); err != nil {
			s.notSent(text, err)
			return
		}
	}
	parts := append(append(s.app.Attached, mentioned...), llm.Part{Kind: llm.Text, Text: text})
	s.app.Attached = nil
	// The conversation has its own way to say that the disk is full.
	s.app.RememberPrompt(text)
	_ = s.drafts.store()
	if s.app.Busy() {
		s.app.Session.Queue(parts...)
		s.say("Queued – sent when the answer is done. /unqueue takes it back.")
		return
	}
	if len(models) > 0 {
		s.turns.compare(names, models, true, parts...)
		return
	}
	s.turns.run(true, parts...)
}

// notSent makes a draft of a message that cannot be sent.
func (s *sender) notSent(text string, err error) {
	s.drafts.add(text)
	s.say("Not sent: %s It is your draft now.", sentence(oneLine(err.Error())))
}
