package catalog

import (
	"cmp"
	"fmt"
	"math"
	"strings"
	"time"
	"unicode/utf8"

	"parley/tools/sanitize"
)

// Facts are a model list's facts about one model. Zero values and nil are unknown.
type Facts struct {
	ID        string `json:"id"` // must be the first key: FactsFile searches lines by it
	Name      string `json:"name,omitempty"`
	Context   int    `json:"context,omitempty"`
	MaxOutput int    `json:"max_output,omitempty"`
	Price     Price  `json:"price,omitzero"`
	Tools     *bool  `json:"tools,omitempty"`
	Vision    *bool  `json:"vision,omitempty"`
	Thinks    *bool  `json:"thinks,omitempty"`
	Retires   string `json:"retires,omitempty"` // like Lifecycle.Retires
}

// Bounds of plausible facts. Prices are in US dollars per million tokens; the most expensive known
// model costs 600.
const (
	maxFactID     = 200 // bytes
	maxFactName   = 120 // runes
	maxFactTokens = 100_000_000
	maxFactPrice  = 10_000

	minFactWindow = 1024 // tokens of a chat model; others, such as embedders, may have less
	minFactOutput = 256  // tokens
)

// Check returns f without implausible values, and descriptions of those it removed. It returns zero
// Facts if the id itself is unusable.
func (f Facts) Check() (checked Facts, refused []string) {
	if !isPlainID(f.ID) {
		return Facts{}, []string{fmt.Sprintf("its id is not plain text of up to %d characters", maxFactID)}
	}
	refuse := func(format string, args ...any) { refused = append(refused, fmt.Sprintf(format, args...)) }
	f.Name = strings.TrimSpace(sanitize.Line(f.Name))
	if utf8.RuneCountInString(f.Name) > maxFactName {
		f.Name = string([]rune(f.Name)[:maxFactName])
	}
	for _, n := range []struct {
		what  string
		value *int
		least int
	}{{"window", &f.Context, minFactWindow}, {"output limit", &f.MaxOutput, minFactOutput}} {
		if *n.value < 0 || *n.value > maxFactTokens || *n.value > 0 && *n.value < n.least && IsChatModel(f.ID) {
			refuse("%s of %d tokens", n.what, *n.value)
			*n.value = 0
		}
	}
	if _, err := time.Parse(time.DateOnly, f.Retires); err != nil && f.Retires != "" {
		refuse("end on %q", sanitize.Line(sanitize.TruncateBytes(f.Retires, maxFactID)))
		f.Retires = ""
	}
	for _, dollars := range f.Price.all() {
		if !IsPrice(dollars) {
			refuse("price of %v dollars for a million tokens", dollars)
			f.Price = Price{}
			break
		}
	}
	return f, refused
}

// IsPrice reports whether dollars, per million tokens, is a plausible price.
func IsPrice(dollars float64) bool {
	return dollars >= 0 && dollars <= maxFactPrice && !math.IsNaN(dollars)
}

// isPlainID reports whether an id is printable ASCII without quotes and spaces, and not too long.
func isPlainID(id string) bool {
	return id != "" && len(id) <= maxFactID && strings.IndexFunc(id, func(r rune) bool {
		return r <= ' ' || r > '~' || r == '"' || r == '\\' || r == '\'' || r == '`'
	}) < 0
}

// all lists every figure of p.
func (p Price) all() []float64 {
	list := []float64{p.Input, p.Output, p.CacheRead, p.CacheWrite}
	for _, t := range p.Tiers {
		list = append(list, t.Input, t.Output, t.CacheRead, t.CacheWrite)
	}
	return list
}

// WithDefaults returns f with its unknown fields taken from older facts of the same model.
func (f Facts) WithDefaults(older Facts) Facts {
	f.Name = cmp.Or(f.Name, older.Name)
	f.Context = cmp.Or(f.Context, older.Context)
	f.MaxOutput = cmp.Or(f.MaxOutput, older.MaxOutput)
	f.Price = f.Price.withDefaults(older.Price)
	f.Tools, f.Vision, f.Thinks = cmp.Or(f.Tools, older.Tools), cmp.Or(f.Vision, older.Vision), cmp.Or(f.Thinks, older.Thinks)
	return f
}

// withDefaults returns p with unknown rates taken from an older price: most lists lack the rates of
// caches and of long prompts.
func (p Price) withDefaults(older Price) Price {
	switch {
	case !p.Known():
		return older
	case p.Free || !older.Known():
		return p
	}
	p.CacheRead, p.CacheWrite = cmp.Or(p.CacheRead, older.CacheRead), cmp.Or(p.CacheWrite, older.CacheWrite)
	if p.Tiers == nil {
		p.Tiers = older.Tiers
	}
	return p
}

// ApplyTo returns m with the context window, output limit, price and retirement of f. If newer, all
// known values of f apply; otherwise only those missing in m. No known value is lost, and the
// abilities of m, which decide what is sent to the model, do not change.
func (f Facts) ApplyTo(m Model, newer bool) Model {
	if newer || m.Context == 0 {
		m.Context = cmp.Or(f.Context, m.Context)
		if m.MaxInput > m.Context {
			m.MaxInput = 0
		}
	}
	if newer || m.MaxOutput == 0 {
		m.MaxOutput = cmp.Or(f.MaxOutput, m.MaxOutput)
	}
	if newer || m.Retires == "" {
		m.Retires = cmp.Or(f.Retires, m.Retires)
	}
	if newer || !m.Price.Known() {
		m.Price = f.Price.withDefaults(m.Price)
	}
	return m
}
