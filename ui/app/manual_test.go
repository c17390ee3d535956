package app

import "testing"

// TestManual holds what /manual does: it opens the page that is named, lists them without a
// name, and says what is none.
func TestManual(t *testing.T) {
	a := &App{}
	if noManual(a) == "" || manualItems(a) != nil {
		t.Error("there is a manual")
	}
	a.Manual = func() []ManualPage { return []ManualPage{{Name: "chat", Title: "Chatting"}, {Name: "tools"}} }
	if e := showManual(a, "Chat"); see(e).View != (PanelQuery{PanelManual, "Chat"}) {
		t.Errorf("chat: %+v", e)
	}
	if e := showHelp(a, "chat"); see(e).View != (PanelQuery{PanelManual, "chat"}) {
		t.Errorf("/help chat: %+v", e)
	}
	if e := showHelp(a, ""); see(e).View != (PanelQuery{Panel: PanelHelp}) {
		t.Errorf("/help: %+v", e)
	}
	if p, ok := FindManual(a, "Chat"); !ok || p.Title != "Chatting" {
		t.Errorf("%+v, %v", p, ok)
	}
	e := showManual(a, "")
	if see(e).List == nil || len(see(e).List.Items) != 2 {
		t.Fatalf("%+v", e)
	}
	if got := see(see(e).List.Choose(see(e).List.Items[1], "")).View; got != (PanelQuery{PanelManual, "tools"}) {
		t.Errorf("tools: %+v", got)
	}
	if e := showManual(a, "nothing"); toastOf(e) != `No page "nothing" in the manual: /manual lists them` {
		t.Errorf("%+v", e)
	}
}
