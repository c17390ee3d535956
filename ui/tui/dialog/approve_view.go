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

func (a *Approval) title() string {
	return "Allow " + sanitize.Line(describe.Reveal(a.action.Tool)) + describe.WantPhrase(a.action) + "?"
}

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
		foot := a.keyHint(a.theme.Dim, hint(a.Keys.Accept, "deny, and tell the model this"), hint(a.Keys.Close, "just deny"))
		return frame(a.Height(), a.titleLine("Deny. Tell the model why?", ""), []string{line}, foot)
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
			why = "here it asks each time: "
		}
		if a.Editor != nil {
			keys = append(keys, a.Keys.Edit.Help().Key)
		}
	case key.Matches(press, a.Keys.Session), key.Matches(press, a.Keys.Always), key.Matches(press, a.Keys.Edit):
		why = "the network is for this once: "
	}
	if a.action.Sandboxed && !a.action.Network {
		keys = append(keys, a.Keys.Network.Help().Key)
	}
	return why + strings.Join(append(keys, a.Keys.Details.Help().Key), ", ") + " or " + a.Keys.Dismiss.Help().Key
}

// options returns the keys that answer, the most important ones first.
func (a *Approval) options(deny key.Binding) []key.Binding {
	edit, network := hint(a.Keys.Edit, "edit"), hint(a.Keys.Network, "network")
	edit.SetEnabled(a.Editor != nil)
	network.SetEnabled(a.action.Sandboxed && !a.action.Network)
	details := hint(a.Keys.Details, "details")
	if a.network {
		return []key.Binding{hint(a.Keys.Once, "once, with network"), deny, hint(a.Keys.Network, "no network"), details}
	}
	first, rest := []key.Binding{hint(a.Keys.Once, "once"), deny}, []key.Binding{hint(a.Keys.Always, "always"), edit, network, details}
	if a.action.AskEachTime {
		return slices.Concat(first, rest[1:])
	}
	scope := ""
	for _, beside := range []int{4, 2, 1, 0} { // the scope goes before those where not all have room
		room := a.width - ansi.StringWidth(hints.ShortHelpView(slices.Concat(first, rest[:beside], []key.Binding{hint(a.Keys.Session, "")})))
		if scope = a.scope(room); ansi.StringWidth(scope) <= room {
			break
		}
	}
	return slices.Concat(first, []key.Binding{hint(a.Keys.Session, scope)}, rest)
}

// scope returns what else is allowed with this action if it is for the session, in
// about width cells; see tools.Policy.Remember.
func (a *Approval) scope(width int) string {
	switch {
	case a.action.Command != "":
		if width < len("this command again") {
			return "same again"
		}
		return "this command again"
	case a.action.Access == tools.AccessWrite && a.action.Path != "":
		const change, shortest = "changes of ", 8
		path := sanitize.Line(describe.Reveal(a.action.Path))
		if over := ansi.StringWidth(path) - max(width-len(change), shortest); over > 0 {
			path = ansi.TruncateLeft(path, over+1, "…")
		}
		return change + path
	}
	switch {
	case a.action.Host != "":
		host := sanitize.Line(describe.Reveal(a.action.Host))
		if room := max(width-len("all of "), 8); ansi.StringWidth(host) > room {
			host = ansi.TruncateLeft(host, ansi.StringWidth(host)-room+1, "…")
		}
		return "all of " + host
	case a.action.Access == tools.AccessRun:
		return "any call of this tool"
	}
	return "this session"
}

// percent returns how much of total is done, 100 only when all of it is.
func percent(done, total int) string {
	return fmt.Sprintf("%d%%", min(done, total)*100/max(total, 1))
}
