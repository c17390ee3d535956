package tui

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"parley/providers/llm"
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

// pickModel switches to a model that is named whole, or shows those that match:
// what is known of the last time, at once.
func (m *Model) pickModel(arg string) tea.Cmd {
	if strings.Contains(arg, "/") && !strings.Contains(arg, " ") {
		return m.use(arg)
	}
	return m.offerModels("model", "Model", arg)
}

// offerModels lists the models for whoever asks, and those that servers have as
// they become known.
func (m *Model) offerModels(kind, title, arg string) tea.Cmd {
	m.readTastes()
	known := m.known()
	m.models = dialog.Pick(kind, title, m.modelItems(), m.theme)
	m.models.Columns = []dialog.Column{{Left: true, Letters: abilities}, {Name: "window"}, {Name: "$/M in"}, {Name: "$/M out"}}
	m.models.Favorites, m.models.FreeItem = true, m.typedModel
	if arg != "" {
		m.models.SetQuery(arg)
	}
	if known == nil {
		return m.open(m.models)
	}
	live := m.app.Live
	m.served.asked = true
	return tea.Batch(m.open(m.models), m.inOrder(known, func() tea.Msg { return servedMsg(live()) }))
}

// typedModel makes an item of a model that is named whole and not listed: servers
// have models that no list names. It stands first where nothing that is listed
// begins like it, so that enter takes no other provider's model.
func (m *Model) typedModel(typed string) (item dialog.Item, first bool) {
	provider, id, whole := strings.Cut(typed, "/")
	if !whole || id == "" || provider == "" || strings.Contains(typed, " ") {
		return dialog.Item{}, false
	}
	known, begun := m.choices == nil || m.served.asked, false
	for _, c := range m.choices {
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

// serving is the models as servers said them.
type serving struct {
	choices []app.Choice
	till    time.Time // when they are to be asked again
	asked   bool      // they were, and have not answered yet
}

// serves takes what servers said. They are not asked again for a while, unless one
// of them had no answer.
func (m *Model) serves(choices []app.Choice) tea.Cmd {
	m.served.asked = false
	silent := func(c app.Choice) bool { return strings.HasSuffix(c.Name, "/") }
	if !slices.ContainsFunc(choices, silent) {
		m.served = serving{choices: choices, till: m.now().Add(servedFor)}
	}
	return m.offered(choices)
}

// known reads the catalog, beside the loop: that takes longer than a frame the
// first time. It is nil if servers said more than that not long ago.
func (m *Model) known() tea.Cmd {
	if m.now().Before(m.served.till) {
		m.choices = m.served.choices
		return nil
	}
	choices := m.app.Choices
	return func() tea.Msg { return choicesMsg(choices()) }
}

// offered shows models, if they are still asked for.
func (m *Model) offered(choices []app.Choice) tea.Cmd {
	m.choices = choices
	m.listModels()
	return nil
}

// listModels lists them anew, if they are shown.
func (m *Model) listModels() {
	if m.models != nil && m.dialog == m.models {
		m.models.SetItems(m.modelItems())
		m.layout()
	}
}

// The headings above models that are not listed by their provider.
const (
	favourites = "Favourites"
	recently   = "Recent"
	fewRecent  = 5
)

// modelItems are the rows of the list: favourites, what was used before, then
// each provider's, those that can be asked first.
func (m *Model) modelItems() []dialog.Item {
	current, recent := m.app.Session.Model().Name, m.app.Recent[:min(len(m.app.Recent), fewRecent)]
	favourite, hidden := m.tasteOf("favorites", m.config.Favorites), m.tasteOf("hidden", m.config.Hidden)
	type placed struct {
		at int // before those that stand as they come, at 0
		dialog.Item
	}
	rows := make([]placed, len(m.choices))
	for i, c := range m.choices {
		provider, _, _ := strings.Cut(c.Name, "/")
		row := placed{Item: dialog.Item{
			Title: c.Name, Keywords: c.Title, Value: c.Name, Group: provider, Cells: []string{c.Abilities, c.Window, c.Input, c.Output},
			Disabled: !c.Ready, Unavailable: c.Why, Current: c.Name == current,
		}}
		if at := slices.Index(recent, c.Name); at >= 0 {
			row.Group, row.at = recently, at-len(recent)
		}
		if yes, at := favourite.says(c.Name); yes {
			row.Group, row.Pinned, row.at = favourites, true, at-len(favourite)-len(recent)
		}
		yes, at := hidden.says(c.Name)
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

// A taste is what a person likes, or will not see: patterns of the configuration,
// and behind them what keys said of one model each, as "+" or "-" and its name.
// The last word about a name counts.
type taste []string

// readTastes reads what keys said, here and in other windows.
func (m *Model) readTastes() {
	m.tastes = map[string]taste{}
	for _, key := range []string{"favorites", "hidden"} {
		if kept, err := m.app.Library.Get(key); err == nil {
			m.tastes[key] = strings.Fields(kept)
		}
	}
}

// tasteOf is the one that is kept under a key.
func (m *Model) tasteOf(key string, configured []string) taste {
	return slices.Concat(configured, m.tastes[key])
}

// says is whether a name is meant, and by which word; -1 if there is none.
func (t taste) says(name string) (yes bool, at int) {
	for i, word := range slices.Backward(t) {
		if word == "-"+name {
			return false, i
		}
		if word == "+"+name || matches(word, name) {
			return true, i
		}
	}
	return false, -1
}

// matches reports whether a pattern stands for a name. A star stands for slashes
// as well: gateways have them in the names of models.
func matches(pattern, name string) bool {
	if !strings.ContainsAny(pattern, `*?[\`) {
		return pattern == name
	}
	flat := func(s string) string { return strings.ReplaceAll(s, "/", "\x00") }
	ok, err := path.Match(flat(pattern), flat(name))
	return ok && err == nil
}

// remember keeps what a key said of a model, in the place of what was said before.
func (m *Model) remember(key, name string, on bool) tea.Cmd {
	words := slices.DeleteFunc(slices.Clone(m.tastes[key]), func(w string) bool { return w == "+"+name || w == "-"+name })
	m.tastes[key] = append(words, map[bool]string{true: "+", false: "-"}[on]+name)
	m.listModels()
	return m.keepState(key, strings.Join(m.tastes[key], "\n"))
}

// hide takes a model off the list, or puts it back.
func (m *Model) hide(name string, on bool) tea.Cmd {
	kept := m.remember("hidden", name, on)
	if !on {
		return kept
	}
	return tea.Batch(kept, m.say("hidden: "+strings.Join(m.models.Keys.Details, ", ")+" shows it"))
}

// use switches to another model in mid-conversation.
func (m *Model) use(name string) tea.Cmd {
	if name == m.app.Session.Model().Name {
		return nil
	}
	model, err := m.app.Open(name)
	if err != nil {
		m.shown = true
		m.transcript.AddError(err.Error(), llm.Hint(err))
		return nil
	}
	m.annotate(m.app.Session.SetModel(model))
	m.app.RememberModel(model.Name)
	return m.keepState("models", strings.Join(m.app.Recent[:min(len(m.app.Recent), 10)], "\n"))
}

// nextModel and previousModel go round the recent models without changing
// their order.
func (m *Model) nextModel(string) tea.Cmd     { return m.cycle(1) }
func (m *Model) previousModel(string) tea.Cmd { return m.cycle(-1) }

func (m *Model) cycle(by int) tea.Cmd {
	at := slices.Index(m.app.Recent, m.app.Session.Model().Name)
	name := m.app.Recent[(at+by+len(m.app.Recent))%len(m.app.Recent)]
	order := slices.Clone(m.app.Recent)
	cmd := m.use(name)
	m.app.Recent = order
	return cmd
}

func (m *Model) pickEffort(arg string) tea.Cmd {
	if arg != "" {
		return m.setEffort(llm.Effort(arg))
	}
	return m.open(dialog.Pick("effort", "Effort", m.efforts(), m.theme))
}

// byItself is the effort of the provider's own choice, as a person writes it.
const byItself = "default"

// efforts are how much the model can be made to think.
func (m *Model) efforts() []dialog.Item {
	items := []dialog.Item{{Title: byItself, Detail: "what the provider does by itself", Value: byItself, Current: m.app.Session.Effort() == ""}}
	for _, e := range m.app.Session.Model().Efforts {
		items = append(items, dialog.Item{Title: string(e), Value: string(e), Current: e == m.app.Session.Effort()})
	}
	return items
}

func (m *Model) setEffort(e llm.Effort) tea.Cmd {
	efforts := m.app.Session.Model().Efforts
	if e == byItself {
		e = ""
	}
	if e != "" && !slices.Contains(efforts, e) {
		return m.say(fmt.Sprintf("there is no effort %q here: %s", e, Join(efforts)))
	}
	m.app.Session.SetEffort(e)
	if e == "" {
		return m.say("effort: as the provider likes")
	}
	return m.say("effort: " + string(e))
}

func (m *Model) lessEffort(string) tea.Cmd { return m.turnEffort(-1) }
func (m *Model) moreEffort(string) tea.Cmd { return m.turnEffort(1) }

func (m *Model) turnEffort(by int) tea.Cmd {
	efforts := m.app.Session.Model().Efforts
	at := slices.Index(efforts, m.app.Session.Effort())
	if at < 0 { // the provider's default stands in the middle
		at = len(efforts) / 2
	} else {
		at += by
	}
	return m.setEffort(efforts[min(max(at, 0), len(efforts)-1)])
}

func (m *Model) toggleEffort(string) tea.Cmd {
	if now := m.app.Session.Effort(); now != llm.EffortOff {
		m.effort = now
		return m.setEffort(llm.EffortOff)
	}
	return m.setEffort(m.effort)
}
