// Package aside lets the user ask about the conversation beside it, also while a turn runs.
package aside

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"parley/providers/llm"
	"parley/session"
	"parley/tools/sanitize"
	"parley/ui/app"
	"parley/ui/app/access"
	"parley/ui/app/blocks"
	"parley/ui/app/wording"
	"parley/ui/format"
	"parley/ui/markdown"
	"parley/ui/theme"
)

// Names of the command, and of the arguments that keep and close an aside.
const (
	command = "btw"
	keep    = "keep"
	ends    = "close"
)

// Register adds the flow to a.
func Register(a *app.App) {
	f := &flow{app: a}
	a.Reopened = f.reopened
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
	saving sync.Mutex // held while the aside is stored

	mu      sync.Mutex // guards the fields below, and the exchanges
	list    []*exchange
	changed func() // nil: nobody watches
	keeping int    // number of exchanges that are kept as a branch, or will be when the turn ends
	kept    int    // number of those that are stored
	closed  bool   // by the user
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
	switch {
	case arg != keep && arg != ends:
	case f.open == nil:
		return app.Toast("No aside is open")
	case arg == keep:
		return f.keep(f.open)
	default:
		return app.Then{f.close(f.open), app.Toast("Aside closed")}
	}
	x := &exchange{question: arg, at: f.app.Session.Head(), unnamed: f.app.Unnamed}
	if rest, ok := strings.CutPrefix(arg+" ", "-m "); ok {
		name, question, _ := strings.Cut(strings.TrimSpace(rest), " ")
		model, err := f.app.Models.Open(f.app.Models.Resolve(name))
		if err != nil && question != "" {
			return app.Failure{Err: err, Line: "/" + command + " " + arg}
		}
		x.question, x.model = strings.TrimSpace(question), model
	}
	switch key := f.app.FrontEnd.KeyOf(command); {
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
	return f.beside(s, x)
}

// beside shows s, whose last exchange is x.
func (f *flow) beside(s *aside, x *exchange) app.Beside {
	return app.Beside{
		Output:  app.Output{Title: "Aside", Read: func() app.OutputText { return s.read(x) }, Watch: func(changed func()) { s.mu.Lock(); s.changed = changed; s.mu.Unlock() }},
		Grow:    func(ctx context.Context) { f.ask(ctx, s, x) },
		Actions: func() []app.Action { return f.actions(s, x) },
		Closed:  func() app.Effect { return f.close(s) },
	}
}

// actions returns the actions that work while x is the last question.
func (f *flow) actions(s *aside, x *exchange) (all []app.Action) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if said, _ := s.answered(); len(said) > s.keeping {
		all = append(all, app.Action{Key: "k", Help: "keep as branch", Do: func(string) app.Effect { return f.keep(s) }})
	}
	if shown := s.shown(x); len(shown.draft.Complete()) > 0 && shown.text() != "" {
		all = append(all, app.Action{Key: "y", Help: "copy", Copy: func(string) (text, as string) { return strings.Join(s.read(x).Lines, "\n"), "answer" }})
	}
	return append(all, app.Action{Key: "enter", Help: "read all", Do: func(string) app.Effect { return s.page() }})
}

// ask asks the question of x after the earlier ones have been answered, and stores the answer.
func (f *flow) ask(ctx context.Context, s *aside, x *exchange) {
	s.asking.Lock()
	defer s.asking.Unlock()
	if x.done { // it was stored
		return
	}
	now := f.app.Now
	began := now()
	answer, err := s.of.Beside.Ask(ctx, session.Aside{Model: x.model, Purpose: session.PurposeAside, Messages: s.messages(x), Show: func(e llm.Event) {
		s.update(func() { x.add(e) })
	}})
	s.update(func() { x.answer, x.err, x.took, x.done = answer, err, now().Sub(began), true })
	f.save(s)
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
		if before.hasAnswer() {
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
		text += "\n\n" + wording.Stopped
	case x.err != nil:
		text += "\n\n" + wording.Refusal(x.err)
	case x.done && text == "" && len(x.answer.Calls()) > 0:
		text = "The model called tools instead of answering. A side question runs none"
	case x.done:
		text += "\n\n" + strings.TrimSuffix(blocks.IncompleteText(session.Response{Message: x.answer, Finish: x.finish}), blocks.TypeContinue)
	}
	return sanitize.Text(strings.TrimSpace(text))
}

