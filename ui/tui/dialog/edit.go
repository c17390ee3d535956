package dialog

import (
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"parley/tools/act"
	"parley/tools/sanitize"
	"parley/ui/describe"
)

// startEdit opens the editor with the main argument, such as the command, or else with all arguments
// as JSON. It does nothing if the editor cannot hold the text unchanged.
func (a *Approval) startEdit() {
	a.fitEditor()
	a.draft.fault = ""
	name, value := describe.Editable(a.action)
	a.draft.edited = name
	a.Editor.SetValue(value)
	if name != "" && a.Editor.Value() != value {
		a.draft.edited, value = "", describe.Indented(a.action.Input)
		a.Editor.SetValue(value)
	}
	if a.Editor.Value() != value {
		return
	}
	a.state = editing
	if a.draft.left != "" {
		a.Editor.SetValue(a.draft.left)
	}
}

// edit passes keys to the editor. Enter answers with its content if that is valid. The result is a
// new action, which the session submits for approval again.
func (a *Approval) edit(msg tea.Msg) tea.Cmd {
	if press, ok := msg.(tea.KeyPressMsg); ok {
		if pressed(press, keyAccept) {
			input, err := describe.Arguments(a.action, a.draft.edited, a.Editor.Value())
			if err != nil {
				a.draft.fault = sanitize.Line(err.Error())
				return nil
			}
			return a.reply(act.Approval{Verdict: act.Allow, Input: input})
		}
		if pressed(press, keyClose) {
			a.state, a.draft.left = reviewing, a.Editor.Value()
			return nil
		}
	}
	a.draft.fault = ""
	return a.Editor.Update(msg)
}

func (a *Approval) drawEdit() (rows []string, foot string) {
	use := "use these"
	if a.draft.edited != "" {
		use = "use this"
	}
	foot = a.keyHints(keyAccept.hint(use), keyClose.hint("back"))
	if a.draft.fault != "" {
		foot = a.keyHint(a.theme.Bad, hint{a.draft.fault, ""})
	}
	title := "Edit the arguments"
	if a.draft.edited != "" {
		title = "Edit the " + sanitize.Line(a.draft.edited)
	}
	if a.action.Tool == act.PlanTool {
		title = "Edit the plan"
	}
	rows = strings.Split(a.Editor.View(), "\n")
	for i, row := range rows {
		rows[i] = ansi.Truncate(row, a.inner(), "") // an editor may be a cell wider than it should
	}
	return a.titled(a.titleLine(title, a.Workspace), rows), foot
}
