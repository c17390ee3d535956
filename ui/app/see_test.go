package app

import (
	"context"
	"errors"
	"iter"
	"testing"

	"parley/providers/llm"
	"parley/session"
	"parley/tools"
	"parley/tools/act"
)

// seen holds the parts of an effect that a front end sees.
type seen struct {
	SessionOpened *SessionOpened
	Event         session.Event
	Failed, Err   error
	Notes         []string
	Text          string // text of a draft
	IsCommand     bool   // Text is a command, not a prompt
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

// see returns the parts of e that a front end sees. Of several effects of one type, it returns the last.
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

// newApp returns an application with an empty conversation, and models of any name except far/away.
func newApp(t *testing.T) *App {
	t.Helper()
	lib := session.MemoryStore()
	t.Cleanup(func() { lib.Close() })
	endpoint := func(name string) llm.Endpoint {
		return llm.Endpoint{Name: name, Origin: "fake", Efforts: []llm.Effort{llm.EffortOff, llm.EffortLow, llm.EffortHigh}}
	}
	create := func() *session.Session {
		s := session.New(session.Options{Model: endpoint("fake/m"), Policy: tools.NewPolicy(act.ModeAsk), Log: lib.Create(session.Info{})})
		t.Cleanup(func() { s.Close() })
		return s
	}
	return New(Options{Session: create(), Library: lib, Getenv: func(string) string { return "" },
		Models: Models{Open: func(name string) (llm.Endpoint, error) {
			if name == "far/away" {
				return llm.Endpoint{}, errors.New("set FAR_API_KEY")
			}
			return endpoint(name), nil
		}},
		Opening: Opening{
			New:    func() (*session.Session, error) { return create(), nil },
			Resume: func(string) (*session.Session, string, error) { return create(), "", nil },
		},
	})
}
