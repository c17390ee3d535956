// Package catalog contains facts about models and the services that offer them: names, context
// windows, prices, abilities. Facts are data, one file per provider in data/; the wire behavior of
// a service is Go code in its adapter.
//
// Data is decoded when first needed, one provider at a time:
//
//	data/ID.toml ──► Provider (head) ──► its Models
//
// Lists of models (Facts) are fetched from services on request, checked, compared with the known
// facts (Fetched) and stored in a file (FactsFile). They add to a Model and remove nothing from it.
//
// Find looks up a provider's own models and follows aliases. Guess finds facts for ids of any
// gateway or local server. An unknown price stays unknown; it is never 0.
package catalog

import (
	"cmp"
	"embed"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/BurntSushi/toml"
)

// A Provider is a service that offers models.
type Provider struct {
	ID         string            `toml:"-"`           // name of the file, and the part before the slash in "openai/gpt-5"
	Name       string            `toml:"name"`        // display name
	Kind       string            `toml:"kind"`        // wire format, such as "anthropic"
	BaseURL    string            `toml:"base_url"`    // "" if it has no HTTP address
	KeyEnv     []string          `toml:"key_env"`     // environment variables that may hold the key, best first
	URLEnv     []string          `toml:"url_env"`     // environment variables that may replace BaseURL, best first
	Local      bool              `toml:"local"`       // needs no key and costs nothing
	Default    string            `toml:"default"`     // model to use when none is named
	Small      string            `toml:"small"`       // model for secondary tasks, such as titles
	ModelsFrom string            `toml:"models_from"` // provider whose models it offers instead of its own
	Offers     []string          `toml:"offers"`      // ids of the models of ModelsFrom that it offers; nil for all, with their own ids
	NoList     bool              `toml:"no_list"`     // has no list of models, or one of unusable models
	KeyHeader  string            `toml:"key_header"`  // header for the API key; "" for the header of Kind
	TokenFrom  string            `toml:"token_from"`  // login that supplies tokens instead of an API key: FromGoogle, or "" for none
	Variables  []Variable        `toml:"variables"`   // variables of its addresses
	Regions    map[string]string `toml:"regions"`     // further base URLs of the service, by region or plan
	Aliases    map[string]string `toml:"aliases"`     // current model ids by family name and by retired id; any other id is sent as typed

	CacheMinutes int  `toml:"cache_minutes"` // lifetime of a cached prompt after its last use; 0 if unknown
	CacheLeast   int  `toml:"cache_least"`   // tokens of the shortest prompt that all its models cache; 0 if unknown
	CacheChoice  bool `toml:"cache_choice"`  // a request with another tool_choice finds the same prompt

	SearchPrice float64 `toml:"search_price"` // US dollars per thousand web searches, for models without such a price; 0 if unknown

	Models []Model `toml:"models"` // in picker order
}

// FromGoogle is the TokenFrom of Google's application default credentials.
const FromGoogle = "google"

// A Model holds the known facts of one model of one provider. Zero sizes are unknown.
type Model struct {
	Provider      string   `toml:"-"`
	ID            string   `toml:"id"`
	Name          string   `toml:"name"`       // display name
	Context       int      `toml:"context"`    // whole context window, in tokens
	MaxInput      int      `toml:"max_input"`  // limit of the input in tokens, if smaller than Context
	MaxOutput     int      `toml:"max_output"` // limit of the output in tokens, including thinking
	Price         Price    `toml:"price"`
	Vision        bool     `toml:"vision"` // accepts images
	PDF           bool     `toml:"pdf"`    // accepts PDF files
	Tools         bool     `toml:"tools"`  // calls functions natively
	Thinks        bool     `toml:"thinks"`
	Thinking      string   `toml:"thinking"`       // control of thinking: "level", "budget" or "adaptive"; "" if the family has only one
	Levels        []string `toml:"levels"`         // effort values that the wire accepts, without OffValue
	OffValue      string   `toml:"off_value"`      // effort value that turns thinking off
	CanDisable    bool     `toml:"can_disable"`    // thinking can be turned off
	Budget        Budget   `toml:"budget"`         // range of the thinking budget, if Thinking is "budget"
	FixedSampling bool     `toml:"fixed_sampling"` // refuses or ignores temperature, top_p and the like
	Effort        string   `toml:"effort"`         // effort implied by the name, as in deepseek-reasoner
	Inferred      bool     `toml:"-"`              // the model is not in the catalog: these are facts of its nearest relative
	Lifecycle
}

