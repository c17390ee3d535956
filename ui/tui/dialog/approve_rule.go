package dialog

import (
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"parley/tools/act"
	"parley/tools/sanitize"
	"parley/ui/describe"
	"parley/ui/textwrap"
)

// A ruleChoice is the permission rule to store: for exactly this action, or for commands that begin
// with the same words. A list of commands needs one rule each.
type ruleChoice struct {
	window
	prefixes []int     // number of words of each rule, ascending; 0 means exactly this action
	at       int       // index in prefixes
	why      string    // why there is no wider rule; "" if unknown
	drawnAt  time.Time // when this rule was first drawn; zero if not yet
}

// startRule offers the rule for exactly this action.
func (a *Approval) startRule() {
	words, why := a.Policy.PrefixLengths(a.action)
	a.state, a.draft.always = choosing, ruleChoice{prefixes: append([]int{0}, words...), why: why}
}

// rules returns the rules in configuration syntax.
func (c *ruleChoice) rules(a *Approval) []string {
	rules, err := a.Policy.RulesFor(a.action, c.prefixes[c.at])
	if err != nil {
		return []string{err.Error()}
	}
	return rules
}

// rows returns the complete rules and their meaning.
func (c *ruleChoice) rows(a *Approval) []row {
	var lines []describe.Line
	rules := c.rules(a)
	for _, rule := range rules {
		gutter := "  "
		for part := range strings.SplitSeq(rule, "\n") {
			lines = append(lines, describe.Line{Gutter: gutter, Text: strings.ReplaceAll(describe.Reveal(part), "\t", "␉   "), Style: describe.Strong, Exact: true})
			gutter = "> "
		}
	}
	meaning, how := describe.RuleMeaning(a.action, c.prefixes[c.at], rules)
	for _, part := range append([]string{meaning}, c.limitReason()...) {
		for _, text := range textwrap.Lines(part, max(a.inner(), 1)) {
			lines = append(lines, describe.Line{Text: text, Style: how})
		}
		how = describe.Dim
	}
	return wrap(lines, a.inner())
}

// limitReason returns why the rule cannot be wider; nil if it can be, or the reason is unknown.
func (c *ruleChoice) limitReason() []string {
	if c.at < len(c.prefixes)-1 || c.why == "" {
		return nil
	}
	return []string{"Cannot be widened: " + sanitize.Line(describe.Reveal(c.why)) + "."}
}

// updateRule handles keys that widen and narrow the rule. Enter allows the call and stores the rule,
// once it was drawn and settleDelay has passed. Text counts as typing, which enter may end.
func (a *Approval) updateRule(msg tea.Msg) tea.Cmd {
	c := &a.draft.always
	total := len(c.rows(a))
	if c.key(msg, scrollMode{covering: true}, total, min(total, a.mostRows())) {
		return nil
	}
	press, ok := msg.(tea.KeyPressMsg)
	switch {
	case !ok && !isPrintable(msg):
	case pressed(press, keyClose):
		a.state = reviewing
	case pressed(press, keyWider) && c.at < len(c.prefixes)-1:
		c.changeWidth(1)
	case pressed(press, keyNarrower) && c.at > 0:
		c.changeWidth(-1)
	case pressed(press, keyAccept) && a.ruleArmed():
		return a.reply(act.Approval{Verdict: act.Allow, Always: true, PrefixWords: c.prefixes[c.at]})
	case isPrintable(msg):
		return a.Gate.onTyping()
	}
	return nil
}

// changeWidth shows another rule, not seen before.
func (c *ruleChoice) changeWidth(n int) {
	c.at += n
	c.top, c.drawnAt = 0, time.Time{}
}

// ruleArmed reports whether the rule was visible long enough and the user is not typing.
func (a *Approval) ruleArmed() bool {
	now := a.Gate.Now()
	return a.width >= minConsentWidth && !a.draft.always.drawnAt.IsZero() && now.Sub(a.draft.always.drawnAt) >= settleDelay && now.Sub(a.Gate.typedAt) >= quietDelay
}

func (a *Approval) drawRule() (rows []string, foot string) {
	c := &a.draft.always
	all := c.rows(a)
	visible := min(len(all), a.mostRows())
	c.clampTop(len(all), visible)
	for _, r := range all[c.top:min(c.top+visible, len(all))] {
		rows = append(rows, r.draw(a.inner(), a.theme))
	}
	keys := []hint{keyAccept.hint("always"), keyClose.hint("back")}
	if c.at < len(c.prefixes)-1 {
		keys = append(keys, keyWider.hint("wider"))
	}
	if c.at > 0 {
		keys = append(keys, keyNarrower.hint("narrower"))
	}
	style := a.theme.Faint
	if a.isArmed() {
		style = a.theme.Dim
	}
	return a.titled(a.titleLine(describe.AlwaysQuestion(a.action), a.Workspace), rows), a.keyHint(style, keys...)
}
