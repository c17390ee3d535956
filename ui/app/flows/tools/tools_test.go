package tools

import (
	"strings"
	"testing"

	"parley/session"
	"parley/ui/app"
	"parley/ui/app/wording"
	"parley/ui/uitest/apptest"
)

// said returns the text of an effect.
func said(e app.Effect) string {
	s := apptest.See(e)
	switch {
	case s.Err != nil:
		return "error: " + s.Err.Error()
	case s.Event != nil:
		return wording.Event(s.Event.(session.Settings))
	case s.List != nil:
		return "list: " + s.List.Title
	}
	return s.Toast
}

// TestTools: /tools shows which tools are offered and why others are not, and turns tools on and off.
func TestTools(t *testing.T) {
	a := apptest.New(t, Register, apptest.Tools(t))
	all, _ := a.Session.Next.Tools()
	for _, step := range []struct {
		line, want string
		offered    int
	}{
		{"/tools", "list: Tools that the model is offered", len(all)},
		{"/tools shell off", "Set: tool shell off", len(all) - 1},
		{"/tools shel on", "error: unknown tool shel: did you mean shell?", len(all) - 1},
		{"/tools fetch2 on", "error: unknown tool fetch2: did you mean fetch?", len(all) - 1},
		{"/tools zzz on", "error: unknown tool zzz: /tools shows them", len(all) - 1},
		{"/tools shell maybe", "error: /tools shell maybe: use on or off after the name", len(all) - 1},
		{"/tools off", "Set: all tools off", 0},
		{"/tools off", "No tool changed", 0},
		{"/tools read", "Set: tool read on", 1},
		{"/tools on", "Set: all tools on", len(all)},
		{"/tools shell off", "Set: tool shell off", len(all) - 1},
	} {
		got := said(apptest.Run(t, a, step.line))
		if _, offered := a.Session.Next.Tools(); got != step.want || len(offered) != step.offered {
			t.Errorf("%s: %q with %d tools, want %q with %d", step.line, got, len(offered), step.want, step.offered)
		}
	}
	shown := map[string]app.Item{}
	for _, row := range (flow{a}).rows() {
		shown[row.Title] = row
	}
	if r := shown["read"]; !strings.HasPrefix(r.Detail, "on · ") || !strings.Contains(r.Detail, " tokens · ") {
		t.Errorf("read: %+v", r)
	}
	if r := shown["shell"]; !strings.HasPrefix(r.Detail, "off · ") || r.Disabled {
		t.Errorf("shell: %+v", r)
	}
	if r := shown["fetch2"]; r.Detail != "not offered: --tools read" || !r.Disabled {
		t.Errorf("fetch2: %+v", r)
	}
	if err := a.Session.Personas.Set(session.Persona{Name: "reader", System: "x", Tools: []string{"read"}}, "x"); err != nil {
		t.Fatal(err)
	}
	for _, row := range (flow{a}).rows() {
		if row.Title == "list" && !strings.HasPrefix(row.Detail, "not offered: the persona reader has others") {
			t.Errorf("list: %+v", row)
		}
	}
}
