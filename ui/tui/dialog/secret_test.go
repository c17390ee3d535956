package dialog_test

import (
	"slices"
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

// A secret is never shown, whatever the user does, and goes only to Submit.
func TestSecret(t *testing.T) {
	d := askKey(theme.Plain())
	var said []string
	left := 0
	d.Submit = func(line string) tea.Cmd { said = append(said, line); return nil }
	d.Attach(dialog.Root{Left: func(dialog.Left) tea.Cmd { left++; return nil }})
	press := func(key string) {
		msg, err := uitest.Key(key)
		if err != nil {
			t.Fatal(err)
		}
		d.Update(msg)
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
	d.Update(tea.PasteMsg{Content: " \"" + canary + "\"\r\n"})
	see("23 characters")
	for range 2 {
		press("backspace")
	}
	see("21 characters")
	press("ctrl+u")
	see("stored for you alone")
	d.Update(tea.PasteMsg{Content: canary})
	if _, _, ok := d.Cursor(); !ok {
		t.Error("no cursor")
	}
	press("enter")
	if see("Checking it…"); len(said) != 1 || said[0] != canary || !d.Checking() {
		t.Errorf("said %v", said)
	}
	press("x")
	press("enter")
	if len(said) != 1 {
		t.Errorf("while it is checked %v was said", said[1:])
	}
	d.Reject("no such \x1b[2Jkey")
	see("no such ")
	d.Update(tea.PasteMsg{Content: "new"})
	see("3 characters")
	press("enter")
	if len(said) != 2 || said[1] != "new" {
		t.Errorf("said %v", said)
	}
	if press("esc"); left != 1 || len(said) != 2 {
		t.Errorf("left %d times, with %v", left, said)
	}
}

// A line that is not secret is shown, begins with its default, and stays for corrections
// if it is rejected.
func TestShownLine(t *testing.T) {
	d := dialog.AskSecret("Bedrock: Region", "Of the key", theme.Plain())
	d.Show("us-east-1")
	view := func() string { return strings.Join(rows(t, d, 40, 10), "\n") }
	if got := view(); !strings.Contains(got, "› us-east-1") || !strings.Contains(got, "continue") || strings.Contains(got, "•") {
		t.Errorf("it shows\n%s", got)
	}
	if x, _, ok := d.Cursor(); !ok || x != len("▌ > us-east-1")-len("▌")+1 {
		t.Errorf("the cursor is at %d, %v", x, ok)
	}
	msg, err := uitest.Key("enter")
	if err != nil {
		t.Fatal(err)
	}
	var said []string
	d.Submit = func(line string) tea.Cmd { said = append(said, line); return nil }
	d.Update(msg)
	if !slices.Equal(said, []string{"us-east-1"}) {
		t.Errorf("it submits %q", said)
	}
	d.Reject("no such region")
	if got := view(); !strings.Contains(got, "no such region") || !strings.Contains(got, "› us-east-1") {
		t.Errorf("refused, it shows\n%s", got)
	}
	d.Show("\x1b[31m" + strings.Repeat("a", 60) + "end")
	if got := view(); strings.Contains(got, "\x1b[31m") || !strings.Contains(got, "end") {
		t.Errorf("a long one shows\n%q", got)
	}
}