// A Lifecycle holds a service's announcement about the end of a model.
type Lifecycle struct {
	Deprecated bool   `toml:"deprecated"`  // should not be used any more; no date is known
	Retires    string `toml:"retires"`     // day from which the service refuses the model, as 2006-01-02; "" if none is announced
	ReplacedBy string `toml:"replaced_by"` // id of the model to use instead; "" if unknown
}

// retirementNotice is how long in advance users are told that a model retires.
const retirementNotice = 30 * 24 * time.Hour

// Retired reports whether the model should not be offered at the given time.
func (l Lifecycle) Retired(at time.Time) bool {
	return l.Deprecated || l.Retires != "" && l.Retires <= at.Format(time.DateOnly)
}

// RetiresSoon returns Retires if it is at most retirementNotice after now; "" otherwise.
func (l Lifecycle) RetiresSoon(now time.Time) string {
	if l.Retires > now.Add(retirementNotice).Format(time.DateOnly) {
		return ""
	}
	return l.Retires
}

// Retirement returns a sentence for users about the end of the model called id; "" unless it retires
// soon.
func (l Lifecycle) Retirement(id string, now time.Time) string {
	day := l.RetiresSoon(now)
	if day == "" {
		return ""
	}
	text := id + " retires on " + day
	if l.Retired(now) {
		text = id + " was retired on " + day
	}
	if l.ReplacedBy != "" {
		text += "; use " + l.ReplacedBy + " instead"
	}
	return text
}

// A Budget is a range of thinking tokens; a zero bound is unknown.
type Budget struct {
	Min int `toml:"min"`
	Max int `toml:"max"`
}

// data holds one file per provider: its head, then one row per model.
//
//go:embed data/*.toml
var data embed.FS

// order is the order of providers in pickers. If no model is configured, the first provider with a
// key is used. Every file must be listed.
var order = []string{
	"openai", "anthropic", "gemini", "xai", "zai", "qwen", "deepseek", "minimax", "moonshot", "mistral", "groq", "cerebras",
	"openrouter", "azure", "foundry", "foundry-claude", "bedrock", "bedrock-claude", "vertex", "vertex-claude", "vertex-express",
	"ollama", "lmstudio", "llamacpp", "vllm", "sglang", "llamafile", "localai", "koboldcpp", "jan", "docker", "mlx", "claude-cli", "codex-cli", "gemini-cli",
	"antigravity-cli", "copilot-cli", "grok-cli", "qwen-cli", "demo",
}

// entry is one file. Its head and each model are decoded when first needed: looking up one model
// decodes one row, not the file.
type entry struct {
	id   string
	head func() Provider
	rows func() []row

	once    sync.Once
	offered []row // result of offers
}

// row is the row of one model.
type row struct {
	provider string // provider of the file that contains it
	id       string
	*record
}

// record is the text of a row, and its model once decoded.
type record struct {
	file, provider, text string
	model                atomic.Pointer[Model]
}

var entries = sync.OnceValue(func() []*entry {
	files, err := fs.Glob(data, "data/*.toml")
	if err != nil {
		panic(err) // the pattern is wrong
	}
	list := make([]*entry, 0, len(files))
	for _, file := range files {
		list = append(list, newEntry(file))
	}
	slices.SortStableFunc(list, func(a, b *entry) int { return cmp.Compare(rank(a.id), rank(b.id)) })
	return list
})

func rank(id string) int {
	if i := slices.Index(order, id); i >= 0 {
		return i
	}
	return len(order)
}

// rowSeparator separates the head of a file from its rows, and rows from each other. The first line
// of a row is its id.
const rowSeparator = "\n[[models]]\n"

func newEntry(file string) *entry {
	id := strings.TrimSuffix(strings.TrimPrefix(file, "data/"), ".toml")
	pieces := sync.OnceValue(func() []string {
		text, err := data.ReadFile(file)
		if err != nil {
			panic(err) // it was just listed
		}
		return strings.Split(string(text), rowSeparator)
	})
	return &entry{
		id: id,
		head: sync.OnceValue(func() Provider {
			p := Provider{ID: id}
			decode(file, pieces()[0], &p)
			return p
		}),
		rows: sync.OnceValue(func() []row {
			texts := pieces()[1:]
			rows, records := make([]row, len(texts)), make([]record, len(texts))
			for i, text := range texts {
				_, rest, _ := strings.Cut(text, `"`)
				name, _, _ := strings.Cut(rest, `"`)
				records[i].file, records[i].provider, records[i].text = file, id, text
				rows[i] = row{id, name, &records[i]}
			}
			return rows
		}),
	}
}

