package models

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	"parley/tools/sanitize"
	"parley/ui/cli/cmdutil"
	"parley/ui/format"
)

// A change describes how the fetched facts of a model differ from the known ones. Zero
// fields are unknown.
type change struct {
	Provider   string `json:"provider"`
	Model      string `json:"model"`
	Change     string `json:"change"` // new, price, window, retires, gone or refused
	Why        string `json:"why,omitempty"`
	Context    int    `json:"context,omitempty"`
	OldContext int    `json:"old_context,omitempty"`
	Price      *rates `json:"price,omitempty"`
	OldPrice   *rates `json:"old_price,omitempty"`
	Retires    string `json:"retires,omitempty"` // day, as 2006-01-02
	OldRetires string `json:"old_retires,omitempty"`
}

// rates holds prices per million tokens, in US dollars.
type rates struct {
	Free      bool    `json:"free"`
	Input     float64 `json:"input"`
	Output    float64 `json:"output"`
	CacheRead float64 `json:"cache_read,omitempty"`
}

// String returns r as "$2.00/$8.00", or "unknown".
func (r *rates) String() string {
	switch {
	case r == nil:
		return "unknown"
	case r.Free:
		return "free"
	}
	return format.Price(r.Input) + "/" + format.Price(r.Output)
}

// A factsReport describes fetched facts.
type factsReport struct {
	Fetched   time.Time      `json:"fetched"`
	Saved     string         `json:"saved,omitempty"` // file that was written; "" if only differences are shown
	Providers []fetched      `json:"providers"`
	Changes   []change       `json:"changes"`
	Failed    []failedSource `json:"failed,omitempty"`
}

// fetched describes a fetched list.
type fetched struct {
	Provider string `json:"provider"`
	Models   int    `json:"models"`
	From     string `json:"from,omitempty"` // provider of the list; "" for the provider's own
}

// A failedSource describes a list that could not be fetched.
type failedSource struct {
	Provider string `json:"provider,omitempty"`
	Error    string `json:"error"`
}

// mostChanges is the maximum number of changes of one kind shown per provider.
const mostChanges = 20

// write writes how fetched facts differ from known ones. As text it lists up to mostChanges
// of one kind per provider, or all changes if all is set. As JSON it writes one object, as
// jsonl one object per change.
func (r factsReport) write(w io.Writer, as string, all bool) error {
	switch as {
	case "json":
		return cmdutil.WriteJSON(w, r)
	case "jsonl":
		return cmdutil.WriteRows(w, as, r.Changes)
	}
	for _, p := range r.Providers {
		n := 0
		fmt.Fprintf(w, "%s: %s", sanitize.Line(p.Provider), format.Plural(p.Models, "model"))
		if p.From != "" {
			fmt.Fprintf(w, " in the list of %s", sanitize.Line(p.From))
		}
		var table [][]string
		of := map[string]int{}
		for _, c := range r.Changes {
			if c.Provider != p.Provider {
				continue
			}
			if n++; n == 1 {
				fmt.Fprintln(w)
			}
			if of[c.Change]++; all || of[c.Change] <= mostChanges {
				sign, words := c.line()
				table = append(table, []string{"  " + sign + " " + sanitize.Line(c.Model), sanitize.Line(words)})
			}
		}
		if n == 0 {
			fmt.Fprintln(w, ", no changes")
		}
		if err := cmdutil.WriteTable(w, 0, slices.Values(table)); err != nil {
			return err
		}
		for _, kind := range []string{"new", "price", "window", "retires", "gone", "refused"} {
			if more := of[kind] - mostChanges; more > 0 && !all {
				fmt.Fprintf(w, "  … %d more %s: --all shows them\n", more, kind)
			}
		}
	}
	return nil
}

// line returns the sign and the text of a change.
func (c change) line() (sign, words string) {
	window := func(tokens int) string {
		if tokens == 0 {
			return "unknown"
		}
		return format.Window(tokens)
	}
	switch c.Change {
	case "new":
		return "+", format.Join(" · ", format.When(c.Context > 0, window(c.Context)), format.When(c.Price != nil, c.Price.String()))
	case "price":
		old, now := c.OldPrice.String(), c.Price.String()
		if old == now && c.OldPrice != nil && c.Price != nil {
			old, now = "cached "+format.Price(c.OldPrice.CacheRead), format.Price(c.Price.CacheRead)
		}
		return "~", old + " → " + now
	case "window":
		old, now := window(c.OldContext), window(c.Context)
		if old == now {
			old, now = strconv.Itoa(c.OldContext), strconv.Itoa(c.Context)
		}
		return "~", "window " + old + " → " + now
	case "retires":
		return "~", "retires " + cmp.Or(c.OldRetires, "unknown") + " → " + cmp.Or(c.Retires, "unknown")
	case "gone":
		return "-", "no longer listed"
	}
	return "!", "not taken: " + c.Why
}
