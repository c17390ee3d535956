package settings

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"parley/providers/llm"
	"parley/providers/llmtest"
	"parley/session"
	"parley/tools"
	"parley/tools/act"
	"parley/ui/app"
	"parley/ui/app/flows/prompts"
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
	return app.New(app.Options{Flows: func(a *app.App) { Register(a); prompts.Register(a) },
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

// TestSet: the effects and texts of /set.
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
		{"/set top_p", "ask: top_p: Between 0 and 1; default resets it [0.5]"},
		{"/set", "list: Settings of this conversation"},
		{"/set web on", "Web search: on, but fake/m has none"},
		{"/set system", "confirm: System prompt: config.toml, 2 tokens\nSent after it: AGENTS.md\n\nBe kind."},
	} {
		if got := said(apptest.Run(t, a, step.line)); got != step.want {
			t.Errorf("%s:\n%q, want\n%q", step.line, got, step.want)
		}
	}
	want := []string{
		"top_p 0.5 · this conversation", "web on · this conversation", `body.user "x" · this conversation`, `provider.order ["x", "y"] · this conversation`, "top_k 40 · this conversation",
		"temperature provider default · between 0 and 2",
	}
	for i, item := range apptest.See(apptest.Run(t, a, "/set")).List.Items[:len(want)] {
		if got := item.Title + " " + item.Detail; got != want[i] {
			t.Errorf("row %d: %q, want %q", i, got, want[i])
		}
	}
	_, req := a.Session.Next.Request()
	if *req.TopP != 0.5 || req.Temperature != nil || llm.OptionText(req.Options) != `{"provider.order":["x","y"],"top_k":40,"user":"x"}` {
		t.Errorf("requests have %+v", req.Settings)
	}
	e := apptest.Run(t, a, "/set top_p")
	if _, err := apptest.See(e).Secret.Submit(context.Background(), "2"); err == nil {
		t.Error("2 was taken")
	}
	if then, err := apptest.See(e).Secret.Submit(context.Background(), "off"); err != nil || said(then()) != "Set: top_p default" {
		t.Errorf("off: %v", err)
	}
	if rows := (flow{a}).settingRows(); !slices.ContainsFunc(rows, func(i app.Item) bool { return i.Title == "top_p" && i.Detail == "0.9 · [providers.fake]" }) {
		t.Errorf("the configured value is not in %v", rows)
	}
}

// /context shows the persona and the settings of the conversation beside the tools.
func TestContextOfSettings(t *testing.T) {
	a := newToolsApp(t)
	all, _ := a.Session.Next.Tools()
	if _, err := a.Session.OwnSettings.Change(func(own *session.Settings) error { own.SetTool("shell", false); return nil }); err != nil {
		t.Fatal(err)
	}
	if err := a.Session.Personas.Set(session.Persona{Name: "reader", System: "x", Tools: []string{"read"}}, "x"); err != nil {
		t.Fatal(err)
	}
	apptest.Run(t, a, "/set temperature 0.2")
	var facts []string
	for _, f := range a.Context() {
		facts = append(facts, f.Name+" "+f.Note)
	}
	if got := strings.Join(facts, ", "); got != fmt.Sprintf("persona reader , AGENTS.md , tool read , tools %d of %d not offered · /tools shows them, settings temperature 0.2 · top_p 0.9", len(all)-1, len(all)) {
		t.Errorf("/context has %s", got)
	}
}

// A command that looks like a setting is suggested, and not sent to the provider as a field.
func TestSettingThatIsACommand(t *testing.T) {
	a := newToolsApp(t)
	a.Commands = append(a.Commands, app.Command{Name: "budget"}, app.Command{Name: "persona"})
	for arg, want := range map[string]string{
		"budget 5":      "Budget is not a setting: use /budget 5",
		"persona terse": "Persona is not a setting: use /persona terse",
	} {
		if got := apptest.Toast((flow{a}).changeSetting(arg)); got != want || len(a.Session.OwnSettings.Get().Values) > 0 {
			t.Errorf("/set %s: got %q, want %q", arg, got, want)
		}
	}
}

// TestWebSwitch checks that /web affects requests, and that providers without web search are named.
func TestWebSwitch(t *testing.T) {
	a, fake := apptest.New(t, Register), llmtest.New(llmtest.Say("a"), llmtest.Say("b"))
	for _, test := range []struct {
		model       llm.Endpoint
		line, toast string
		web         bool
	}{
		{llm.Endpoint{Name: "fake/can", Origin: "fake", Model: fake, Web: true}, "/web on", "Web search: on", true},
		{llm.Endpoint{Name: "fake/cannot", Origin: "fake", Model: fake}, "/web on", "Web search: on, but fake/cannot has none", true},
		{llm.Endpoint{Name: "fake/can", Origin: "fake", Model: fake, Web: true}, "/web sometimes", `Unknown setting "sometimes": use on or off`, true},
		{llm.Endpoint{Name: "fake/can", Origin: "fake", Model: fake, Web: true}, "/web off", "Web search: off", false},
	} {
		a.Session.SetModel(test.model)
		if got := apptest.Toast(apptest.Run(t, a, test.line)); got != test.toast {
			t.Errorf("%s: %q", test.line, got)
		}
		if _, req := a.Session.Next.Request(); req.Web != test.web {
			t.Errorf("%s: %v is sent", test.line, req.Web)
		}
	}
	list := apptest.See(apptest.Run(t, a, "/web")).List
	if list == nil || len(list.Items) != 2 || !list.Items[1].Current || apptest.See(list.Choose(list.Items[0].Value)).Toast != "Web search: on" {
		t.Errorf("asked %+v", list)
	}
}

