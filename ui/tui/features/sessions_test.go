package features

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"parley/providers/llm"
	"parley/session"
	"parley/ui/app"
	"parley/ui/tui/common"
)

// While a search is typed, its last word is a prefix, from two letters on.
func TestUnfinished(t *testing.T) {
	for words, want := range map[string]string{
		"": "", "z": "z", "ze": "ze*", "blue zebr": "blue zebr*", "zebra ": "zebra ", "zebra.": "zebra.", "zebr*": "zebr*",
		"go-li": "go-li*", "go-l": "go-l", "größ": "größ*", "e\u0301": "e\u0301*", "東京": "東京*", "x 12": "x 12*", `"blue wh"`: `"blue wh"`,
	} {
		if got := unfinished(words); got != want {
			t.Errorf("%q is looked for as %q, want %q", words, got, want)
		}
	}
}

// A preview has the last messages, or those up to a found one, without results of tools and summaries.
func TestPreviewNodes(t *testing.T) {
	var nodes []session.Node
	for i := range 10 {
		nodes = append(nodes, session.Node{Seq: i + 1, Parent: i, Message: llm.Message{Role: llm.RoleUser}})
	}
	nodes[7].Role, nodes[6].Summary = llm.RoleTool, true
	nodes[8].Parent = 8
	for _, tt := range []struct {
		head, seq int
		want      string
	}{{10, 0, "[3 4 5 6 9 10]"}, {10, 4, "[1 2 3 4]"}, {1, 0, "[1]"}, {0, 0, "[]"}, {10, 11, "[]"}, {10, 7, "[1 2 3 4 5 6]"}} {
		got := []int{}
		for _, n := range previewNodes(session.Info{Head: tt.head}, nodes, tt.seq) {
			got = append(got, n.Seq)
		}
		if fmt.Sprint(got) != tt.want {
			t.Errorf("head %d, message %d: %v, want %s", tt.head, tt.seq, got, tt.want)
		}
	}
}

// stored adds a conversation of two messages to the library and returns its id.
func stored(t *testing.T, d *desk, title string) string {
	t.Helper()
	log := d.App.Library.Create(session.Info{Dir: "/work", Model: "a/one"})
	for i, m := range []llm.Message{{Role: llm.RoleUser, Parts: []llm.Part{{Kind: llm.Text, Text: title}}}, {Role: llm.RoleAssistant, Parts: []llm.Part{{Kind: llm.Text, Text: "an answer"}}}} {
		if err := log.Put(session.Node{Seq: i + 1, Parent: i, At: d.now, Message: m}); err != nil {
			t.Fatal(err)
		}
	}
	id := log.Session().ID
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	return id
}

// The list shows the stored conversations with a preview, and finds words in them.
func TestSessionList(t *testing.T) {
	d := newDesk(t, "a/one")
	first := stored(t, d, "Refactor the store")
	stored(t, d, "Hello zebra")
	f := &Sessions{Deps: d.Deps}
	var deliver func(cmd tea.Cmd)
	deliver = func(cmd tea.Cmd) {
		for _, msg := range run(cmd) {
			next, _ := f.Update(msg)
			deliver(next)
		}
	}
	if _, ok := f.Update(common.OpenMsg{Panel: "other"}); ok {
		t.Error("another panel lists conversations")
	}
	cmd, ok := f.Update(common.OpenMsg{Panel: string(app.PanelSessions)})
	if deliver(cmd); !ok {
		t.Fatal("the list is not opened")
	}
	for _, want := range []string{"Refactor the store", "Hello zebra", "you: Hello zebra", "an answer"} {
		if text := d.dialog(); !strings.Contains(text, want) {
			t.Errorf("no %q:\n%s", want, text)
		}
	}
	deliver(f.preview(first, 0))
	deliver(f.search("zebr"))
	for words, want := range map[string]int{"zebr": 2, "nothing": 0} {
		if msgs := run(f.search(words)); len(msgs) != 1 || len(msgs[0].(foundMsg).hits) != want {
			t.Errorf("%s: found %v", words, msgs)
		}
	}
	if f.search(" ") != nil {
		t.Error("blanks are looked for")
	}
	if msgs := run(f.preview("none", 0)); len(msgs) != 1 || len(msgs[0].(previewMsg).lines) != 1 {
		t.Errorf("a preview of nothing: %v", msgs)
	}
	for _, msg := range []tea.Msg{listedMsg{err: errors.New("disk is gone")}, foundMsg{err: errors.New("disk is gone")}} {
		d.HideToast()
		if f.Update(msg); d.ToastText() != "Disk is gone" {
			t.Errorf("%T: said %q", msg, d.ToastText())
		}
		d.HideToast()
		open := d.over.Dialog
		d.over.Dialog = nil
		if f.Update(msg); d.ToastText() != "" {
			t.Errorf("%T: said %q in a closed list", msg, d.ToastText())
		}
		d.over.Dialog = open
	}
}

// Enter opens the selected conversation, or scrolls if it is open already. Another key opens a copy.
func TestSessionOpens(t *testing.T) {
	enter := tea.KeyPressMsg{Code: tea.KeyEnter}
	for _, tt := range []struct {
		isOpen bool
		key    tea.KeyPressMsg
		want   string
	}{{true, enter, "show 0"}, {false, enter, "app.Prepare"}, {false, tea.KeyPressMsg{Code: 'f', Mod: tea.ModCtrl}, "app.Prepare"}} {
		d := newDesk(t, "a/one")
		f := &Sessions{Deps: d.Deps}
		f.Update(common.OpenMsg{Panel: string(app.PanelSessions)})
		id := "other"
		if tt.isOpen {
			id = d.App.Session.ID()
		}
		f.Update(listedMsg{rows: []session.Info{{ID: id, Title: "One", LockedBy: "process 7", Updated: d.now, Head: 1}}})
		if locked := strings.Contains(d.dialog(), "process 7"); locked == tt.isOpen {
			t.Errorf("open %t:\n%s", tt.isOpen, d.dialog())
		}
		d.over.Dialog.Update(tt.key)
		if got := d.done(); got != tt.want || d.over.Dialog != nil {
			t.Errorf("open %t: did %q, want %q", tt.isOpen, got, tt.want)
		}
	}
}
