// Package settings lets the user see and change the settings for requests of a conversation.
package settings

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"parley/providers/llm"
	"parley/session"
	"parley/session/settings"
	"parley/tools/sanitize"
	"parley/ui/app"
	"parley/ui/format"
)

// Register adds the flow to a.
func Register(a *app.App) {
	f := flow{a}
	a.Commands = append(a.Commands,
		app.Command{Name: "history", Group: app.Conversations, Arg: "MODE", Help: "How much history is sent: full, dynamic, stateless", Args: f.historyItems, Run: f.history},
		app.Command{Name: "web", Group: app.ModelsGroup, Arg: "on|off", Help: "Web search by the provider: on, off", Args: f.webItems, Run: f.setWeb},
		app.Command{Name: "set", Group: app.ModelsGroup, Arg: "NAME VALUE", Help: "Temperature and other settings of this conversation", Args: f.settingItems, Run: f.changeSetting},
	)
	facts := a.Context
	a.Context = func() []app.ContextItem { return f.contextItems(facts()) }
}

// A flow changes settings of the open conversation.
type flow struct{ app *app.App }

// isCommand reports whether name is a command and neither a setting nor a request field, not even a rejected one.
func (f flow) isCommand(name string) bool {
	field := llm.OptionField(name)
	return field == name && llm.SettingFor(field) == "" && llm.CheckOption(field) == nil && !slices.Contains(llm.CommonOptions, field) &&
		slices.ContainsFunc(f.app.Commands, func(c app.Command) bool { return c.Named(name) })
}

// changeSetting lists the settings, or changes the named one.
func (f flow) changeSetting(arg string) app.Effect {
	at := strings.IndexAny(arg, " =")
	if at < 0 {
		at = len(arg)
	}
	name, value := arg[:at], strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(arg[at:]), "="))
	if name == "" {
		return app.Choose("Settings of this conversation", "setting", f.settingRows(), f.changeSetting)
	}
	if slices.Contains(settings.Commands, name) {
		if name == "web" && value == "default" {
			value = "off"
		}
		return f.app.Command(name).Run(value)
	}
	if f.isCommand(name) {
		return app.Refuse("%s is not a setting: use /%s", name, strings.TrimSpace(name+" "+value))
	}
	name, err := settings.Name(name)
	if err != nil {
		return app.Fail(err)
	}
	if value == "" {
		return f.askSetting(name)
	}
	e, err := f.putSetting(name, value)
	if err != nil {
		return app.Fail(err)
	}
	return e
}

// putSetting changes a setting of the conversation.
func (f flow) putSetting(name, value string) (app.Effect, error) {
	if value == "default" || value == "off" {
		if _, set := f.app.Session.OwnSettings.Get().Values[name]; !set {
			return app.Toast(name + " is not set in this conversation"), nil
		}
		value = ""
	}
	now, err := f.app.Session.OwnSettings.Change(func(own *session.Settings) error { return own.Set(name, value) })
	switch {
	case err != nil:
		return nil, err
	case now.Changed == "":
		return app.Toast(name + " is set to that already"), nil
	}
	return app.Shown{Event: now}, nil
}

// askSetting asks for the value of a setting.
func (f flow) askSetting(name string) app.Effect {
	known, _ := llm.FindSetting(name)
	now := f.app.Session.OwnSettings.Get().Values[name]
	if known.Words != nil {
		items := app.Words(append([]string{"default"}, known.Words...), cmp.Or(now, "default"))
		return app.Choose(name, "value", items, func(value string) app.Effect { return f.changeSetting(name + " " + value) })
	}
	takes := cmp.Or(known.Takes, "JSON, or a text")
	return &app.Secret{Title: name, Text: format.Capital(takes) + "; default resets it", Visible: true, Value: now, Submit: func(_ context.Context, line string) (func() app.Effect, error) {
		e, err := f.putSetting(name, strings.TrimSpace(line))
		return func() app.Effect { return e }, err
	}}
}

// settingRows lists the settings with their values and sources, those with a value first.
func (f flow) settingRows() []app.Item {
	var items, unset []app.Item
	row := func(name, value, source, takes string) {
		if value == "" {
			unset = append(unset, app.Item{Title: name, Detail: strings.TrimSuffix("provider default · "+takes, " · "), Value: name})
			return
		}
		items = append(items, app.Item{Title: name, Detail: sanitize.Line(value + " · " + source), Value: name})
	}
	values := f.valuesOf()
	for _, known := range llm.Adjustable {
		v := values[known.Name]
		row(known.Name, v.Value, v.Source, known.Takes)
		delete(values, known.Name)
	}
	effort := values["effort"]
	if own := f.app.Session.Next.Effort(); own != "" {
		effort = app.ConfiguredSetting{Value: string(own), Source: app.InConversation}
	}
	row("effort", effort.Value, effort.Source, "/effort")
	delete(values, "effort")
	switch on := f.app.Session.Next.WebSearch(); {
	case f.app.Session.OwnSettings.Get().Web != nil:
		row("web", map[bool]string{true: "on", false: "off"}[on], app.InConversation, "")
	case on:
		row("web", "on", "config.toml", "")
	default:
		unset = append(unset, app.Item{Title: "web", Detail: "off" + " · /web", Value: "web"})
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		row(name, values[name].Value, values[name].Source, "")
	}
	return slices.Concat(items, unset)
}

