package cli

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"time"

	"parley/providers/catalog"
	"parley/providers/llm"
	"parley/session"
	"parley/ui/cli/ability"
	"parley/ui/format"
)

// askAside asks the copy s of the conversation that --aside names, and yields the events of the answer. The cost
// is entered for the conversation, which does not change otherwise.
func askAside(ctx context.Context, a *program, s *session.Session, parts []llm.Part) iter.Seq[session.Event] {
	return func(yield func(session.Event) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		reads := true // the consumer
		emit := func(e session.Event) {
			if reads = reads && yield(e); !reads {
				cancel()
			}
		}
		began, ledger, r := time.Now(), a.original.Ledger(), session.Response{UsageKnown: true}
		model, estimate := s.Model(), llm.Usage{}
		estimate.Input = s.Next.EstimateTokens(model) + session.EstimateParts(parts, catalog.Estimate)
		if model.Cost != nil {
			estimate.Cost, estimate.Priced = model.Cost(estimate)
		}
		room, err := session.Reserve(ledger, began, a.config.limits(a.flags.maxCost), model.Name, estimate)
		if err != nil && !errors.Is(err, session.ErrBudget) {
			a.Note(ability.UnreservedText(err))
			err = nil
		}
		if err == nil {
			emit(session.Step{Model: model.Name, N: 1})
			question := llm.Message{Role: llm.RoleUser, Parts: append([]llm.Part{{Kind: llm.Text, Text: session.AsideNote}}, parts...)}
			r.Message, err = s.Beside.Ask(ctx, session.Aside{Purpose: session.PurposeAside, Messages: []llm.Message{question}, Show: func(e llm.Event) {
				switch e := e.(type) {
				case llm.Usage:
					r.Usage = r.Usage.Add(e)
				case llm.Finish:
					r.Finish = e
				default:
					emit(e)
				}
			}})
			var entries []session.LedgerEntry
			if err == nil || r.Usage != (llm.Usage{}) {
				entries = append(entries, session.LedgerEntry{Session: a.flags.aside, Folder: a.dir, Model: cmp.Or(r.Message.Model, model.Name), Purpose: session.PurposeAside, Usage: r.Usage})
			}
			if failed := cmp.Or(ledger.Add(entries...), room.Settle()); failed != nil {
				a.Note("could not save the cost: " + format.ErrorText(failed))
			}
			if r.At, r.Duration = began, time.Since(began); err == nil || !r.Message.Empty() {
				emit(r)
			}
		}
		emit(session.Done{Err: err, Reason: r.Finish.Reason, Usage: r.Usage, Steps: 1, Duration: time.Since(began)})
	}
}
