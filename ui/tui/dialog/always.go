package dialog

import (
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"parley/tools"
	"parley/tools/sanitize"
)

// A choice is how much is to be allowed for good: exactly what was shown, or as
// many first words of the command as the user takes away from it.
type choice struct {
	scroll
	prefixes []int  // numbers of words, 0 first: exactly this
	at       int    // in prefixes
	why      string // there is no wider one
	painted  time.Time
}

// startChoice offers the rule for exactly this action.
func (a *Approval) startChoice() {
	words, why := tools.PrefixLengths(a.action)
	a.state, a.always = choosing, choice{prefixes: append([]int{0}, words...), why: why}
}

// rule returns what would be remembered, as a user could write it.
func (c *choice) rule(a *tools.Action) string {
	r, err := tools.RuleFor(a, c.prefixes[c.at])
	if err != nil {
		return err.Error()
	}
	return r.String()
}

// rows returns the rule, whole, and what it means.
func (c *choice) rows(a *Approval) []row {
	var lines []line
	for i, part := range strings.Split(c.rule(a.action), "\n") {
		gutter := "  "
		if i > 0 {
			gutter = "> "
		}
		lines = append(lines, line{gutter, strings.ReplaceAll(reveal(part), "\t", "␉   "), strong, true})
	}
	meaning, how := meaning(a.action, c.prefixes[c.at])
	for _, part := range append([]string{meaning}, c.limits()...) {
		for text := range strings.SplitSeq(ansi.Wrap(part, max(a.width, 1), ""), "\n") {
			lines = append(lines, line{"", text, how, false})
		}
		how = dim
	}
	return wrap(lines, a.width)
}

// meaning returns what the rule lets run that is made of so many words of a; 0 is
// the whole of it.
func meaning(a *tools.Action, prefix int) (string, look) {
	const here = " will run unasked in this workspace"
	switch {
	case prefix > 0:
		return "Everything that begins so" + here + ", unless an option behind it could write, run or send something.", warning
	case a.Command != "":
		return "Exactly this command" + here + ".", text
	case a.Path != "":
		return "Whatever " + sanitize.Line(reveal(a.Tool)) + " does to this file" + here + ".", text
	case a.Host != "":
		return "Every fetch from this host" + here + ".", warning
	}
	return "Every call of this tool" + here + ", with any arguments.", warning
}

// limits returns why the rule cannot be wider.
func (c *choice) limits() []string {
	if c.at < len(c.prefixes)-1 || c.why == "" {
		return nil
	}
	return []string{"No wider: " + sanitize.Line(reveal(c.why)) + "."}
}

// choose widens and narrows; enter runs the call and remembers the rule, once
// it was painted and settle has passed.
func (a *Approval) choose(msg tea.Msg) tea.Cmd {
	c := &a.always
	total := len(c.rows(a))
	if c.key(msg, a.Keys, total, contentRows(min(total+2, a.height))) {
		return nil
	}
	key, ok := msg.(tea.KeyPressMsg)
	switch {
	case !ok:
	case is(key, a.Keys.Close):
		a.state = reviewing
	case is(key, a.Keys.Wider) && c.at < len(c.prefixes)-1:
		c.step(1)
	case is(key, a.Keys.Narrower) && c.at > 0:
		c.step(-1)
	case is(key, a.Keys.Accept) && a.chosen():
		return a.reply(tools.Approval{Verdict: tools.Allow, Always: true, PrefixWords: c.prefixes[c.at]})
	}
	return nil
}

// step shows another rule, which nobody has seen yet.
func (c *choice) step(n int) {
	c.at += n
	c.top, c.painted = 0, time.Time{}
}

// chosen reports whether the rule was on the screen for long enough.
func (a *Approval) chosen() bool {
	return a.width >= narrowest && !a.always.painted.IsZero() && a.Now().Sub(a.always.painted) >= settle
}

func (a *Approval) paintedChoice(now time.Time) tea.Cmd {
	if a.always.painted.IsZero() && a.height > 2 {
		a.always.painted = now
	}
	return a.wake(now)
}

func (a *Approval) viewChoice() string {
	c := &a.always
	all := c.rows(a)
	visible := contentRows(min(len(all)+2, a.height))
	c.fit(len(all), visible)
	var rows []string
	for _, r := range all[c.top:min(c.top+visible, len(all))] {
		rows = append(rows, r.draw(a.width, a.theme))
	}
	pairs := []string{first(a.Keys.Accept), "always", first(a.Keys.Close), "back"}
	if c.at < len(c.prefixes)-1 {
		pairs = append(pairs, first(a.Keys.Wider), "wider")
	}
	if c.at > 0 {
		pairs = append(pairs, first(a.Keys.Narrower), "narrower")
	}
	style := a.theme.Faint
	if a.chosen() {
		style = a.theme.Text
	}
	return frame(a.Height(), a.head("Allow always, without being asked?", a.Workspace), rows, a.hint(style, pairs...))
}
