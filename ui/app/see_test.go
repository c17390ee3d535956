package app

import (
	"context"
	"iter"

	"parley/providers/llm"
	"parley/session"
)

// seen is what a front end sees of an effect.
type seen struct {
	SessionOpened *SessionOpened
	Event         session.Event
	Failed, Err   error
	Notes         []string
	Text          string // of a draft
	IsCommand     bool   // Text is a command, and no prompt
	Attached      []llm.Part
	Toast         string
	View          PanelQuery
	List          *List
	Confirm       *Confirm
	Secret        *Secret
	Turn          func(context.Context) iter.Seq[session.Event]
	Async         func(context.Context) Effect
	Prepare       func(context.Context) func() Effect
	Quit          bool
}

// see returns what a front end sees of e. Of several effects of a kind that is the last one.
func see(e Effect) (s seen) {
	s.add(e)
	return s
}

func (s *seen) add(e Effect) {
	switch e := e.(type) {
	case Then:
		for _, one := range e {
			s.add(one)
		}
	case SessionOpened:
		s.SessionOpened = &e
	case Shown:
		s.Event = e.Event
	case Failure:
		if s.Text, s.IsCommand = e.Line, e.Line != ""; e.Lasting {
			s.Failed = e.Err
		} else {
			s.Err = e.Err
		}
	case Notes:
		s.Notes = append(s.Notes, e...)
	case Draft:
		s.Text = string(e)
	case DraftCommand:
		s.Text, s.IsCommand = string(e), true
	case Attached:
		s.Attached = append(s.Attached, e...)
	case Toast:
		s.Toast = string(e)
	case PanelQuery:
		s.View = e
	case *List:
		s.List = e
	case *Confirm:
		s.Confirm = e
	case *Secret:
		s.Secret = e
	case Play:
		s.Turn = e
	case Async:
		if before := s.Async; before != nil {
			s.Async = func(ctx context.Context) Effect { return Then{before(ctx), e(ctx)} }
			return
		}
		s.Async = e
	case Prepare:
		s.Prepare = e
	case Exit:
		s.Quit = true
	}
}
