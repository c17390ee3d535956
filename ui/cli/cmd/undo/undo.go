// Package undo implements the commands about files changed by the tools of a conversation.
package undo

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"parley/session"
	"parley/tools"
	"parley/tools/sanitize"
	"parley/tools/undo"
	"parley/ui/cli/cmdutil"
	"parley/ui/format"
)

// Options configure the commands.
type Options struct {
	*cmdutil.Streams
	Stored cmdutil.Conversations
	Files  func() undo.Store // opens the store for earlier versions of files; it returns nil if there is no place for it
}

// Add adds the commands to conversations.
func (o Options) Add(conversations *cobra.Command) {
	diff := &cobra.Command{Use: "diff SESSION", Short: "Show what the tools of a conversation changed in files", Args: cobra.MinimumNArgs(1), ValidArgsFunction: o.Stored.Complete,
		RunE: func(_ *cobra.Command, words []string) error {
			var found session.Info
			err := o.Stored.With(func(lib *session.Store) (err error) {
				found, err = o.Stored.Find(lib, strings.Join(words, " "))
				return err
			})
			if err != nil {
				return err
			}
			return o.printDiff(found.ID)
		}}
	prune := &cobra.Command{Use: "prune", Short: "Remove kept files older than 30 days, and beyond 1 GB", Args: cobra.NoArgs, RunE: func(*cobra.Command, []string) error {
		store := o.Files()
		if store == nil {
			return nil
		}
		done, err := store.Prune(time.Now().Add(-undo.MaxAge), undo.MaxStored)
		o.Note(fmt.Sprintf("removed what %s changed in files, %s; %s kept", format.Plural(done.Histories, "conversation"), format.Size(int(done.Freed)), format.Size(int(done.Remaining))))
		return err
	}}
	conversations.AddCommand(diff, prune)
}

// printDiff prints the difference between the files that a conversation changed and their versions before it.
func (o Options) printDiff(id string) error {
	store := o.Files()
	if store == nil {
		return nil
	}
	records, err := store.Session(id)
	if err != nil {
		return err
	}
	var roots []string
	for _, r := range records {
		if !slices.Contains(roots, string(r.Root)) {
			roots = append(roots, string(r.Root))
		}
	}
	changed := 0
	for _, root := range roots {
		h, err := store.History(id, root)
		if err != nil {
			return err
		}
		plan, err := h.Plan(1)
		if err != nil {
			return err
		}
		for _, s := range plan.Steps {
			changed++
			now, was := h.Texts(s)
			text := tools.FileDiff(string(s.Path), s.To.Kind == undo.File, was, now)
			if s.Now.Kind != undo.File && s.To.Kind != undo.File || text == "" {
				text = fmt.Sprintf("%q: %s mode %04o → %s mode %04o\n", string(s.Path), s.To.Describe(), s.To.Mode, s.Now.Describe(), s.Now.Mode)
			}
			if _, err := io.WriteString(o.Out, sanitize.Text(text)); err != nil {
				return err
			}
			if s.ConfirmReason != "" {
				o.Note(fmt.Sprintf("%q: %s", string(s.Path), s.ConfirmReason))
			}
		}
		for _, u := range plan.Uncovered {
			o.Note(fmt.Sprintf("%q is not covered: %s", string(u.Path), u.Why))
		}
		if plan.Partial != "" {
			o.Note("more may have changed: " + sanitize.Line(plan.Partial))
		}
	}
	if changed == 0 {
		o.Note("no file differs from before this conversation")
	}
	return nil
}