// decode returns the model of the row, decoding it on the first call.
func (r *record) decode() Model {
	if m := r.model.Load(); m != nil {
		return *m
	}
	m := Model{Provider: r.provider}
	decode(r.file, r.text, &m)
	m.Name = cmp.Or(m.Name, m.ID)
	r.model.Store(&m)
	return m
}

// decode decodes embedded TOML into v. It panics if the data is invalid: a test decodes all of it.
func decode(file, text string, v any) {
	if _, err := toml.Decode(text, v); err != nil {
		panic(fmt.Sprintf("%s: %v", file, err))
	}
}

func findEntry(id string) (*entry, bool) {
	for _, e := range entries() {
		if e.id == id {
			return e, true
		}
	}
	return nil, false
}

// source returns the entry whose models e offers: the one of ModelsFrom, or e itself.
func (e *entry) source() *entry {
	if from, ok := findEntry(e.head().ModelsFrom); ok {
		return from
	}
	return e
}

// offers returns the rows of the models that e offers, with the ids used by e.
func (e *entry) offers() []row {
	e.once.Do(func() {
		all := e.source().rows()
		if e.head().Offers == nil {
			e.offered = all
			return
		}
		for _, id := range e.head().Offers {
			want := words(id)
			if i := slices.IndexFunc(all, func(r row) bool { return slices.Equal(words(r.id), want) }); i >= 0 {
				same := all[i]
				same.id = id
				e.offered = append(e.offered, same)
			}
		}
	})
	return e.offered
}

func (e *entry) models() []Model {
	rows := e.offers()
	models := make([]Model, 0, len(rows))
	for _, r := range rows {
		models = append(models, r.as(e.id))
	}
	return models
}

func (e *entry) find(model string) (Model, bool) {
	rows := e.offers()
	i := slices.IndexFunc(rows, func(r row) bool { return r.id == model })
	if i < 0 {
		return Model{}, false
	}
	return rows[i].as(e.id), true
}

// as returns the model of the row for a provider, with its id there.
func (r row) as(provider string) Model {
	m := r.decode()
	if provider != r.provider {
		m.Lifecycle = Lifecycle{Deprecated: m.Deprecated} // each service has its own dates
	}
	m.Provider, m.ID = provider, r.id
	return m
}

// Providers returns every provider with its models, in picker order. It decodes the whole catalog;
// Heads is cheaper.
func Providers() []Provider {
	providers := Heads()
	var wait sync.WaitGroup
	for i, e := range entries() {
		wait.Go(func() { providers[i].Models = e.models() })
	}
	wait.Wait()
	return providers
}

// Heads returns every provider without its models.
func Heads() []Provider {
	providers := make([]Provider, 0, len(entries()))
	for _, e := range entries() {
		providers = append(providers, e.head())
	}
	return providers
}

// Head returns the provider id without its models; false if it is not in the catalog.
func Head(id string) (Provider, bool) {
	e, ok := findEntry(id)
	if !ok {
		return Provider{}, false
	}
	return e.head(), true
}

// IDs returns the ids of a provider's models, without decoding any. It returns none for a provider
// missing in the catalog.
func IDs(provider string) []string {
	e, ok := findEntry(provider)
	if !ok {
		return nil
	}
	if offers := e.head().Offers; offers != nil {
		return slices.Clone(offers)
	}
	var ids []string
	for _, r := range e.source().rows() {
		ids = append(ids, r.id)
	}
	return ids
}

// Find returns the facts of a provider's model; for an alias, those of the current model. It
// returns false if there are none.
func Find(provider, model string) (Model, bool) {
	e, ok := findEntry(provider)
	if !ok {
		return Model{}, false
	}
	if current, ok := e.head().Aliases[model]; ok {
		model = current
	}
	return e.find(model)
}

// FindExact is Find without aliases: an old conversation keeps the context window and price of the
// model that it used.
func FindExact(provider, model string) (Model, bool) {
	e, ok := findEntry(provider)
	if !ok {
		return Model{}, false
	}
	return e.find(model)
}
