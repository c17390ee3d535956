package ui

import (
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"parley/providers/llm"
	"parley/ui/dialog"
)

// choicesMsg is what servers say they have.
type choicesMsg []Choice

func (m *Model) pickModel(arg string) tea.Cmd {
	if arg != "" {
		return m.use(arg)
	}
	m.models = dialog.Pick("model", "Model", m.modelItems(m.o.Choices()), m.theme)
	live := m.o.Live
	return tea.Batch(m.open(m.models), func() tea.Msg { return choicesMsg(live()) })
}

// offered shows the models that servers have, if they are still asked for.
func (m *Model) offered(choices []Choice) tea.Cmd {
	if m.models != nil && m.dialog == m.models {
		m.models.SetItems(m.modelItems(choices))
		m.layout()
	}
	return nil
}

func (m *Model) modelItems(choices []Choice) []dialog.Item {
	var items []dialog.Item
	current := m.session.Model().Name
	for _, c := range choices {
		item := dialog.Item{Title: c.Name, Detail: c.Detail, Value: c.Name, Dim: !c.Ready, Current: c.Name == current}
		if !c.Ready {
			item.Why, item.Detail = c.Detail, ""
		}
		items = append(items, item)
	}
	return items
}

// use switches to another model in mid-conversation.
func (m *Model) use(name string) tea.Cmd {
	if name == m.session.Model().Name {
		return nil
	}
	model, err := m.o.Open(name)
	if err != nil {
		m.shown = true
		m.transcript.Fail(err.Error(), llm.Hint(err))
		return nil
	}
	m.switched(m.session.Use(model))
	m.recent = append([]string{model.Name}, slices.DeleteFunc(m.recent, func(n string) bool { return n == model.Name })...)
	return m.keepState("models", strings.Join(m.recent[:min(len(m.recent), 10)], "\n"))
}

// nextModel and previousModel go round the recent models without changing
// their order.
func (m *Model) nextModel(string) tea.Cmd     { return m.cycle(1) }
func (m *Model) previousModel(string) tea.Cmd { return m.cycle(-1) }

func (m *Model) cycle(by int) tea.Cmd {
	if len(m.recent) < 2 {
		return m.say("no other recent model: ctrl+x m picks one")
	}
	at := slices.Index(m.recent, m.session.Model().Name)
	name := m.recent[(at+by+len(m.recent))%len(m.recent)]
	order := slices.Clone(m.recent)
	cmd := m.use(name)
	m.recent = order
	return cmd
}

func (m *Model) pickEffort(arg string) tea.Cmd {
	if arg != "" {
		return m.setEffort(llm.Effort(arg))
	}
	efforts := m.session.Model().Efforts
	if len(efforts) == 0 {
		return m.say("this model has no effort to set")
	}
	items := []dialog.Item{{Title: "default", Detail: "what the provider does by itself", Current: m.session.Effort() == ""}}
	for _, e := range efforts {
		items = append(items, dialog.Item{Title: string(e), Value: string(e), Current: e == m.session.Effort()})
	}
	return m.open(dialog.Pick("effort", "Effort", items, m.theme))
}

func (m *Model) setEffort(e llm.Effort) tea.Cmd {
	efforts := m.session.Model().Efforts
	if e != "" && !slices.Contains(efforts, e) {
		if len(efforts) == 0 {
			return m.say("this model has no effort to set")
		}
		return m.say(fmt.Sprintf("there is no effort %q here: %v", e, efforts))
	}
	m.session.SetEffort(e)
	if e == "" {
		return m.say("effort: as the provider likes")
	}
	return m.say("effort: " + string(e))
}

func (m *Model) lessEffort(string) tea.Cmd { return m.turnEffort(-1) }
func (m *Model) moreEffort(string) tea.Cmd { return m.turnEffort(1) }

func (m *Model) turnEffort(by int) tea.Cmd {
	efforts := m.session.Model().Efforts
	if len(efforts) == 0 {
		return m.say("this model has no effort to set")
	}
	at := slices.Index(efforts, m.session.Effort())
	if at < 0 { // the provider's default stands in the middle
		at = len(efforts) / 2
	} else {
		at += by
	}
	return m.setEffort(efforts[min(max(at, 0), len(efforts)-1)])
}

func (m *Model) toggleEffort(string) tea.Cmd {
	efforts := m.session.Model().Efforts
	if !slices.Contains(efforts, llm.EffortOff) {
		return m.say("this model cannot switch thinking off and on")
	}
	if now := m.session.Effort(); now != llm.EffortOff {
		m.effort = now
		return m.setEffort(llm.EffortOff)
	}
	return m.setEffort(m.effort)
}
