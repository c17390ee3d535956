package dialog_test

import (
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"parley/ui/theme"
	"parley/ui/tui/dialog"
	"parley/ui/uitest"
)

const canary = "sk-CANARY-0123456789"

func askKey(th *theme.Theme) *dialog.Secret {
	return dialog.AskSecret("Anthropic API key", "It is checked with a request that costs nothing, then stored for you alone.", th)
}

// What is written is never shown, whatever is done with it, and goes to SecretMsg alone.
func TestSecret(t *testing.T) {
	d := askKey(theme.Plain())
	var said []dialog.SecretMsg
	hear := func(cmd tea.Cmd) {
		if cmd == nil {
			return
		}
		if msg, ok := cmd().(dialog.SecretMsg); ok {
			said = append(said, msg)
		}
	}
	press := func(key string) {
		msg, err := uitest.Key(key)
		if err != nil {
			t.Fatal(err)
		}
		hear(d.Update(msg))
	}
	see := func(want string) {
		t.Helper()
		view := strings.Join(rows(t, d, 80, 24), "\n")
		if !strings.Contains(view, want) || strings.Contains(view, "CANARY") || strings.Contains(view, "sk-") {
			t.Errorf("%q is not there, or more than that:\n%s", want, view)
		}
	}
	press("enter")
	if see("›"); said != nil {
		t.Errorf("nothing was written, and %v was said", said)
	}
	hear(d.Update(tea.PasteMsg{Content: " \"" + canary + "\"\r\n"}))
	see("23 characters")
	for range 2 {
		press("backspace")
	}
	see("21 characters")
	press("ctrl+u")
	see("stored for you alone")
	hear(d.Update(tea.PasteMsg{Content: canary}))
	if _, _, ok := d.Cursor(); !ok {
		t.Error("no cursor")
	}
	press("enter")
	if see("Checking it…"); len(said) != 1 || said[0].Line != canary || said[0].Of != d || !d.Checking() {
		t.Errorf("said %v", said)
	}
	press("x")
	press("enter")
	if len(said) != 1 {
		t.Errorf("while it is checked %v was said", said[1:])
	}
	d.Reject("no such \x1b[2Jkey")
	see("no such ")
	hear(d.Update(tea.PasteMsg{Content: "new"}))
	see("3 characters")
	press("enter")
	if len(said) != 2 || said[1].Line != "new" {
		t.Errorf("said %v", said)
	}
	msg, _ := uitest.Key("esc")
	if closed, ok := d.Update(msg)().(dialog.ClosedMsg); !ok || closed != (dialog.ClosedMsg{}) {
		t.Errorf("left with %v", closed)
	}
}