// valuesOf returns the settings that have a value, by name.
func (f flow) valuesOf() map[string]app.ConfiguredSetting {
	values := map[string]app.ConfiguredSetting{}
	if f.app.Models.Configured != nil {
		for _, c := range f.app.Models.Configured(f.app.Session.Model().Name) {
			values[c.Name] = c
		}
	}
	own := f.app.Session.OwnSettings.Get().Values
	for name, value := range own {
		values[name] = app.ConfiguredSetting{Name: name, Value: value, Source: app.InConversation}
	}
	return values
}

// settingItems lists the arguments of /set.
func (f flow) settingItems() []app.Item {
	items := f.settingRows()
	for _, known := range llm.Adjustable {
		for _, word := range known.Words {
			items = append(items, app.Item{Title: known.Name + " " + word, Value: known.Name + " " + word})
		}
	}
	for name := range maps.Keys(f.app.Session.OwnSettings.Get().Values) {
		items = append(items, app.Item{Title: name + " " + "default", Detail: "Reset to the default", Value: name + " " + "default"})
	}
	return items
}

// webItems lists the choices for web search.
func (f flow) webItems() []app.Item {
	web := f.app.Session.Next.WebSearch()
	note := ""
	if !f.app.Session.Model().Web {
		note = f.app.Session.Model().Name + " has none"
	}
	return []app.Item{{Title: "on", Detail: note, Value: "on", Current: web}, {Title: "off", Value: "off", Current: !web}}
}

// setWeb turns the provider's web search on or off for later answers.
func (f flow) setWeb(arg string) app.Effect {
	switch arg {
	case "":
		return app.Choose("Web search", "setting", f.webItems(), f.setWeb)
	case "on", "off":
		if _, err := f.app.Session.OwnSettings.Change(func(own *session.Settings) error { own.SetWeb(arg == "on"); return nil }); err != nil {
			return app.Fail(err)
		}
	default:
		return app.Refuse("unknown setting %q: use on or off", arg)
	}
	if model := f.app.Session.Model(); arg == "on" && !model.Web {
		return app.Toast("Web search: on, but " + model.Name + " has none")
	}
	return app.Toast("Web search: " + arg)
}

// contextItems returns facts adjusted to the conversation: a persona replaces parley's system prompt, tools that are
// off are left out, and settings are added.
func (f flow) contextItems(facts []app.ContextItem) []app.ContextItem {
	if p := f.app.Session.Personas.Current(); p.Name != "" && len(facts) > 0 {
		name := "persona " + p.Name
		note := ""
		if p.Name == session.TypedPersona {
			name, note = "system prompt", app.InConversation
		}
		facts[0] = app.ContextItem{Name: name, Tokens: f.app.Estimate(p.System), Note: note}
	}
	all, offered := f.app.Session.Next.Tools()
	kept := namesOf(offered)
	facts = slices.DeleteFunc(facts, func(f app.ContextItem) bool {
		name, isTool := strings.CutPrefix(f.Name, app.ToolFact)
		return isTool && !slices.Contains(kept, name)
	})
	if off := len(all) - len(offered); off > 0 {
		facts = append(facts, app.ContextItem{Name: "tools", Note: fmt.Sprintf("%d of %d not offered · /tools shows them", off, len(all))})
	}
	var words []string
	values := f.valuesOf()
	for _, name := range slices.Sorted(maps.Keys(values)) {
		words = append(words, name+" "+values[name].Value)
	}
	if len(words) > 0 {
		facts = append(facts, app.ContextItem{Name: "settings", Note: sanitize.Line(strings.Join(words, " · "))})
	}
	return facts
}

func namesOf(tools []llm.Tool) (names []string) {
	for _, t := range tools {
		names = append(names, t.Name)
	}
	return names
}

// historyItems lists the history modes.
func (f flow) historyItems() []app.Item {
	items := []app.Item{
		{Title: "full", Detail: "all messages", Value: "full"},
		{Title: "dynamic", Detail: "newest messages that fit the context window", Value: "dynamic"},
		{Title: "stateless", Detail: "only the current prompt", Value: "stateless"},
	}
	for i, mode := range []session.HistoryMode{session.HistoryFull, session.HistoryDynamic, session.HistoryStateless} {
		items[i].Current = f.app.Session.Next.HistoryMode() == mode
	}
	return items
}

// history sets how much of the conversation requests contain.
func (f flow) history(arg string) app.Effect {
	if arg == "" {
		return app.Choose("Conversation history sent to the model", "way", f.historyItems(), f.history)
	}
	mode := session.HistoryMode(arg)
	if arg == "full" {
		mode = session.HistoryFull
	} else if mode != session.HistoryDynamic && mode != session.HistoryStateless {
		return app.Refuse("unknown history mode %q: use full, dynamic or stateless", arg)
	}
	f.app.Session.Next.SetHistoryMode(mode)
	return app.Toast("History: " + arg)
}
