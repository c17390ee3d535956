// Package aside lets the user ask about the conversation beside it, also while a turn runs.
package aside

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"parley/providers/llm"
	"parley/session"
	"parley/tools/sanitize"
	"parley/ui/app"
	"parley/ui/format"
	"parley/ui/markdown"
	"parley/ui/theme"
)

// Names of the command, and of the argument that keeps an aside.
const (
	command = "btw"
	keep    = "keep"
)

// Register adds the flow to a.
func Register(a *app.App) {
	f := &flow{app: a}
	a.Commands = append(a.Commands, app.Command{
		Name: command, Aliases: []string{"side"}, Keys: []string{"ctrl+x /"}, Group: app.Messages, Arg: "-m MODEL QUESTION", MultilineArg: "*",
		Help: "Aside: ask beside the conversation, also during an answer", Unavailable: f.unavailable, Editors: true, Run: f.run,
	})
}

// A flow asks side questions. Those asked until the aside is closed continue each other.
type flow struct {
	app  *app.App
	open *aside // nil: none
}

func (f *flow) unavailable() string {
	if f.app.Session.Empty() {
		return "The conversation is empty: send a message first"
	}
	return ""
}

// An aside is a list of side questions about a conversation.
type aside struct {
	of     *session.Session
	asking sync.Mutex // held while a model answers

	mu      sync.Mutex // guards the fields below, and the exchanges
	list    []*exchange
	changed func() // nil: nobody watches
	kept    int    // number of exchanges that are kept as a branch
}

// An exchange is a side question and its answer.
type exchange struct {
	question string
	at       int          // last message of the conversation when it was asked
	model    llm.Endpoint // one without a name: the conversation's
	unnamed  bool         // the user must not see which model answers

	draft  llm.Draft
	ended  bool // a request has ended: what comes next belongs to another answer
	finish llm.Finish
	usage  llm.Usage
	took   time.Duration
	answer llm.Message
	err    error
	done   bool
}

// run asks a question, or keeps the aside.
func (f *flow) run(arg string) app.Effect {
	if f.open != nil && f.open.of != f.app.Session {
		f.open = nil
	}
	if arg == keep && f.open != nil {
		return f.keep(f.open)
	}
	x := &exchange{question: arg, at: f.app.Session.Head(), unnamed: f.app.Unnamed}
	if rest, ok := strings.CutPrefix(arg+" ", "-m "); ok {
		name, question, _ := strings.Cut(strings.TrimSpace(rest), " ")
		model, err := f.app.Open(f.app.Resolve(name))
		if err != nil && question != "" {
			return app.Failure{Err: err, Line: "/" + command + " " + arg}
		}
		x.question, x.model = strings.TrimSpace(question), model
	}
	switch key := f.app.KeyOf(command); {
	case x.question != "":
	case arg == "" && !strings.HasPrefix(key, "/"):
		return app.DraftCommand("/" + command + " ")
	default:
		return app.Refuse("no question: use /%s QUESTION, or /%[1]s -m MODEL QUESTION", command)
	}
	if f.open == nil {
		f.open = &aside{of: f.app.Session}
	}
	s := f.open
	s.mu.Lock()
	if n := len(s.list); n > 0 && x.model.Name == "" {
		x.model = s.list[n-1].model
	}
	s.list = append(s.list, x)
	s.mu.Unlock()
	return app.Beside{
		Output:  app.Output{Title: "Aside", Read: func() app.OutputText { return s.read(x) }, Watch: func(changed func()) { s.mu.Lock(); s.changed = changed; s.mu.Unlock() }},
		Grow:    func(ctx context.Context) { s.ask(ctx, x, f.app.Now) },
		Actions: func() []app.Action { return f.actions(s, x) },
		Closed:  func() { f.open = nil },
	}
}

// actions returns the actions that work while x is the last question.
func (f *flow) actions(s *aside, x *exchange) (all []app.Action) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if said, _ := s.answered(); len(said) > s.kept {
		all = append(all, app.Action{Key: "k", Help: "keep as branch", Do: func(string) app.Effect { return f.keep(s) }})
	}
	if shown := s.shown(x); len(shown.draft.Complete()) > 0 && shown.text() != "" {
		all = append(all, app.Action{Key: "y", Help: "copy", Copy: func(string) (text, as string) { return strings.Join(s.read(x).Lines, "\n"), "answer" }})
	}
	return append(all, app.Action{Key: "enter", Help: "read all", Do: func(string) app.Effect { return s.page() }})
}

// ask asks the question of x after the earlier ones have been answered.
func (s *aside) ask(ctx context.Context, x *exchange, now func() time.Time) {
	s.asking.Lock()
	defer s.asking.Unlock()
	began := now()
	answer, err := s.of.AskAside(ctx, session.Aside{Model: x.model, Purpose: session.PurposeAside, Messages: s.messages(x), Show: func(e llm.Event) {
		s.update(func() { x.add(e) })
	}})
	s.update(func() { x.answer, x.err, x.took, x.done = answer, err, now().Sub(began), true })
}

// update changes an exchange with f.
func (s *aside) update(f func()) {
	s.mu.Lock()
	f()
	changed := s.changed
	s.mu.Unlock()
	if changed != nil {
		changed()
	}
}

