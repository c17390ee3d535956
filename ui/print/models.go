package print

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"parley/tools/sanitize"
	"parley/ui/format"
)

// A Price is what a million tokens cost, in US dollars.
type Price struct {
	Input, Output float64
	Free, Known   bool
}

// A Model is one row of the list of models.
type Model struct {
	Name       string `json:"name"` // provider/model
	Title      string `json:"title"`
	Ready      bool   `json:"ready"`
	Why        string `json:"why,omitempty"` // what it lacks, if it is not ready
	Context    int    `json:"context,omitempty"`
	Price      Price  `json:"-"`
	Vision     bool   `json:"vision"`
	Tools      bool   `json:"tools"`
	Thinks     bool   `json:"thinks"`
	Deprecated bool   `json:"deprecated,omitempty"`
	About      string `json:"about,omitempty"` // what it takes and costs, if it does something else than answer
}

// Detail describes in a few words what a model is, or what it lacks.
func (m Model) Detail() string {
	if !m.Ready {
		return m.Why
	}
	if m.About != "" {
		return m.About
	}
	words := []string{m.Window()}
	if m.Price.Free {
		words = append(words, "free")
	} else if m.Price.Known {
		words = append(words, fmt.Sprintf("$%g/$%g", m.Price.Input, m.Price.Output))
	}
	if !m.Tools {
		words = append(words, "no tools")
	}
	if m.Thinks {
		words = append(words, "reasoning")
	}
	if m.Vision {
		words = append(words, "vision")
	}
	return strings.Join(slices.DeleteFunc(words, func(w string) bool { return w == "" }), " · ")
}

// Window returns how many tokens a request may have; "" if that is not known.
func (m Model) Window() string {
	if m.Context <= 0 {
		return ""
	}
	return format.Window(m.Context)
}

// Prices returns what a million tokens cost, of prompts and of answers: "free" and
// nothing, or nothing at all where they are not known.
func (m Model) Prices() (input, output string) {
	switch {
	case m.Price.Free:
		return "free", ""
	case m.Price.Known:
		return format.Price(m.Price.Input), format.Price(m.Price.Output)
	}
	return "", ""
}

// Abilities returns words for what a model can do: tools, vision, reasoning.
func (m Model) Abilities() string {
	var words []string
	for _, w := range []struct {
		word string
		has  bool
	}{{"tools", m.Tools}, {"vision", m.Vision}, {"reasoning", m.Thinks}} {
		if w.has {
			words = append(words, w.word)
		}
	}
	return strings.Join(words, " ")
}

// A ModelRow is a row of a list of models, and its JSON what programs get.
type ModelRow interface {
	Detail() string // in a few words what it is, or what it lacks
	row() (name string, ready bool)
}

func (m Model) row() (name string, ready bool) { return m.Name, m.Ready }

// An ImageModel is one row of the list of models that make images. Zero fields and empty lists
// are unknown.
type ImageModel struct {
	Name        string   `json:"name"` // provider/model
	Title       string   `json:"title"`
	Ready       bool     `json:"ready"`
	Why         string   `json:"why,omitempty"`      // what it lacks, if it is not ready
	Cost        float64  `json:"cost_usd,omitempty"` // of an image, about
	Inputs      int      `json:"inputs"`             // images that it can be given; 0: it makes new ones only
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
	words := []string{"new images"}
	if m.Inputs > 0 {
		words[0] = "edits"
	}
	if m.Cost > 0 {
		words = append([]string{"about " + format.Cost(m.Cost, true)}, words...)
	}
	for _, w := range []struct {
		word string
		has  bool
	}{{"mask", m.Mask}, {"transparent", m.Transparent}} {
		if w.has {
			words = append(words, w.word)
		}
	}
	return strings.Join(words, " · ")
}

func (m ImageModel) row() (name string, ready bool) { return m.Name, m.Ready }

// An EmbeddingModel is one row of the list of models that turn texts into vectors. Zero fields
// are unknown.
type EmbeddingModel struct {
	Name       string `json:"name"` // provider/model
	Ready      bool   `json:"ready"`
	Why        string `json:"why,omitempty"`            // what it lacks, if it is not ready
	Dimensions int    `json:"dimensions,omitempty"`     // without a wish
	Least      int    `json:"dimensions_min,omitempty"` // that it can be asked for
	Most       int    `json:"dimensions_max,omitempty"`
	MaxInput   int    `json:"max_input,omitempty"` // tokens of a text
	Price      Price  `json:"-"`
}

// Detail implements ModelRow.
func (m EmbeddingModel) Detail() string {
	if !m.Ready {
		return m.Why
	}
	var words []string
	if m.Dimensions > 0 {
		words = append(words, fmt.Sprintf("%d dimensions", m.Dimensions))
	}
	if m.Least > 0 {
		words[0] += fmt.Sprintf(" (%d to %d)", m.Least, m.Most)
	}
	if m.MaxInput > 0 {
		words = append(words, format.Window(m.MaxInput)+" tokens a text")
	}
	switch {
	case m.Price.Free:
		words = append(words, "free")
	case m.Price.Known:
		words = append(words, format.Price(m.Price.Input)+" a million tokens")
	}
	return strings.Join(words, " · ")
}

func (m EmbeddingModel) row() (name string, ready bool) { return m.Name, m.Ready }

// Models writes the models whose names hold all the words, one a line. Those
// that are not ready are left out, and counted to note, unless all is set. As "json" they
// are one array, as "jsonl" an object a line.
func Models[R ModelRow](w io.Writer, models []R, words []string, all bool, as string, note func(string)) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	shown, hidden, rows := 0, 0, []R{}
	for _, m := range models {
		named, ready := m.row()
		name := strings.ToLower(named)
		if slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(name, strings.ToLower(word)) }) {
			continue
		}
		if !ready && !all {
			hidden++
			continue
		}
		shown++
		var err error
		switch as {
		case "json":
			rows = append(rows, m)
		case "jsonl":
			err = WriteJSON(w, m)
		default:
			_, err = fmt.Fprintf(table, "%s\t%s\n", sanitize.Line(named), sanitize.Line(m.Detail()))
		}
		if err != nil {
			return err
		}
	}
	if as == "json" {
		if err := WriteJSON(w, rows); err != nil {
			return err
		}
	}
	switch {
	case hidden > 0:
		note(fmt.Sprintf("%d more are not ready: --all shows why", hidden))
	case shown == 0 && len(words) > 0:
		note(fmt.Sprintf("no model matches %s", strings.Join(words, " ")))
	}
	return table.Flush()
}
