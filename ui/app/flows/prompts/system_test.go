package prompts

import (
	"strings"
	"testing"

	"parley/providers/llm"
	"parley/session"
	"parley/tools"
	"parley/tools/act"
	"parley/ui/app"
	"parley/ui/app/classify"
	"parley/ui/app/wording"
	"parley/ui/uitest/apptest"
)

// newToolsApp returns an application whose conversation has tools.
func newToolsApp(t *testing.T) *app.App {
	t.Helper()
	set, err := tools.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { set.Close() })
	s := session.New(session.Options{Model: llm.Endpoint{Name: "fake/m", Origin: "fake"}, Tools: set, Policy: tools.NewPolicy(act.ModeAsk), System: "Be kind."})
	return app.New(app.Options{Flows: Register,
		Session: s, System: func(own string) string {
			if own == "" {
				own = "Be kind."
			}
			return own + "\n\nand AGENTS.md"
		},
		Models: app.Models{Defaults: app.Defaults{
			Configured: func(string) []app.ConfiguredSetting {
				return []app.ConfiguredSetting{{Name: "top_p", Value: "0.9", Source: "[providers.fake]"}}
			},
			OwnSystem:     func() (string, string) { return "Be kind.", "config.toml" },
			WithheldTools: func() ([]string, string) { return []string{"fetch2"}, "--tools read" },
		}},
		Context: func() []app.ContextItem {
			return []app.ContextItem{{Name: "system prompt", Tokens: 3}, {Name: "AGENTS.md", Tokens: 5}, {Name: "tool read", Tokens: 10}, {Name: "tool shell", Tokens: 10}}
		},
	})
}

// said returns the text of an effect.
func said(e app.Effect) string {
	switch {
	case apptest.See(e).Err != nil:
		return "error: " + apptest.See(e).Err.Error()
	case apptest.See(e).Event != nil:
		if s, ok := apptest.See(e).Event.(session.Settings); ok {
			return wording.Event(s)
		}
		if p, ok := apptest.See(e).Event.(session.Persona); ok {
			return wording.Event(p)
		}
	case apptest.See(e).Secret != nil:
		return "ask: " + apptest.See(e).Secret.Title + ": " + apptest.See(e).Secret.Text + " [" + apptest.See(e).Secret.Value + "]"
	case apptest.See(e).List != nil:
		return "list: " + apptest.See(e).List.Title
	case apptest.See(e).Confirm != nil:
		return "confirm: " + apptest.See(e).Confirm.Text
	case apptest.See(e).Text != "":
		return "draft: " + apptest.See(e).Text
	}
	return apptest.See(e).Toast
}

// TestSystem: /system replaces the system prompt as a persona does, and restores it.
func TestSystem(t *testing.T) {
	a := newToolsApp(t)
	for _, step := range []struct{ line, want, system string }{
		{"/system off", "The system prompt is the configured one", "Be kind."},
		{"/system edit", "draft: /system Be kind.", "Be kind."},
		{"/system Be terse.\nIn Czech.", "System prompt: Be terse. …", "Be terse.\nIn Czech.\n\nand AGENTS.md"},
		{"/system edit", "draft: /system Be terse.\nIn Czech.", "Be terse.\nIn Czech.\n\nand AGENTS.md"},
		{"/system", "confirm: System prompt: this conversation, 4 tokens\nSent after it: AGENTS.md\n\nBe terse.\nIn Czech.", "Be terse.\nIn Czech.\n\nand AGENTS.md"},
		{"/system off", "System prompt: as configured", "Be kind.\n\nand AGENTS.md"},
		{"/system " + strings.Repeat("x", session.MaxPersona+1), "error: system prompt not set: it may have 128 KB", "Be kind.\n\nand AGENTS.md"},
	} {
		e := apptest.Run(t, a, step.line)
		if got := said(e); got != step.want || a.Session.Next.System() != step.system {
			t.Errorf("%.40s:\n%q, want\n%q; %q", step.line, got, step.want, a.Session.Next.System())
		}
		if apptest.See(e).Text != "" && (!apptest.See(e).IsCommand || !classify.AllowsMultiline(apptest.See(e).Text, a.Commands)) {
			t.Errorf("%.40s: the draft %.40q is no command", step.line, apptest.See(e).Text)
		}
	}
	a.FrontEnd.Busy = func() bool { return true }
	if e := apptest.Run(t, a, "/system x y"); apptest.See(e).Text != "/system x y" || apptest.See(e).Toast == "" || a.Session.Personas.Current().Name != "" {
		t.Errorf("while a turn runs: %+v", e)
	}
}
