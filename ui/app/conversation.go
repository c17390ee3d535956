package app

import (
	"context"
	"errors"
	"iter"
	"strconv"
	"strings"

	"parley/providers/llm"
	"parley/session"
)

// replace puts another conversation in the place of the open one.
func (a *App) replace(s *session.Session, seq int) Effect {
	a.BeforeSwitch()
	left := a.Session
	s.Policy().SetMode(left.Policy().Mode())
	a.Session, a.Attached, a.previousClosed = s, nil, make(chan struct{})
	return SessionOpened{Previous: left, Seq: seq, close: left.Close, closed: a.previousClosed}
}

// newSession starts a conversation with the model and settings of the open one.
func (a *App) newSession(string) Effect {
	s, err := a.New()
	if err != nil {
		return Fail(err)
	}
	s.SetModel(a.Session.Model())
	s.SetEffort(a.Session.Effort())
	return a.replace(s, 0)
}

// OpenSession opens a stored conversation in the place of this one, at a message; 0 is the
// end. The first one that is opened is a copy where the command line asks for that.
func (a *App) OpenSession(id string, seq int) Effect {
	if id == a.Session.ID() {
		return Toast("This conversation is already open")
	}
	if a.Start.takeFork() {
		return a.ForkSession(id, 0)
	}
	return a.open(id, seq, func() (*session.Session, string, error) { return a.Resume(id) })
}

// openedCopy says that a copy is open.
const openedCopy = "Opened as a copy; the original is unchanged"

// ForkSession opens a copy of a conversation that ends with the message head; 0 is its end.
func (a *App) ForkSession(id string, head int) Effect { return a.fork(id, head, openedCopy) }

// fork opens a copy of a conversation, and says so.
func (a *App) fork(id string, head int, said string) Effect {
	own, mode := a.Session, a.Session.HistoryMode()
	return a.open(id, 0, func() (*session.Session, string, error) {
		own.Branch().StoreGivenBack() // what is forked is what is shown
		s, note, err := a.Fork(id, head)
		if err == nil && id == own.ID() { // it goes on as this one would
			s.SetModel(own.Model())
			s.SetEffort(own.Effort())
			s.SetHistoryMode(mode)
		}
		if note == "" {
			note = said
		}
		return s, note, err
	})
}

// ContinueInFork goes on in a copy of the conversation that ends with the message head, from a
// summary. The prompt that waits there is the copy's then, and so are those that are queued.
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
			if own == left { // it could not be opened
				return e
			}
			if n, err := left.At(head); err == nil && n.Role == llm.RoleUser && !n.Summary {
				_, _ = left.Branch().Rewind(head) // which is no turn of its own any more
			}
			left.Queue.MoveTo(own)
			return Then{e, Play(own.TurnFromSummary)}
		}
	})
}

func forkSession(a *App, _ string) Effect { return a.ForkSession(a.Session.ID(), 0) }

