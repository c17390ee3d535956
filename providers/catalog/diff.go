package catalog

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"sort"
	"strings"
	"sync"

	"parley/tools/lazy"
	"parley/tools/sanitize"
)

// A Change is a difference between fetched and known facts.
type Change struct {
	Provider string     `json:"provider"` // name of the service
	Model    string     `json:"model"`
	Kind     ChangeKind `json:"change"`
	Old      Facts      `json:"-"`             // zero for a new model
	New      Facts      `json:"-"`             // zero for a model that is gone
	Why      string     `json:"why,omitempty"` // reason of ChangeRefused
}

// A ChangeKind is the kind of a Change.
type ChangeKind string

const (
	ChangeNew     ChangeKind = "new"
	ChangePrice   ChangeKind = "price"
	ChangeWindow  ChangeKind = "window"
	ChangeRetires ChangeKind = "retires" // its retirement date changed
	ChangeGone    ChangeKind = "gone"    // no longer listed; its facts stay
	ChangeRefused ChangeKind = "refused" // a listed figure is implausible and was ignored
)

// changeOrder is the order of changes in a diff.
var changeOrder = []ChangeKind{ChangeNew, ChangePrice, ChangeWindow, ChangeRetires, ChangeGone, ChangeRefused}

// An Update holds fetched lists and their differences from the known facts. Save stores it.
type Update struct {
	Changes []Change
	file    *FactsFile
	lists   []List
}

// A Fetched is a fetched list before comparison.
type Fetched struct {
	List
	Builtin string   // catalog provider with the same models; "" for none
	Partial bool     // covers only some models: missing ones are not gone
	Refused []Change // figures rejected while the list was read
}

// Compare compares fetched lists with the built-in facts and with those stored in k, which may be
// nil. Stored facts that a list does not mention stay.
func (k *FactsFile) Compare(fetched []Fetched) Update {
	u := Update{file: k}
	old := map[string]List{}
	if k != nil {
		for name, l := range k.read().lists {
			old[name] = l.all()
		}
	}
	for _, f := range fetched {
		before := old[f.Provider]
		if before.URL != f.URL {
			before = List{}
		}
		list, changes := f.compare(before)
		if len(list.Media) == 0 {
			list.Media = before.Media
		}
		old[f.Provider] = list
		u.Changes = append(u.Changes, changes...)
	}
	for _, name := range slices.Sorted(maps.Keys(old)) {
		u.lists = append(u.lists, old[name])
	}
	return u
}

// Save replaces the stored lists with the update.
func (u Update) Save() error { return u.file.save(u.lists) }

// Preview returns the facts that Save would store, without storing them.
func (u Update) Preview() *FactsFile {
	path := ""
	if u.file != nil {
		path = u.file.path
	}
	return &FactsFile{path, sync.OnceValue(func() parsedFacts {
		b, err := encodeLists(u.lists)
		if err != nil {
			return parsedFacts{err: err}
		}
		found, err := parseFactsFile(b.String())
		found.err = err
		return found
	})}
}

// compare returns the list to store, and its differences from the known facts: the built-in ones
// and the previously stored list.
func (f Fetched) compare(before List) (List, []Change) {
	was := map[string]Facts{}
	for _, m := range before.Models {
		was[m.ID] = m
	}
	list, changes := f.List, slices.Clone(f.Refused)
	list.Models = nil
	listed := map[string]bool{}
	for _, m := range f.Models {
		if listed[m.ID] || len(listed) >= maxListModels {
			continue
		}
		listed[m.ID] = true
		id := m.ID
		change := func(kind ChangeKind, why string, now Facts) {
			changes = append(changes, Change{f.Provider, ShownID(id), kind, Facts{}, now, why})
		}
		m, refused := m.Check()
		for _, why := range refused {
			change(ChangeRefused, why, Facts{})
		}
		if m.ID == "" {
			continue
		}
		row, builtin := FindExact(f.Builtin, m.ID)
		old, kept := was[m.ID]
		old, _ = old.plausible(row, row.Price) // older versions stored facts unchecked
		known := old.ApplyTo(row, before.Newer())
		m, refused = m.plausible(row, known.Price)
		for _, why := range refused {
			change(ChangeRefused, why, Facts{})
		}
		m = m.WithDefaults(old)
		list.Models = append(list.Models, m)
		switch now := m.ApplyTo(row, f.Newer()); {
		case !builtin && !kept:
			if !IsSnapshot(f.Builtin, m.ID) && IsChatModel(m.ID) {
				change(ChangeNew, "", m)
			}
		default:
			changes = append(changes, differences(f.Provider, m.ID, known, now)...)
		}
	}
	if f.Partial {
		list.Models = append(list.Models, slices.DeleteFunc(before.Models, func(m Facts) bool { return listed[m.ID] })...)
	} else {
		changes = append(changes, f.gone(before, listed)...)
	}
	changes = append(changes, f.mediaChanges(before)...)
	sort.SliceStable(changes, func(i, j int) bool {
		a, b := &changes[i], &changes[j]
		return cmp.Or(slices.Index(changeOrder, a.Kind)-slices.Index(changeOrder, b.Kind), strings.Compare(a.Model, b.Model)) < 0
	})
	return list, changes
}

