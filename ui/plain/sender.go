package plain

import (
	"slices"
	"strings"

	"parley/providers/llm"
	"parley/ui/app"
	"parley/ui/app/candidates"
	"parley/ui/format"
)

// A sender sends messages.
type sender struct {
	*deps
	transcript *transcript
	drafts     *drafts
	turns      *turns
	questions  *questions
}

// send sends a message with the files that it mentions. It asks before it fetches web addresses.
// It never fetches addresses in pasted text, which somebody else may have written: the terminal
// does not reliably tell typed lines from pasted ones.
func (s *sender) send(text string, pasted bool) { s.sendMessage(text, pasted, false) }

// sendMessage is like send. If later is set, a message sent during a turn waits for the end of
// the turn instead of the next tool results.
func (s *sender) sendMessage(text string, pasted, later bool) {
	addresses, without := s.app.Mentions().Addresses(text)
	for i, a := range addresses {
		addresses[i] = truncate(a, maxAddress)
	}
	names := strings.Join(slices.Compact(addresses), ", ")
	switch {
	case names == "":
		s.expand(text, text, later)
	case pasted:
		s.writeLine("Not fetched, because it was pasted: %s.", names)
		s.expand(text, without, later)
	default:
		q := s.questions.confirm("Fetch "+names+"?", "fetch", "send as text", true, func(yes bool) {
			if yes {
				without = text
			}
			s.expand(text, without, later)
		})
		q.message, q.leave = text, func() {
			s.drafts.add(text)
			s.writeLine("Not sent; it is your draft now.")
		}
	}
}

// maxAddress is the maximum number of characters of an address shown in a question.
const maxAddress = 200

// expand sends text with the files and pages to which mentions refers.
func (s *sender) expand(text, mentions string, later bool) {
	if !s.app.Mentions().In(mentions) {
		s.dispatch(text, nil, later)
		return
	}
	o, ctx := s.app.Options, s.ctx
	s.async(func() func() {
		parts, notes, err := o.Mentions().Expand(ctx, mentions)
		return func() { s.expanded(text, parts, notes, err, later) }
	})
}

func (s *sender) expanded(text string, parts []llm.Part, notes []string, err error, later bool) {
	if err != nil {
		s.notSent(text, err)
		return
	}
	for _, n := range append(notes, s.app.VisionNotes(parts)...) {
		s.transcript.note(n)
	}
	s.dispatch(text, parts, later)
}

// dispatch sends a message. During a turn it queues the message: for the next tool results, or for
// the end of the turn if later is set.
func (s *sender) dispatch(text string, mentioned []llm.Part, later bool) {
	var compared *candidates.Prompt
	if !s.app.FrontEnd.Busy() {
		var err error
		if compared, err = candidates.Open(s.app); err != nil {
			s.notSent(text, err)
			return
		}
	}
	parts := append(append(app.Unmentioned(s.app.Attached, mentioned), mentioned...), llm.Part{Kind: llm.Text, Text: text})
	s.app.Attached = nil
	s.app.Models.Chosen = ""
	s.app.Drafts().RememberPrompt(text)
	s.drafts.storeSoon() // disk errors are reported by reportSave
	if s.app.FrontEnd.Busy() {
		s.writeLine("%s. /unqueue takes it back.", app.QueueOrSteer(s.app, later, false, parts))
		return
	}
	if compared != nil {
		s.turns.compare(compared, true, parts)
		return
	}
	s.turns.run(true, parts...)
}

// notSent moves a message that cannot be sent to the draft, and writes the reason.
func (s *sender) notSent(text string, err error) {
	s.drafts.add(text)
	s.writeLine("Not sent: %s It is your draft now.", sentence(oneLine(format.ErrorText(err))))
}
