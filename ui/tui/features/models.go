package features

import (
	"slices"
	"sort"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"parley/ui/app"
	"parley/ui/app/wording"
	"parley/ui/format"
	"parley/ui/tui/common"
	"parley/ui/tui/dialog"
	"parley/ui/tui/panel"
)

// abilities lists what models can do, with the letter for each if space is tight.
var abilities = [][2]string{{"tools", "T"}, {"vision", "V"}, {"reasoning", "R"}}

// The models: those in the catalog, and those in the catalog and reported by servers.
type (
	choicesMsg []app.ModelChoice
	servedMsg  []app.ModelChoice
)

// Models shows the models to choose from.
type Models struct {
	*panel.Deps
	prefs   map[string][]string // set with keys, by "favorites" and "hidden"
	picker  *dialog.Picker      // last opened picker
	choices []app.ModelChoice   // models in the picker
	served  serving             // models reported by servers
}

// Update handles lists of models, and reports whether msg is one.
func (f *Models) Update(msg tea.Msg) (tea.Cmd, bool) {
	switch msg := msg.(type) {
	case common.CommandsMsg:
		return f.loadCatalog(), false
	case common.OpenMsg:
		if app.Panel(msg.Panel) == app.PanelModels {
			return f.pick("Model", msg.Query, f.App.Models.Use), true
		}
	case app.PickModel:
		return f.pick(msg.Title, "", msg.Chosen), true
	case choicesMsg:
		f.setChoices(msg)
		return nil, true
	case servedMsg:
		f.setServed(msg)
		return nil, true
	}
	return nil, false
}

// setModelPref stores a favorite or hidden model set with a key, and refreshes the list.
func (f *Models) setModelPref(key, name string, on bool) tea.Cmd {
	sign := "-"
	if on {
		sign = "+"
	}
	words := slices.DeleteFunc(slices.Clone(f.prefs[key]), func(w string) bool { return w == "+"+name || w == "-"+name })
	f.prefs[key] = append(words, sign+name)
	f.list()
	return f.Perform(f.App.SaveState(key, strings.Join(f.prefs[key], "\n")))
}

// loadPrefs reads the favorites and hidden models set with keys, in this window and others.
func (f *Models) loadPrefs() {
	f.prefs = map[string][]string{}
	for _, key := range []string{"favorites", "hidden"} {
		if stored, err := f.App.Library.Get(key); err == nil {
			f.prefs[key] = strings.Fields(stored)
		}
	}
}

// pick opens a picker of models, filtered by arg. It adds models that servers report as
// they arrive. picked receives the name of the chosen model.
func (f *Models) pick(title, arg string, picked func(name string) app.Effect) tea.Cmd {
	f.loadPrefs()
	known := f.loadCatalog()
	f.picker = dialog.Pick(title, nil, f.Theme)
	f.picker.Noun = "model"
	f.showItems()
	f.picker.Columns = []dialog.Column{{Name: "name", Left: true, Least: 20}, {Left: true, Letters: abilities}, {Name: "context"}, {Name: "$/M in"}, {Name: "$/M out"}}
	f.picker.Marks.Pin = func(name string, on bool) tea.Cmd { return f.setModelPref("favorites", name, on) }
	f.picker.Marks.Hide = func(name string, on bool) tea.Cmd {
		cmd := f.setModelPref("hidden", name, on)
		if !on {
			return cmd
		}
		return tea.Batch(cmd, f.ShowToast("Hidden · "+dialog.ShowHiddenKeys()+" show hidden"))
	}
	f.picker.FreeItem = f.typedModel
	if arg != "" {
		f.picker.SetQuery(arg)
	}
	open := f.Choose(f.picker, func(p dialog.Choice) tea.Cmd { return f.Perform(picked(p.Value)) })
	if known == nil {
		return open
	}
	live := f.App.Models.Live
	f.served.asked = true
	return tea.Batch(open, f.Sequence(known, func() tea.Msg { return servedMsg(live()) }))
}

// typedModel returns an item for a complete model name that is not listed,
// because servers have unlisted models. first is true if no listed name begins
// like it, so that enter does not choose another provider's model.
func (f *Models) typedModel(typed string) (item dialog.Item, first bool) {
	provider, id, whole := strings.Cut(typed, "/")
	if !whole || id == "" || provider == "" || strings.Contains(typed, " ") {
		return dialog.Item{}, false
	}
	known, begun := f.choices == nil || f.served.asked, false
	for _, c := range f.choices {
		known = known || strings.HasPrefix(c.Name, provider+"/")
		begun = begun || strings.HasPrefix(strings.ToLower(c.Name), strings.ToLower(typed))
	}
	if !known {
		return dialog.Item{}, false
	}
	return dialog.Item{Title: typed, Value: typed, State: "as typed"}, !begun
}

// servedFor is how long the models reported by servers are cached.
const servedFor = 5 * time.Minute

// serving caches the models reported by servers.
type serving struct {
	choices []app.ModelChoice
	till    time.Time // when the servers are asked again
	asked   bool      // a request is running
}