func (a *App) open(id string, seq int, open func() (*session.Session, string, error)) Effect {
	if why := BusyText(a); why != "" {
		return Toast(why)
	}
	left := a.previousClosed
	return Prepare(func(ctx context.Context) func() Effect {
		if left != nil { // it may be the one that is opened again
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
	if why := BusyText(a); why != "" { // a prompt was sent meanwhile
		_ = s.Close()
		return Toast(why)
	}
	return Then{a.replace(s, seq), Toast(note)}
}

// rename gives the conversation another title.
func (a *App) rename(title string) Effect {
	if title == "" {
		return Toast("Type /rename and a title")
	}
	s := a.Session
	return Do(func(context.Context) error { return s.Rename(title) }, "Renamed to "+title)
}

// compactItems returns what can be done about a summary.
func compactItems(a *App) []Item {
	if _, _, ok := a.Session.Branch().LastSummary(); !ok {
		return nil
	}
	return []Item{
		{Title: "edit", Detail: "Change the summary before the next message", Value: "edit"},
		{Title: "undo", Detail: "Go back to before the summary", Value: "undo"},
	}
}

// compact summarizes the conversation. "edit" puts the summary into the draft, as the
// command that replaces it; "undo" goes back to before it.
func compact(a *App, arg string) Effect {
	action, text, _ := strings.Cut(strings.TrimSpace(arg), " ")
	if first, rest, ok := strings.Cut(action, "\n"); ok { // the text begins on a line of its own
		action, text = first, rest+" "+text
	}
	text = strings.TrimSpace(text)
	switch {
	case action == "":
		return Play(a.Session.Compact)
	case action == "undo" && text == "":
		if err := a.Session.Branch().UndoSummary(); err != nil {
			return Fail(err)
		}
		return Then{SessionOpened{}, Toast("Summary undone: requests have the messages themselves again")}
	case action == "edit" && text == "":
		_, summary, ok := a.Session.Branch().LastSummary()
		if !ok {
			return Failure{Err: session.ErrNoSummary}
		}
		return DraftCommand(editSummary + summary)
	case action == "edit":
		if err := a.Session.Branch().EditSummary(text); err != nil {
			return Fail(err)
		}
		return Then{SessionOpened{}, Toast("Summary replaced: the next request has it")}
	}
	return Refuse("unknown action %q: use /compact, /compact edit or /compact undo", action)
}

// retry asks again, from the last prompt or results on. What came of an answer of nothing stays as a
// branch.
func (a *App) retry(string) Effect {
	dropped := a.Session.Branch().DropEmptyAnswer()
	e := retryLast(a)
	if dropped {
		return Then{SessionOpened{}, e}
	}
	return e
}

// retryLast asks for an answer where the conversation stands: the model that the prompt was for.
func retryLast(a *App) Effect {
	s := a.Session
	if model := s.ImageModelOf(s.Head()); model != "" && a.Images.Open != nil {
		return draw(a, model, false, nil)
	}
	return Play(func(ctx context.Context) iter.Seq[session.Event] { return s.Turn(ctx) })
}

// Regenerate asks for another answer in the place of one, which stays as a branch.
func (a *App) Regenerate(seq int) Effect {
	if err := a.Session.Branch().Regenerate(seq); err != nil {
		return Fail(err)
	}
	return Then{SessionOpened{}, retryLast(a)}
}

// JoinComma returns values with commas between them.
func JoinComma[T ~string](values []T) string {
	words := make([]string, len(values))
	for i, v := range values {
		words[i] = string(v)
	}
	return strings.Join(words, ", ")
}

// folder goes to another directory: by its name, or one from the list.
func (a *App) folder(arg string) Effect {
	if arg != "" {
		return a.enterFolder(arg)
	}
	o := a.Options
	return Async(func(context.Context) Effect {
		dirs, err := o.sessionDirectories()
		switch {
		case len(dirs) == 0 && err != nil:
			return Fail(err)
		case len(dirs) == 0:
			return Toast("No other folder known yet · /cd PATH opens one")
		}
		list := &List{Title: "Open another folder · /cd PATH opens any", Noun: "folder", Choose: func(i Item, _ string) Effect { return a.enterFolder(i.Value) }}
		for _, dir := range dirs {
			list.Items = append(list.Items, Item{Title: o.AbbrevPath(dir), Value: dir})
		}
		return list
	})
}

// enterFolder ends this front end and has another begin in a directory.
func (a *App) enterFolder(name string) Effect {
	dir, err := a.findDirectory(name)
	if err != nil {
		return Fail(err)
	}
	return endingJobs(a, "Changing the folder", "Change folder", func() Effect {
		a.ChangeDirectory(dir)
		return Exit{}
	})
}

// Title returns what a conversation is called.
func Title(about session.Info) string {
	if about.Title != "" {
		return about.Title
	}
	return "untitled"
}

// ListTitle returns Title for lists, where a copy stands beside its original: "copy: TITLE" until it
// is renamed.
func ListTitle(about session.Info) string {
	if strings.HasPrefix(about.Origin, "fork ") && !about.Named {
		return "copy: " + Title(about)
	}
	return Title(about)
}

// MessageLine returns the first line of what a message says, or what it brings along.
func MessageLine(msg llm.Message) string {
	text, attached := SplitPrompt(msg)
	if strings.TrimSpace(text) == "" && msg.Role == llm.RoleUser {
		text = strings.Join(Labels(attached), ", ")
	}
	return FirstLine(text)
}

// EditMessage makes a message of the user's their draft; what followed it stays as a branch once that is sent.
func EditMessage(a *App, seq int) Effect {
	n, _ := a.Session.At(seq) // Edit fails as well
	if err := a.Session.Branch().Edit(seq); err != nil {
		return Fail(err)
	}
	text, attached := DraftFrom(n.Message)
	a.Attached = append(a.Attached, attached...)
	return Then{SessionOpened{}, Draft(text), Attached(attached)}
}

// ChooseBranch asks for the branch of the conversation to continue.
func ChooseBranch(a *App) *List {
	l := &List{Title: "Branches", Noun: "branch point", Choose: func(i Item, _ string) Effect {
		seq, _ := strconv.Atoi(i.Value)
		if err := a.Session.Branch().Switch(seq); err != nil {
			return Fail(err)
		}
		return Then{SessionOpened{}, Toast("Continuing on the branch: " + i.Title), a.BranchFiles()}
	}}
	for _, b := range a.Session.Branches() {
		l.Items = append(l.Items, Item{Title: MessageLine(b.Node.Message), Detail: Author(b.Node.Message), Value: strconv.Itoa(b.Node.Seq), Current: b.Active})
	}
	return l
}

// Author says who wrote a message, in a list of them.
func Author(m llm.Message) string {
	if m.Role == llm.RoleUser {
		return "you"
	}
	return "answer"
}
