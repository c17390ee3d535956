package dialog

import (
	"fmt"
	"slices"
	"strings"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"parley/tools"
	"parley/tools/sanitize"
	"parley/ui/describe"
)

func (a *Approval) title() string { return describe.Question(a.action) }

const titleGap = 2 // cells between the title and what stands at its right

func (a *Approval) sandboxText() string { return describe.SandboxPhrase(a.action, a.network) }

func (a *Approval) sandboxStyle() describe.Style {
	if a.action.Sandboxed && !a.network && !a.action.Network {
		return describe.Dim
	}
	return describe.Warning
}

// heading returns the title line: what protects, and if there is room the workspace.
func (a *Approval) heading() string {
	shield := a.sandboxText()
	if shield == "" {
		return a.titleLine(a.title(), a.Workspace)
	}
	left := a.theme.Strong.Render(a.title())
	right := styleOf(a.sandboxStyle(), a.theme).Render(shield)
	room := a.width - ansi.StringWidth(a.title()) - ansi.StringWidth(shield)
	if place := sanitize.Line(a.Workspace); place != "" && room >= titleGap+len(" · ")+ansi.StringWidth(place) {
		right += a.theme.Faint.Render(" · " + place)
	}
	gap := a.width - ansi.StringWidth(left) - ansi.StringWidth(right)
	return left + strings.Repeat(" ", max(gap, 0)) + right
}

// View returns the question.
func (a *Approval) View() string {
	if a.height == 0 {
		return ""
	}
	switch a.state {
	case editing:
		return a.viewEdit()
	case noting:
		line := ansi.Truncate(a.sign(true)+a.theme.Text.Render(a.note.visibleText(a.width-signWidth)), a.width, "")
		foot := a.keyHint(a.theme.Dim, hint(a.Keys.Accept, "deny with reason"), hint(a.Keys.Close, "deny"))
		return frame(a.Height(), a.titleLine("Deny – add a reason for the model (optional)", ""), []string{line}, foot)
	case choosing:
		return a.viewRule()
	}
	armed := a.isArmed() // as time alone may change that
	if a.view != "" && armed == a.bright {
		return a.view
	}
	a.bright = armed
	visible := a.visible()
	a.clampTop(len(a.rows), visible)
	a.shown = [2]int{a.top, min(a.top+visible, len(a.rows))}
	var rows []string
	for _, r := range a.rows[a.shown[0]:a.shown[1]] {
		rows = append(rows, r.draw(a.width, a.theme))
	}
	head := ""
	if !a.headless {
		head = a.heading()
	}
	a.view = frame(a.Height(), head, rows, a.foot())
	return a.view
}

// foot returns which keys work. They are dim while they do not.
func (a *Approval) foot() string {
	deny := hint(a.Keys.Deny, "deny")
	if a.width < minConsentWidth {
		return a.keyHint(a.theme.Warn, deny)
	}
	if line := a.unreadHint(a.Keys.ScrollKeys, a.width, "scroll to the end to allow", deny); line != "" {
		return a.theme.Warn.Render(line)
	}
	if a.hinted != "" {
		return a.theme.Warn.Render(ansi.Truncate(a.hinted, a.width, "…"))
	}
	if !a.bright {
		return a.keyHint(a.theme.Faint, a.options(deny)...)
	}
	return a.keyHint(a.theme.Text, a.options(deny)...)
}

// answers returns which keys do something, and why press, which others are for, does
// not.
func (a *Approval) answers(press tea.KeyPressMsg) string {
	keys := []string{a.Keys.Once.Help().Key, a.Keys.Deny.Help().Key}
	why := ""
	switch {
	case !a.network:
		if !a.action.AskEachTime {
			keys = append(keys, a.Keys.Session.Help().Key, a.Keys.Always.Help().Key)
		} else if key.Matches(press, a.Keys.Session) || key.Matches(press, a.Keys.Always) {
			why = "This asks every time: "
		}
		if a.Editor != nil {
			keys = append(keys, a.Keys.Edit.Help().Key)
		}
	case key.Matches(press, a.Keys.Session), key.Matches(press, a.Keys.Always), key.Matches(press, a.Keys.Edit):
		why = "Network is allowed once only: "
	}
	if a.action.Sandboxed && !a.action.Network {
		keys = append(keys, a.Keys.Network.Help().Key)
	}
	return why + strings.Join(append(keys, a.Keys.Details.Help().Key), ", ") + " or " + a.Keys.Dismiss.Help().Key
}

// options returns the keys that answer, the most important ones first: in few words where
// more have no room.
func (a *Approval) options(deny key.Binding) []key.Binding {
	long := a.optionsBy("allow ", deny)
	if ansi.StringWidth(hints.ShortHelpView(long)) <= a.width {
		return long
	}
	return a.optionsBy("", deny)
}

func (a *Approval) optionsBy(allow string, deny key.Binding) []key.Binding {
	edit, network := hint(a.Keys.Edit, "edit"), hint(a.Keys.Network, allow+"with network")
	edit.SetEnabled(a.Editor != nil)
	network.SetEnabled(a.action.Sandboxed && !a.action.Network)
	details := hint(a.Keys.Details, "details")
	if a.network {
		return []key.Binding{hint(a.Keys.Once, "allow with network"), deny, hint(a.Keys.Network, "without network"), details}
	}
	always := "always allow…"
	if allow == "" {
		always = "always…"
	}
	first, rest := []key.Binding{hint(a.Keys.Once, allow+"once"), deny}, []key.Binding{hint(a.Keys.Always, always), edit, network, details}
	if a.action.AskEachTime {
		return slices.Concat(first, rest[1:])
	}
	scope := ""
	for _, beside := range []int{4, 2, 1, 0} { // the scope goes before those where not all have room
		room := a.width - ansi.StringWidth(hints.ShortHelpView(slices.Concat(first, rest[:beside], []key.Binding{hint(a.Keys.Session, "")})))
		if scope = allow + a.scope(room-len(allow)); ansi.StringWidth(scope) <= room {
			break
		}
	}
	return slices.Concat(first, []key.Binding{hint(a.Keys.Session, scope)}, rest)
}

// scope returns what else is allowed with this action if it is for the session, in
// about width cells; see tools.Policy.Remember.
func (a *Approval) scope(width int) string {
	const session, shortest = "this session", 8
	what, name := "edits to ", ""
	switch {
	case a.action.Command == "" && a.action.Access == tools.AccessWrite:
		name = a.action.Path
	case a.action.Command == "":
		what, name = "", a.action.Host
	}
	if name == "" {
		return session
	}
	name = sanitize.Line(describe.Reveal(name))
	if over := ansi.StringWidth(name) - max(width-len(what)-len(session)-1, shortest); over > 0 {
		name = ansi.TruncateLeft(name, over+1, "…")
	}
	return what + name + " " + session
}

// percent returns how much of total is done, 100 only when all of it is.
func percent(done, total int) string {
	return fmt.Sprintf("%d%%", min(done, total)*100/max(total, 1))
}