// setServed stores the models reported by servers. The servers are not asked again
// for a while, unless one of them did not answer.
func (f *Models) setServed(choices []app.ModelChoice) {
	f.served.asked = false
	silent := func(c app.ModelChoice) bool { return strings.HasSuffix(c.Name, "/") }
	if !slices.ContainsFunc(choices, silent) {
		f.served = serving{choices: choices, till: f.Now().Add(servedFor)}
	}
	f.setChoices(choices)
}

// forget discards all lists, because other models may be ready now.
func (f *Models) forget() { f.choices, f.served = nil, serving{} }

// loadCatalog returns a command that reads the models of the catalog, which takes longer than a
// frame the first time. It returns nil if a recent list of servers is cached, which includes
// the catalog.
func (f *Models) loadCatalog() tea.Cmd {
	if f.Now().Before(f.served.till) {
		f.choices = f.served.choices
		return nil
	}
	choices := f.App.Models.Choices
	return func() tea.Msg { return choicesMsg(choices()) }
}

// setChoices sets the models, and shows them if the picker is open.
func (f *Models) setChoices(choices []app.ModelChoice) {
	f.choices = choices
	f.list()
}

// list refreshes the picker if it is open.
func (f *Models) list() {
	if f.picker != nil && f.Current() == f.picker {
		f.showItems()
	}
}

// showItems shows the models. What a switch to any of them would mean is told once.
func (f *Models) showItems() {
	items, common := f.items()
	f.picker.Note = strings.Join(common, " · ")
	f.picker.SetItems(items)
}

// Headings of models that are not listed under their provider.
const (
	aliases   = "Aliases"
	favorites = "Favorites"
	recently  = "Recent"
	fewRecent = 5
)

// items returns the rows of the list: favorites, recently used models, then the
// models of each provider, ready ones first. Common has the notes that hold for all ready models but the current one, and
// that the rows leave out.
func (f *Models) items() (items []dialog.Item, common []string) {
	current, recent := f.App.Session.Model().Name, f.App.Models.Recent[:min(len(f.App.Models.Recent), fewRecent)]
	favorite, hidden := slices.Concat(f.Config.Favorites, f.prefs["favorites"]), slices.Concat(f.Config.Hidden, f.prefs["hidden"])
	type placed struct {
		at int // position before the unsorted rows, which have 0
		dialog.Item
	}
	choices := f.choices
	if !slices.ContainsFunc(choices, func(c app.ModelChoice) bool { return c.Name == current }) && len(choices) > 0 {
		// its server has not answered yet, or does not list it; enter must not choose another model
		choices = append([]app.ModelChoice{{Name: current, Ready: true, Facts: f.App.Session.Model()}}, choices...)
	}
	rows := make([]placed, len(choices))
	notes, compared := make([][]string, len(choices)), false
	for i, c := range choices {
		if c.Ready {
			notes[i] = slices.Concat(c.Warnings(), wording.ModelFit(f.App.Session, c.Facts))
			if c.Name != current {
				if !compared {
					common, compared = slices.Clone(notes[i]), true
				}
				common = slices.DeleteFunc(common, func(note string) bool { return !slices.Contains(notes[i], note) })
			}
		}
	}
	for i, c := range choices {
		provider, _, _ := strings.Cut(c.Name, "/")
		row := placed{Item: dialog.Item{
			Title: c.Name, Value: c.Name, Group: provider, Cells: []string{c.Title, c.Abilities, c.Window, c.Input, c.Output},
			Disabled: !c.Ready, Unavailable: missing(c), Current: c.Name == current,
		}}
		if c.Alias != "" {
			row.Group, row.State, row.Keywords, row.Current = aliases, "→ "+c.Alias, c.Alias, false
		}
		row.Note = strings.Join(slices.DeleteFunc(notes[i], func(note string) bool { return slices.Contains(common, note) }), " · ")
		if c.LacksKey {
			row.Note = "no key"
		}
		if at := slices.Index(recent, c.Name); at >= 0 {
			row.Group, row.at = recently, at-len(recent)
		}
		if yes, at := preferred(favorite, c.Name); yes {
			row.Group, row.Pinned, row.at = favorites, true, at-len(favorite)-len(recent)
		}
		yes, at := preferred(hidden, c.Name)
		row.Hidden = (yes || c.Retired && at < 0) && !row.Pinned && !row.Current
		rows[i] = row
	}
	sort.SliceStable(rows, func(i, j int) bool { return rows[i].at < rows[j].at })
	items = make([]dialog.Item, len(rows))
	for i, row := range rows {
		items[i] = row.Item
	}
	return items, common
}

// missing returns why a model is not ready, and how choosing it helps.
func missing(c app.ModelChoice) string {
	if c.LacksKey {
		return "no key · enter adds one"
	}
	return c.Why
}

// Args returns the models as possible arguments of a command.
func (f *Models) Args(command string) []dialog.Item {
	if command != "model" && command != "compare" {
		return nil
	}
	if f.choices == nil {
		f.choices = f.App.Models.Choices()
	}
	f.loadPrefs()
	items, common := f.items()
	for i := range items {
		item := &items[i]
		facts := format.Join(" · ", strings.Join(common, " · "), item.Note, item.Cells[1], format.Join("/", item.Cells[2], item.Cells[3]), item.Cells[0])
		item.Exact = true // "mo/m1" must not choose the listed mo/m10
		item.Detail, item.Note, item.Cells, item.Group = facts, "", nil, ""
	}
	return items
}
