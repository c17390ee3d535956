package sessions

import (
	"cmp"
	"errors"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"parley/session"
	"parley/tools/sanitize"
	"parley/ui/app"
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
			if as == "text" {
				return s.listText(lib, q, page)
			}
			found, total, err := listed(lib, q, page, s.Stored.Masked())
			return s.listPage(q, page, total, err, func(from, to int) error { return cmdutil.WriteRows(s.Out, as, found[from:to]) })
		})
	}}
	query(cmd, &q, &since)
	page.flags(cmd, 0)
	cmd.Flags().BoolVar(&q.Deleted, "deleted", false, "conversations deleted in the last 30 days")
	cmdutil.FormatFlags(cmd, &as, "one JSON object per line")
	return cmd
}

// listed returns the results of of for the conversations that q selects, up to the end of the page, and the number of
// all that q selects.
func listed[T any](lib *session.Store, q session.Query, page pagination, of func(*session.Info) T) (found []T, total int, err error) {
	shown := q
	shown.Limit = page.rows()
	found, err = session.ListOf(lib, shown, of)
	total = len(found)
	if shown.Limit > 0 && (err != nil || total == shown.Limit) { // there may be more
		n, uncounted := lib.Count(q)
		if total = n; err != nil || uncounted != nil { // damaged store: count the readable ones
			shown.Limit = -1
			found, err = session.ListOf(lib, shown, of)
			total = len(found)
		}
	}
	return found, total, err
}

// listText writes a page of the conversations that q selects, one per line.
func (s Options) listText(lib *session.Store, q session.Query, page pagination) error {
	brief := q
	brief.Brief = true
	row, masked := rowOf(s.Now()), s.Stored.Masked()
	rows, total, err := listed(lib, brief, page, func(f *session.Info) listRow {
		info := masked(f)
		return row(&info)
	})
	return s.listPage(q, page, total, err, func(from, to int) error {
		var ids map[string]string
		if s.Render && !q.Deleted { // deleted conversations are found by their whole ID only
			ids = shortIDs(lib, rows[from:to])
		}
		return s.table(rows[from:to], ids)
	})
}

// listPage writes the rows of a page and notes how many are on other pages. Err is the error from reading them.
func (s Options) listPage(q session.Query, page pagination, total int, err error, write func(from, to int) error) error {
	if cmdutil.Fatal(err, total) != nil {
		return err
	}
	if total == 0 && err == nil {
		s.Note(noneFound(q))
	}
	failed := write(page.bounds(total))
	if note := page.note(total, "conversations"); note != "" {
		s.Note(note)
	}
	return errors.Join(failed, err)
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

// rows writes conversations, one per line.
func (s Options) rows(found []session.Info, as string) error {
	if as != "text" {
		return cmdutil.WriteRows(s.Out, as, found)
	}
	rows, of := make([]listRow, len(found)), rowOf(s.Now())
	for i := range found {
		rows[i] = of(&found[i])
	}
	return s.table(rows, nil)
}

// A listRow is a conversation in a list: its whole ID, age, model, cost and title. All but the ID are sanitized.
type listRow [5]string

// rowOf returns a function that makes rows of conversations.
func rowOf(now time.Time) func(*session.Info) listRow {
	return func(f *session.Info) listRow {
		title := sanitize.Line(app.ListTitle(*f))
		if f.Pinned {
			title = "pinned: " + title
		}
		return listRow{f.ID, format.Age(now.Sub(f.Updated)), sanitize.Line(f.Model), format.Cost(f.Usage.Cost, f.Usage.Priced), title}
	}
}

// table writes rows, with short IDs from ids where present.
func (s Options) table(rows []listRow, ids map[string]string) error {
	for i := range rows {
		rows[i][0] = sanitize.Line(cmp.Or(ids[rows[i][0]], rows[i][0]))
	}
	return cmdutil.WriteTable(s.Out, s.Width, func(yield func([]string) bool) {
		for i := range rows {
			if !yield(rows[i][:]) {
				return
			}
		}
	})
}
