// Package ability has what the commands about models with other abilities than to answer share:
// how a model is found, what it may cost, and where its work is saved.
package ability

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
	"parley/ui/cli/exit"
	"parley/ui/format"
)

// An Env is what these commands need of the program.
type Env struct {
	*cmdutil.Streams
	Load        func() error            // reads the configuration, and sets the fields below
	Services    func() providers.Config // with the servers found on this machine
	OpenOptions func() providers.OpenOptions
	Find        Find
	Discover    func(context.Context) // looks for servers on this machine, where that is allowed
	AbbrevPath  func(string) string

	ImageModel, EmbedModel string          // by default
	Limits                 []session.Limit // of [budget]
	ConfirmAbove           float64         // US dollars of a request without a question; 0: any
	Plain                  bool            // lines stay as they are, for screen readers
}

// A Find opens a model by its name with open, among the providers there are.
type Find func(ctx context.Context, name string, open func(providers.Config, string) error) error

// Reserve keeps room in the limits of [budget] of days and months for what requests to a
// model beside any conversation are estimated to use. Its error says that one is reached, and is
// the status to exit with; that the limits are not held among programs is told alone.
func (a *Env) Reserve(library *session.Store, model string, estimate llm.Usage) (session.Reservation, error) {
	reservation, err := session.Reserve(library.Ledger(), time.Now(), a.Limits, model, estimate)
	if errors.Is(err, session.ErrBudget) {
		return reservation, cmdutil.Fail(exit.Limit, err)
	}
	if err != nil {
		a.Note(UnreservedText(err))
	}
	return reservation, nil
}

// UnreservedText tells why limits that programs share are not held among them.
func UnreservedText(err error) string {
	return "limits of a day and a month do not count what other parley programs spend now: " + format.ErrorText(err)
}

// A Spending collects what requests beside a conversation used, and saves it.
type Spending struct {
	Purpose, Model string // such as "embed"
	Bill           llm.Bill
	Unsaved        []llm.Usage
}

// Add counts one request.
func (s *Spending) Add(b llm.Bill) {
	s.Bill = s.Bill.Add(b)
	s.Unsaved = append(s.Unsaved, b.Usage())
}

// Save writes what is collected.
func (s *Spending) Save(library *session.Store) error {
	dir, _ := os.Getwd()
	var entries []session.LedgerEntry
	for _, u := range s.Unsaved {
		entries = append(entries, session.LedgerEntry{Folder: dir, Model: s.Model, Purpose: s.Purpose, Usage: u})
	}
	err := library.Ledger().Add(entries...)
	if err == nil {
		s.Unsaved = nil
	}
	return err
}

// Open opens a model with an
func Open[T, F any](ctx context.Context, find Find, of media.Ability[T, F], name string, o providers.OpenOptions) (m media.Model[T, F], err error) {
	err = find(ctx, name, func(c providers.Config, name string) (err error) {
		m, err = of.Open(ctx, c, name, o)
		return err
	})
	return m, err
}

// Complete completes names of the models with an ability that are ready.
func Complete[T, F any](a *Env, of media.Ability[T, F]) cobra.CompletionFunc {
	return cmdutil.Complete(func() (names []string) {
		if a.Load() == nil {
			for _, choice := range of.Choices(a.Services(), os.Getenv) {
				if choice.Unavailable == "" {
					names = append(names, choice.Name)
				}
			}
		}
		return names
	})
}

// CheckTarget refuses a place where nothing can be saved, before anything is paid for: what --to
// says, "" for a name of our own in the working directory. A directory is one for several files
// only.
func CheckTarget(to, format string, several bool) error {
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

// SaveFile saves what a model made as path; "" is name in the working folder. What was paid for is
// not lost because the disk is full: then it goes to the folder for temporary files, as note says.
func SaveFile(path, name string, data []byte) (saved, note string, err error) {
	if saved, err = attach.Save(cmp.Or(path, name), data); err == nil {
		return saved, "", nil
	}
	elsewhere, again := attach.Save(filepath.Join(os.TempDir(), name), data)
	if again != nil {
		return "", "", err
	}
	return elsewhere, format.ErrorText(err) + ": saved as " + elsewhere, nil
}

// ConfirmCost asks before something that is estimated to cost more than [budget] confirm says,
// which never asks if it is 0.
func (a *Env) ConfirmCost(what string, usd float64, known bool) error {
	limit := a.ConfirmAbove
	if !known || limit <= 0 || usd <= limit {
		return nil
	}
	price := fmt.Sprintf("%s cost about %s, more than %s", what, format.Cost(usd, true), cmp.Or(format.Cost(limit, true), "$0"))
	if !term.IsTerminal(os.Stdin.Fd()) || !term.IsTerminal(os.Stderr.Fd()) {
		return cmdutil.Fail(exit.Limit, errors.New(price+": add --yes, or raise confirm under [budget]"))
	}
	yes, err := cmdutil.Confirm(price + ". Continue?")
	if err != nil || !yes {
		return cmdutil.Fail(exit.Limit, errors.New("not sent"))
	}
	return nil
}
