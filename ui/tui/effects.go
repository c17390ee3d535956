package tui

import (
	"cmp"
	"context"
	"slices"

	tea "charm.land/bubbletea/v2"

	"parley/providers/llm"
	"parley/session"
	"parley/tools/sanitize"
	"parley/ui/app"
	"parley/ui/app/wording"
	"parley/ui/edit"
	"parley/ui/tui/common"
	"parley/ui/tui/composer"
	"parley/ui/tui/dialog"
	"parley/ui/tui/diffview"
	"parley/ui/tui/input"
	"parley/ui/tui/renderer"
)

// perform shows the effect of an action of the user.
func (m *Model) perform(e app.Effect) tea.Cmd {
	switch e := e.(type) {
	case app.Then:
		var cmds []tea.Cmd
		for _, one := range e {
			cmds = append(cmds, m.perform(one))
		}
		return tea.Batch(cmds...)
	case app.SessionOpened:
		m.enter(e)
	case app.Shown:
		m.chat.Show(e.Event)
	case app.Notes:
		for _, n := range e {
			m.chat.Note(n)
		}
	case app.Failure:
		return m.fail(e)
	case app.Draft:
		m.input.InsertPrompt(string(e))
		return m.input.Changed()
	case app.DraftCommand:
		return m.input.SetCommand(string(e))
	case app.Attached:
		return m.input.Changed()
	case app.Toast:
		if e != "" {
			return m.ShowToast(string(e))
		}
	case app.Progress:
		return m.ShowToast(string(e))
	case app.Page:
		m.HideToast() // it said that the page is being made
		return openPage(m, e)
	case app.Output, app.Beside, app.Reconfigured, app.PickModel:
		cmd, _ := m.parts.offer(e)
		return cmd
	case app.PanelQuery:
		return m.openPanel(e)
	case *app.List:
		return m.chooseFrom(e)
	case *app.Confirm:
		return m.ask(*e, func(yes bool) tea.Cmd { return m.perform(e.Answer(yes)) })
	case *app.Secret:
		return m.askSecret(e)
	case *app.ModelQuestion:
		return m.askUser(e)
	case app.Play:
		return m.chat.Play(e)
	case app.Async:
		// Always a message, so that changes are drawn.
		return func() tea.Msg { return app.Then{e(context.Background())} }
	case app.Prepare:
		m.pending.preparing++
		return func() tea.Msg { return preparedMsg(e(context.Background())) }
	case app.Edit:
		return m.branches.edit(int(e))
	case app.EditFile:
		return editFile(m, e)
	case app.Exit:
		return m.quit()
	}
	return nil
}

// editFile opens a file in the user's editor.
func editFile(m *Model, e app.EditFile) tea.Cmd {
	cmd, err := edit.File(m.App.Getenv, e.Path)
	if err != nil {
		return m.fail(app.Failure{Err: err})
	}
	return renderer.Exec(cmd, func(err error) tea.Msg {
		return doMsg(func() tea.Cmd { return tea.Batch(m.perform(app.Fail(err)), m.perform(e.Done())) })
	})
}

// fail shows an error, and puts the command that did not run back into the composer.
func (m *Model) fail(f app.Failure) (cmd tea.Cmd) {
	if f.Line != "" {
		m.input.RestoreCommand(f.Line, nil)
		cmd = m.input.Changed()
	}
	if !f.Lasting {
		return tea.Batch(cmd, m.ShowToast(wording.Refusal(f.Err)))
	}
	m.chat.HasContent = true
	m.chat.Transcript.Blocks.AddError(wording.Error(f.Err), wording.Hint(f.Err))
	return cmd
}

// ask asks a yes-or-no question.
func (m *Model) ask(c app.Confirm, answered func(yes bool) tea.Cmd) tea.Cmd {
	d := dialog.Confirm(c.Text, c.Yes, c.No, m.Theme)
	d.Harmless, d.Unasked = c.Harmless, c.Unasked
	cmd := m.overlay.Ask(d, answered)
	onLeave(m, c.OnDismiss)
	return tea.Batch(cmd, lapses(m, c.Lapse))
}

