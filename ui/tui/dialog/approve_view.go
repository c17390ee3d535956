package dialog

import (
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"parley/tools/sanitize"
	"parley/ui/describe"
)

func (a *Approval) title() string { return describe.Question(a.action) }

const titleGap = 2 // cells between the title and the text to its right

func (a *Approval) sandboxText() string { return describe.SandboxPhrase(a.action, a.draft.network) }

func (a *Approval) sandboxStyle() describe.Style {
	if a.action.Sandboxed && !a.draft.network && !a.action.Network {
		return describe.Dim
	}
	return describe.Warning
}

// heading returns the title line with the sandbox and, if there is room, the workspace.
func (a *Approval) heading() string {
	shield := a.sandboxText()
	if shield == "" {
		return a.titleLine(a.title(), a.Workspace)
	}
	left := a.theme.Strong.Render(a.title())
	right := styleOf(a.sandboxStyle(), a.theme).Render(shield)
	room := a.inner() - ansi.StringWidth(a.title()) - ansi.StringWidth(shield)
	if place := sanitize.Line(a.Workspace); place != "" && room >= titleGap+len(" · ")+ansi.StringWidth(place) {
		right += a.theme.Dim.Render(" · " + place)
	}
	gap := a.inner() - ansi.StringWidth(left) - ansi.StringWidth(right)
	return left + strings.Repeat(" ", max(gap, 0)) + right
}

func (a *Approval) draw() (rows, inBand []string, foot string) {
	a.Gate.drawn = true
	switch a.state {
	case editing:
		inBand, foot = a.drawEdit()
		return nil, inBand, foot
	case noting:
		line := ansi.Truncate(a.sign(true)+a.theme.Text.Render(a.draft.note.visibleText(a.inner()-signWidth)), a.inner(), "")
		title, with := "Deny – add a reason for the model (optional)", "deny with reason"
		if a.action.Proposal != "" {
			title, with = "Keep planning – what should change? (optional)", "send"
		}
		return nil, a.titled(a.titleLine(title, ""), []string{line}), a.keyHints(keyAccept.hint(with), keyClose.hint(denyWord(a.action)))
	case choosing:
		inBand, foot = a.drawRule()
		return nil, inBand, foot
	}
	visible := a.visible()
	a.text.clampTop(len(a.rows), visible)
	a.Gate.shown = [2]int{a.text.top, min(a.text.top+visible, len(a.rows))}
	for _, r := range a.rows[a.Gate.shown[0]:a.Gate.shown[1]] {
		if r.diff > 0 {
			rows = append(rows, a.diff[r.diff-1])
			continue
		}
		rows = append(rows, r.draw(a.width, a.theme))
	}
	inBand = choiceList(a)
	if !a.headless {
		inBand = slices.Insert(inBand, 0, a.heading())
	}
	return rows, inBand, a.foot()
}

// foot returns the key hints, dim while the keys do not work, or the reason why they do not.
func (a *Approval) foot() string {
	deny := keyDeny.hint(denyWord(a.action))
	if a.width < minConsentWidth {
		return a.keyHint(a.theme.Warn, deny)
	}
	below, style := "scroll to the end to allow", a.theme.Warn
	if a.hinted != "" {
		below, style = "scroll to the end first", style.Bold(true)
	}
	if line := a.Gate.unreadHint(a.footWidth(), below, deny); line != "" {
		return style.Render(line)
	}
	if a.hinted != "" {
		return a.theme.Warn.Render(ansi.Truncate(a.hinted, a.footWidth(), "…"))
	}
	if a.listRows() > 0 {
		return listFoot(a)
	}
	return choiceRow(a, deny)
}

// answers returns the keys that answer, and the reason why press does not.
func (a *Approval) answers(press tea.KeyPressMsg) string {
	why, choice := "Press ", choiceOf(a, press)
	switch {
	case choice == describe.NoChoice:
	case a.draft.network:
		why = "Network is allowed once only: "
	case a.action.AskEachTime && (choice == describe.AllowSession || choice == describe.AlwaysAllow):
		why = "This asks every time: "
	}
	var keys []string
	for _, c := range rowOrder(a) {
		keys = append(keys, letterOf(c).String())
	}
	return why + strings.Join(append(keys, keyDetails.String()), ", ") + " or " + keyDismiss.String()
}

// percent returns done as a percentage of total, rounded down.
func percent(done, total int) string {
	return fmt.Sprintf("%d%%", min(done, total)*100/max(total, 1))
}
