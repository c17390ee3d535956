package transcript

import (
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"parley/ui/theme"
)

// tagged returns a conversation of two turns: messages 1 and 2, then 5 and its
// answer 6.
func tagged() *Model {
	m := New(theme.Plain())
	m.SetSize(60, 30)
	m.Blocks.SetMessageSeq(1)
	m.Blocks.AddUser("first")
	m.Blocks.SetMessageSeq(2)
	m.Blocks.AppendAnswer("a", "one")
	m.Blocks.FinishAnswer("a")
	m.Blocks.SetMessageSeq(5)
	m.Blocks.AddUser("second")
	m.Blocks.SetMessageSeq(6)
	m.Blocks.AppendThinking("t", "hm")
	m.Blocks.AppendAnswer("b", "two")
	m.Blocks.SetTool("c", Tool{Name: "shell", Title: "make", Status: Running})
	m.Blocks.AddFooter("costs nothing")
	return m
}

func TestTargets(t *testing.T) {
	for _, c := range []struct {
		keys string
		want tea.Msg
	}{
		{"g r", RegenerateMsg{Target{Seq: 1, User: 1}}},
		{"g j r", RegenerateMsg{Target{Seq: 2, User: 1}}},
		{"g e", EditMsg{Target{Seq: 1, User: 1}}},
		{"g j j f", ForkMsg{Target{Seq: 5, User: 5}}},
		{"g j j j w", WireMsg{Target{Seq: 6, User: 5}}},
		{"g j j j j j w", WireMsg{Target{Seq: 6, User: 5}}},
		{"G w", WireMsg{Target{Seq: 6, User: 5}}},
	} {
		m := tagged()
		m.Browse(true)
		if got := press(m, strings.Fields(c.keys)...); got != c.want {
			t.Errorf("%s: %#v, want %#v", c.keys, got, c.want)
		}
	}
	m := New(theme.Plain())
	m.SetSize(20, 5)
	m.Blocks.AddNote("before any message")
	m.Browse(true)
	if got, want := press(m, "r"), (RegenerateMsg{Target{}}); got != want {
		t.Errorf("%#v, want %#v", got, want)
	}
}

func TestSelection(t *testing.T) {
	for _, c := range []struct {
		name, keys string
		want       CopyMsg
	}{
		{"begun and not extended", "g v y", CopyMsg{"first", "message"}},
		{"downwards", "g v j y", CopyMsg{"first\n\none", "2 blocks"}},
		{"upwards", "g j j v k k y", CopyMsg{"first\n\none\n\nsecond", "3 blocks"}},
		{"by messages", "g v ] y", CopyMsg{"first\n\none\n\nsecond", "3 blocks"}},
		{"back over the anchor", "g j v j k k y", CopyMsg{"first\n\none", "2 blocks"}},
		{"ended by v", "g v j v y", CopyMsg{"one", "answer"}},
		{"ended by esc, which goes on browsing", "g v j esc y", CopyMsg{"one", "answer"}},
		{"ended by copying", "g v j y y", CopyMsg{"one", "answer"}},
		{"after a block went", "g j j j j v G k", CopyMsg{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := tagged()
			m.Browse(true)
			if got, _ := press(m, strings.Fields(c.keys)...).(CopyMsg); got != c.want {
				t.Errorf("copied %q, want %q", got, c.want)
			}
			check(t, m, c.keys)
		})
	}
	m := tagged()
	m.Browse(true)
	press(m, "g", "j", "v", "j", "j", "j")
	m.Remove("b") // the answer under the cursor
	if got, want := press(m, "y"), (CopyMsg{"one\n\nsecond\n\nhm\n\nmake", "4 blocks"}); got != want {
		t.Errorf("copied %q, want %q", got, want)
	}
}

func TestFoldAll(t *testing.T) {
	m := chat()
	m.Blocks.AppendThinking("t", "what I think")
	m.Blocks.FinishThinking("t", 0)
	m.SetSize(60, 100)
	m.Browse(true)
	for range 2 {
		if press(m, "z"); !strings.Contains(m.View(), "end 0") || !strings.Contains(m.View(), "what I think") {
			t.Errorf("not all is unfolded:\n%s", m.View())
		}
		if press(m, "z"); strings.Contains(m.View(), "end 0") || strings.Contains(m.View(), "what I think") {
			t.Errorf("not all is folded:\n%s", m.View())
		}
	}
}

func TestAttachments(t *testing.T) {
	m := New(theme.Plain())
	m.SetSize(60, 10)
	m.Blocks.AddUser("look", "image a.png\n\x1b[2J 3 KB", "b.txt")
	m.Blocks.AddUser("", "image c.png 1 KB")
	m.Browse(true)
	if got, want := press(m, "y"), (CopyMsg{"[image c.png 1 KB]", "message"}); got != want {
		t.Errorf("copied %q, want %q", got, want)
	}
	if got, want := press(m, "k", "y"), (CopyMsg{"look\n[image a.png␊␛[2J 3 KB]\n[b.txt]", "message"}); got != want {
		t.Errorf("copied %q, want %q", got, want)
	}
	check(t, m, "attachments")
}

// An image is shown as far as there is room for it, and whole again when there is more.
func TestImageWiderThanTheText(t *testing.T) {
	m := New(theme.Plain())
	m.Blocks.SetImage("a", []string{strings.Repeat("▀", 10), strings.Repeat("▄", 10)}, 10)
	for _, tt := range []struct{ width, want int }{{30, 10}, {8, 6}, {30, 10}} {
		m.SetSize(tt.width, 5)
		if got := strings.Count(m.View(), "▀"); got != tt.want {
			t.Errorf("%d columns: %d cells, want %d", tt.width, got, tt.want)
		}
	}
}
