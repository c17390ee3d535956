package catalog

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"parley/tools/sanitize"
)

// A Change is how facts that were fetched differ from those that were known.
type Change struct {
	Provider string     `json:"provider"` // name of the service
	Model    string     `json:"model"`
	Kind     ChangeKind `json:"change"`
	Old      Facts      `json:"-"` // as known so far; of a new model, nothing
	New      Facts      `json:"-"` // of one that is gone, nothing
	Why      string     `json:"why,omitempty"`
}

// A ChangeKind says what differs.
type ChangeKind string

const (
	ChangeNew     ChangeKind = "new"
	ChangePrice   ChangeKind = "price"
	ChangeWindow  ChangeKind = "window"
	ChangeGone    ChangeKind = "gone"    // its facts stay
	ChangeRefused ChangeKind = "refused" // what the list says of it cannot be meant
)

// changeOrder is how a diff lists them.
var changeOrder = []ChangeKind{ChangeNew, ChangePrice, ChangeWindow, ChangeGone, ChangeRefused}

// An Update is what was fetched, compared with what is known, before anything is kept.
type Update struct {
	Changes []Change
	file    *FactsFile
	lists   []List
}

// A Fetched is a list before it is compared.
type Fetched struct {
	List
	Builtin string   // provider of the catalog whose models these are; "" for none
	Partial bool     // it tells of some models, from elsewhere: of the others it says nothing
	Refused []Change // what was refused already
}

// Compare compares lists with the facts that are built in and kept. What was kept of a
// model that a list tells less of stays.
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

// Save keeps what was fetched in place of what was kept.
func (u Update) Save() error { return u.file.save(u.lists) }

// Preview returns what was fetched in place of what was kept, without keeping it.
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

// compare returns the list to keep, and how it differs from what is known: what is built in,
// and the list that was kept before.
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
		old, _ = old.plausible(row, row.Price) // it may be of before that was looked at
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
	slices.SortStableFunc(changes, func(a, b Change) int {
		return cmp.Or(slices.Index(changeOrder, a.Kind)-slices.Index(changeOrder, b.Kind), strings.Compare(a.Model, b.Model))
	})
	return list, changes
}

// ShownID returns an id as a list can say it that cannot be kept: on one line, and not long.
func ShownID(id string) string {
	const most = 60 // bytes
	return sanitize.Line(sanitize.TruncateBytes(id, most))
}

// differences returns how the price and the window of a known model changed.
func differences(provider, id string, before, after Model) (changes []Change) {
	old := Facts{ID: id, Context: before.Context, Price: before.Price}
	now := Facts{ID: id, Context: after.Context, Price: after.Price}
	if before.Price.Free != after.Price.Free || !slices.Equal(before.Price.all(), after.Price.all()) {
		changes = append(changes, Change{provider, id, ChangePrice, old, now, ""})
	}
	if before.Context != after.Context {
		changes = append(changes, Change{provider, id, ChangeWindow, old, now, ""})
	}
	return changes
}

// gone returns the models that the list before had, or else the catalog, and this one has not.
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
	if len(listed) == 0 { // a list of nothing says nothing
		return nil
	}
	for _, id := range known {
		if !listed[id] && IsChatModel(id) {
			changes = append(changes, Change{Provider: f.Provider, Model: id, Kind: ChangeGone})
		}
	}
	return changes
}

// How many times a figure may rise or fall before it is taken for a mistake. Against what is
// built in, the bounds hold however often it changes.
const (
	maxPriceRatio = 100 // prices
	maxPriceDrop  = 10  // prices, below the one that is built in
	maxSizeRatio  = 4   // windows and output limits, against those that are built in
)

// plausible returns f without what is not taken over row, which is built in, and over the last
// price that is known, and what that was, in words. The zero Model has nothing to compare with.
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

// implausible returns why a price is not taken over a known one, below which it may be drop
// times at most; "" if it is.
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

// dated matches the date at the end of an id.
var dated = pattern(`^(.+)-(?:\d{4}-\d{2}-\d{2}|\d{8}|\d{4})$`)

// IsSnapshot reports whether id is a model of a provider of the catalog as it was on a day.
func IsSnapshot(provider, id string) bool {
	m := dated().FindStringSubmatch(id)
	return m != nil && slices.Contains(IDs(provider), m[1])
}

// nonChatWords are words in the ids of models that do something else than answer, which lists of
// ids alone do not tell.
var nonChatWords = strings.Fields("embed embedding embeddings moderation whisper tts dall transcribe transcription realtime sora veo imagen lyria aqa rerank ocr davinci babbage image speech")

// IsChatModel reports false for an id that names other work than answering.
func IsChatModel(id string) bool {
	return !slices.ContainsFunc(strings.FieldsFunc(strings.ToLower(id), func(r rune) bool {
		return r == '-' || r == '_' || r == '/' || r == ':' || r == '.' || isDigit(r)
	}), func(word string) bool { return slices.Contains(nonChatWords, word) })
}
