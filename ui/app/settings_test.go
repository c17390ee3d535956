package app

import (
	"strings"
	"testing"

	"parley/providers/llm"
	"parley/session"
	"parley/tools"
	"parley/tools/act"
)

// newToolsApp returns an application whose conversation has tools.
func newToolsApp(t *testing.T) *App {
	t.Helper()
	set, err := tools.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { set.Close() })
	s := session.New(session.Options{Model: llm.Endpoint{Name: "fake/m", Origin: "fake"}, Tools: set, Policy: tools.NewPolicy(act.ModeAsk), System: "Be kind."})
	return New(Options{Flows: Register,
		Session: s, PromptFiles: PromptFiles{System: func(own string) string {
			if own == "" {
				own = "Be kind."
			}
			return own + "\n\nand AGENTS.md"
		}},
		Models: Models{Defaults: Defaults{
			Configured:    func(string) []ConfiguredSetting { return []ConfiguredSetting{{"top_p", "0.9", "[providers.fake]"}} },
			OwnSystem:     func() (string, string) { return "Be kind.", "config.toml" },
			WithheldTools: func() ([]string, string) { return []string{"fetch2"}, "--tools read" },
		}},
		Context: func() []ContextItem {
			return []ContextItem{{Name: "system prompt", Tokens: 3}, {Name: "AGENTS.md", Tokens: 5}, {Name: "tool read", Tokens: 10}, {Name: "tool shell", Tokens: 10}}
		},
	})
}

// said returns the text of an effect.
func said(e Effect) string {
	switch {
	case see(e).Err != nil:
		return "error: " + see(e).Err.Error()
	case see(e).Event != nil:
		if s, ok := see(e).Event.(session.Settings); ok {
			return SettingsText(s)
		}
		if p, ok := see(e).Event.(session.Persona); ok {
			return PersonaText(p)
		}
	case see(e).Secret != nil:
		return "ask: " + see(e).Secret.Title + ": " + see(e).Secret.Text + " [" + see(e).Secret.Value + "]"
	case see(e).List != nil:
		return "list: " + see(e).List.Title
	case see(e).Confirm != nil:
		return "confirm: " + see(e).Confirm.Text
	case see(e).Text != "":
		return "draft: " + see(e).Text
	}
	return see(e).Toast
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
		e := run(t, a, step.line)
		if got := said(e); got != step.want || a.Session.System() != step.system {
			t.Errorf("%.40s:\n%q, want\n%q; %q", step.line, got, step.want, a.Session.System())
		}
		if see(e).Text != "" && (!see(e).IsCommand || !AllowsMultiline(see(e).Text, a.Commands)) {
			t.Errorf("%.40s: the draft %.40q is no command", step.line, see(e).Text)
		}
	}
	a.Busy = func() bool { return true }
	if e := run(t, a, "/system x y"); see(e).Text != "/system x y" || see(e).Toast == "" || a.Session.Personas().Current().Name != "" {
		t.Errorf("while a turn runs: %+v", e)
	}
}
