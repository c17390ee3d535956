package dialog

import (
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"parley/ui/format"
	"parley/ui/textwrap"
	"parley/ui/theme"
)

// A Branch is a message that begins a branch of a conversation, or at which branches diverge.
type Branch struct {
	Seq     int    // of the message
	Depth   int    // one more than the Depth of its parent branch; 0 for a root
	Label   string // author: "you" or a model
	Text    string // the first words that distinguish it from its siblings
	Length  int    // messages from it to the end of its path, inclusive; 0 if unknown
	Model   string // provider/model of the last answer
	Age     string
	Current bool // on the current path
	Head    bool // the current path ends here
}

// A branchList shows the branches of a conversation as a tree, each below its parent.
type branchList struct {
	base
	compact
	selectList
	branches []Branch
	open     func(seq int) tea.Cmd
	fork     func(seq int) tea.Cmd
	lines    []string // tree lines before each branch
	wide     [3]int   // cells of the widest length, model and age
}

// Tree returns a list of branches. Each must be directly followed by its children. open continues in
// the branch that begins with a message; fork opens a copy of the conversation up to that message.
func Tree(branches []Branch, open, fork func(seq int) tea.Cmd, th *theme.Theme) Dialog {
	l := &branchList{base: newBase(th), branches: slices.Clone(branches), open: open, fork: fork}
	l.content = l
	deepest := 0
	for i := range l.branches {
		b := &l.branches[i]
		b.Depth = max(min(b.Depth, deepest), 0)
		deepest = b.Depth + 1
		b.Label, b.Text, b.Model, b.Age = printableRow(b.Label), printableRow(b.Text), printableRow(b.Model), printableRow(b.Age)
		for j, text := range b.columns() {
			l.wide[j] = max(l.wide[j], textwrap.Width(text))
		}
	}
	l.lines = branchLines(l.branches)
	for i, b := range l.branches {
		if b.Head || b.Current && !l.branches[l.selected].Head {
			l.selected = i
		}
	}
	return l
}

// columns returns the texts of the right-hand columns.
func (b Branch) columns() [3]string {
	length := ""
	if b.Length > 0 {
		length = format.Plural(b.Length, "message")
	}
	return [...]string{length, b.Model, b.Age}
}

// maxDrawnDepth is the number of indented levels. Deeper levels look like the last of them.
const maxDrawnDepth = 8

// branchLines returns the tree lines before each branch. It goes from last to first, because a line
// ends at the last branch of its level.
func branchLines(branches []Branch) []string {
	lines := make([]string, len(branches))
	var more [maxDrawnDepth + 1]bool // levels on which another branch follows
	for i, b := range slices.Backward(branches) {
		depth := min(b.Depth, maxDrawnDepth)
		var out strings.Builder
		for level := 1; level <= depth; level++ {
			out.WriteString(treePrefix(more[level], level == depth))
		}
		lines[i] = out.String()
		more[depth] = true
		clear(more[depth+1:])
	}
	return lines
}

// treePrefix returns the tree line of one level before a branch: of the branch's own level if own
// is set, else of a level above. more reports that another branch of that level follows.
func treePrefix(more, own bool) string {
	switch {
	case own && more:
		return "├ "
	case own:
		return "└ "
	case more:
		return "│ "
	}
	return "  "
}

func (l *branchList) wants() (above, inBand int) { return max(len(l.branches), 1), 1 }

// handle handles keys that move or choose.
func (l *branchList) handle(msg tea.Msg) tea.Cmd {
	if l.move(msg, scrollMode{reading: true}, len(l.branches), l.rowsAbove(1)) {
		return nil
	}
	press, ok := msg.(tea.KeyPressMsg)
	switch {
	case !ok:
	case pressed(press, keyClose):
		return l.leave(Left{})
	case len(l.branches) == 0:
	case pressed(press, keyAccept):
		l.done = true
		return l.open(l.branches[l.selected].Seq)
	case pressed(press, keyFork):
		l.done = true
		return l.fork(l.branches[l.selected].Seq)
	}
	return nil
}

func (l *branchList) draw() (rows, inBand []string, foot string) {
	visible := l.rowsAbove(1)
	l.scrollTo(l.selected, len(l.branches), visible)
	cols := fitColumns(l.width, max(l.width/2, 28), column{l.wide[0], 0}, column{l.wide[1], 1}, column{l.wide[2], 2})
	for i := l.top; i < min(l.top+visible, len(l.branches)); i++ {
		rows = append(rows, l.ground(l.row(i, cols), i == l.selected))
	}
	keys := []hint{keyAccept.hint("open"), keyClose.hint("close"), keyFork.hint("copy"), hint{"•", "current path"}}
	if len(l.branches) == 0 {
		rows, keys = []string{l.theme.Dim.Render(ansi.Truncate("  No branches yet", l.width, "…"))}, keys[1:2]
	}
	return rows, []string{l.titleLine("Branches", fmt.Sprint(len(l.branches)))}, l.keyHints(keys...)
}

// row returns the row of a branch: sign, tree lines, mark of the current path, text, and the columns
// that fit.
func (l *branchList) row(i int, cols []column) string {
	b := l.branches[i]
	texts := b.columns()
	right := alignColumns(cols, texts[:]...)
	style, lines, path := l.theme.Text, l.theme.Faint, "  "
	if b.Current || b.Head {
		style, lines, path = l.theme.Accent, l.theme.Accent, "• "
	}
	if i == l.selected {
		style = style.Bold(true)
	}
	state := ""
	if b.Head {
		state = " · current"
	}
	start := l.sign(i == l.selected) + lines.Render(l.lines[i]+path)
	if b.Label != "" {
		start += l.theme.Dim.Render(ansi.Truncate(b.Label, max(l.width/4, 3), "…")) + "  "
	}
	room := max(l.width-ansi.StringWidth(start)-textwrap.Width(right)-textwrap.Width(state), 0)
	line := start + style.Render(ansi.Truncate(b.Text, room, "…")) + l.theme.Dim.Render(state)
	return ansi.Truncate(padRight(line, l.width-textwrap.Width(right))+l.theme.Faint.Render(right), l.width, "…")
}