// messages returns the messages for the question of x: the exchanges before it that have an answer, and itself.
func (s *aside) messages(x *exchange) []llm.Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	var said []llm.Message
	for _, before := range s.list[:slices.Index(s.list, x)] {
		if before.err == nil && before.answer.Text() != "" {
			said = append(said, llm.UserText(before.question), before.answer)
		}
	}
	said = append(said, llm.UserText(x.question))
	said[0] = llm.UserText(session.AsideNote + said[0].Text())
	return said
}

// add adds an event of the answer.
func (x *exchange) add(e llm.Event) {
	if _, usage := e.(llm.Usage); x.ended && !usage {
		x.draft, x.ended = llm.Draft{}, false
	}
	switch e := e.(type) {
	case llm.Usage:
		x.usage, x.ended = x.usage.Add(e), true
	case llm.Delta:
		x.draft.Add(e)
	case llm.Finish:
		x.finish = e
	case llm.Retry:
		x.draft.Discard(e.Discards)
	}
}

// title returns the question on one line.
func (x *exchange) title() string {
	return sanitize.Line(strings.Join(strings.Fields(x.question), " "))
}

// text returns the answer so far, and why it ended if it is not complete.
func (x *exchange) text() string {
	text := llm.Message{Parts: x.draft.Complete()}.Text()
	switch {
	case errors.Is(x.err, context.Canceled):
		text += "\n\n" + app.Stopped
	case x.err != nil:
		text += "\n\n" + app.RefusalText(x.err)
	case x.done && text == "" && len(x.answer.Calls()) > 0:
		text = "The model called tools instead of answering. A side question runs none"
	case x.done:
		text += "\n\n" + strings.TrimSuffix(app.IncompleteText(session.Response{Message: x.answer, Finish: x.finish}), app.TypeContinue)
	}
	return sanitize.Text(strings.TrimSpace(text))
}

// state returns the model of an answer, how long it took, and its cost.
func (s *aside) state(x *exchange) string {
	var words []string
	if !x.unnamed {
		words = append(words, app.ShortModelName(cmp.Or(x.answer.Model, x.model.Name, s.of.Model().Name)))
	}
	switch {
	case !x.done && len(x.draft.Visible()) == 0:
		words = append(words, "waiting")
	case !x.done:
		words = append(words, "answering")
	default:
		words = append(words, format.Duration(x.took))
		if x.usage != (llm.Usage{}) && !x.unnamed {
			words = append(words, format.Cost(x.usage.Cost, x.usage.Priced), app.CacheShare(x.usage))
		}
	}
	return sanitize.Line(strings.Join(slices.DeleteFunc(words, func(w string) bool { return w == "" }), " · "))
}

// shown returns the exchange to show while x is the last one: the one that is being answered.
func (s *aside) shown(x *exchange) *exchange {
	for _, before := range s.list[:slices.Index(s.list, x)] {
		if !before.done {
			return before
		}
	}
	return x
}

// read returns what is shown while x is the last exchange.
func (s *aside) read(x *exchange) app.OutputText {
	s.mu.Lock()
	defer s.mu.Unlock()
	shown := s.shown(x)
	state := s.state(shown)
	if shown != x {
		state += " · next: " + s.list[slices.Index(s.list, shown)+1].title()
	}
	return app.OutputText{Title: shown.title(), State: state, Lines: strings.Split(shown.text(), "\n"), Running: !shown.done}
}

// page returns all exchanges as a page.
func (s *aside) page() app.Effect {
	s.mu.Lock()
	defer s.mu.Unlock()
	page := app.Page{Title: "Aside"}
	for _, x := range s.list {
		text := x.text()
		page.Parts = append(page.Parts, format.Part{Title: x.title(), Note: s.state(x), Source: text, Render: func(width int) []string {
			return strings.Split(markdown.Render(text, width, theme.Bare()), "\n")
		}})
	}
	return page
}

// answered returns the answered questions as messages, and the last message of the conversation before them.
func (s *aside) answered() (said []llm.Message, at int) {
	for _, x := range s.list {
		if text := x.answer.Text(); x.done && x.err == nil && text != "" {
			at = cmp.Or(at, x.at)
			said = append(said, llm.UserText(x.question), llm.Message{
				Role: llm.RoleAssistant, Origin: x.answer.Origin, Model: x.answer.Model, Parts: []llm.Part{{Kind: llm.Text, Text: text}},
			})
		}
	}
	return said, at
}

// keep keeps the answered questions as a branch of the conversation.
func (f *flow) keep(s *aside) app.Effect {
	s.mu.Lock()
	defer s.mu.Unlock()
	said, at := s.answered()
	switch {
	case len(said) == 0:
		return app.Toast("There is no answer to keep yet")
	case len(said) == s.kept:
		return app.Toast("Kept already · " + f.app.KeyOf("tree") + " shows the branch")
	case f.app.Busy():
		return app.Toast("Keep it when the turn is done")
	}
	if err := s.of.Branch().KeepAside(at, said); err != nil {
		return app.Fail(err)
	}
	s.kept = len(said)
	return app.Toast("Kept as a branch · " + f.app.KeyOf("tree") + " shows it")
}
