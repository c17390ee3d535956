// Package report writes lists of models. It sanitizes text from outside.
package report

import (
	"fmt"
	"io"
	"slices"
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
