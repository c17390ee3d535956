package report

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"parley/session"
	"parley/tools/sanitize"
	"parley/ui/app"
)

// comparisons prints which answers were chosen when models were compared.
func (s SessionCommands) comparisons(since, until time.Time, output string) error {
	return s.with(func(lib *session.Store) error {
		all, err := lib.Comparisons().List(since, until)
		if fatal(err, len(all)) != nil {
			return err
		}
		if output == "csv" {
			return app.UsageError{Err: errors.New("--compare: use -o text, json or jsonl")}
		}
		if output != "text" {
			return errors.Join(WriteRows(s.Out, output, all), err)
		}
		if len(all) == 0 {
			s.Note("no comparisons in this period")
			return nil
		}
		return s.lines(comparisonTally(all))
	})
}

// A score is how often a model, or the first of a pair, was preferred.
type score struct{ won, of, blind int }

// comparisonTally returns a table of models, the most preferred first, and one of pairs.
func comparisonTally(all []session.Comparison) string {
	models, pairs := map[string]score{}, map[[2]string]score{}
	add := func(s score, won, blind bool) score {
		s.of++
		if won {
			s.won++
		}
		if blind {
			s.blind++
		}
		return s
	}
	for _, c := range all {
		models[c.Winner] = add(models[c.Winner], true, c.Blind)
		for _, loser := range c.Losers {
			models[loser] = add(models[loser], false, c.Blind)
			pair, won := [2]string{c.Winner, loser}, true
			if loser < c.Winner {
				pair, won = [2]string{loser, c.Winner}, false
			}
			pairs[pair] = add(pairs[pair], won, c.Blind)
		}
	}
	var out bytes.Buffer
	w := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	blind := func(s score) string {
		if s.blind == 0 {
			return ""
		}
		return fmt.Sprintf("%d blind", s.blind)
	}
	names := slices.SortedFunc(maps.Keys(models), func(a, b string) int {
		x, y := models[a], models[b]
		return cmp.Or(y.won*x.of-x.won*y.of, y.of-x.of, strings.Compare(a, b))
	})
	for _, name := range names {
		s := models[name]
		fmt.Fprintf(w, "%s\tchosen %d of %d\t%d%%\t%s\n", sanitize.Line(name), s.won, s.of, 100*s.won/s.of, blind(s))
	}
	fmt.Fprintln(w)
	for _, pair := range slices.SortedFunc(maps.Keys(pairs), func(a, b [2]string) int {
		return cmp.Or(pairs[b].of-pairs[a].of, strings.Compare(a[0], b[0]), strings.Compare(a[1], b[1]))
	}) {
		s := pairs[pair]
		fmt.Fprintf(w, "%s\t%d – %d\t%s\t%s\n", sanitize.Line(pair[0]), s.won, s.of-s.won, sanitize.Line(pair[1]), blind(s))
	}
	w.Flush()
	var text strings.Builder
	for line := range strings.Lines(out.String()) {
		text.WriteString(strings.TrimRight(line, " \n") + "\n")
	}
	return text.String()
}
