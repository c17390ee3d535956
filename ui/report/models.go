// Package report writes lists of models and of changed prices. It sanitizes text from outside.
package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"parley/providers"
	"parley/providers/catalog"
	"parley/tools/sanitize"
	"parley/ui/cli/cmdutil"
	"parley/ui/format"
)

// A Model is one row of the list of models.
type Model struct {
	Name       string        `json:"name"`               // provider/model, or an alias
	Alias      string        `json:"alias_of,omitempty"` // model the alias stands for
	Title      string        `json:"title"`
	Ready      bool          `json:"ready"`
	Why        string        `json:"why,omitempty"` // reason, if it is not ready
	Context    int           `json:"context,omitempty"`
	Price      catalog.Price `json:"-"`
	Vision     bool          `json:"vision"`
	Tools      bool          `json:"tools"`
	Thinks     bool          `json:"thinks"`
	Deprecated bool          `json:"deprecated,omitempty"`
	Retires    string        `json:"retires,omitempty"` // day, as 2006-01-02, if it retires soon
	About      string        `json:"about,omitempty"`   // input and cost, for a model that does not answer prompts
}

// ModelOf returns the row of a model. now determines whether it is deprecated or retires soon.
func ModelOf(c providers.Choice, now time.Time) Model {
	return Model{
		Name: c.Name, Alias: c.Alias, Title: c.Title, Ready: c.Ready, Why: c.Unavailable, Context: c.Context, Price: c.Price,
		Vision: c.Vision, Tools: c.Tools, Thinks: c.Thinks, Deprecated: c.Lifecycle.Retired(now),
		Retires: c.Lifecycle.RetiresSoon(now),
	}
}

// Detail describes a model in a few words, or the reason why it is not ready.
func (m Model) Detail() string {
	if !m.Ready {
		return m.Why
	}
	if m.About != "" {
		return m.About
	}
	price := ""
	switch {
	case m.Price.Free:
		price = "free"
	case m.Price.Known():
		price = fmt.Sprintf("$%g/$%g", m.Price.Input, m.Price.Output)
	}
	return format.Join(" · ", format.When(m.Alias != "", "→ "+m.Alias), m.Window(), price, format.When(m.Retires != "", "retires on "+m.Retires),
		format.When(!m.Tools, "no tools"), format.When(m.Thinks, "reasoning"), format.When(m.Vision, "vision"))
}

// Window returns the size of the context window; "" if unknown.
func (m Model) Window() string {
	if m.Context <= 0 {
		return ""
	}
	return format.Window(m.Context)
}

// Prices returns the prices per million tokens of prompts and of answers: "free" and
// "" for a free model, "" and "" if unknown.
func (m Model) Prices() (input, output string) {
	switch {
	case m.Price.Free:
		return "free", ""
	case m.Price.Known():
		return format.Price(m.Price.Input), format.Price(m.Price.Output)
	}
	return "", ""
}

// Abilities returns words for a model's abilities: tools, vision, reasoning.
func (m Model) Abilities() string {
	return format.Join(" ", format.When(m.Tools, "tools"), format.When(m.Vision, "vision"), format.When(m.Thinks, "reasoning"))
}

// A ModelRow is a row of a list of models, as JSON for programs.
type ModelRow interface {
	Detail() string // a few words, or the reason why it is not ready
	row() (name string, ready bool)
}

func (m Model) row() (name string, ready bool) { return m.Name, m.Ready }

// An ImageModel is one row of the list of image models. Zero fields and empty lists are unknown.
type ImageModel struct {
	Name        string   `json:"name"` // provider/model
	Title       string   `json:"title"`
	Ready       bool     `json:"ready"`
	Why         string   `json:"why,omitempty"`      // reason, if it is not ready
	Cost        float64  `json:"cost_usd,omitempty"` // approximate cost of an image
	Inputs      int      `json:"inputs"`             // maximum number of input images; 0 if it makes only new images
	Mask        bool     `json:"mask"`
	Transparent bool     `json:"transparent"`
	Sizes       []string `json:"sizes,omitempty"`
	Qualities   []string `json:"qualities,omitempty"`
	Formats     []string `json:"formats,omitempty"`
}

// Detail implements ModelRow.
func (m ImageModel) Detail() string {
	if !m.Ready {
		return m.Why
	}
	makes := "new images"
	if m.Inputs > 0 {
		makes = "edits"
	}
	return format.Join(" · ", format.When(m.Cost > 0, "about "+format.Cost(m.Cost, true)), makes, format.When(m.Mask, "mask"), format.When(m.Transparent, "transparent"))
}

func (m ImageModel) row() (name string, ready bool) { return m.Name, m.Ready }

