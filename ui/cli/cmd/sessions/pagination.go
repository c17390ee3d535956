package sessions

import (
	"fmt"
	"math"
	"strings"

	"github.com/spf13/cobra"

	"parley/session"
	"parley/ui/cli/cmdutil"
)

// A pagination selects a part of a list.
type pagination struct {
	limit, number int // limit 0: all rows, unless --page is set
	all           bool
}

// usualPage is the number of rows per page without --limit.
const usualPage = 1000

// flags adds the flags of a list; usual is the default number of rows, 0 for all.
func (p *pagination) flags(cmd *cobra.Command, usual int) {
	f := cmd.Flags()
	f.IntVarP(&p.limit, "limit", "n", usual, "`NUMBER` of rows per page")
	f.IntVar(&p.number, "page", 1, "`NUMBER` of the page")
	f.BoolVar(&p.all, "all", false, "all rows on one page")
	cmd.MarkFlagsMutuallyExclusive("all", "limit")
	cmd.MarkFlagsMutuallyExclusive("all", "page")
}

func (p *pagination) check(cmd *cobra.Command) error {
	if f := cmd.Flags(); p.limit == 0 && !f.Changed("limit") {
		p.all = p.all || !f.Changed("page")
		p.limit = usualPage
	}
	if p.limit < 1 || p.number < 1 {
		return cmdutil.Usagef("--limit %d --page %d: both count from 1", p.limit, p.number)
	}
	return nil
}

// bounds returns the bounds of the page in a list of total rows.
func (p *pagination) bounds(total int) (from, to int) {
	if p.all {
		return 0, total
	}
	from = min(p.skipped(), total)
	return from, min(from+min(p.limit, total), total)
}

// skipped returns the number of rows before the page.
func (p *pagination) skipped() int {
	switch {
	case p.all:
		return 0
	case p.number-1 > math.MaxInt/p.limit:
		return math.MaxInt
	}
	return (p.number - 1) * p.limit
}

// rows returns the number of rows to read for the page, including those before it; -1 is all.
func (p *pagination) rows() int {
	if p.all || p.skipped() > math.MaxInt-p.limit {
		return -1
	}
	return p.skipped() + p.limit
}

// note says which rows of how many are shown, with of as the plural noun; "" if all are.
func (p *pagination) note(total int, of string) string {
	from, to := p.bounds(total)
	shown := fmt.Sprintf("%s %d to %d of %d", of, from+1, to, total)
	if to == from+1 {
		shown = fmt.Sprintf("%s %d of %d", strings.TrimSuffix(of, "s"), to, total)
	}
	switch {
	case to-from == total:
		return ""
	case from == to:
		return fmt.Sprintf("Page %d is empty: there are %d %s", p.number, total, of)
	case to == total:
		return shown + ": the last page"
	}
	return fmt.Sprintf("%s: --page %d shows more, --all all of them", shown, p.number+1)
}

// ownID is the length of parley's own IDs in bytes. Those of other programs are longer.
const ownID = 13

// shortIDs returns for each ID the shortest prefix that is unique in the store and at least as long as parley's own
// IDs, so that IDs of imported conversations leave room for titles. It is empty if the store fails: whole IDs are shown
// then.
func shortIDs(lib *session.Store, shown []session.Info) map[string]string {
	ids := make([]string, len(shown))
	for i := range shown {
		ids[i] = shown[i].ID
	}
	short, err := lib.ShortIDs(ownID, ids...)
	if err != nil {
		return nil
	}
	return short
}
