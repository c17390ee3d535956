// Package apptest tests the flows of package app as front ends run them.
package apptest

import (
	"context"
	"errors"
	"iter"
	"testing"

	"parley/providers/llm"
	"parley/session"
	"parley/tools"
	"parley/tools/act"
	"parley/ui/app"
	"parley/ui/app/classify"
	"parley/ui/app/wording"
	"parley/ui/format"
)

// New returns an application with an empty conversation, models of any name but far/away, flows, and what
// options change.
func New(t *testing.T, flows func(*app.App), options ...func(*app.Options)) *app.App {
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
	o := app.Options{
		Flows: flows, Session: create(), Library: lib, Getenv: func(string) string { return "" },
		Models: app.Models{Open: func(name string) (llm.Endpoint, error) {
			if name == "far/away" {
				return llm.Endpoint{}, errors.New("set FAR_API_KEY")
			}
			return endpoint(name), nil
		}},
		Opening: app.Opening{
			New:    func() (*session.Session, error) { return create(), nil },
			Resume: func(string) (*session.Session, string, error) { return create(), "", nil },
		},
	}
	for _, change := range options {
		change(&o)
	}
	return app.New(o)
}

// Tools gives the conversation tools in an empty folder, and the system prompt "Be kind.".
func Tools(t *testing.T) func(*app.Options) {
	return func(o *app.Options) {
		set, err := tools.Open(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { set.Close() })
		o.Session = session.New(session.Options{
			Model: llm.Endpoint{Name: "fake/m", Origin: "fake"}, Tools: set, Policy: tools.NewPolicy(act.ModeAsk), System: "Be kind.",
		})
		o.Machine.ToolSet = func(string) act.Set { return set }
		o.Models.WithheldTools = func() ([]string, string) { return []string{"fetch2"}, "--tools read" }
	}
}

// Do runs a line such as "/mode auto".
func Do(t *testing.T, a *app.App, line string) app.Effect {
	t.Helper()
	l := classify.Entered(line, a.Commands, func(string) bool { return false })
	if l.Kind != classify.Command {
		t.Fatalf("no command: %s", line)
	}
	return a.Commands[l.Command].Do(l.Arg)
}

// Run runs a line such as "/mode auto", and its effects that run on other goroutines.
func Run(t *testing.T, a *app.App, line string) app.Effect {
	t.Helper()
	e := Do(t, a, line)
	if prepare := See(e).Prepare; prepare != nil {
		e = prepare(context.Background())()
	}
	if async := See(e).Async; async != nil {
		e = async(context.Background())
	}
	return e
}

// Toast returns the text that a screen shows for e for a few seconds.
func Toast(e app.Effect) string {
	s := See(e)
	if s.Err != nil {
		return format.Capital(wording.Refusal(s.Err))
	}
	return s.Toast
}

// Take enters a line that e asks for.
func Take(t *testing.T, e app.Effect, line string) (app.Effect, error) {
	t.Helper()
	s := See(e)
	if s.Secret == nil {
		t.Fatalf("nothing is asked for: %+v", e)
	}
	then, err := s.Secret.Submit(t.Context(), line)
	if err != nil {
		return nil, err
	}
	return then(), nil
}

// Play runs the turn of e.
func Play(t *testing.T, e app.Effect) {
	t.Helper()
	s := See(e)
	if s.Turn == nil {
		t.Fatalf("no turn: %+v", e)
	}
	for range s.Turn(t.Context()) {
	}
}

// Seen is the parts of an effect by their types.
type Seen struct {
	SessionOpened *app.SessionOpened
	Event         session.Event
	Failed, Err   error // of Failures that last, and of others
	Notes         []string
	Text          string // of a draft
	IsCommand     bool   // Text is a command, and no prompt
	Attached      []llm.Part
	Toast         string
	Page          *app.Page
	View          app.PanelQuery
	List          *app.List
	Confirm       *app.Confirm
	Secret        *app.Secret
	Turn          func(context.Context) iter.Seq[session.Event]
	Async         func(context.Context) app.Effect
	Prepare       func(context.Context) func() app.Effect
	Quit          bool
}

// See takes e apart. The last one of several effects of a type counts.
func See(e app.Effect) (s Seen) {
	s.add(e)
	return s
}

func (s *Seen) add(e app.Effect) {
	switch e := e.(type) {
	case app.Then:
		for _, one := range e {
			s.add(one)
		}
	case app.SessionOpened:
		s.SessionOpened = &e
	case app.Shown:
		s.Event = e.Event
	case app.Failure:
		if s.Text, s.IsCommand = e.Line, e.Line != ""; e.Lasting {
			s.Failed = e.Err
		} else {
			s.Err = e.Err
		}
	case app.Notes:
		s.Notes = append(s.Notes, e...)
	case app.Draft:
		s.Text = string(e)
	case app.DraftCommand:
		s.Text, s.IsCommand = string(e), true
	case app.Attached:
		s.Attached = append(s.Attached, e...)
	case app.Toast:
		s.Toast = string(e)
	case app.Page:
		s.Page = &e
	case app.PanelQuery:
		s.View = e
	case *app.List:
		s.List = e
	case *app.Confirm:
		s.Confirm = e
	case *app.Secret:
		s.Secret = e
	case app.Play:
		s.Turn = e
	case app.Async:
		if before := s.Async; before != nil {
			s.Async = func(ctx context.Context) app.Effect { return app.Then{before(ctx), e(ctx)} }
			return
		}
		s.Async = e
	case app.Prepare:
		s.Prepare = e
	case app.Exit:
		s.Quit = true
	}
}
