package dialog

import (
	"fmt"
	"slices"
	"strings"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"parley/tools/sanitize"
	"parley/ui/describe"
	"parley/ui/textwrap"
	"parley/ui/theme"
)

// A PermissionRow is a permission rule.
type PermissionRow struct {
	Rule      string // as in the configuration, such as "shell:git log *"
	Effect    string // "allow", "ask" or "deny"
	From      string // source: "config", "flag", "state" or "session"
	Directory string // workspace that it applies to; "" is all
	File      string // configuration file, if From is "config"
}

// PermissionRemoved asks to remove a rule. The dialog stays open, without it.
type PermissionRemoved struct{ PermissionRow }

// origin returns From in words, "" if it is unknown.
func (r PermissionRow) origin() string {
	switch r.From {
	case "config":
		return "config"
	case "flag":
		return "command line"
	case "state":
		return "always"
	case "session":
		return "this session"
	}
	return ""
}

// removable reports whether an approval made the rule, so that the dialog can remove it.
func (r PermissionRow) removable() bool { return r.From == "state" || r.From == "session" }

// A PermissionList lists the permission rules. Those made by approvals can be removed.
type PermissionList struct {
	base
	selectList
	rules []PermissionRow
	note  string // why the last key did nothing; "" if it did something
}

// Permissions returns a list of rules.
func Permissions(rules []PermissionRow, th *theme.Theme) *PermissionList {
	return &PermissionList{base: newBase(th), rules: slices.Clone(rules)}
}

// SetSize sets the width and the maximum height.
func (l *PermissionList) SetSize(width, height int) { l.resize(width, height) }

// Height implements Dialog: the rules, the details of the selected one, title and keys.
func (l *PermissionList) Height() int {
	return min(max(len(l.rules), 1)+len(l.detail())+2, l.height)
}

// visible returns how many rows are for rules, and how many for the details of the selected one,
// which take half of the room at most.
func (l *PermissionList) visible() (visible, detail int) {
	room := contentRows(l.Height())
	detail = min(len(l.detail()), room/2)
	return room - detail, detail
}

// detail returns the whole selected rule and its source.
func (l *PermissionList) detail() []row {
	if len(l.rules) == 0 {
		return nil
	}
	r := l.rules[l.selected]
	lines := []describe.Line{{}}
	for part := range strings.SplitSeq(sanitize.TruncateBytes(r.Rule, maxRowBytes), "\n") {
		lines = append(lines, describe.Line{Gutter: "  ", Text: describe.Reveal(part), Style: describe.Text, Exact: true})
	}
	where, how := l.originText(r), describe.Dim
	if l.note != "" {
		where, how = l.note, describe.Warning
	}
	return wrap(append(lines, describe.Line{Gutter: "  ", Text: where, Style: how}), l.width)
}

func (l *PermissionList) originText(r PermissionRow) string {
	where := "from " + printableRow(r.File)
	if r.File == "" {
		where = printableRow(r.From)
		if origin := r.origin(); origin != "" {
			where = origin
		}
	}
	if r.Directory == "" {
		return where + ", in every folder"
	}
	return where + ", in " + printableRow(r.Directory)
}

// Update moves and removes.
func (l *PermissionList) Update(msg tea.Msg) tea.Cmd {
	if l.done {
		return nil
	}
	l.view = ""
	visible, _ := l.visible()
	if l.move(msg, l.Keys.reading(), len(l.rules), visible) {
		l.note = ""
		return nil
	}
	press, ok := msg.(tea.KeyPressMsg)
	switch {
	case !ok:
	case key.Matches(press, l.Keys.Close):
		return l.answer(ClosedMsg{})
	case key.Matches(press, l.Keys.Trash) && len(l.rules) > 0:
		return l.remove()
	}
	return nil
}

func (l *PermissionList) remove() tea.Cmd {
	r := l.rules[l.selected]
	if !r.removable() {
		l.note = "Set by the " + r.origin() + ": change it there"
		if r.File != "" {
			l.note = "Set in " + printableRow(r.File) + ": change it there"
		}
		return nil
	}
	l.rules = slices.Delete(l.rules, l.selected, l.selected+1)
	l.selected = max(min(l.selected, len(l.rules)-1), 0)
	l.note = ""
	return l.Say(PermissionRemoved{r})
}

// View implements Dialog.
func (l *PermissionList) View() string {
	if l.view != "" {
		return l.view
	}
	visible, detail := l.visible()
	l.scrollTo(l.selected, len(l.rules), visible)
	var rows []string
	for i := l.top; i < min(l.top+visible, len(l.rules)); i++ {
		rows = append(rows, l.row(i))
	}
	for _, r := range l.detail()[:detail] {
		rows = append(rows, r.draw(l.width, l.theme))
	}
	keys := []key.Binding{hint(l.Keys.Close, "close")}
	switch {
	case len(l.rules) == 0:
		rows = []string{l.theme.Dim.Render(ansi.Truncate("  No rules: the approval mode decides", l.width, "…"))}
	case l.rules[l.selected].removable():
		keys = append(keys, hint(l.Keys.Trash, "remove"))
	}
	l.view = frame(l.Height(), l.titleLine("Permissions", fmt.Sprint(len(l.rules))), rows, l.keyHint(l.theme.Dim, keys...))
	return l.view
}

// row returns a row: sign, effect, rule and source.
func (l *PermissionList) row(i int) string {
	r := l.rules[i]
	origin := r.origin()
	if ansi.StringWidth(origin) > l.width/3 {
		origin = ""
	}
	effect := styleOf(map[string]describe.Style{"allow": describe.Added, "ask": describe.Warning, "deny": describe.Removed}[r.Effect], l.theme)
	rule := l.theme.Text
	if i == l.selected {
		rule = rule.Bold(true)
	}
	start := l.sign(i == l.selected) + effect.Render(padRight(ansi.Truncate(printableRow(r.Effect), 5, ""), 5)) + "  "
	room := max(l.width-ansi.StringWidth(start)-textwrap.Width(origin)-columnGap, 0)
	line := start + rule.Render(ansi.Truncate(describe.Reveal(strings.ReplaceAll(sanitize.TruncateBytes(r.Rule, maxRowBytes), "\n", "␊")), room, "…"))
	return ansi.Truncate(padRight(line, l.width-textwrap.Width(origin))+l.theme.Faint.Render(origin), l.width, "…")
}
