package dialog_test

import (
	"slices"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"parley/ui/theme"
	"parley/ui/tui/dialog"
)

func branches() []dialog.Branch {
	return []dialog.Branch{
		{Seq: 1, Label: "you", Text: "Fix the race in the pump, and write a test that fails without it", Length: 6, Model: "openai/gpt-5.2", Age: "2 h", Current: true},
		{Seq: 3, Depth: 1, Label: "you", Text: "…with a mutex", Length: 4, Model: "openai/gpt-5.2", Age: "2 h"},
		{Seq: 5, Depth: 2, Label: "gemini/gemini-3-pro", Text: "A mutex would do", Length: 2, Model: "gemini/gemini-3-pro", Age: "1 h"},
		{Seq: 7, Depth: 2, Label: "zai/glm-5", Text: "日本語で答えます", Model: "zai/glm-5", Age: "50 min"},
		{Seq: 9, Depth: 1, Label: "you", Text: "…with a channel", Length: 12, Model: "anthropic/claude-opus-5", Age: "5 min", Current: true},
		{Seq: 11, Depth: 2, Label: "you", Text: "and close it", Length: 3, Model: "anthropic/claude-opus-5", Age: "1 min", Current: true, Head: true},
		{Seq: 13, Label: "you", Text: "Why is the sky blue", Age: "1 d"},
	}
}

type (
	branchOpened struct{ Seq int }
	branchForked struct{ Seq int }
)

func openBranch(seq int) tea.Cmd { return says(branchOpened{seq}) }
func forkBranch(seq int) tea.Cmd { return says(branchForked{seq}) }

func TestTreeChooses(t *testing.T) {
	for name, c := range map[string]struct {
		keys []string
		want tea.Msg
	}{
		"the current one is selected": {[]string{"enter"}, branchOpened{11}},
		"moves":                       {[]string{"home", "down", "enter"}, branchOpened{3}},
		"not below the last":          {[]string{"end", "down", "enter"}, branchOpened{13}},
		"forks":                       {[]string{"up", "ctrl+f"}, branchForked{9}},
		"esc":                         {[]string{"esc"}, dialog.Left{}},
		"once only":                   {[]string{"enter", "up", "enter"}, branchOpened{11}},
		"letters do nothing":          {[]string{"abc"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			l := dialog.Tree(branches(), openBranch, forkBranch, theme.Plain())
			l.SetSize(80, 24)
			if got := press(t, l, c.keys...); got != c.want {
				t.Errorf("got %#v, want %#v", got, c.want)
			}
		})
	}
	for _, key := range []string{"enter", "ctrl+f", "down"} {
		if got := press(t, dialog.Tree(nil, openBranch, forkBranch, theme.Plain()), key); got != nil {
			t.Errorf("%s among no branches is answered by %#v", key, got)
		}
	}
}

// Lines connect each branch to its parent, and end at the last branch of that parent.
func TestTreeLines(t *testing.T) {
	for name, c := range map[string]struct {
		depths []int
		want   []string
	}{
		"flat":                  {[]int{0, 0}, []string{"• a", "• b"}},
		"two branches":          {[]int{0, 1, 1}, []string{"• a", "├ • b", "└ • c"}},
		"a branch between":      {[]int{0, 1, 2, 1}, []string{"• a", "├ • b", "│ └ • c", "└ • d"}},
		"no line past the last": {[]int{0, 1, 2, 2, 0}, []string{"• a", "└ • b", "  ├ • c", "  └ • d", "• e"}},
		"two conversations":     {[]int{0, 1, 0, 1}, []string{"• a", "└ • b", "• c", "└ • d"}},
		"no gaps":               {[]int{3, 5, -1, 1}, []string{"• a", "└ • b", "• c", "└ • d"}},
		"as deep as can be drawn": {[]int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, []string{"• a", "└ • b", "  └ • c", "    └ • d", "      └ • e", "        └ • f",
			"          └ • g", "            └ • h", "              ├ • i", "              ├ • j", "              └ • k"}},
	} {
		t.Run(name, func(t *testing.T) {
			var list []dialog.Branch
			for i, depth := range c.depths {
				list = append(list, dialog.Branch{Depth: depth, Text: string(rune('a' + i)), Current: true})
			}
			var got []string
			shown := rows(t, dialog.Tree(list, openBranch, forkBranch, theme.Plain()), 40, 14)
			for _, row := range shown[:len(shown)-2] {
				got = append(got, strings.TrimRight(ansi.TruncateLeft(row, 2, ""), " "))
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(c.want, "\n"))
			}
		})
	}
}

// In a narrow window, columns that do not fit are omitted, the length last. The
// position and the author stay.
func TestTreeDropsColumns(t *testing.T) {
	for _, c := range []struct {
		width  int
		expect []string
	}{
		{110, []string{"3 messages", "anthropic/claude-opus-5", "1 min", "and close it · current"}},
		{80, []string{"3 messages", "anthropic/claude-opus-5", "not: 1 min", "and close it · current"}},
		{60, []string{"3 messages", "not: anthropic/claude-opus-5", "1 min", "and close it · current"}},
		{34, []string{"not: 3 messages", "and close … · current", "└ • you  …with a channel"}},
	} {
		expect(t, dialog.Tree(branches(), openBranch, forkBranch, theme.Plain()), c.width, 24, c.expect...)
	}
}
