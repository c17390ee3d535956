package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/charmbracelet/x/term"
	"github.com/spf13/cobra"

	"parley/providers/embedding"
	"parley/providers/llm"
	"parley/providers/media"
	"parley/session"
	"parley/session/attach"
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

// reserveBudget keeps room in the limits of [budget] of days and months for what requests to a
// model beside any conversation are estimated to use. Its error says that one is reached, and is
// the status to exit with; that the limits cannot be held is told alone.
func reserveBudget(a *program, library *session.Store, model string, estimate llm.Usage) (session.Reservation, error) {
	held, err := session.Reserve(library.Ledger(), time.Now(), budgetLimits(a), model, estimate)
	if errors.Is(err, session.ErrBudget) {
		return held, a.fail(print.ErrorStatus(err), err)
	}
	if err != nil {
		a.note("the limits of a day and a month cannot be checked now: " + err.Error())
	}
	return held, nil
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

// An embedBudget holds a run to the limits of days and months, between its requests. Those that
// are under way or queued when one is reached, two for each of --parallel, go above it.
type embedBudget struct {
	run     *embedRun
	spent   *spending
	held    session.Reservation
	limited bool                  // there are such limits
	reached atomic.Pointer[error] // one of them; nil: none
	cut     atomic.Bool           // texts are left that are not embedded because of it
}

// renew keeps room for what is left to embed, and returns an error once a limit is reached.
func (b *embedBudget) renew() (err error) {
	b.settle()
	estimate := llm.Usage{Input: max(0, int(b.run.reader.size.Load()/4)-b.spent.bill.Tokens)}
	estimate.Cost, estimate.Priced = b.run.model.Facts.Price.Cost(estimate)
	b.held, err = reserveBudget(b.run.program, b.run.library, b.run.model.Name, estimate)
	if err != nil {
		b.reached.CompareAndSwap(nil, &err)
	}
	b.limited = b.limited || b.held != (session.Reservation{})
	return err
}

// spend counts a request, and looks at the limits again if there are any.
func (b *embedBudget) spend(bill llm.Bill) {
	b.spent.add(bill)
	if len(b.spent.unsaved) < saveEvery && !b.limited {
		return
	}
	if err := b.spent.save(b.run.library); err != nil {
		b.run.note("usage is not saved: " + err.Error())
		b.spent.unsaved = nil
	}
	if b.limited {
		_ = b.renew()
	}
}

func (b *embedBudget) settle() { _ = b.held.Settle() }

// until yields texts until a limit is reached: what was sent by then is paid for, and kept.
func (b *embedBudget) until(texts iter.Seq2[embedding.Input, error]) iter.Seq2[embedding.Input, error] {
	return func(yield func(embedding.Input, error) bool) {
		for in, err := range texts {
			if b.reached.Load() != nil {
				b.cut.Store(true)
				return
			}
			if !yield(in, err) {
				return
			}
		}
	}
}

// err returns the limit for which texts were left out.
func (b *embedBudget) err() error {
	if b.cut.Load() {
		return *b.reached.Load()
	}
	b.run.status = print.OK
	return nil
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

// checkTarget refuses a place where nothing can be saved, before anything is paid for: what --to
// says, "" for a name of our own in the working directory. A directory is one for several files
// only.
func checkTarget(to, format string, several bool) error {
	if to == "-" {
		switch {
		case term.IsTerminal(os.Stdout.Fd()):
			return errors.New("--to -: standard output is a terminal: redirect it, or name a file")
		case format != "text":
			return fmt.Errorf("--to - and -o %s both write to standard output: use one of them", format)
		}
		return nil
	}
	path := cmp.Or(to, "x")
	if info, err := os.Stat(to); to != "" && err == nil && info.IsDir() {
		if !several {
			return fmt.Errorf("--to %s: this is a directory: name a file in it", to)
		}
		path = filepath.Join(to, "x")
	} else if _, err := os.Lstat(to); to != "" && err == nil {
		return fmt.Errorf("--to: %s already exists: give another name", to)
	}
	if err := attach.CanSave(path); err != nil {
		return fmt.Errorf("--to: %w", err)
	}
	return nil
}