// askUser shows a question of the model until it is answered or withdrawn.
func (m *Model) askUser(q *app.ModelQuestion) tea.Cmd {
	var choices [][2]string
	for _, c := range q.Choices {
		choices = append(choices, [2]string{c.Title, c.Detail})
	}
	d := dialog.AskModelQuestion(q.Text, q.Count, choices, m.Theme)
	d.Several = q.Several
	d.Answered = func(chosen []int, text string) tea.Cmd { return m.perform(q.Answer(chosen, text)) }
	m.overlay.AskUser(d)
	notice := m.Notify("Question: " + q.Text)
	if q.Done == nil {
		return notice
	}
	return tea.Batch(notice, func() tea.Msg {
		<-q.Done
		return doMsg(func() tea.Cmd { m.overlay.DropModelQuestion(d); return nil })
	})
}

// askSecret asks for a line. If no part of the screen can ask for it, the question counts as dismissed.
func (m *Model) askSecret(s *app.Secret) tea.Cmd {
	cmd, ok := m.parts.offer(s)
	if !ok && s.OnDismiss != nil {
		s.OnDismiss()
	}
	return tea.Batch(cmd, lapses(m, s.Lapse))
}

// lapses closes the dialog just opened when it no longer needs an answer. It does not close a line
// that the user is typing, because the rest of it would go to the model.
func lapses(m *Model, l app.Lapse) tea.Cmd {
	d := m.overlay.Dialog
	if l.Done == nil {
		return nil
	}
	return func() tea.Msg {
		<-l.Done
		return doMsg(func() tea.Cmd {
			if m.overlay.Dialog != d {
				return nil // already answered or left
			}
			e := l.OnDone()
			said, _ := e.(app.Toast)
			if line, ok := d.(*dialog.Secret); ok && line.End(string(said)) {
				return nil
			}
			m.overlay.Close()
			return m.perform(e)
		})
	}
}

// onLeave calls f when the dialog just opened is left without a choice. f may be nil.
func onLeave(m *Model, f func()) {
	if f != nil {
		m.overlay.OnLeave(func(dialog.Left) tea.Cmd {
			f()
			return nil
		})
	}
}

// askNext shows the next question of an MCP server to the user, unless another dialog is open.
func askNext(m *Model) tea.Cmd {
	if m.overlay.Dialog != nil || m.App.Trust.Question != "" {
		return nil
	}
	return m.perform(m.App.MCP.NextQuestion())
}

// leastColumn is the number of cells for a wide value in a column of a list.
const leastColumn = 24

// chooseFrom lets the user choose a row of a list.
func (m *Model) chooseFrom(l *app.List) tea.Cmd {
	picker := dialog.Pick(l.Title, items(l.Items), m.Theme)
	for _, c := range l.Columns {
		picker.Columns = append(picker.Columns, dialog.Column{Name: c.Name, Left: !c.Figures, Signed: c.Figures, Least: leastColumn})
	}
	if l.Selected != "" {
		picker.Select(l.Selected)
	}
	if l.TakesArg {
		picker = dialog.Commands(l.Title, items(l.Items), nil, m.Theme)
	}
	if l.Free {
		picker.FreeItem = func(typed string) (dialog.Item, bool) { return dialog.Item{Title: typed, Value: typed}, false }
	}
	cmd := m.overlay.Choose(picker, func(p dialog.Choice) tea.Cmd {
		if p.Arg != "" {
			p.Value += " " + p.Arg
		}
		return m.perform(l.Choose(p.Value))
	})
	picker.Actions = pageKeys(m, l.Actions, picker.Selected)
	if l.Preview != nil {
		showPreviews(m, picker, l.Preview)
	}
	onLeave(m, l.OnDismiss)
	refresh := func() {
		l.Items = l.Refresh()
		picker.SetItems(items(l.Items))
	}
	if l.Refresh != nil {
		m.overlay.OnRefresh(refresh)
	}
	if l.Remove != nil {
		picker.Actions = append(picker.Actions, dialog.PageKey{Key: "delete", Help: cmp.Or(l.RemoveAs, "remove"), Do: func() tea.Cmd {
			defer refresh()
			return m.perform(l.Remove(picker.Selected()))
		}})
	}
	return tea.Batch(cmd, lapses(m, l.Lapse))
}

