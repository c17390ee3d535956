package print

import (
	"fmt"
	"io"
	"strconv"
	"text/tabwriter"
	"time"

	"parley/tools/sanitize"
)

// A Checkup is how it stands with one provider.
type Checkup struct {
	Provider string
	Where    string // URL or path
	Key      string // where the key comes from
	Took     time.Duration
	Models   int
	Model    string
	Tools    string
	Version  string
	OK       bool
	Error    string
	Hint     string
	JSON     any // the same for machines
}

// Doctor writes a table of checkups, and below each one that failed what is
// wrong and what to do.
func Doctor(w io.Writer, rows []Checkup, asJSON bool) error {
	if asJSON {
		for _, r := range rows {
			if err := writeJSON(w, r.JSON); err != nil {
				return err
			}
		}
		return nil
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, r := range rows {
		sign, took, models := "ok", "", ""
		if !r.OK {
			sign = "failed"
		}
		if r.OK {
			took = r.Took.Round(time.Millisecond).String()
		}
		if r.Models > 0 {
			models = strconv.Itoa(r.Models) + " models"
		}
		for i, cell := range []string{sign, r.Provider, r.Key, took, models, r.Model, how(r.Tools), r.Version} {
			if i > 0 {
				fmt.Fprint(table, "\t")
			}
			fmt.Fprint(table, sanitize.Line(cell))
		}
		fmt.Fprintln(table)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	for _, r := range rows {
		if r.OK {
			continue
		}
		if _, err := fmt.Fprintf(w, "\n%s\n  %s\n", sanitize.Text(r.Error), sanitize.Text(r.Hint)); err != nil {
			return err
		}
	}
	return nil
}

func how(strategy string) string {
	if strategy == "" {
		return ""
	}
	return "tools: " + strategy
}
