// Package catalog holds what parley knows about models and the services that
// offer them: names, windows, prices, abilities. Facts are data, one file per
// provider in data/; how a service behaves on the wire is Go, and lives in its
// adapter.
//
// Nothing is decoded before it is asked for, and then one provider at a time:
//
//	data/ID.toml ──► Provider (head) ──► its Models
//
// What lists of models say (Facts) is fetched on request, checked, compared (Fetched) and
// kept in a file beside the data (Kept): it adds to a Model, and takes nothing from it.
//
// Find answers for a provider's own models and follows aliases. Guess answers
// for an id met behind any gateway or local server. A price that is not known
// stays unknown; it is never 0.
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

	"github.com/BurntSushi/toml"
)

// A Provider is a service that offers models.
type Provider struct {
	ID         string            `toml:"-"`           // name of the file, and the word before the slash in "openai/gpt-5"
	Name       string            `toml:"name"`        // for people
	Kind       string            `toml:"kind"`        // family that speaks its wire format
	BaseURL    string            `toml:"base_url"`    // "" if it is not reached by HTTP
	KeyEnv     []string          `toml:"key_env"`     // environment variables that may hold the key, best first
	URLEnv     []string          `toml:"url_env"`     // environment variables that may replace BaseURL, best first
	Local      bool              `toml:"local"`       // needs no key and costs nothing
	Default    string            `toml:"default"`     // model to use when none is named
	Small      string            `toml:"small"`       // model for side jobs, such as titles
	ModelsFrom string            `toml:"models_from"` // provider whose models it offers, in place of its own
	Offers     []string          `toml:"offers"`      // ids under which it offers those of ModelsFrom; nil: all of them, as they are called there
	NoList     bool              `toml:"no_list"`     // it lists no models, or others than can be asked
	KeyHeader  string            `toml:"key_header"`  // header that has the key; "" is that of the kind
	TokenFrom  string            `toml:"token_from"`  // login that has its tokens, in the place of a key: FromGoogle, or "" for none
	Variables  []Variable        `toml:"variables"`   // of its addresses
	Regions    map[string]string `toml:"regions"`     // further base URLs of the service, by region or plan
	Aliases    map[string]string `toml:"aliases"`     // names of families and ids known to be gone, to current model ids; no others: an id that may still be served is asked as typed

	CacheMinutes int `toml:"cache_minutes"` // for which a prompt stays in its cache after it was last sent; 0: not known
	CacheLeast   int `toml:"cache_least"`   // tokens of the shortest prompt that every model of it caches; 0: not known

	SearchPrice float64 `toml:"search_price"` // of a thousand searches of the web, US dollars, where a model has no other; 0: not known

	Models []Model `toml:"models"` // in the order in which a picker should list them
}

// FromGoogle says that tokens come from Google's application default credentials.
const FromGoogle = "google"

// A Model is what is known about one model of one provider. Zero sizes are
// unknown.
type Model struct {
	Provider      string   `toml:"-"`
	ID            string   `toml:"id"`
	Name          string   `toml:"name"`       // for people
	Context       int      `toml:"context"`    // whole window, in tokens
	MaxInput      int      `toml:"max_input"`  // limit of the input, where it is smaller than Context
	MaxOutput     int      `toml:"max_output"` // limit of the output, thinking included
	Price         Price    `toml:"price"`
	Vision        bool     `toml:"vision"` // takes images
	PDF           bool     `toml:"pdf"`    // takes PDF files
	Tools         bool     `toml:"tools"`  // calls functions natively
	Thinks        bool     `toml:"thinks"`
	Thinking      string   `toml:"thinking"`       // how thinking is controlled: "level", "budget" or "adaptive"; "" if the family has one way only
	Levels        []string `toml:"levels"`         // effort values the wire accepts, without the off value
	OffValue      string   `toml:"off_value"`      // effort value that turns thinking off
	CanDisable    bool     `toml:"can_disable"`    // thinking can be turned off
	Budget        Budget   `toml:"budget"`         // range of the thinking budget, where budgets control it
	FixedSampling bool     `toml:"fixed_sampling"` // refuses or ignores temperature and its kin
	Effort        string   `toml:"effort"`         // effort that the name itself stands for, as in deepseek-reasoner
	Deprecated    bool     `toml:"deprecated"`
	ReplacedBy    string   `toml:"replaced_by"` // successor to offer when the server says that the model is gone
	Inferred      bool     `toml:"-"`           // nothing is known of it: these are its nearest relative's facts
}

// A Budget is a range of thinking tokens; a zero bound is not known.
type Budget struct {
	Min int `toml:"min"`
	Max int `toml:"max"`
}

// The data, one file per provider: its head, then one row per model.
//
//go:embed data/*.toml
var data embed.FS

// order lists how pickers list providers, and in which the first one with a key
// answers when no model is configured. Files it does not name follow by name.
var order = []string{
	"openai", "anthropic", "gemini", "xai", "zai", "qwen", "deepseek", "minimax", "moonshot", "mistral", "groq",
	"openrouter", "azure", "foundry", "foundry-claude", "bedrock", "bedrock-claude", "vertex", "vertex-claude", "vertex-express",
	"ollama", "lmstudio", "llamacpp", "vllm", "sglang", "llamafile", "localai", "koboldcpp", "jan", "docker", "mlx", "claude-cli", "codex-cli", "gemini-cli",
	"antigravity-cli", "copilot-cli", "grok-cli", "qwen-cli", "demo",
}

// entry is one file. Its head and each of its models are decoded when first
// needed: looking one model up costs one row, not the file.
type entry struct {
	id   string
	head func() Provider
	rows func() []row

	once    sync.Once
	offered []row // what offers returned
}

// row is the row of one model.
type row struct {
	provider string // whose file it stands in
	id       string
	*record
}

// record is the text of a row, and the model that it is once it was needed.
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

// rowSeparator stands between the head of a file and its rows. The first line of a
// row is its id.
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

// decode returns the model of the row.
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

// decode panics where the embedded data is broken: a test decodes all of it.
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

// source returns the entry whose rows e offers: its own, or another provider's.
func (e *entry) source() *entry {
	if from, ok := findEntry(e.head().ModelsFrom); ok {
		return from
	}
	return e
}

// offers returns the rows of what e offers, with the ids it offers them under.
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

// as returns the model as provider offers it.
func (r row) as(provider string) Model {
	m := r.decode()
	m.Provider, m.ID = provider, r.id
	return m
}

// Providers returns every provider with its models, in the order in which a
// picker lists them. It decodes the whole catalog; Heads is cheaper.
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

// Head returns a provider without its models.
func Head(id string) (Provider, bool) {
	e, ok := findEntry(id)
	if !ok {
		return Provider{}, false
	}
	return e.head(), true
}

// IDs returns the ids of a provider's models, without decoding any. It is
// empty for a provider that is not in the catalog.
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

// Find returns what is known about a model of a provider. An alias finds the
// model that answers to it now.
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

// FindExact works as Find, without aliases: an old conversation keeps the window and the
// price of the model it was held with.
func FindExact(provider, model string) (Model, bool) {
	e, ok := findEntry(provider)
	if !ok {
		return Model{}, false
	}
	return e.find(model)
}