// showPreviews shows the diff of the selected row. It makes one at a time, and then that of the row that is
// selected by then.
func showPreviews(m *Model, picker *dialog.Picker, of func(value string) string) {
	busy := false
	picker.Moved = func(value string) {
		if busy || value == "" {
			return
		}
		busy = true
		m.Go(func() {
			patch := diffview.Read(sanitize.Text(of(value)), dialog.MaxPreview)
			m.Send(doMsg(func() tea.Cmd {
				busy = false
				picker.SetPreview(value, &patch)
				if now := picker.Selected(); now != value {
					picker.Moved(now)
				}
				return nil
			}))
		})
	}
	picker.SetPreview("", nil)
	picker.Moved(picker.Selected())
}

// openPage shows text to read.
func openPage(m *Model, e app.Page) tea.Cmd {
	page := dialog.Pages(e.Title, e.Parts, m.Theme)
	page.Actions = pageKeys(m, e.Actions, func() string { return "" })
	if e.Back != nil {
		page.Back = func() tea.Cmd { return m.perform(e.Back) }
	}
	return m.overlay.Open(page)
}

// pageKeys converts actions with the row that selected returns.
func pageKeys(m *Model, actions []app.Action, selected func() string) (keys []dialog.PageKey) {
	for _, a := range actions {
		keys = append(keys, dialog.PageKey{Key: a.Key, Help: a.Help, Do: func() tea.Cmd {
			if a.Copy != nil {
				return m.Copy(a.Copy(selected()))
			}
			return m.perform(a.Do(selected()))
		}})
	}
	return keys
}

// items converts rows of the application to rows of a dialog.
func items(rows []app.Item) []dialog.Item {
	out := make([]dialog.Item, len(rows))
	for i, r := range rows {
		out[i] = dialog.Item{Title: r.Title, Detail: r.Detail, Value: r.Value, Current: r.Current, Disabled: r.Disabled, Exact: r.Exact, Cells: r.Cells, Group: r.Group, About: r.About, Own: r.Origin == app.ByUser, Imposed: r.Origin == app.BySomething}
	}
	return out
}

// preparedMsg delivers the effect of a preparation that input waits for.
type preparedMsg func() app.Effect

// pendingInput holds prompts submitted before their conversation or context is known.
type pendingInput struct {
	preparing int
	expanding []*expansion // each counts in preparing
	submitted []composer.Submission
	refused   string           // refused line, which is now the draft; submitting it again sends it as text
	first     []llm.Part       // prompt of the command line
	draft     []llm.Part       // prompt of the command line, for the conversation that the user will choose
	givenBack []session.Unsent // prompts of the ending turn, until the prompts queued after it are the draft
}

// toDraft ends an edit and moves all unsent input to the draft, because the program ends.
func (p *pendingInput) toDraft(b *branches) {
	b.endEdit()
	in := b.input
	p.giveBack(in)
	for _, of := range slices.Backward(p.expanding) {
		in.InsertPrompt(of.Text)
	}
	p.expanding = nil
	p.giveBackDraft(in)
	in.Watch()
	in.QueueToDraft()
}

