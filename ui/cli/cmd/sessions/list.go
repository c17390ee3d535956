package sessions

import (
	"cmp"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"parley/session"
	"parley/tools/sanitize"
	"parley/ui/app/wording"
	"parley/ui/cli/cmdutil"
	"parley/ui/format"
)

func (s Options) list() *cobra.Command {
	q := session.Query{Limit: -1}
	var since string
	var as string
	var page pagination
	cmd := &cobra.Command{Use: "list [WORD...]", Short: "List conversations, newest first", RunE: func(cmd *cobra.Command, words []string) error {
		if err := cmp.Or(s.finish(&q, since), page.check(cmd)); err != nil {
			return cmdutil.Usage(err)
		}
		q.Words = strings.Join(words, " ")
		return s.Stored.With(func(lib *session.Store) error {
			found, total, err := s.listed(lib, q, page)
			if cmdutil.Fatal(err, total) != nil {
				return err
			}
			if total == 0 && err == nil {
				s.Note(noneFound(q))
			}
			from, to := page.bounds(total)
			var ids map[string]string
			if s.Render && as == "text" && !q.Deleted { // deleted conversations are found by their whole ID only
				ids = shortIDs(lib, found[from:to])
			}
			failed := s.rows(found[from:to], as, ids)
			if note := page.note(total, "conversations"); note != "" {
				s.Note(note)
			}
			return errors.Join(failed, err)
		})
	}}
	query(cmd, &q, &since)
	page.flags(cmd, 0)
	cmd.Flags().BoolVar(&q.Deleted, "deleted", false, "conversations deleted in the last 30 days")
	cmdutil.FormatFlags(cmd, &as, "one JSON object per line")
	return cmd
}

// listed returns the conversations that q selects, up to the end of the page, and the number of all that q selects.
func (s Options) listed(lib *session.Store, q session.Query, page pagination) (found []session.Info, total int, err error) {
	shown := q
	shown.Limit = page.rows()
	found, err = lib.List(shown)
	total = len(found)
	if shown.Limit > 0 && (err != nil || total == shown.Limit) { // there may be more
		n, uncounted := lib.Count(q)
		if total = n; err != nil || uncounted != nil { // damaged store: count the readable ones
			found, err = lib.List(q)
			total = len(found)
		}
	}
	masked := s.Stored.Masked()
	for i := range found {
		found[i] = masked(&found[i])
	}
	return found, total, err
}

// noneFound returns the text for an empty list.
func noneFound(q session.Query) string {
	switch q {
	case session.Query{Limit: -1}:
		return "no conversations"
	case session.Query{Limit: -1, Deleted: true}:
		return "no deleted conversations"
	}
	return "no conversations match"
}

// rows writes conversations, one per line, with short IDs from ids where present.
func (s Options) rows(found []session.Info, as string, ids map[string]string) error {
	if as != "text" {
		return cmdutil.WriteRows(s.Out, as, found)
	}
	now := s.Now()
	rows := make([][5]string, len(found)) // ID, age, model, cost and title, all sanitized
	for i := range found {
		f := &found[i]
		title := sanitize.Line(wording.ListTitle(*f))
		if f.Pinned {
			title = "pinned: " + title
		}
		rows[i] = [5]string{sanitize.Line(cmp.Or(ids[f.ID], f.ID)), format.Age(now.Sub(f.Updated)), sanitize.Line(f.Model), format.Cost(f.Usage.Cost, f.Usage.Priced), title}
	}
	return cmdutil.WriteTable(s.Out, s.Width, func(yield func([]string) bool) {
		for i := range rows {
			if !yield(rows[i][:]) {
				return
			}
		}
	})
}
