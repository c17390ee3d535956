package transcript

import (
	"fmt"
	"strings"
	"testing"

	"parley/ui/theme"
)

// looked adds a call of a read-only tool.
func looked(m *Model, id, tool, title string, s Status) {
	output := ""
	if s > Running {
		output = "what is in " + title
	}
	m.Blocks.SetTool(id, Tool{Name: tool, Title: title, Status: s, Output: output})
}

func TestGroups(t *testing.T) {
	const three = "1 read a Done, 2 read b Done, 3 read c Done"
	for _, c := range []struct{ name, calls, want string }{
		{"two are a line each", "1 read a Done, 2 read b Done", "✓ read a  1 line|✓ read b  1 line"},
		{"three are one line", three, "✓ Read a, b, c"},
		{"of several kinds", "1 read a Done, 2 list b Done, 3 grep c Done, 4 read d Done, 5 glob e Done", "✓ Read a · listed b · searched \"c\" · read d · searched \"e\""},
		{"while they run, each is one", "1 read a Done, 2 read b Running, 3 read c Arriving", "✓ read a  1 line|∙ read b  running|○ read c"},
		{"until the last one ended", "1 read a Running, 2 read b Running, 3 read c Running, 3 read c Done, 1 read a Done", "✓ read a  1 line|∙ read b  running|✓ read c  1 line"},
		{"in any order", "1 read a Running, 2 read b Running, 3 read c Running, 3 read c Done, 1 read a Done, 2 read b Done", "✓ Read a, b, c"},
		{"failures stay in sight", three + ", 4 read d Failed", "✓ Read a, b, c|✗ read d  failed|what is in d"},
		{"wherever they are", "1 read a Failed, 2 read b Done, 3 read c Done, 4 read d Done", "✓ Read b, c, d|✗ read a  failed|what is in a"},
		{"denied and canceled ones too", three + ", 4 read d Denied, 5 read e Canceled", "✓ Read a, b, c|⊘ read d  denied|what is in d|⊘ read e  stopped|what is in e"},
		{"two that are done are none", "1 read a Done, 2 read b Failed, 3 read c Done", "✓ read a  1 line|✗ read b  failed|what is in b|✓ read c  1 line"},
		{"the same file twice", "1 read a Done, 2 read a Done, 3 read b Done", "✓ Read a, b"},
		{"another tool ends it", "1 read a Done, 2 read b Done, 3 shell c Done, 4 read d Done", "✓ read a  1 line|✓ read b  1 line|✓ shell c|what is in c|✓ read d  1 line"},
		{"one more opens it", three + ", 4 read d Running", "✓ read a  1 line|✓ read b  1 line|✓ read c  1 line|∙ read d  running"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := New(theme.Plain())
			m.SetSize(120, 30)
			m.Blocks.SetMessageSeq(7)
			for call := range strings.SplitSeq(c.calls, ", ") {
				f := strings.Fields(call)
				looked(m, f[0], f[1], f[2], map[string]Status{"Arriving": Arriving, "Running": Running, "Done": Done, "Failed": Failed, "Denied": Denied, "Canceled": Canceled}[f[3]])
				check(t, m, call)
			}
			if got := visible(m); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

// Calls of two answers form two groups, and so do calls with text between them.
func TestGroupsOfAnswers(t *testing.T) {
	m := New(theme.Plain())
	m.SetSize(60, 20)
	for i := range 9 {
		m.Blocks.SetMessageSeq(1 + i/3)
		looked(m, fmt.Sprint(i), "read", fmt.Sprint("f", i), Done)
	}
	m.Blocks.AppendAnswer("a", "And now:")
	m.Blocks.FinishAnswer("a")
	looked(m, "x", "read", "x", Done)
	if got, want := visible(m), "✓ Read f0, f1, f2|✓ Read f3, f4, f5|✓ Read f6, f7, f8|And now:|✓ read x  1 line"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// While browsing, a group is one block that can be unfolded.
func TestBrowseGroup(t *testing.T) {
	group := func() *Model {
		m := New(theme.Plain())
		m.SetSize(60, 30)
		m.Blocks.AddUser("look")
		for i, name := range []string{"a", "b", "c"} {
			looked(m, fmt.Sprint(i), "read", name, Done)
		}
		m.Blocks.AddNote("end")
		m.Browse(true)
		return m
	}
	for _, c := range []struct{ name, keys, under, all string }{
		{"it is passed as one", "g j", "✓Read a, b, c", "▌ look|✓▎Read a, b, c|· end"},
		{"and left", "g j j", "·end", "▌ look|✓ Read a, b, c|·▎end"},
		{"unfolded it shows each", "g j space", "✓Read 3 files", "▌ look|✓▎Read 3 files|✓ read a  1 line|✓ read b  1 line|✓ read c  1 line|· end"},
		{"folds again", "g j space space", "✓Read a, b, c", "▌ look|✓▎Read a, b, c|· end"},
		{"each is a block then", "g j space j j", "✓read b  1 line", "▌ look|✓ Read 3 files|✓ read a  1 line|✓▎read b  1 line|✓ read c  1 line|· end"},
		{"that unfolds", "g j space j j space", "✓read b  1 line", "▌ look|✓ Read 3 files|✓ read a  1 line|✓▎read b  1 line|▎what is in b|✓ read c  1 line|· end"},
		{"and stays when the rest folds", "g j space j j space k k space", "✓Read a, b, c", "▌ look|✓▎Read a, b, c|✓ read b  1 line|what is in b|· end"},
		{"all is unfolded", "g j z", "✓Read 3 files", "▌ look|✓▎Read 3 files|✓ read a  1 line|what is in a|✓ read b  1 line|what is in b|✓ read c  1 line|what is in c|· end"},
		{"and folded", "g j z z", "✓Read a, b, c", "▌ look|✓▎Read a, b, c|· end"},
		{"the search finds what is in it", "g / 'in_b enter", "✓read b  1 line", "▌ look|✓ Read a, b, c|✓▎read b  1 line|▎what is in b|· end|/in b                                                   1/1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := group()
			press(m, strings.Fields(c.keys)...)
			check(t, m, c.keys)
			if got := under(m); got != c.under {
				t.Errorf("the cursor is on %q, want %q", got, c.under)
			}
			if got := visible(m); got != c.all {
				t.Errorf("got  %s\nwant %s", got, c.all)
			}
		})
	}
	m := group()
	if got, want := press(m, "g", "j", "y"), (CopyMsg{"read a\nread b\nread c\n\nwhat is in a\n\nwhat is in b\n\nwhat is in c", "4 blocks"}); got != want {
		t.Errorf("copied %q, want %q", got, want)
	}
	press(m, "enter")
	if got, want := strings.ReplaceAll(visible(m), "┃", ""), "read  1 line|a|output|what is in a|read  1 line|b|output|what is in b|read  1 line|c|output|what is in c"; got != want {
		t.Errorf("details: %q, want %q", got, want)
	}
	press(m, "esc", "space")
	m.Remove("1")
	if got, want := visible(m), "▌ look|✓ read a  1 line|✓ read c  1 line|· end"; strings.ReplaceAll(got, "▎", " ") != want {
		t.Errorf("after one went: %q, want %q", got, want)
	}
}

// The cursor does not stay on a call that its group hides.
func TestCursorGoesToTheGroup(t *testing.T) {
	m := New(theme.Plain())
	m.SetSize(60, 30)
	for i, name := range []string{"a", "b", "c"} {
		looked(m, fmt.Sprint(i), "read", name, Running)
	}
	m.Browse(true)
	press(m, "k")
	for i, name := range []string{"a", "b", "c"} {
		looked(m, fmt.Sprint(i), "read", name, Done)
	}
	if got, want := under(m), "✓Read a, b, c"; got != want {
		t.Errorf("the cursor is on %q, want %q", got, want)
	}
}

// A visible call stays until the user scrolls.
func TestGroupHoldsWhatIsRead(t *testing.T) {
	m := New(theme.Plain())
	m.SetSize(60, 4)
	m.Blocks.AddUser("look")
	for i, name := range []string{"a", "b", "c"} {
		looked(m, fmt.Sprint(i), "read", name, Running)
	}
	m.Blocks.AddNote(strings.Repeat("x\n", 10))
	m.Top()
	m.Scroll(3)
	if got, want := topRow(m), "∙ read b  running"; got != want {
		t.Fatalf("the top row is %q, want %q", got, want)
	}
	for i, name := range []string{"a", "b", "c"} {
		looked(m, fmt.Sprint(i), "read", name, Done)
	}
	if got, want := topRow(m), "∙ read b  running"; got != want {
		t.Errorf("the top row became %q, want %q", got, want)
	}
	m.Top()
	if got, want := visible(m), "▌ look┃|✓ Read a, b, c"; !strings.HasPrefix(strings.ReplaceAll(got, "┃", ""), strings.ReplaceAll(want, "┃", "")) {
		t.Errorf("after moving: %q, want %q", got, want)
	}
}

// Calls that streamed in, ran and ended look like those of a stored conversation.
func TestLiveGroupLooksLikeStored(t *testing.T) {
	names := []string{"a", "b", "c", "d", "e"}
	show := func(statuses ...Status) string {
		m := New(theme.Plain())
		m.SetSize(60, 20)
		m.Blocks.AddUser("look")
		for _, s := range statuses {
			for i, name := range names {
				if s == Done && name == "d" {
					looked(m, fmt.Sprint(i), "read", name, Failed)
					continue
				}
				looked(m, fmt.Sprint(i), "read", name, s)
				m.View()
			}
		}
		m.Blocks.AddFooter("end")
		return pages(m)
	}
	if live, stored := show(Arriving, AwaitingApproval, Running, Done), show(Canceled, Done); live != stored {
		t.Errorf("live:\n%s\nstored:\n%s", live, stored)
	}
}