// An EmbeddingModel is one row of the list of models that turn texts into vectors. Zero fields
// are unknown.
type EmbeddingModel struct {
	Name       string        `json:"name"` // provider/model
	Ready      bool          `json:"ready"`
	Why        string        `json:"why,omitempty"`            // reason, if it is not ready
	Dimensions int           `json:"dimensions,omitempty"`     // by default
	Least      int           `json:"dimensions_min,omitempty"` // minimum that can be requested
	Most       int           `json:"dimensions_max,omitempty"`
	MaxInput   int           `json:"max_input,omitempty"` // tokens per text
	Price      catalog.Price `json:"-"`
}

// Detail implements ModelRow.
func (m EmbeddingModel) Detail() string {
	if !m.Ready {
		return m.Why
	}
	dimensions, price := "", ""
	if m.Dimensions > 0 {
		dimensions = fmt.Sprintf("%d dimensions", m.Dimensions)
	}
	if m.Least > 0 {
		dimensions += fmt.Sprintf(" (%d to %d)", m.Least, m.Most)
	}
	switch {
	case m.Price.Free:
		price = "free"
	case m.Price.Known():
		price = format.Price(m.Price.Input) + " a million tokens"
	}
	return format.Join(" · ", dimensions, format.When(m.MaxInput > 0, format.Window(m.MaxInput)+" tokens a text"), price)
}

func (m EmbeddingModel) row() (name string, ready bool) { return m.Name, m.Ready }

// Models writes the models whose names contain all words, one per line. Unless all is
// set, it omits models that are not ready, and passes their number to note. As "json" the
// models are one array, as "jsonl" one object per line.
func Models(w io.Writer, models []ModelRow, words []string, all bool, as string, note func(string)) error {
	hidden := 0
	var rows []ModelRow
	for _, m := range models {
		name, ready := m.row()
		name = strings.ToLower(name)
		if slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(name, strings.ToLower(word)) }) {
			continue
		}
		if !ready && !all {
			hidden++
			continue
		}
		rows = append(rows, m)
	}
	switch {
	case hidden > 0:
		note(fmt.Sprintf("%d more are not ready: --all shows why", hidden))
	case len(rows) == 0 && len(words) > 0:
		note(fmt.Sprintf("no model matches %s", strings.Join(words, " ")))
	}
	if as != "text" {
		return cmdutil.WriteRows(w, as, rows)
	}
	var table [][]string
	for _, m := range rows {
		name, _ := m.row()
		table = append(table, []string{sanitize.Line(name), sanitize.Line(m.Detail())})
	}
	return cmdutil.WriteTable(w, 0, slices.Values(table))
}

// A FactChange describes how the fetched facts of a model differ from the known ones. Zero
// fields are unknown.
type FactChange struct {
	Provider   string `json:"provider"`
	Model      string `json:"model"`
	Change     string `json:"change"` // new, price, window, retires, gone or refused
	Why        string `json:"why,omitempty"`
	Context    int    `json:"context,omitempty"`
	OldContext int    `json:"old_context,omitempty"`
	Price      *Rates `json:"price,omitempty"`
	OldPrice   *Rates `json:"old_price,omitempty"`
	Retires    string `json:"retires,omitempty"` // day, as 2006-01-02
	OldRetires string `json:"old_retires,omitempty"`
}

// Rates holds the prices per million tokens, in US dollars.
type Rates struct {
	Free      bool    `json:"free"`
	Input     float64 `json:"input"`
	Output    float64 `json:"output"`
	CacheRead float64 `json:"cache_read,omitempty"`
}

// String returns r as "$2.00/$8.00", or "unknown".
func (r *Rates) String() string {
	switch {
	case r == nil:
		return "unknown"
	case r.Free:
		return "free"
	}
	return format.Price(r.Input) + "/" + format.Price(r.Output)
}

// A FactsReport describes fetched facts.
type FactsReport struct {
	Fetched   time.Time      `json:"fetched"`
	Saved     string         `json:"saved,omitempty"` // file that was written; "" if only differences are shown
	Providers []FetchedFacts `json:"providers"`
	Changes   []FactChange   `json:"changes"`
	Failed    []FailedSource `json:"failed,omitempty"`
}

// FetchedFacts describes a fetched list.
type FetchedFacts struct {
	Provider string `json:"provider"`
	Models   int    `json:"models"`
	From     string `json:"from,omitempty"` // provider of the list; "" for the provider's own
}

// A FailedSource describes a list that could not be fetched.
type FailedSource struct {
	Provider string `json:"provider,omitempty"`
	Error    string `json:"error"`
}

// mostChanges is the maximum number of changes of one kind shown per provider.
const mostChanges = 20

// Facts writes how fetched facts differ from known ones. As text it lists up to mostChanges
// of one kind per provider, or all changes if all is set. As JSON it writes one object, as
// jsonl one object per change.
func Facts(w io.Writer, r FactsReport, as string, all bool) error {
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
func (c FactChange) line() (sign, words string) {
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