// ShownID returns the id of a list for display, sanitized and truncated.
func ShownID(id string) string {
	const most = 60 // bytes
	return sanitize.Line(sanitize.TruncateBytes(id, most))
}

// differences returns the changes of price, window and retirement of a known model.
func differences(provider, id string, before, after Model) (changes []Change) {
	old := Facts{ID: id, Context: before.Context, Price: before.Price, Retires: before.Retires}
	now := Facts{ID: id, Context: after.Context, Price: after.Price, Retires: after.Retires}
	if before.Price.Free != after.Price.Free || !slices.Equal(before.Price.all(), after.Price.all()) {
		changes = append(changes, Change{provider, id, ChangePrice, old, now, ""})
	}
	if before.Context != after.Context {
		changes = append(changes, Change{provider, id, ChangeWindow, old, now, ""})
	}
	if before.Retires != after.Retires {
		changes = append(changes, Change{provider, id, ChangeRetires, old, now, ""})
	}
	return changes
}

// gone returns the models of the list before that are no longer listed; without such a list, those
// of the catalog.
func (f Fetched) gone(before List, listed map[string]bool) (changes []Change) {
	var known []string
	if before.Provider != "" {
		for _, m := range before.Models {
			known = append(known, m.ID)
		}
	} else {
		head, _ := Head(f.Builtin)
		for _, id := range IDs(f.Builtin) {
			if m, _ := FindExact(f.Builtin, id); !m.Deprecated && head.Aliases[id] == "" {
				known = append(known, id)
			}
		}
	}
	if len(listed) == 0 { // an empty list does not mean that all models are gone
		return nil
	}
	for _, id := range known {
		if !listed[id] && IsChatModel(id) {
			changes = append(changes, Change{Provider: f.Provider, Model: id, Kind: ChangeGone})
		}
	}
	return changes
}

// Factors by which a listed figure may differ before it counts as a mistake.
const (
	maxPriceRatio = 100 // factor between the last known price and a listed one
	maxPriceDrop  = 10  // factor by which a listed price may be below the built-in one
	maxSizeRatio  = 4   // factor between built-in and listed windows and output limits
)

// plausible returns f without figures that differ too much from row, the built-in facts, and from
// the last known price. It describes the removed figures. A zero row or price allows any figure.
func (f Facts) plausible(row Model, last Price) (kept Facts, refused []string) {
	why := implausible(last, f.Price, maxPriceRatio)
	if why == "" {
		why = implausible(row.Price, f.Price, maxPriceDrop)
	}
	if why != "" {
		f.Price, refused = Price{}, append(refused, why)
	}
	for _, n := range []struct {
		what  string
		value *int
		known int
	}{{"window", &f.Context, row.Context}, {"output limit", &f.MaxOutput, row.MaxOutput}} {
		if *n.value > 0 && n.known > 0 && (*n.value > n.known*maxSizeRatio || *n.value*maxSizeRatio < n.known) {
			refused = append(refused, fmt.Sprintf("%s of %d tokens, and known to be %d", n.what, *n.value, n.known))
			*n.value = 0
		}
	}
	return f, refused
}

// implausible returns why a listed price cannot replace a known one; "" if it can. The listed price
// may be lower by at most the factor drop.
func implausible(known, listed Price, drop float64) string {
	if !known.Known() || known.Free || !listed.Known() {
		return ""
	}
	if listed.Free || listed.Input == 0 && known.Input > 0 || listed.Output == 0 && known.Output > 0 {
		return fmt.Sprintf("free, and known to cost $%g/$%g for a million tokens", known.Input, known.Output)
	}
	for _, p := range [][2]float64{{known.Input, listed.Input}, {known.Output, listed.Output}} {
		if p[0] > 0 && (p[1] > p[0]*maxPriceRatio || p[1]*drop < p[0]) {
			return fmt.Sprintf("price of $%g/$%g for a million tokens, and known to cost $%g/$%g", listed.Input, listed.Output, known.Input, known.Output)
		}
	}
	return ""
}

// dated matches an id that ends in a date.
var dated = lazy.NewRegexp(`^(.+)-(?:\d{4}-\d{2}-\d{2}|\d{8}|\d{4})$`)

// IsSnapshot reports whether id is a dated version of a model of the provider.
func IsSnapshot(provider, id string) bool {
	m := dated.FindStringSubmatch(id)
	return m != nil && slices.Contains(IDs(provider), m[1])
}

// nonChatWords are words in the ids of models that do not chat. Lists of bare ids have no other
// information.
var nonChatWords = []string{
	"embed", "embedding", "embeddings", "moderation", "whisper", "tts", "dall", "transcribe", "transcription",
	"realtime", "sora", "veo", "imagen", "lyria", "aqa", "rerank", "ocr", "davinci", "babbage", "image",
	"speech",
}

// IsChatModel reports whether id may be a chat model: none of its words names another type of
// model.
func IsChatModel(id string) bool {
	return !slices.ContainsFunc(strings.FieldsFunc(strings.ToLower(id), func(r rune) bool {
		return r == '-' || r == '_' || r == '/' || r == ':' || r == '.' || isDigit(r)
	}), func(word string) bool { return slices.Contains(nonChatWords, word) })
}
