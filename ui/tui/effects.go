package tui

import (
	"context"
	"slices"

	tea "charm.land/bubbletea/v2"

	"parley/providers/llm"
	"parley/ui/app"
	"parley/ui/tui/dialog"
)

// effectMsg brings what came of an effect that ran beside the screen.
type effectMsg app.Effect

// perform shows what came of something the user did.
func (m *Model) perform(e app.Effect) tea.Cmd {
	var cmds []tea.Cmd
	if e.Entered != nil {
		m.enter(*e.Entered)
	}
	if e.Event != nil {
		m.chat.show(e.Event)
	}
	for _, n := range e.Notes {
		m.note(n)
	}
	if e.Failed != nil {
		m.chat.shown = true
		m.chat.transcript.AddError(e.Failed.Error(), llm.Hint(e.Failed))
	}
	if e.Text != "" {
		m.draft(e.Text)
	}
	if e.Text != "" || len(e.Attached) > 0 {
		m.layout()
		cmds = append(cmds, m.written())
	}
	if e.Toast != "" && e.Err == nil {
		cmds = append(cmds, m.say(e.Toast))
	}
	if e.Err != nil {
		cmds = append(cmds, m.say(e.Err.Error()))
	}
	if e.Panel != "" {
		cmds = append(cmds, m.openPanel(e.Panel, e.Query))
	}
	if e.List != nil {
		cmds = append(cmds, m.openList(e.List))
	}
	if c := e.Confirm; c != nil {
		cmds = append(cmds, m.ask(*c, func(yes bool) tea.Cmd { return m.perform(c.Answer(yes)) }))
	}
	if e.Turn != nil {
		cmds = append(cmds, m.play(e.Turn))
	}
	if e.Async != nil {
		cmds = append(cmds, func() tea.Msg { return effectMsg(e.Async(context.Background())) })
	}
	if e.Then != nil {
		cmds = append(cmds, m.perform(e.Then()))
	}
	if e.Quit {
		cmds = append(cmds, m.quit())
	}
	return tea.Batch(cmds...)
}

// openPanel opens a view with a life of its own.
func (m *Model) openPanel(p app.Panel, query string) tea.Cmd {
	switch p {
	case app.PanelSessions:
		return m.sessions(query)
	case app.PanelModels:
		return m.offerModels("Model", query, func(name string) tea.Cmd { return m.perform(m.app.Use(name)) })
	case app.PanelPermissions:
		return m.permissions()
	case app.PanelContext:
		return m.context()
	case app.PanelUsage:
		return m.usage()
	}
	return m.help("")
}

// serverMsg names an MCP server that changed.
type serverMsg string

// setTaste keeps what a key said of a model, and lists the models anew.
func (m *Model) setTaste(key, name string, on bool) tea.Cmd {
	e := m.app.SetTaste(key, name, on)
	m.listModels()
	return m.perform(e)
}

// items are rows of the application as a dialog shows them.
func items(rows []app.Item) []dialog.Item {
	out := make([]dialog.Item, len(rows))
	for i, r := range rows {
		out[i] = dialog.Item{Title: r.Title, Detail: r.Detail, Value: r.Value, Current: r.Current, Disabled: r.Disabled}
	}
	return out
}

// openList asks for a row of a list.
func (m *Model) openList(l *app.List) tea.Cmd {
	picker := dialog.Pick("", l.Title, items(l.Items), m.theme)
	if l.TakeArg {
		picker = dialog.Commands("", l.Title, items(l.Items), nil, m.theme)
	}
	return m.choose(picker, func(p dialog.PickedMsg) tea.Cmd {
		i := slices.IndexFunc(l.Items, func(i app.Item) bool { return i.Value == p.Value })
		if i < 0 {
			return nil
		}
		return m.perform(l.Choose(l.Items[i], p.Arg))
	})
}

// choose opens a picker; picked takes the row that is chosen.
func (m *Model) choose(d *dialog.Picker, picked func(dialog.PickedMsg) tea.Cmd) tea.Cmd {
	m.choosing = picked
	return m.open(d)
}

// picked carries out what was chosen from a list.
func (m *Model) picked(p dialog.PickedMsg) tea.Cmd {
	m.dialog, m.slash = nil, false
	var cmd tea.Cmd
	if m.choosing != nil {
		cmd = m.choosing(p)
	}
	m.layout()
	return tea.Batch(cmd, m.askNext())
}

// ask asks a question with a yes and a no.
func (m *Model) ask(c app.Confirm, answered func(yes bool) tea.Cmd) tea.Cmd {
	m.answering = answered
	d := dialog.Confirm("", c.Text, c.Yes, c.No, m.theme)
	d.Now, d.Harmless = m.now, c.Harmless
	return m.open(d)
}

// confirmed acts on a yes or no.
func (m *Model) confirmed(msg dialog.Confirmed) tea.Cmd {
	m.dialog = nil
	m.layout()
	var cmd tea.Cmd
	if m.answering != nil {
		cmd = m.answering(msg.Yes)
	}
	return tea.Batch(cmd, m.askNext())
}

// enter shows the conversation that is open now.
func (m *Model) enter(e app.Entered) {
	if e.Left == nil { // another branch of the same one
		m.chat.transcript.Browse(false)
		m.redraw()
		return
	}
	m.running.Go(func() { e.Left.Close() })
	s := m.app.Session
	m.editing, m.unsaved = 0, nil
	s.OnSave(func(err error) { m.send(savedMsg{err}) })
	m.chat.transcript.Clear()
	m.chat.replay(s)
	m.recall()
	m.layout()
	if e.Seq > 0 {
		m.chat.transcript.Show(e.Seq)
	}
}

// offerSummary asks whether to go on with a summary of what was said.
func (m *Model) offerSummary() tea.Cmd {
	return m.ask(app.Confirm{
		Text: "The conversation does not fit the model's window any more. Summarize what was said and try again? The conversation itself stays whole.",
		Yes:  "summarize", No: "leave it", Harmless: true,
	}, func(yes bool) tea.Cmd {
		if m.compacting = yes; !yes {
			return nil
		}
		return m.play(m.app.Session.Compact)
	})
}

// askTrust asks whether what the directory brings may be used, and goes on.
func (m *Model) askTrust() tea.Cmd {
	decide := m.app.Decide
	return m.ask(app.Confirm{Text: m.app.Question, Yes: "trust it", No: "use none of it"}, func(yes bool) tea.Cmd {
		m.app.Question = ""
		return func() tea.Msg {
			system, err := decide(yes)
			return trustedMsg{yes, system, err}
		}
	})
}

// trustedMsg says what follows from what the user thinks of the directory.
type trustedMsg struct {
	yes    bool
	system string
	err    error
}

func (m *Model) trusted(msg trustedMsg) tea.Cmd {
	m.app.Session.SetSystem(msg.system)
	if msg.err != nil {
		m.note(msg.err.Error())
	} else if msg.yes {
		return tea.Batch(m.first(), m.say("trusted: /context shows what every request holds"))
	}
	return m.first()
}