// rowsOf returns the rows of a list as text; * is the current one.
func rowsOf(items []app.Item) (rows []string) {
	for _, i := range items {
		row := strings.TrimSpace(i.Title + " " + i.Detail)
		if i.Current {
			row += " *"
		}
		rows = append(rows, row)
	}
	return rows
}

// /history sets how many messages requests contain.
func TestHistory(t *testing.T) {
	a := apptest.New(t, Register)
	for _, tt := range []struct {
		arg, said string
		mode      session.HistoryMode
	}{
		{"dynamic", "History: dynamic", session.HistoryDynamic},
		{"stateless", "History: stateless", session.HistoryStateless},
		{"all", `Unknown history mode "all": use full, dynamic or stateless`, session.HistoryStateless},
		{"full", "History: full", session.HistoryFull},
	} {
		if got := apptest.Toast(apptest.Do(t, a, "/history "+tt.arg)); got != tt.said || a.Session.Next.HistoryMode() != tt.mode {
			t.Errorf("/history %s: %q and mode %q, want %q and %q", tt.arg, got, a.Session.Next.HistoryMode(), tt.said, tt.mode)
		}
	}
	list := apptest.See(apptest.Do(t, a, "/history")).List
	if got, want := rowsOf(list.Items), []string{"full all messages *", "dynamic newest messages that fit the context window", "stateless only the current prompt"}; !slices.Equal(got, want) {
		t.Errorf("/history lists %q, want %q", got, want)
	}
	if list.Choose("dynamic"); a.Session.Next.HistoryMode() != session.HistoryDynamic {
		t.Errorf("the choice sets mode %q", a.Session.Next.HistoryMode())
	}
}

// The rows of /set have the source of each value; a setting without a value says what it takes.
func TestRows(t *testing.T) {
	a := newToolsApp(t)
	has := func(when string, want ...string) {
		t.Helper()
		got := rowsOf((flow{a}).settingRows())
		for _, row := range want {
			if !slices.Contains(got, row) {
				t.Errorf("%s: no row %q in %q", when, row, got)
			}
		}
	}
	has("nothing set", "web off · /web", "effort provider default · /effort", "top_p 0.9 · [providers.fake]")
	apptest.Run(t, a, "/web off")
	has("web off", "web off · this conversation")
	if got := apptest.Toast(apptest.Run(t, a, "/set web default")); got != "Web search: off" {
		t.Errorf("web default: %q", got)
	}
	a.Session.Next.SetEffort(llm.EffortHigh)
	has("effort", "effort high · this conversation")
	list := apptest.See(apptest.Run(t, a, "/set verbosity")).List
	if got := rowsOf(list.Items); got[0] != "default *" || len(got) < 3 {
		t.Errorf("verbosity: %q", got)
	}
	if got := said(list.Choose(list.Items[1].Value)); got != "Set: verbosity "+list.Items[1].Value {
		t.Errorf("chosen: %q", got)
	}
	args := rowsOf((flow{a}).settingItems())
	for _, want := range []string{"verbosity default Reset to the default", "verbosity " + list.Items[1].Value, "web off · this conversation"} {
		if !slices.Contains(args, want) {
			t.Errorf("no argument %q in %q", want, args)
		}
	}
	web := a.Command("web")
	if got, want := rowsOf(web.Args()), []string{"on fake/m has none", "off *"}; !slices.Equal(got, want) {
		t.Errorf("/web offers %q, want %q", got, want)
	}
}

// /context shows a typed system prompt, and nothing of tools and settings if all is as configured.
func TestContextOfTypedPrompt(t *testing.T) {
	a := apptest.New(t, Register, func(o *app.Options) {
		o.Context = func() []app.ContextItem {
			return []app.ContextItem{{Name: "system prompt", Tokens: 1}, {Name: "AGENTS.md", Tokens: 5}}
		}
	})
	if got, want := a.Context(), []app.ContextItem{{Name: "system prompt", Tokens: 1}, {Name: "AGENTS.md", Tokens: 5}}; !slices.Equal(got, want) {
		t.Errorf("as configured: %+v", got)
	}
	if err := a.Session.Personas.Set(session.Persona{Name: session.TypedPersona, System: "Be very brief."}, "x"); err != nil {
		t.Fatal(err)
	}
	if got, want := a.Context()[0], (app.ContextItem{Name: "system prompt", Tokens: a.Estimate("Be very brief."), Note: app.InConversation}); got != want {
		t.Errorf("typed: %+v, want %+v", got, want)
	}
}
