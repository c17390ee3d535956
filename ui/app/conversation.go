package app

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strconv"
	"strings"

	"parley/providers/llm"
	"parley/session"
	"parley/tools/act"
	"parley/ui/format"
)

// replace makes s the open conversation.
func (a *App) replace(s *session.Session, seq int) Effect {
	a.FrontEnd.BeforeSwitch()
	left := a.Session
	mode := left.Policy().Mode()
	if mode == act.ModeEdits { // it was approved in that conversation
		mode = act.ModeAsk
	}
	s.Policy().SetMode(mode)
	a.Session, a.Attached, a.Opening.left = s, nil, make(chan struct{})
	opened := SessionOpened{Previous: left, Seq: seq, close: left.Close, closed: a.Opening.left}
	if beside := a.Reopened(); beside != nil {
		return Then{opened, beside}
	}
	return opened
}

// NewSession starts a conversation with the model and settings of the open one.
func (a *App) NewSession() Effect {
	s, err := a.Opening.New()
	if err != nil {
		return Fail(err)
	}
	s.SetModel(a.Session.Model())
	s.Next.SetEffort(a.Session.Next.Effort())
	return a.replace(s, 0)
}

// OpenSession replaces the open conversation by a stored one and scrolls to the message seq; 0 is the end. The first
// one opened is copied if the command line asks for a fork.
func (a *App) OpenSession(id string, seq int) Effect {
	if id == a.Session.ID() {
		return Toast("This conversation is already open")
	}
	if a.Start.takeFork() {
		return a.ForkSession(id, 0)
	}
	return a.open(id, seq, func() (*session.Session, string, error) { return a.Opening.Resume(id) })
}

// openedCopy reports that a copy was opened.
const openedCopy = "Opened as a copy; the original is unchanged"

// ForkSession opens a copy of a conversation up to the message head; 0 copies all of it.
func (a *App) ForkSession(id string, head int) Effect { return a.fork(id, head, openedCopy) }

// fork opens a copy of a conversation and shows said.
func (a *App) fork(id string, head int, said string) Effect {
	own, mode := a.Session, a.Session.Next.HistoryMode()
	return a.open(id, 0, func() (*session.Session, string, error) {
		own.Branch.StoreGivenBack() // so that the copy matches the screen
		s, note, err := a.Opening.Fork(id, head)
		if err == nil && id == own.ID() { // keep the settings of the open conversation
			s.SetModel(own.Model())
			s.Next.SetEffort(own.Next.Effort())
			s.Next.SetHistoryMode(mode)
		}
		if note == "" {
			note = said
		}
		return s, note, err
	})
}

// ContinueInFork continues, from a summary, in a copy of the conversation up to the message head. The waiting prompt at
// head and all queued prompts move to the copy.
func ContinueInFork(a *App, head int) Effect {
	left := a.Session
	e := a.fork(left.ID(), head, "Forked: this copy continues from a summary; the original is unchanged")
	prepare, ok := e.(Prepare)
	if !ok {
		return e
	}
	return Prepare(func(ctx context.Context) func() Effect {
		open := prepare(ctx)
		return func() Effect {
			e := open()
			own := a.Session
			if own == left { // the copy could not be opened
				return e
			}
			if n, err := left.At(head); err == nil && n.Role == llm.RoleUser && !n.Summary {
				_, _ = left.Branch.Rewind(head) // the prompt moved to the copy
			}
			left.Queue.MoveTo(own)
			return Then{e, Play(own.TurnFromSummary)}
		}
	})
}

func (a *App) open(id string, seq int, open func() (*session.Session, string, error)) Effect {
	if why := a.BusyText(); why != "" {
		return Toast(why)
	}
	left := a.Opening.left
	return Prepare(func(ctx context.Context) func() Effect {
		if left != nil { // it may be the same conversation
			select {
			case <-left:
			case <-ctx.Done():
			}
		}
		s, note, err := open()
		return func() Effect { return a.opened(id, seq, s, note, err) }
	})
}

func (a *App) opened(id string, seq int, s *session.Session, note string, err error) Effect {
	var held *session.LockedError
	switch {
	case errors.As(err, &held):
		return &Confirm{
			Text: "This conversation is open in " + held.By + ". Continue in a copy?",
			Yes:  "Continue in a copy", No: "Not now", Harmless: true,
			Accept: func() Effect { return a.ForkSession(id, 0) },
		}
	case err != nil:
		return Failure{Err: err, Lasting: true}
	}
	if why := a.BusyText(); why != "" { // a prompt was sent meanwhile
		_ = s.Close()
		return Toast(why)
	}
	return Then{a.replace(s, seq), Toast(note)}
}

// AnswerLast asks for an answer at the current end of the conversation, from the image model if the prompt was for one.
func (a *App) AnswerLast() Effect {
	s := a.Session
	if model := s.ImageModelOf(s.Head()); model != "" && a.Models.Images.Open != nil && a.Models.Images.DrawAgain != nil {
		return a.Models.Images.DrawAgain(model)
	}
	return Play(func(ctx context.Context) iter.Seq[session.Event] { return s.Turn(ctx) })
}

// IsLimited reports whether the last message is unanswered because of a limit, and the provider said when that resets.
func IsLimited(a *App) bool {
	return !a.FrontEnd.Busy() && a.Session.Unanswered() && !a.Session.LimitReset().IsZero()
}

// MessageLine returns the first line of a message, or the names of its attachments.
func MessageLine(msg llm.Message) string {
	text, attached := SplitPrompt(msg)
	if strings.TrimSpace(text) == "" && msg.Role == llm.RoleUser {
		text = strings.Join(Labels(attached), ", ")
	}
	return format.FirstLine(text)
}

// Turns lists the user's messages of the current branch with their times, the latest first; the value of an item is the
// number of its message. A message that got no answer says so.
func Turns(a *App) (items []Item) {
	state, answered := "no answer · ", a.FrontEnd.Busy()
	for _, n := range slices.Backward(a.Session.Path()) {
		switch {
		case n.Role == llm.RoleUser && !n.Summary:
			if answered {
				state = ""
			}
			items = append(items, Item{Title: MessageLine(n.Message), Detail: state + format.Clock(n.At, a.Now()), Value: strconv.Itoa(n.Seq)})
			state, answered = "no answer · ", false
		case n.Role == llm.RoleAssistant && n.InterruptedBy != "" && !answered:
			state = "failed · "
		case n.Role == llm.RoleAssistant:
			answered = true
		}
	}
	return items
}

// Author names the author of a message in lists.
func Author(m llm.Message) string {
	if m.Role == llm.RoleUser {
		return "you"
	}
	return "answer"
}
