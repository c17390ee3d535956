package sessions

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sort"
	"strings"
	"time"

	"parley/session"
	"parley/tools/sanitize"
	"parley/ui/cli/cmdutil"
)

// comparisons prints which answers were chosen in comparisons of models.
func (s Options) comparisons(since, until time.Time, output string) error {
	return s.Stored.With(func(lib *session.Store) error {
		all, err := lib.Comparisons().List(since, until)
		if cmdutil.Fatal(err, len(all)) != nil {
			return err
		}
		if output == "csv" {
			return cmdutil.Usagef("--compare: use -o text, json or jsonl")
		}
		if output != "text" {
			return errors.Join(cmdutil.WriteRows(s.Out, output, all), err)
		}
		if len(all) == 0 {
			s.Note("no comparisons in this period")
			return nil
		}
		return s.lines(comparisonTally(all))
	})
}

// A score counts how often a model, or the first of a pair, was preferred.
type score struct{ won, of, blind int }

// comparisonTally returns a table of models, the most preferred first, and a table of pairs.
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
	var text strings.Builder
	var rows [][]string
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
		rows = append(rows, []string{sanitize.Line(name), fmt.Sprintf("chosen %d of %d", s.won, s.of), fmt.Sprintf("%d%%", 100*s.won/s.of), blind(s)})
	}
	_ = cmdutil.WriteTable(&text, 0, slices.Values(rows)) // writes to a Builder cannot fail
	text.WriteByte('\n')
	rows = nil
	compared := slices.Collect(maps.Keys(pairs))
	sort.Slice(compared, func(i, j int) bool {
		a, b := compared[i], compared[j]
		return cmp.Or(pairs[b].of-pairs[a].of, strings.Compare(a[0], b[0]), strings.Compare(a[1], b[1])) < 0
	})
	for _, pair := range compared {
		s := pairs[pair]
		rows = append(rows, []string{sanitize.Line(pair[0]), fmt.Sprintf("%d – %d", s.won, s.of-s.won), sanitize.Line(pair[1]), blind(s)})
	}
	_ = cmdutil.WriteTable(&text, 0, slices.Values(rows))
	return text.String()
}
