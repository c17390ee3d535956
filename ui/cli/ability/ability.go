// Package ability holds code shared by the commands for image, video and embedding models: finding a model, limiting
// its cost, and saving its results.
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
	"parley/providers/llm/works"
	"parley/session"
	"parley/session/attach"
	"parley/ui/cli/cmdutil"
	"parley/ui/cli/exit"
	"parley/ui/format"
)

// An Env gives the commands access to the program.
type Env struct {
	*cmdutil.Streams
	Load        func() error            // reads the configuration and sets the fields below
	Services    func() providers.Config // returns the providers with the servers found on this machine
	OpenOptions func() providers.OpenOptions
	Find        func(ctx context.Context, name string, open func(providers.Config, string) error) error // resolves the name of a model and calls open with the providers and that name
	Discover    func(context.Context)                                                                   // searches servers on this machine, if that is allowed
	AbbrevPath  func(string) string

	ImageModel, EmbedModel string          // defaults
	Limits                 []session.Limit // from [budget]
	ConfirmAbove           float64         // US dollars; more expensive requests are confirmed first; 0: never
	Plain                  bool            // no redrawn lines, for screen readers
	Images                 string          // how to draw images: ui.images
}

// Keys holds keys of providers, or logins to MCP servers under other names.
type Keys interface {
	providers.KeyStore
	List() (providers []string, err error)
	Put(ctx context.Context, provider, host, key string) (where string, err error)
	PutCommand(ctx context.Context, provider, host, command string) (where string, err error)
	PutVariables(provider, host string, values map[string]string) error
	Remove(ctx context.Context, provider string) (was bool, err error)
	LockRefresh(ctx context.Context, entry string) (unlock func(), err error)
	Exposed() string // warns if other users can read the secrets
}

// Reserve reserves the estimated usage of requests outside conversations in the day and month limits of [budget]. If a
// limit is reached, the error has the exit status. If limits cannot be shared with other programs, it prints a note and
// succeeds.
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

// UnreservedText explains why limits are not shared with other programs.
func UnreservedText(err error) string {
	return "limits of a day and a month do not count what other parley programs spend now: " + format.ErrorText(err)
}

// A Spending collects the usage of requests outside conversations and saves it.
type Spending struct {
	Purpose, Model string // Purpose is such as "embed"
	Bill           works.Bill
	Unsaved        []llm.Usage
}

// Add adds the usage of one request.
func (s *Spending) Add(b works.Bill) {
	s.Bill = s.Bill.Add(b)
	s.Unsaved = append(s.Unsaved, b.Usage())
}

// Save writes the unsaved usage.
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

// Complete completes names of models.
func (a *Env) Complete(names func(c providers.Config, getenv func(string) string) []string) cobra.CompletionFunc {
	return cmdutil.Complete(func() []string {
		if a.Load() != nil {
			return nil
		}
		return names(a.Services(), os.Getenv)
	})
}

// CheckTarget rejects an unusable value of --to before anything is paid for. "" is a generated name in the working
// directory. A directory is allowed only for several files.
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

// SaveFile saves the output of a model as path or, for "", as name in the working directory. If that fails, as on a
// full disk, it saves to the directory for temporary files and returns a note, so that paid output is not lost.
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

// ConfirmCost asks for confirmation if the estimated cost exceeds confirm of [budget]; 0 never asks.
func (a *Env) ConfirmCost(what string, usd float64, known bool) error {
	limit := a.ConfirmAbove
	if !known || limit <= 0 || usd <= limit {
		return nil
	}
	price := fmt.Sprintf("%s cost about %s, more than %s", what, format.Cost(usd, true), format.Cost(limit, true))
	if !term.IsTerminal(os.Stdin.Fd()) || !term.IsTerminal(os.Stderr.Fd()) {
		return cmdutil.Fail(exit.Limit, errors.New(price+": add --yes, or raise confirm under [budget]"))
	}
	yes, err := cmdutil.Confirm(price + ". Continue?")
	if err != nil || !yes {
		return cmdutil.Fail(exit.Limit, errors.New("not sent"))
	}
	return nil
}
