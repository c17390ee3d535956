package dialog

import (
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"parley/tools"
	"parley/tools/sanitize"
)

// wants names what a tool asks for, by its access.
var wants = map[tools.Access]string{tools.AccessRead: " to read", tools.AccessWrite: " to change files", tools.AccessRun: " to run", tools.AccessFetch: " to reach the network"}

func (a *Approval) title() string {
	return "Allow " + sanitize.Line(reveal(a.action.Tool)) + want(a.action) + "?"
}

// want returns what a tool asks for.
func want(a *tools.Action) string {
	if a.Command != "" {
		return " to run a command"
	}
	return wants[a.Access]
}

const titleGap = 2 // cells between the title and what stands at its right

func (a *Approval) shield() string { return shield(a.action, a.network) }

// shield returns what protects a user from a command, which may reach the network
// if online; "" for what is none.
func shield(a *tools.Action, online bool) string {
	switch {
	case a.Command == "":
		return ""
	case !a.Sandboxed:
		return "not sandboxed"
	case online || a.Network:
		return "sandboxed, online"
	}
	return "sandboxed, offline"
}

func (a *Approval) shieldLook() look {
	if a.action.Sandboxed && !a.network && !a.action.Network {
		return dim
	}
	return warning
}

// heading returns the title line: what protects, and if there is room the workspace.
func (a *Approval) heading() string {
	shield := a.shield()
	if shield == "" {
		return a.head(a.title(), a.Workspace)
	}
	left := a.theme.Strong.Render(a.title())
	right := a.shieldLook().style(a.theme).Render(shield)
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
		line := ansi.Truncate(a.sign(true)+a.theme.Text.Render(a.note.shown(a.width-signWidth)), a.width, "")
		foot := a.hint(a.theme.Dim, first(a.Keys.Accept), "deny, and tell the model this", first(a.Keys.Close), "just deny")
		return frame(a.Height(), a.head("Deny. Tell the model why?", ""), []string{line}, foot)
	case choosing:
		return a.viewChoice()
	}
	armed := a.armed() // as time alone may change that
	if a.view != "" && armed == a.bright {
		return a.view
	}
	a.bright = armed
	visible := a.visible()
	a.fit(len(a.rows), visible)
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
	deny := []string{first(a.Keys.Deny), "deny"}
	if a.width < narrowest {
		return a.hint(a.theme.Warn, deny...)
	}
	if line := a.unread(a.Keys, a.width, "scroll to the end to allow", deny); line != "" {
		return a.theme.Warn.Render(line)
	}
	if a.hinted != "" {
		return a.theme.Warn.Render(ansi.Truncate(a.hinted, a.width, "…"))
	}
	if !a.bright {
		return a.hint(a.theme.Faint, a.offers(deny)...)
	}
	return a.hint(a.theme.Text, a.offers(deny)...)
}

// answers returns which keys do something, and why key, which others are for, does
// not.
func (a *Approval) answers(key tea.KeyPressMsg) string {
	keys := []string{first(a.Keys.Once), first(a.Keys.Deny)}
	why := ""
	switch {
	case !a.network:
		if !a.action.AskEachTime {
			keys = append(keys, first(a.Keys.Session), first(a.Keys.Always))
		} else if is(key, a.Keys.Session) || is(key, a.Keys.Always) {
			why = "here it asks each time: "
		}
		if a.Editor != nil {
			keys = append(keys, first(a.Keys.Edit))
		}
	case is(key, a.Keys.Session), is(key, a.Keys.Always), is(key, a.Keys.Edit):
		why = "the network is for this once: "
	}
	if a.action.Sandboxed && !a.action.Network {
		keys = append(keys, first(a.Keys.Network))
	}
	return why + strings.Join(append(keys, first(a.Keys.Details)), ", ") + " or " + first(a.Keys.Close)
}

// offers returns the keys that answer, the most important ones first.
func (a *Approval) offers(deny []string) []string {
	var edit, network []string
	if a.Editor != nil {
		edit = []string{first(a.Keys.Edit), "edit"}
	}
	if a.action.Sandboxed && !a.action.Network {
		network = []string{first(a.Keys.Network), "network"}
	}
	details := []string{first(a.Keys.Details), "details"}
	if a.network {
		return slices.Concat([]string{first(a.Keys.Once), "once, with network"}, deny, []string{first(a.Keys.Network), "no network"}, details)
	}
	pairs := append([]string{first(a.Keys.Once), "once"}, deny...)
	if a.action.AskEachTime {
		return slices.Concat(pairs, edit, network, details)
	}
	always := []string{first(a.Keys.Always), "always"}
	scope := ""
	for _, beside := range [][]string{slices.Concat(always, edit, network, details), slices.Concat(always, edit), always, nil} { // the scope goes before those where not all have room
		room := a.width - ansi.StringWidth(join(slices.Concat(pairs, beside, []string{first(a.Keys.Session), ""})))
		if scope = a.scope(room); ansi.StringWidth(scope) <= room {
			break
		}
	}
	return slices.Concat(pairs, []string{first(a.Keys.Session), scope}, always, edit, network, details)
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
		path := sanitize.Line(reveal(a.action.Path))
		if over := ansi.StringWidth(path) - max(width-len(change), shortest); over > 0 {
			path = ansi.TruncateLeft(path, over+1, "…")
		}
		return change + path
	}
	switch {
	case a.action.Host != "":
		host := sanitize.Line(reveal(a.action.Host))
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
	return fmt.Sprintf("%d %%", min(done, total)*100/max(total, 1))
}
