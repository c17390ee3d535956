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
	"parley/tools/sanitize"
	"parley/tools/undo"
	"parley/tools/undo/changes"
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
	var patch bool
	list := o.command("changes", "List the files that the tools of a conversation changed", &patch)
	list.Flags().BoolVar(&patch, "patch", false, "print the changes as a patch, as diff does")
	all := true
	diff := o.command("diff", "Show the changes that the tools of a conversation made to files", &all)
	prune := &cobra.Command{Use: "prune", Short: "Remove files stored for /undo that are older than 30 days or exceed 1 GB", Args: cobra.NoArgs, RunE: func(*cobra.Command, []string) error {
		store := o.Files()
		if store == nil {
			return nil
		}
		done, err := store.Prune(time.Now().Add(-undo.MaxAge), undo.MaxStored)
		o.Note(fmt.Sprintf("removed what %s changed in files, %s; %s kept", format.Plural(done.Histories, "conversation"), format.Size(int(done.Freed)), format.Size(int(done.Remaining))))
		return err
	}}
	conversations.AddCommand(list, diff, prune)
}

// command returns a command that prints the changes of a conversation.
func (o Options) command(name, short string, patch *bool) *cobra.Command {
	return &cobra.Command{Use: name + " SESSION", Short: short, Args: cobra.MinimumNArgs(1), ValidArgsFunction: o.Stored.Complete,
		RunE: func(_ *cobra.Command, words []string) error {
			var found session.Info
			err := o.Stored.With(func(lib *session.Store) (err error) {
				found, err = o.Stored.Find(lib, strings.Join(words, " "))
				return err
			})
			if err != nil {
				return err
			}
			return o.print(found.ID, *patch)
		}}
}

// print prints the difference between the files that a conversation changed and their versions before it: a row for
// each file, or a patch.
func (o Options) print(id string, patch bool) error {
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
		files, plan, err := changes.Of(h)
		if err != nil {
			return err
		}
		changed += len(files)
		var rows [][]string
		for _, f := range files {
			rows = append(rows, []string{sanitize.Line(string(f.Path)), f.Note, fmt.Sprintf("+%d −%d", f.Added, f.Removed)})
			if patch {
				if _, err := io.WriteString(o.Out, sanitize.Text(f.Diff(h))); err != nil {
					return err
				}
			}
			if f.ConfirmReason != "" {
				o.Note(fmt.Sprintf("%q: %s", string(f.Path), f.ConfirmReason))
			}
		}
		if !patch {
			if err := cmdutil.WriteTable(o.Out, 0, slices.Values(rows)); err != nil {
				return err
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
