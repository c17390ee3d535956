package dialog

import (
	"fmt"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"parley/tools"
	"parley/ui/safe"
)

// wants says what a tool asks for, by its access.
var wants = map[tools.Access]string{tools.Reads: " to read", tools.Writes: " to change files", tools.Runs: " to run"}

func (a *Approval) title() string {
	what := wants[a.action.Access]
	if a.action.Command != "" {
		what = " to run a command"
	}
	return "Allow " + safe.Line(reveal(a.action.Tool)) + what + "?"
}

// View is the question.
func (a *Approval) View() string {
	if a.height == 0 {
		return ""
	}
	switch a.state {
	case editing:
		return a.viewEdit()
	case noting:
		line := a.theme.Text.Render(a.note.shown(a.width))
		foot := a.hint(a.theme.Dim, first(a.Keys.Accept), "deny, and tell the model this", first(a.Keys.Close), "just deny")
		return frame(a.Height(), a.head("Deny. Tell the model why?", ""), []string{line}, foot)
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
		head = a.head(a.title(), a.Workspace)
	}
	a.view = frame(a.Height(), head, rows, a.foot())
	return a.view
}

// foot says which keys work. They are dim while they do not.
func (a *Approval) foot() string {
	deny := []string{first(a.Keys.Deny), "deny"}
	if a.width < narrowest {
		return a.hint(a.theme.Warn, deny...)
	}
	if line := a.unread(deny); line != "" {
		return a.theme.Warn.Render(line)
	}
	pairs := append([]string{first(a.Keys.Once), "once"}, deny...)
	var edit []string
	if a.Editor != nil {
		edit = []string{first(a.Keys.Edit), "edit"}
	}
	scope := ""
	for _, beside := range [][]string{edit, nil} { // the scope goes before edit where not both have room
		room := a.width - ansi.StringWidth(join(slices.Concat(pairs, beside, []string{first(a.Keys.Session), ""})))
		if scope = a.scope(room); ansi.StringWidth(scope) <= room {
			break
		}
	}
	pairs = slices.Concat(pairs, []string{first(a.Keys.Session), scope}, edit, []string{first(a.Keys.Details), "details"})
	if !a.bright {
		return a.hint(a.theme.Faint, pairs...)
	}
	return a.hint(a.theme.Text, pairs...)
}

// scope says what else is allowed with this action if it is for the session, in
// about width cells; see tools.Policy.Remember.
func (a *Approval) scope(width int) string {
	switch {
	case a.action.Command != "":
		return "this command again"
	case a.action.Access == tools.Writes && a.action.Path != "":
		const change, shortest = "every change of ", 8
		path := safe.Line(reveal(a.action.Path))
		if over := ansi.StringWidth(path) - max(width-len(change), shortest); over > 0 {
			path = ansi.TruncateLeft(path, over+1, "…")
		}
		return change + path
	}
	return "this session"
}

// unread is the key that leads to what was not shown yet, or "". In a narrow
// window it says less.
func (a *Approval) unread(deny []string) string {
	above, below := a.seen[:min(a.shown[0], len(a.seen))], a.seen[min(a.shown[1], len(a.seen)):]
	key, todo := "", ""
	switch {
	case a.unseen == 0:
		return ""
	case slices.Contains(below, false):
		key, todo = first(a.Keys.PageDown), " — scroll to the end to allow"
	case slices.Contains(above, false):
		key, todo = first(a.Keys.PageUp), " — scroll back, not all was shown"
	default:
		return ""
	}
	key = strings.Replace(key, "pgdown", "pgdn", 1)
	part := " " + percent(len(a.rows)-a.unseen, len(a.rows))
	for _, said := range []string{part + todo, part, ""} {
		line := key + said + " · " + strings.Join(deny, " ")
		if ansi.StringWidth(line) <= a.width {
			return line
		}
	}
	return ansi.Truncate(strings.Join(deny, " "), a.width, "")
}

// percent is how much of total is done, 100 only when all of it is.
func percent(done, total int) string {
	return fmt.Sprintf("%d %%", min(done, total)*100/max(total, 1))
}