// state returns the model of an answer, how long it took, and its cost.
func (s *aside) state(x *exchange) string {
	var words []string
	if !x.unnamed {
		words = append(words, access.ShortName(cmp.Or(x.answer.Model, x.model.Name, s.of.Model().Name)))
	}
	switch {
	case !x.done && len(x.draft.Visible()) == 0:
		words = append(words, "waiting")
	case !x.done:
		words = append(words, "answering")
	default:
		words = append(words, format.Duration(x.took))
		if x.usage != (llm.Usage{}) && !x.unnamed {
			words = append(words, format.Cost(x.usage.Cost, x.usage.Priced), blocks.CacheShare(x.usage))
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
	return app.OutputText{Title: shown.title(), State: state, Lines: strings.Split(shown.text(), "\n"), Running: !shown.done, Closed: s.closed}
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

func (x *exchange) hasAnswer() bool { return x.done && x.err == nil && x.answer.Text() != "" }

// answered returns the answered questions as messages, and the last message of the conversation before them.
func (s *aside) answered() (said []llm.Message, at int) {
	for _, x := range s.list {
		if x.hasAnswer() {
			at = cmp.Or(at, x.at)
			said = append(said, llm.UserText(x.question), llm.Message{
				Role: llm.RoleAssistant, Origin: x.answer.Origin, Model: x.answer.Model, Parts: []llm.Part{{Kind: llm.Text, Text: x.answer.Text()}},
			})
		}
	}
	return said, at
}

// keep keeps the answered questions as a branch of the conversation.
func (f *flow) keep(s *aside) app.Effect {
	s.mu.Lock()
	said, at := s.answered()
	already := len(said) == s.keeping
	s.keeping = len(said)
	s.mu.Unlock()
	switch {
	case len(said) == 0:
		return app.Toast("There is no answer to keep yet")
	case already:
		return app.Toast("Kept already · " + f.app.FrontEnd.KeyOf("tree") + " shows the branch")
	}
	result, save := make(chan error, 1), app.Async(func(context.Context) app.Effect { f.save(s); return nil })
	var queued atomic.Bool
	s.of.Beside.Keep(at, said, func(err error) {
		if err == nil {
			s.mu.Lock()
			s.kept = len(said)
			s.mu.Unlock()
		}
		if result <- err; queued.Load() {
			f.save(s)
		}
	})
	select {
	case err := <-result:
		if err != nil {
			return app.Fail(err)
		}
		return app.Then{app.Toast("Kept as a branch · " + f.app.FrontEnd.KeyOf("tree") + " shows it"), save}
	default:
		queued.Store(true)
		return app.Then{app.Toast("Kept as a branch when the turn ends"), save} // if it has ended meanwhile
	}
}

// close ends the aside.
func (f *flow) close(s *aside) app.Effect {
	f.open = nil
	return app.Async(func(context.Context) app.Effect {
		s.update(func() { s.closed = true })
		f.save(s)
		return nil
	})
}

// A record is the stored form of an answered exchange.
type record struct {
	Question string        `json:"question"`
	At       int           `json:"at"`
	Model    string        `json:"model,omitempty"`
	Unnamed  bool          `json:"unnamed,omitempty"`
	Answer   llm.Message   `json:"answer"`
	Usage    llm.Usage     `json:"usage,omitzero"`
	Took     time.Duration `json:"took"`
}

// storeKey returns the key under which the library has the side questions of a conversation that are neither kept nor
// closed. It is deleted with the conversation.
func storeKey(conversation string) string { return "aside of " + conversation }

// save stores the answers, so that they are shown when the conversation is opened again; none once they are kept or
// closed.
func (f *flow) save(s *aside) {
	id := s.of.ID()
	if id == "" || f.app.Ephemeral {
		return
	}
	s.saving.Lock()
	defer s.saving.Unlock()
	s.mu.Lock()
	var all []record
	if said, _ := s.answered(); !s.closed && len(said) > s.kept {
		for _, x := range s.list {
			if x.hasAnswer() {
				all = append(all, record{x.question, x.at, x.model.Name, x.unnamed, said[2*len(all)+1], x.usage, x.took})
			}
		}
	}
	s.mu.Unlock()
	value := ""
	if len(all) > 0 {
		data, _ := json.Marshal(all) // cannot fail
		value = string(data)
	}
	_ = f.app.Library.Set(storeKey(id), value) // a read-only store keeps nothing
}

// reopened shows the answers that were neither kept nor closed when the conversation was left.
func (f *flow) reopened() app.Effect {
	s := &aside{of: f.app.Session}
	var all []record
	if value, err := f.app.Library.Get(storeKey(s.of.ID())); err != nil || json.Unmarshal([]byte(value), &all) != nil || len(all) == 0 {
		return nil
	}
	for _, r := range all {
		x := &exchange{question: r.Question, at: r.At, unnamed: r.Unnamed, usage: r.Usage, took: r.Took, answer: r.Answer, done: true}
		x.draft.Add(llm.Delta{Block: "t", Part: llm.Part{Kind: llm.Text, Text: r.Answer.Text()}})
		if r.Model != "" {
			x.model, _ = f.app.Models.Open(r.Model) // otherwise the conversation's model answers next
		}
		s.list = append(s.list, x)
	}
	f.open = s
	return f.beside(s, s.list[len(s.list)-1])
}
