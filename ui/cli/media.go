package cli

import (
	"context"
	"os"

	"github.com/spf13/cobra"

	"parley/providers/llm"
	"parley/providers/media"
	"parley/session"
	"parley/ui/print"
)

// mediaCommands are the commands of models that do something else than answer.
type mediaCommands struct{ *program }

// interruptible returns a context that ends with the program's signals, and when the reader of
// standard output leaves.
func interruptible() (context.Context, context.CancelCauseFunc) {
	ctx, cancel := context.WithCancelCause(context.Background())
	go print.Watch(cancel)
	return ctx, cancel
}

// failed keeps the status that an error has, and returns it.
func (a mediaCommands) failed(err error) error {
	if err == nil {
		return nil
	}
	return a.fail(print.ErrorStatus(err), err)
}

// A spending collects what requests beside a conversation used, and saves it.
type spending struct {
	purpose, model string // such as "embed"
	bill           llm.Bill
	unsaved        []llm.Usage
}

// add counts one request.
func (s *spending) add(b llm.Bill) {
	s.bill = s.bill.Add(b)
	s.unsaved = append(s.unsaved, b.Usage())
}

// saveEvery is how many requests are collected before they are saved.
const saveEvery = 50

// save writes what is collected.
func (s *spending) save(library *session.Store) error {
	err := library.Ledger().Add(ledgerEntries(s.purpose, s.model, s.unsaved...)...)
	if err == nil {
		s.unsaved = nil
	}
	return err
}

// ledgerEntries returns requests that were made in this folder beside any conversation.
func ledgerEntries(purpose, model string, requests ...llm.Usage) []session.LedgerEntry {
	dir, _ := os.Getwd()
	entries := make([]session.LedgerEntry, len(requests))
	for i, u := range requests {
		entries[i] = session.LedgerEntry{Folder: dir, Model: model, Purpose: purpose, Usage: u}
	}
	return entries
}

// completeMedia completes names of the models with an ability that are ready.
func completeMedia[T, F any](a *program, of media.Ability[T, F]) cobra.CompletionFunc {
	return func(*cobra.Command, []string, string) (names []string, _ cobra.ShellCompDirective) {
		if a.load() == nil {
			for _, choice := range of.Choices(a.local.services(), os.Getenv) {
				if choice.Unavailable == "" {
					names = append(names, choice.Name)
				}
			}
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}