// giveBackDraft moves the prompt for a conversation to be chosen to the draft.
func (p *pendingInput) giveBackDraft(in *input.Input) {
	if len(p.draft) > 0 {
		in.RestoreMessage(llm.Message{Role: llm.RoleUser, Parts: p.draft})
		p.draft = nil
	}
}

// giveBack moves submitted prompts to the draft.
func (p *pendingInput) giveBack(in *input.Input) tea.Cmd {
	var changed tea.Cmd
	for _, s := range slices.Backward(p.submitted) {
		in.InsertPrompt(s.Text)
		changed = in.Changed()
	}
	if len(p.first) > 0 {
		in.RestoreMessage(llm.Message{Role: llm.RoleUser, Parts: p.first})
		changed = in.Changed()
	}
	p.submitted, p.first = nil, nil
	return changed
}

// prepared shows the effect of a preparation, and continues with the prompts submitted meanwhile.
func (m *Model) prepared(msg preparedMsg) tea.Cmd {
	e := msg()
	if app.TypedBecomesDraft(e) { // a failed command must not mix with them
		return tea.Batch(proceed(m, true), m.perform(e))
	}
	return tea.Batch(m.perform(e), proceed(m, false))
}

// proceed continues with the prompts submitted during a preparation that has ended, or moves them to
// the draft.
func proceed(m *Model, asDraft bool) tea.Cmd {
	m.pending.preparing--
	switch {
	case asDraft:
		return m.pending.giveBack(m.input)
	case m.pending.preparing > 0:
		return nil
	}
	first, submitted := m.pending.first, m.pending.submitted
	m.pending.first, m.pending.submitted = nil, nil
	var cmds []tea.Cmd
	if len(first) > 0 {
		cmds = append(cmds, m.chat.SendPrompt(first...))
	}
	for i, s := range submitted {
		if m.pending.preparing > 0 { // one of them began another preparation
			m.pending.submitted = append(m.pending.submitted, submitted[i:]...)
			break
		}
		cmds = append(cmds, m.submit(s))
	}
	return tea.Batch(cmds...)
}

// openPanel opens a panel, or the help if there is no panel with this name.
func (m *Model) openPanel(v app.PanelQuery) tea.Cmd {
	if cmd, ok := m.parts.offer(common.OpenMsg{Panel: string(v.Panel), Query: v.Query}); ok {
		return cmd
	}
	return m.help()
}

// enter shows the newly opened conversation.
func (m *Model) enter(e app.SessionOpened) {
	if e.Previous == nil { // another branch of the same conversation
		m.chat.Transcript.Browse(false)
		m.chat.Replay()
		return
	}
	m.Go(func() {
		if lost := e.Close(); lost != "" {
			m.Send(app.Shown{Event: llm.Notice{Text: lost}})
		}
	})
	m.chat.ShowSession()
	m.input.RestoreDraft()
	m.Defer(m.parts.broadcast(common.SessionsChangedMsg{}))
	m.view.layout()
	if e.Seq > 0 {
		m.chat.Transcript.ShowMessage(e.Seq)
	}
}

// askTrust asks whether the files of the directory may be used, and then continues.
func (m *Model) askTrust() tea.Cmd {
	decide := m.App.Trust.Decide
	return m.ask(app.Confirm{Text: m.App.Trust.Question, Yes: wording.TrustYes, No: wording.TrustNo, Unasked: true}, func(yes bool) tea.Cmd {
		m.App.Trust.Question = ""
		return func() tea.Msg {
			system, err := decide(yes)
			return doMsg(func() tea.Cmd {
				m.App.Session.Next.SetSystem(system)
				switch {
				case err != nil:
					m.chat.Note(wording.ShellError(err))
				case yes:
					return tea.Batch(sendInitial(m), readPrompts(m), m.ShowToast(wording.Trusted))
				}
				return tea.Batch(sendInitial(m), m.ShowToast(wording.NotTrusted))
			})
		}
	})
}

// A doMsg is a function for the event loop to run.
type doMsg func() tea.Cmd
