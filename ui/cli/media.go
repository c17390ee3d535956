package cli

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/term"

	"parley/providers/llm"
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

// A progressLine is a line on a terminal that says how far something is, drawn anew at most
// ten times a second.
type progressLine struct {
	on    bool // standard error is a terminal
	drawn time.Time
}

const progressInterval = 100 * time.Millisecond

// show draws text, which is called if it is to be drawn.
func (p *progressLine) show(text func() string) {
	if !p.on || time.Since(p.drawn) < progressInterval {
		return
	}
	p.drawn = time.Now()
	line := text()
	if width, _, err := term.GetSize(os.Stderr.Fd()); err == nil && width > 1 {
		line = ansi.Truncate(line, width-1, "…")
	}
	fmt.Fprint(os.Stderr, "\r\x1b[K"+line)
}

// clear takes the line away.
func (p *progressLine) clear() {
	if p.on && !p.drawn.IsZero() {
		fmt.Fprint(os.Stderr, "\r\x1b[K")
	}
}
