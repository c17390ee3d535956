package app

import (
	"context"
	"fmt"
	"slices"
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

// said returns what an effect tells.
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

// TestSet: what /set does and says.
func TestSet(t *testing.T) {
	a := newToolsApp(t)
	for _, step := range []struct{ line, want string }{
		{"/set temperature 0.2", "Set: temperature 0.2"},
		{"/set temperature = 0.3", "Set: temperature 0.3"},
		{"/set top_p=0.5", "Set: top_p 0.5"},
		{"/set top_p 0.5", "top_p is set to that already"},
		{"/set temperature 3", "error: temperature: 3 is not between 0 and 2"},
		{"/set temprature 0.2", "error: temprature: unknown setting, did you mean temperature? body.temprature sends the field to the provider as typed"},
		{"/set max_completion_tokens 7", "error: max_completion_tokens: unknown setting, did you mean max_tokens? body.max_completion_tokens sends the field to the provider as typed"},
		{"/set body.temprature 0.2", "Set: body.temprature 0.2"},
		{"/set body.temprature off", "Set: body.temprature default"},
		{"/set body.user \"x\"", "Set: body.user \"x\""},
		{"/set body.top_k 40", "Set: top_k 40"},
		{"/set provider.order [\"x\", \"y\"]", "Set: provider.order [\"x\", \"y\"]"},
		{"/set tools []", "error: tools: parley writes this field of a request itself; use /tools or --tools"},
		{"/set body.messages []", "error: messages: parley writes this field of a request itself"},
		{"/set seed default", "seed is not set in this conversation"},
		{"/set temperature default", "Set: temperature default"},
		{"/set verbosity", "list: verbosity"},
		{"/set top_p", "ask: top_p: Between 0 and 1; default takes it back [0.5]"},
		{"/set", "list: Settings of this conversation"},
		{"/config", "No configuration file yet · parley config edit makes one"},
		{"/set web on", "Web search: on, but fake/m has none"},
		{"/set system", "confirm: System prompt: config.toml, 2 tokens\nSent behind it: AGENTS.md\n\nBe kind."},
	} {
		if got := said(run(t, a, step.line)); got != step.want {
			t.Errorf("%s:\n%q, want\n%q", step.line, got, step.want)
		}
	}
	want := []string{
		"top_p 0.5 · this conversation", "web on · this conversation", `body.user "x" · this conversation`, `provider.order ["x", "y"] · this conversation`, "top_k 40 · this conversation",
		"temperature provider default · between 0 and 2",
	}
	for i, item := range see(run(t, a, "/set")).List.Items[:len(want)] {
		if got := item.Title + " " + item.Detail; got != want[i] {
			t.Errorf("row %d: %q, want %q", i, got, want[i])
		}
	}
	_, req := a.Session.Request()
	if *req.TopP != 0.5 || req.Temperature != nil || llm.OptionText(req.Options) != `{"provider.order":["x","y"],"top_k":40,"user":"x"}` {
		t.Errorf("requests have %+v", req.Settings)
	}
	e := run(t, a, "/set top_p")
	if _, err := see(e).Secret.Submit(context.Background(), "2"); err == nil {
		t.Error("2 was taken")
	}
	if then, err := see(e).Secret.Submit(context.Background(), "off"); err != nil || said(then()) != "Set: top_p default" {
		t.Errorf("off: %v", err)
	}
	if rows := settingRows(a); !slices.ContainsFunc(rows, func(i Item) bool { return i.Title == "top_p" && i.Detail == "0.9 · [providers.fake]" }) {
		t.Errorf("the configured value is not in %v", rows)
	}
}

// TestReadSetting: what -O takes.
func TestReadSetting(t *testing.T) {
	for text, want := range map[string]string{
		"temperature=0.2": "temperature|0.2|", "temperature = 0.2": "temperature|0.2|", "temperature=": "temperature||", "temperature=off": "temperature||",
		"provider.order=[\"a=b\"]": `provider.order|["a=b"]|`, "top_k=40": "top_k|40|", "body.top_k=40": "top_k|40|", "body.stop=x": "body.stop|x|", "store=true": "store|true|",
		"top_k": "||top_k: give a value, as in top_k=VALUE", "effort=high": "||effort: use --effort", "stream=false": "||stream: parley writes this field of a request itself; use stream in config.toml",
		"=1": `||"" is not the name of a setting`, "sed=1": "||sed: unknown setting, did you mean seed? body.sed sends the field to the provider as typed",
	} {
		name, value, err := ParseSetting(text)
		got := name + "|" + value + "|"
		if err != nil {
			got = "||" + err.Error()
		}
		if got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
	for _, name := range llm.CommonOptions {
		if got, err := settingName(name); err != nil || got != name {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

// TestSystem: /system replaces the system prompt as a persona does, and gives it back.
func TestSystem(t *testing.T) {
	a := newToolsApp(t)
	for _, step := range []struct{ line, want, system string }{
		{"/system off", "The system prompt is the configured one", "Be kind."},
		{"/system edit", "draft: /system Be kind.", "Be kind."},
		{"/system Be terse.\nIn Czech.", "System prompt: Be terse. …", "Be terse.\nIn Czech.\n\nand AGENTS.md"},
		{"/system edit", "draft: /system Be terse.\nIn Czech.", "Be terse.\nIn Czech.\n\nand AGENTS.md"},
		{"/system", "confirm: System prompt: this conversation, 4 tokens\nSent behind it: AGENTS.md\n\nBe terse.\nIn Czech.", "Be terse.\nIn Czech.\n\nand AGENTS.md"},
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

// Beside the tools that are offered, /context has the persona and the settings of the conversation.
func TestContextOfSettings(t *testing.T) {
	a := newToolsApp(t)
	all, _ := a.Session.Tools()
	if _, err := a.Session.OwnSettings().Change(func(own *session.Settings) error { own.SetTool("shell", false); return nil }); err != nil {
		t.Fatal(err)
	}
	if err := a.Session.Personas().Set(session.Persona{Name: "reader", System: "x", Tools: []string{"read"}}, "x"); err != nil {
		t.Fatal(err)
	}
	run(t, a, "/set temperature 0.2")
	var facts []string
	for _, f := range a.Context() {
		facts = append(facts, f.Name+" "+f.Note)
	}
	if got := strings.Join(facts, ", "); got != fmt.Sprintf("persona reader , AGENTS.md , tool read , tools %d of %d not offered · /tools shows them, settings temperature 0.2 · top_p 0.9", len(all)-1, len(all)) {
		t.Errorf("/context has %s", got)
	}
}

// A command that looks like a setting is named, and not sent to the provider as a field.
func TestSettingThatIsACommand(t *testing.T) {
	a := newToolsApp(t)
	for arg, want := range map[string]string{
		"persona terse": "Persona is not a setting: use /persona terse",
	} {
		if got := toastOf(changeSetting(a, arg)); got != want || len(a.Session.OwnSettings().Get().Values) > 0 {
			t.Errorf("/set %s: got %q, want %q", arg, got, want)
		}
	}
}
