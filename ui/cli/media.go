package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/charmbracelet/x/term"
	"github.com/spf13/cobra"

	"parley/providers"
	"parley/providers/llm"
	"parley/providers/media"
	"parley/session"
	"parley/session/attach"
	"parley/ui/cli/cmdutil"
	"parley/ui/format"
	"parley/ui/print"
)

// mediaCommands are the commands of models that do something else than answer.
type mediaCommands struct{ *program }

// interruptible returns a context that ends with the program's signals, and when the reader of
// standard output leaves.
func interruptible() (context.Context, context.CancelCauseFunc) {
	ctx, cancel := context.WithCancelCause(context.Background())
	print.CancelOnSignals(cancel)
	return ctx, cancel
}

// reserveBudget keeps room in the limits of [budget] of days and months for what requests to a
// model beside any conversation are estimated to use. Its error says that one is reached, and is
// the status to exit with; that the limits are not held among programs is told alone.
func reserveBudget(a *program, library *session.Store, model string, estimate llm.Usage) (session.Reservation, error) {
	reservation, err := session.Reserve(library.Ledger(), time.Now(), budgetLimits(a), model, estimate)
	if errors.Is(err, session.ErrBudget) {
		return reservation, cmdutil.Fail(print.Limit, err)
	}
	if err != nil {
		a.note(unreservedText(err))
	}
	return reservation, nil
}

// unreservedText tells why limits that programs share are not held among them.
func unreservedText(err error) string {
	return "limits of a day and a month do not count what other parley programs spend now: " + format.ErrorText(err)
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

// openMedia opens a model with an ability.
func openMedia[T, F any](ctx context.Context, a *program, of media.Ability[T, F], name string, o providers.OpenOptions) (m media.Model[T, F], err error) {
	err = a.local.find(ctx, name, func(c providers.Config, name string) (err error) {
		m, err = of.Open(ctx, c, name, o)
		return err
	})
	return m, err
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
			return fmt.Errorf("--to %s: this is a folder: name a file in it", to)
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
