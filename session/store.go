package session

import (
	"fmt"
	"slices"

	"parley/session/store"
)

// The store's vocabulary, under the session's name: front ends know the session
// only, and it has nothing to add to these.
type (
	Store   = store.DB      // everything that is kept
	Log     = store.Log     // a conversation open for writing
	Info    = store.Session // a conversation without its messages
	Node    = store.Node
	Query   = store.Query
	Hit     = store.Hit
	Draft   = store.Draft
	Outcome = store.Outcome

	Collection  = store.Collection  // of vectors
	SimilarText = store.SimilarText // of a collection

	Ledger      = store.Ledger      // of what was paid
	LedgerEntry = store.LedgerEntry // one request of it
	UsageSum    = store.UsageSum    // what some requests used together
	CacheMiss   = store.CacheMiss
	CacheSum    = store.CacheSum // what requests missed for one cause
	Cap         = store.Cap      // what may be spent
	CapError    = store.CapError
	Reservation = store.Reservation

	Annotation = store.Annotation // something shown that is no message; see DecodeAnnotation
	Video      = store.Video      // a job that makes a video
	Comparison = store.Comparison // which of several answers a user chose

	LockedError    = store.LockedError
	LeaseLostError = store.LeaseLostError
	SentPrompt     = store.SentPrompt // something a user sent before
	HistoryMode    = store.HistoryMode
)

// What a request is paid for.
const (
	PurposeAnswer = store.PurposeAnswer
	PurposeTitle  = store.PurposeTitle
	PurposeEmbed  = store.PurposeEmbed
	PurposeImage  = store.PurposeImage
)

// ErrNotFound marks the errors about a conversation that does not exist.
var ErrNotFound = store.ErrNotFound

// UsageKeys lists what requests can be summed up by.
var UsageKeys = store.UsageKeys

// ValidCollection reports whether a collection can have that name.
func ValidCollection(name string) bool { return store.ValidCollection(name) }

// What of a conversation a request holds.
const (
	HistoryFull      = store.HistoryFull
	HistoryDynamic   = store.HistoryDynamic
	HistoryStateless = store.HistoryStateless
)

// OpenStore opens the store of this machine. With an error, which says why it cannot be opened, comes
// a store in memory.
func OpenStore(getenv func(string) string) (*Store, error) {
	path, err := store.Path(getenv)
	if err == nil {
		var lib *Store
		if lib, err = store.Open(path); err == nil {
			return lib, nil
		}
	}
	return MemoryStore(), fmt.Errorf("conversations are not saved: %w", err)
}

// StorePath returns the file that OpenStore opens.
func StorePath(getenv func(string) string) (string, error) { return store.Path(getenv) }

// An ImportSource says where a conversation of another program comes from.
type ImportSource = store.ImportSource

// ImportFrom imports a conversation. One that was imported from there before gets the messages that
// are new; added counts them.
func ImportFrom(lib *Store, from ImportSource, s Info, nodes []store.Node, shown ...store.Annotation) (id string, added int, err error) {
	done, err := store.ImportFrom(lib, from, s, nodes, shown...)
	return done.ID, done.Added, err
}

// MemoryStore returns a store in memory.
func MemoryStore() *Store {
	lib, err := store.OpenMemory()
	if err != nil {
		panic(err) // there is nothing in it that could fail
	}
	return lib
}

// Config holds the [session] section of the configuration.
type Config struct {
	History    string  `toml:"history"` // "full", "dynamic" or "stateless"
	CompactAt  float64 `toml:"compact"` // share of the model's window at which the conversation is summarized by itself, 0 to 1; 0: never
	TitleModel string  `toml:"title"`   // model that names conversations; "": the first words do

	SummaryModel string `toml:"summary_model"` // model that writes summaries; "": the one that answers

	FallbackOnFilter bool `toml:"fallback_on_filter"` // another model goes on after a content filter as well
}

// DefaultConfig returns what holds where the configuration says nothing.
func DefaultConfig() Config { return Config{History: "full"} }

// Validate names a value that cannot be meant.
func (c Config) Validate() error {
	if !slices.Contains([]string{"", "full", "dynamic", "stateless"}, c.History) {
		return fmt.Errorf("session.history = %q: use full, dynamic or stateless", c.History)
	}
	if !(c.CompactAt >= 0 && c.CompactAt < 1) {
		return fmt.Errorf("session.compact = %v: use a share of the context window such as 0.8, or 0 for never", c.CompactAt)
	}
	return nil
}

// historyMode returns History as sessions know it.
func (c Config) historyMode() HistoryMode {
	if c.History == "full" {
		return HistoryFull // as ""
	}
	return HistoryMode(c.History)
}
