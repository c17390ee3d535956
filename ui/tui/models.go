package tui

import (
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"parley/ui/app"
	"parley/ui/tui/dialog"
)

// abilities are what models can do, and the letter for each where there is
// little room.
var abilities = [][2]string{{"tools", "T"}, {"vision", "V"}, {"thinking", "R"}}

// What models there are: those that the catalog knows, and those that servers say
// they have as well.
type (
	choicesMsg []app.Choice
	servedMsg  []app.Choice
)

// offerModels lists the models for whoever asks, and those that servers have as
// they become known.
func (m *Model) offerModels(title, arg string, picked func(name string) tea.Cmd) tea.Cmd {
	m.app.LoadTastes()
	known := m.known()
	m.models.picker = dialog.Pick("", title, m.modelItems(), m.theme)
	m.models.picker.Columns = []dialog.Column{{Left: true, Letters: abilities}, {Name: "window"}, {Name: "$/M in"}, {Name: "$/M out"}}
	m.models.picker.Favorites, m.models.picker.FreeItem = true, m.typedModel
	if arg != "" {
		m.models.picker.SetQuery(arg)
	}
	open := m.choose(m.models.picker, func(p dialog.PickedMsg) tea.Cmd { return picked(p.Value) })
	if known == nil {
		return open
	}
	live := m.app.Live
	m.models.served.asked = true
	return tea.Batch(open, m.inOrder(known, func() tea.Msg { return servedMsg(live()) }))
}

// typedModel makes an item of a model that is named whole and not listed: servers
// have models that no list names. It stands first where nothing that is listed
// begins like it, so that enter takes no other provider's model.
func (m *Model) typedModel(typed string) (item dialog.Item, first bool) {
	provider, id, whole := strings.Cut(typed, "/")
	if !whole || id == "" || provider == "" || strings.Contains(typed, " ") {
		return dialog.Item{}, false
	}
	known, begun := m.models.choices == nil || m.models.served.asked, false
	for _, c := range m.models.choices {
		known = known || strings.HasPrefix(c.Name, provider+"/")
		begun = begun || strings.HasPrefix(strings.ToLower(c.Name), strings.ToLower(typed))
	}
	if !known {
		return dialog.Item{}, false
	}
	return dialog.Item{Title: typed, Value: typed, State: "as typed"}, !begun
}

// servedFor is how long what servers said of their models is taken for what they
// would say.
const servedFor = 5 * time.Minute

// modelList is the list of models and what is in it.
type modelList struct {
	picker  *dialog.Picker // that was opened last
	choices []app.Choice   // what it lists
	served  serving        // what servers said of that
}

// serving is the models as servers said them.
type serving struct {
	choices []app.Choice
	till    time.Time // when they are to be asked again
	asked   bool      // they were, and have not answered yet
}

// serves takes what servers said. They are not asked again for a while, unless one
// of them had no answer.
func (m *Model) serves(choices []app.Choice) tea.Cmd {
	m.models.served.asked = false
	silent := func(c app.Choice) bool { return strings.HasSuffix(c.Name, "/") }
	if !slices.ContainsFunc(choices, silent) {
		m.models.served = serving{choices: choices, till: m.now().Add(servedFor)}
	}
	return m.offered(choices)
}

// known reads the catalog, beside the loop: that takes longer than a frame the
// first time. It is nil if servers said more than that not long ago.
func (m *Model) known() tea.Cmd {
	if m.now().Before(m.models.served.till) {
		m.models.choices = m.models.served.choices
		return nil
	}
	choices := m.app.Choices
	return func() tea.Msg { return choicesMsg(choices()) }
}

// offered shows models, if they are still asked for.
func (m *Model) offered(choices []app.Choice) tea.Cmd {
	m.models.choices = choices
	m.listModels()
	return nil
}

// listModels lists them anew, if they are shown.
func (m *Model) listModels() {
	if m.models.picker != nil && m.dialog == m.models.picker {
		m.models.picker.SetItems(m.modelItems())
		m.layout()
	}
}

// The headings above models that are not listed by their provider.
const (
	favourites = "Favourites"
	recently   = "Recent"
	fewRecent  = 5
)

// modelItems are the rows of the list: favorites, what was used before, then
// each provider's, those that can be asked first.
func (m *Model) modelItems() []dialog.Item {
	current, recent := m.app.Session.Model().Name, m.app.Recent[:min(len(m.app.Recent), fewRecent)]
	favourite, hidden := m.app.Taste("favorites", m.config.Favorites), m.app.Taste("hidden", m.config.Hidden)
	type placed struct {
		at int // before those that stand as they come, at 0
		dialog.Item
	}
	rows := make([]placed, len(m.models.choices))
	for i, c := range m.models.choices {
		provider, _, _ := strings.Cut(c.Name, "/")
		row := placed{Item: dialog.Item{
			Title: c.Name, Keywords: c.Title, Value: c.Name, Group: provider, Cells: []string{c.Abilities, c.Window, c.Input, c.Output},
			Disabled: !c.Ready, Unavailable: c.Why, Current: c.Name == current,
		}}
		if at := slices.Index(recent, c.Name); at >= 0 {
			row.Group, row.at = recently, at-len(recent)
		}
		if yes, at := favourite.Says(c.Name); yes {
			row.Group, row.Pinned, row.at = favourites, true, at-len(favourite)-len(recent)
		}
		yes, at := hidden.Says(c.Name)
		row.Hidden = (yes || c.Retired && at < 0) && !row.Pinned && !row.Current
		rows[i] = row
	}
	slices.SortStableFunc(rows, func(a, b placed) int { return a.at - b.at })
	items := make([]dialog.Item, len(rows))
	for i, row := range rows {
		items[i] = row.Item
	}
	return items
}
