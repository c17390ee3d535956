package sessions

import (
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"parley/session"
	"parley/tools/sanitize"
	"parley/ui/cli/cmdutil"
	"parley/ui/format"
	"parley/ui/theme"
	"parley/ui/usage"
)

// usageFlags are the flags of the usage report.
type usageFlags struct {
	since, until, by, output string
	asCSV, cache, compared   bool
}

// usage returns the command that reports tokens and cost.
func (s Options) usage() *cobra.Command {
	u := usageFlags{by: "day"}
	cmd := &cobra.Command{
		Use: "usage", Short: "Sum up tokens and cost by day, model, provider, folder, session or purpose", Args: cobra.NoArgs,
		Long: `Sum up the tokens and the cost of every request: answers, titles, summaries, compared
models, embeddings, images and videos. Removed conversations are included.`,
		Example: `  parley usage                          # the last 30 days
  parley usage --by model --since 7d
  parley usage --by month --csv > usage.csv
  parley usage --cache                  # what prompt caches saved, what they missed, and why`,
		RunE: func(*cobra.Command, []string) error {
			from, to, err := u.period(s.Now())
			if err != nil {
				return cmdutil.Usage(err)
			}
			if u.compared {
				return s.comparisons(from, to, u.output)
			}
			return s.Stored.With(func(lib *session.Store) error {
				if u.cache {
					report, err := usage.Reader{Store: lib}.Cache(from, to)
					if cmdutil.Fatal(err, report.Total.Requests) != nil {
						return err
					}
					return errors.Join(s.writeCache(report, u.output), err)
				}
				report, err := usage.Reader{Store: lib, AbbrevPath: s.AbbrevPath}.By(u.by, from, to)
				if cmdutil.Fatal(err, len(report.Rows)) != nil {
					return err
				}
				return errors.Join(s.writeUsage(report, u.output), err)
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&u.since, "since", "", "from this `DAY`: 2026-11-20, or 30d ago (default 30d; 365d with --by month)")
	f.StringVar(&u.until, "until", "", "before this `DAY`")
	cmdutil.ChoiceFlag(cmd, &u.by, "by", "", "`KIND`: "+strings.Join(session.UsageKeys, ", "), session.UsageKeys)
	cmdutil.FormatFlags(cmd, &u.output, "one JSON object per line, as -o jsonl", "text", "json", "jsonl", "csv")
	f.BoolVar(&u.asCSV, "csv", false, "comma-separated values, as -o csv")
	f.BoolVar(&u.cache, "cache", false, "tokens read from prompt caches, written and missed, and why")
	f.BoolVar(&u.compared, "compare", false, "which compared answers you chose, by model and pair")
	cmd.MarkFlagsMutuallyExclusive("json", "csv", "output")
	cmd.MarkFlagsMutuallyExclusive("cache", "by")
	return cmd
}

// period checks the flags and returns the time span.
func (u *usageFlags) period(now time.Time) (from, to time.Time, err error) {
	if u.asCSV {
		u.output = "csv"
	}
	usual := "30d"
	if u.by == "month" {
		usual = "365d"
	}
	if from, err = localTime(cmp.Or(u.since, usual), now); err != nil {
		return from, to, fmt.Errorf("--since: %w", err)
	}
	if to, err = localTime(u.until, now); err != nil {
		return from, to, fmt.Errorf("--until: %w", err)
	}
	if !to.IsZero() && !from.Before(to) {
		return from, to, fmt.Errorf("--until %s is not after --since %s", u.until, cmp.Or(u.since, usual))
	}
	return from, to, nil
}

// A usageDocument is a report in JSON.
type usageDocument struct {
	By    string             `json:"by"`
	Rows  []session.UsageSum `json:"rows"`
	Total session.UsageSum   `json:"total"`
}

// writeUsage prints a report.
func (s Options) writeUsage(r usage.Report, output string) error {
	switch output {
	case "json":
		return cmdutil.WriteJSON(s.Out, usageDocument{r.By, append([]session.UsageSum{}, r.Rows...), r.Total})
	case "jsonl":
		return cmdutil.WriteRows(s.Out, output, r.Rows)
	case "csv":
		return s.writeUsageCSV(r)
	}
	if len(r.Rows) == 0 {
		s.Note("no usage in this period")
		return nil
	}
	text := s.chart(r.Chart())
	if note := r.Note(); note != "" {
		text += note + "\n"
	}
	return s.lines(text)
}

// chart returns a chart as lines, with bars on a terminal.
func (s *Options) chart(c format.Chart) string {
	width, look := 0, format.ChartStyle{Plain: true}
	if s.Render && s.Width > 0 {
		if s.Styled != nil {
			s.Out = s.Styled
		}
		th := theme.Terminal()
		width, look = s.Width, format.ChartStyle{
			Bar: func(text string) string { return th.Accent.Render(text) }, Heading: func(text string) string { return th.Dim.Render(text) },
		}
	}
	return strings.Join(c.Lines(width, look), "\n") + "\n"
}

// A cacheDocument is a report about caches in JSON.
type cacheDocument struct {
	Requests int                `json:"requests"`
	Input    int                `json:"input"`
	Read     int                `json:"cache_read"`
	Written  int                `json:"cache_write"`
	Missed   int                `json:"missed"`
	Cost     float64            `json:"missed_cost"`
	Causes   []session.CacheSum `json:"causes"`
}

// writeCache prints a report about caches.
func (s Options) writeCache(r usage.Caches, output string) error {
	u, missed := r.Total.Usage, r.Missed()
	switch output {
	case "json", "jsonl":
		return cmdutil.WriteJSON(s.Out, cacheDocument{r.Total.Requests, u.Input, u.CacheRead, u.CacheWrite, missed.Tokens, missed.Cost, append([]session.CacheSum{}, r.Misses...)})
	case "csv":
		table := [][]string{{"cause", "requests", "missed", "cost"}}
		for _, m := range r.Misses {
			table = append(table, []string{csvText(string(m.Cause)), strconv.Itoa(m.Requests), strconv.Itoa(m.Tokens), strconv.FormatFloat(m.Cost, 'f', -1, 64)})
		}
		return csv.NewWriter(s.Out).WriteAll(table)
	}
	if r.Total.Requests == 0 {
		s.Note("no usage in this period")
		return nil
	}
	text := r.Summary() + "\n"
	if len(r.Misses) > 0 {
		text = s.chart(r.Chart()) + text
	}
	return s.lines(text)
}

// usageColumns are the columns of a CSV report after the first.
var usageColumns = []string{"requests", "unpriced", "input", "cache_read", "cache_write", "output", "thinking", "cost", "missed"}

// writeUsageCSV prints a report in CSV (RFC 4180).
func (s Options) writeUsageCSV(r usage.Report) error {
	table := [][]string{append([]string{r.By}, usageColumns...)}
	for _, row := range r.Rows {
		u := row.Usage
		record := []string{csvText(row.Key(r.By))}
		for _, n := range []int{row.Requests, row.Unpriced, u.Input, u.CacheRead, u.CacheWrite, u.Output, u.Thinking} {
			record = append(record, strconv.Itoa(n))
		}
		table = append(table, append(record, strconv.FormatFloat(u.Cost, 'f', -1, 64), strconv.Itoa(row.Missed)))
	}
	return csv.NewWriter(s.Out).WriteAll(table)
}

// csvText returns text that a spreadsheet does not evaluate as a formula.
func csvText(text string) string {
	text = sanitize.Line(text)
	if strings.ContainsAny(text[:min(len(text), 1)], "=+-@") {
		return "'" + text
	}
	return text
}
