package print

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/charmbracelet/x/ansi"
	"github.com/spf13/cobra"

	"parley/session"
	"parley/tools/sanitize"
	"parley/ui/app"
	"parley/ui/format"
)

// Usage returns the command that sums up tokens and cost.
func (s SessionCommands) Usage() *cobra.Command {
	var since, until, by string
	var asJSON bool
	cmd := &cobra.Command{Use: "usage", Short: "Sum up tokens and cost by day, model or session", Args: cobra.NoArgs, RunE: func(*cobra.Command, []string) error {
		group := app.UsageGroups[by]
		if group == nil {
			return app.UsageError{Err: fmt.Errorf("--by %s: use day, model or session", by)}
		}
		from, err := localTime(since, s.Now())
		if err != nil {
			return app.UsageError{Err: fmt.Errorf("--since: %w", err)}
		}
		to, err := localTime(until, s.Now())
		if err != nil {
			return app.UsageError{Err: fmt.Errorf("--until: %w", err)}
		}
		return s.with(func(lib *session.Store) error {
			spent, err := lib.DailyUsage(from, to, by == "session")
			if fatal(err, len(spent)) != nil {
				return err
			}
			if asJSON {
				for _, row := range spent {
					if err := WriteJSON(s.Out, row); err != nil {
						return err
					}
				}
				return err
			}
			if len(spent) == 0 {
				s.Note("no usage in this period")
				return nil
			}
			if by == "session" {
				titles := map[string]string{}
				found, _ := lib.List(session.Query{})
				for _, f := range found {
					titles[f.ID] = f.ID + "  " + app.Title(f)
				}
				group = func(row session.DailyUsage) string {
					if title := titles[row.Session]; title != "" {
						return title
					}
					return row.Session
				}
			}
			return s.lines(spending(spent, group, by == "model"))
		})
	}}
	f := cmd.Flags()
	f.StringVar(&since, "since", "30d", "from this day: 2026-11-20, or 30d ago")
	f.StringVar(&until, "until", "", "before this day")
	f.StringVar(&by, "by", "day", "day, model or session")
	f.BoolVar(&asJSON, "json", false, "one JSON object per line, for each day and model")
	cmd.RegisterFlagCompletionFunc("by", cobra.FixedCompletions([]string{"day", "model", "session"}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// widestName sets how many cells of a name a table shows: titles may be long.
const widestName = 56

// spending returns a table of rows with their total; the dearest first if there is
// no other order in them.
func spending(spent []session.DailyUsage, group func(session.DailyUsage) string, dearest bool) string {
	names, sums := app.SumUsage(spent, group)
	if dearest {
		slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(sums[b].Usage.Cost, sums[a].Usage.Cost) })
	}
	var figures bytes.Buffer
	w := tabwriter.NewWriter(&figures, 0, 0, 2, ' ', 0)
	row := func(s session.DailyUsage) {
		answers := "answers"
		if s.Answers == 1 {
			answers = "answer"
		}
		fmt.Fprintf(w, "%d %s\t%s in\t%s\t%s out\t%s\n", s.Answers, answers,
			format.Tokens(s.Usage.Input), app.Cached(s.Usage), format.Tokens(s.Usage.Output), priced(s))
	}
	var total session.DailyUsage
	wide := 0
	for i, name := range names {
		s := sums[name]
		row(s)
		total.Answers += s.Answers
		total.Unpriced += s.Unpriced
		total.Usage = total.Usage.Add(s.Usage)
		names[i] = ansi.Truncate(sanitize.Line(name), widestName, "…")
		wide = max(wide, ansi.StringWidth(names[i]))
	}
	row(total)
	w.Flush()
	names = append(names, "total")
	wide = max(wide, len("total"))
	var out strings.Builder
	for line := range strings.Lines(figures.String()) { // names are padded by their cells, of which a letter may take two
		out.WriteString(names[0] + strings.Repeat(" ", wide-ansi.StringWidth(names[0])+2) + line)
		names = names[1:]
	}
	return out.String()
}

// priced returns what a row cost, and how sure that is.
func priced(s session.DailyUsage) string {
	switch cost := format.Cost(s.Usage.Cost, s.Usage.Priced); {
	case s.Unpriced == 0 && cost == "":
		return "$0"
	case s.Unpriced == 0:
		return cost
	case s.Unpriced == s.Answers:
		return "no known price"
	case cost == "":
		return fmt.Sprintf("$0, and %d answers have no known price (not included)", s.Unpriced)
	default:
		return fmt.Sprintf("%s, and %d answers have no known price (not included)", cost, s.Unpriced)
	}
}
