package session

import (
	"context"

	"parley/providers/llm"
)

// An Aside is a question about the conversation that does not become part of it.
type Aside struct {
	Model    llm.Endpoint  // the model that answers; one without a name: that of the conversation
	Purpose  string        // of its requests in the ledger, such as store.PurposeAside
	Messages []llm.Message // earlier questions and answers of the aside, and the question

	// Show receives the deltas of the answer, its notices and retries, on the goroutine of AskAside. After
	// refused calls the answer begins again. Nil: nothing is shown.
	Show func(llm.Event)
}

// maxRefused is how many answers that call tools AskAside refuses.
const maxRefused = 2

// refusedCallText is the result of a call of an aside.
const refusedCallText = "This was not run: answer with what the conversation holds, without calling tools."

// AskAside sends the conversation as it stands with the messages of a, also while a turn runs, and
// returns the answer. Nothing of it enters the conversation. The request has the tools and settings of the
// conversation's own, so that the provider has its beginning cached; calls are refused, and those of a
// running turn are closed as unfinished. It ends with a *BudgetError at a limit.
func (s *Session) AskAside(ctx context.Context, a Aside) (answer llm.Message, err error) {
	s.mu.Lock()
	if a.Model.Name == "" {
		a.Model = s.answering()
	}
	req, _ := s.compile(a.Model, nil)
	s.mu.Unlock()
	req.AnswerSchema, req.Aside = nil, true
	if a.Model.Cache.KeepsToolChoice {
		req.ToolChoice = "none"
	}
	asked, _ := a.Model.Portable(a.Messages)
	req.Messages = append(req.Messages, asked...)
	for refused := 0; ; refused++ {
		answer, err = s.sideRequest(ctx, a.Purpose, a.Model, req, a.Show)
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
