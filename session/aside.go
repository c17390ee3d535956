package session

import (
	"cmp"
	"context"

	"parley/providers/llm"
	"parley/session/store"
)

// An Aside is a question about the conversation that does not become part of it.
type Aside struct {
	Model    llm.Endpoint  // the model that answers; one without a name: that of the conversation
	Purpose  string        // of its requests in the ledger, such as store.PurposeAside
	Messages []llm.Message // earlier questions and answers of the aside, and the question

	// Show receives the deltas of the answer, its notices and retries, its end, and the usage of each request at last, on
	// the goroutine of Ask. After refused calls the answer begins again. Nil: nothing is shown.
	Show func(llm.Event)
}

// AsideNote precedes the first question of an aside for the model.
const AsideNote = "This is a question beside the work, which continues without your answer to it. Answer from what the conversation holds, without calling tools.\n\n"

// maxRefused is how many answers that call tools Ask refuses.
const maxRefused = 2

// refusedCallText is the result of a call of an aside.
const refusedCallText = "This was not run: answer with what the conversation holds, without calling tools."

// Ask sends the conversation as it stands with the messages of a, also while a turn runs, and
// returns the answer. Nothing of it enters the conversation. The request has the tools and settings of the
// conversation's own, so that the provider has its beginning cached; calls are refused, and those of a
// running turn are closed as unfinished. It ends with a *settings.BudgetError at a limit, and when the session is closed.
func (b *sideRequests) Ask(ctx context.Context, a Aside) (answer llm.Message, err error) {
	s := b.session
	s.mu.Lock()
	if err := cmp.Or(b.ctx.Err(), ctx.Err()); err != nil {
		s.mu.Unlock()
		return answer, err
	}
	b.running.Add(1) // before Close waits
	defer b.running.Done()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(b.ctx, cancel)()
	if a.Model.Name == "" {
		a.Model = s.Next.answering()
	}
	req, _ := s.Next.compile(a.Model, nil)
	s.mu.Unlock()
	req.AnswerSchema, req.Aside = nil, true
	if a.Model.Cache.KeepsToolChoice {
		req.ToolChoice = "none"
	}
	asked, _ := a.Model.Portable(a.Messages)
	req.Messages = append(req.Messages, asked...)
	if a.Show == nil {
		a.Show = func(llm.Event) {}
	}
	pass := func(e llm.Event, err error) bool {
		if _, counts := e.(llm.Usage); err == nil && !counts {
			a.Show(e)
		}
		return true
	}
	for refused := 0; ; refused++ {
		var usage llm.Usage
		answer, usage, err = b.send(ctx, a.Purpose, a.Model, req, pass)
		a.Show(usage)
		calls := answer.Calls()
		if err != nil || len(calls) == 0 || refused == maxRefused {
			return answer, err
		}
		results := llm.Message{Role: llm.RoleTool}
		for _, call := range calls {
			results.Parts = append(results.Parts, llm.Part{Kind: llm.Result, ID: call.ID, Name: call.Name, Text: refusedCallText, Failed: true})
		}
		req.Messages = append(req.Messages, answer, results)
	}
}

// Keep adds the questions and answers of an aside as a branch after the message at, which was the last one
// when the first question was asked. The conversation continues where it did. Kept is called with the result: while a
// turn runs, not before its end and on another goroutine.
func (b *sideRequests) Keep(at int, said []llm.Message, kept func(error)) {
	s := b.session
	s.mu.Lock()
	b.keep = append(b.keep, func() { kept(s.Branch.keepAside(at, said)) })
	s.mu.Unlock()
	b.keepAll()
}

// keepAll stores the asides to keep unless a turn is running; its end calls this again.
func (b *sideRequests) keepAll() {
	s := b.session
	waiting := func() bool { return locked(&s.mu, func() bool { return len(b.keep) > 0 }) }
	for waiting() && s.turn.TryLock() {
		s.mu.Lock()
		keep := b.keep
		b.keep = nil
		s.mu.Unlock()
		for _, store := range keep {
			store()
		}
		s.turn.Unlock()
	}
}

// keepAside is sideRequests.Keep with the session's turn locked.
func (b *currentBranch) keepAside(at int, said []llm.Message) error {
	return b.changeLocked(func(t *tree) (added []store.Node, err error) {
		n, err := t.At(at)
		if err != nil {
			return nil, err
		}
		head := t.head
		defer func() { t.head = head }()
		if t.head = at; len(n.Calls()) > 0 { // it is followed by their results, if there are any
			t.each(func(r *store.Node) bool {
				if r.Parent == at && r.Role == llm.RoleTool {
					t.head = r.Seq
				}
				return t.head == at
			})
		}
		for _, m := range said {
			n := t.newNode(m)
			n.At = b.session.now()
			t.Put(n)
			added = append(added, n)
		}
		return added, nil
	})
}
