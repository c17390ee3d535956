package print

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"parley/providers/catalog"
	"parley/ui/safe"
)

// A Model is one row of the list of models.
type Model struct {
	Name       string        `json:"name"` // provider/model
	Title      string        `json:"title"`
	Ready      bool          `json:"ready"`
	Why        string        `json:"why,omitempty"` // what it lacks, if it is not ready
	Context    int           `json:"context,omitempty"`
	Price      catalog.Price `json:"-"`
	Vision     bool          `json:"vision"`
	Tools      bool          `json:"tools"`
	Thinks     bool          `json:"thinks"`
	Deprecated bool          `json:"deprecated,omitempty"`
}

// Detail says in a few words what a model is, or what it lacks.
func (m Model) Detail() string {
	if !m.Ready {
		return m.Why
	}
	var words []string
	if m.Context > 0 {
		words = append(words, tokens(m.Context))
	}
	if m.Price.Free {
		words = append(words, "free")
	} else if m.Price.Known() {
		words = append(words, fmt.Sprintf("$%g/$%g", m.Price.Input, m.Price.Output))
	}
	for _, w := range []struct {
		word string
		has  bool
	}{{"no tools", !m.Tools}, {"thinks", m.Thinks}, {"vision", m.Vision}} {
		if w.has {
			words = append(words, w.word)
		}
	}
	return strings.Join(words, " · ")
}

// tokens writes a number of tokens as people do: 128K, 1.05M.
func tokens(n int) string {
	if n >= 1_000_000 {
		return strconv.FormatFloat(float64(n)/1e6, 'f', -1, 32) + "M"
	}
	return strconv.Itoa(n/1000) + "K"
}

// Models writes the models whose names hold all the words, one a line. Those
// that are not ready are left out, and counted to note, unless all is set.
func Models(w io.Writer, models []Model, words []string, all, asJSON bool, note func(string)) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	shown, hidden := 0, 0
	for _, m := range models {
		name := strings.ToLower(m.Name)
		if slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(name, strings.ToLower(word)) }) {
			continue
		}
		if !m.Ready && !all {
			hidden++
			continue
		}
		shown++
		if !asJSON {
			fmt.Fprintf(table, "%s\t%s\n", safe.Line(m.Name), safe.Line(m.Detail()))
			continue
		}
		if err := writeJSON(w, m); err != nil {
			return err
		}
	}
	switch {
	case hidden > 0:
		note(fmt.Sprintf("%d more are not ready: parley models --all says why", hidden))
	case shown == 0 && len(words) > 0:
		note(fmt.Sprintf("no model is called %s", strings.Join(words, " ")))
	}
	return table.Flush()
}
