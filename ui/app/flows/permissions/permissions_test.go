package permissions

import (
	"strings"
	"testing"

	"parley/providers/llm"
	"parley/providers/llmtest"
	"parley/session"
	"parley/tools"
	"parley/tools/act"
	"parley/tools/permission"
	"parley/tools/rule"
	"parley/ui/app"
)

func init() { permission.Register() }

// evil is a command with hidden characters, and longer than a row.
var evil = "echo good\r\x1b[2K\u00a0x\nrm -rf ~ && " + strings.Repeat("make test && ", 12) + "done"

// newApp returns an application with a rule of each source.
func newApp(t *testing.T) *app.App {
	t.Helper()
	policy := tools.NewPolicy(act.ModeAsk)
	policy.AddRules([]permission.Rule{
		{Effect: permission.Deny, Tool: "shell", Match: "curl", Prefix: true, Source: rule.FromConfig},
		{Effect: permission.Allow, Tool: "edit", Match: "src/**", Source: rule.FromFlag},
		{Effect: permission.Allow, Tool: "shell", Match: evil, Source: rule.FromState, Workspace: "/home/me/src"},
		{Effect: permission.Ask, Tool: "mcp__github__*", Source: rule.FromSession, Workspace: "/home/me/src"},
	})
	s := session.New(session.Options{Model: llm.Endpoint{Name: "fake/m", Model: llmtest.New()}, Policy: policy})
	t.Cleanup(func() { s.Close() })
	return app.New(app.Options{Flows: Register, Session: s, ConfigFile: app.ConfigFile{Path: "/home/me/config.toml"}, AbbrevPath: func(path string) string { return strings.Replace(path, "/home/me", "~", 1) }})
}

func open(t *testing.T, a *app.App) *app.List {
	t.Helper()
	l, ok := a.Commands[0].Do("").(*app.List)
	if !ok {
		t.Fatal("no list")
	}
	return l
}

// Each rule shows its source and reveals hidden characters.
func TestList(t *testing.T) {
	l := open(t, newApp(t))
	for i, want := range [][2]string{
		{"deny shell:curl *", "from ~/config.toml, in every folder"}, {"allow edit:src/**", "command line, in every folder"},
		{"allow shell:echo good␍␛[2K<U+00A0>x␊rm -rf", "always, in ~/src"}, {"ask mcp__github__*", "this session, in ~/src"},
	} {
		if !strings.HasPrefix(l.Items[i].Title, want[0]) || l.Items[i].Detail != want[1] {
			t.Errorf("%d: %+v, want %q", i, l.Items[i], want)
		}
	}
}

// The delete key removes rules made by approvals, and selects the next rule; other rules stay.
func TestRemove(t *testing.T) {
	a := newApp(t)
	l := open(t, a)
	for _, tt := range []struct {
		at    string
		left  int
		toast app.Toast
	}{
		{"0", 4, "Set in ~/config.toml: change it there"}, {"1", 4, "Set by the command line: change it there"},
		{"2", 3, "Rule removed"}, {"2", 2, "Rule removed"},
	} {
		if e := l.Remove(tt.at); e != tt.toast || len(l.Refresh()) != tt.left {
			t.Errorf("removing %s: %+v, left %+v", tt.at, e, l.Refresh())
		}
	}
}

// Without rules, /permissions explains how to make them.
func TestUnavailable(t *testing.T) {
	a := newApp(t)
	a.Session = session.New(session.Options{Model: llm.Endpoint{Name: "fake/m", Model: llmtest.New()}, Policy: tools.NewPolicy(act.ModeAsk)})
	t.Cleanup(func() { a.Session.Close() })
	if e := a.Commands[0].Do(""); e != app.Toast("No permission rules yet. Press p in an approval to add one") {
		t.Errorf("%+v", e)
	}
}

// A chosen rule is shown completely. A rule made by an approval is removed if the user agrees.
func TestShow(t *testing.T) {
	a := newApp(t)
	l := open(t, a)
	page, ok := l.Choose(l.Items[0].Value).(app.Page)
	if !ok || page.Parts[0].Source != "shell:curl *" || page.Parts[0].Note != "Set in ~/config.toml: change it there" {
		t.Errorf("of the configuration: %+v", page)
	}
	ask, ok := l.Choose(l.Items[2].Value).(*app.Confirm)
	if !ok || !strings.Contains(ask.Text, "<U+00A0>x\nrm -rf ~ && "+strings.Repeat("make test && ", 12)+"done") || ask.Harmless {
		t.Fatalf("of an approval: %+v", ask)
	}
	if ask.Answer(false) != nil || len(flow{a}.policy().Rules()) != 4 {
		t.Error("no removes it")
	}
	if e := ask.Answer(true); e != app.Toast("Rule removed") || len(flow{a}.policy().Rules()) != 3 {
		t.Errorf("yes: %+v", e)
	}
	if e := ask.Answer(true); e != nil {
		t.Errorf("once more: %+v", e)
	}
}
