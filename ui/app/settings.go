package app

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"parley/providers/llm"
	"parley/providers/similar"
	"parley/session"
	"parley/tools/sanitize"
	"parley/ui/format"
)

// wordDefault takes a setting back, as off does.
const wordDefault = "default"

// settingCommands lists the settings that have commands of their own.
var settingCommands = []string{"effort", "web", "system"}

// settingName returns the name under which a conversation keeps the setting that a user calls
// name: one of llm.Adjustable, or a field of requests. What looks like a misspelled setting is an
// error which says how it is sent all the same.
func settingName(name string) (string, error) {
	if _, ok := llm.FindSetting(name); ok {
		return name, nil
	}
	field := llm.OptionField(name)
	if err := llm.CheckOption(field); err != nil {
		return "", err
	}
	meant := llm.SettingFor(field)
	if outer, _, dotted := strings.Cut(field, "."); meant == "" && !dotted && !slices.Contains(llm.CommonOptions, outer) {
		known := slices.Clone(settingCommands)
		for _, s := range llm.Adjustable {
			known = append(known, s.Name)
		}
		slices.Sort(known)
		meant = similar.Name(field, known)
	}
	switch {
	case meant == "":
		return field, nil
	case name != field:
		return name, nil
	}
	return "", fmt.Errorf("%s: unknown setting, did you mean %s? %s%s sends the field to the provider as typed", name, meant, llm.RawFieldPrefix, name)
}

// isCommand reports whether name is a command, and no setting or field of requests, also none that
// is refused.
func (a *App) isCommand(name string) bool {
	field := llm.OptionField(name)
	return field == name && llm.SettingFor(field) == "" && llm.CheckOption(field) == nil && !slices.Contains(llm.CommonOptions, field) &&
		slices.ContainsFunc(a.Commands, func(c Command) bool { return c.Named(name) })
}

// ParseSetting reads "NAME=VALUE" as session.Settings.Set takes it. The values default and off, and
// none, take the setting back.
func ParseSetting(text string) (name, value string, err error) {
	name, value, ok := strings.Cut(text, "=")
	name, value = strings.TrimSpace(name), strings.TrimSpace(value)
	if !ok {
		return "", "", fmt.Errorf("%s: give a value, as in %s=VALUE", name, name)
	}
	if slices.Contains(settingCommands, name) {
		return "", "", fmt.Errorf("%s: use --%s", name, name)
	}
	if name, err = settingName(name); err != nil {
		return "", "", err
	}
	if value == wordDefault || value == wordOff {
		value = ""
	}
	if known, ok := llm.FindSetting(name); ok && value != "" {
		err = known.Set(new(llm.Settings), value)
	}
	return name, value, err
}

// changeSetting shows the settings, or changes the one that is named.
func changeSetting(a *App, arg string) Effect {
	at := strings.IndexAny(arg, " =")
	if at < 0 {
		at = len(arg)
	}
	name, value := arg[:at], strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(arg[at:]), "="))
	if name == "" {
		return &List{Title: "Settings of this conversation", Noun: "setting", Items: settingRows(a), Choose: func(i Item, _ string) Effect { return changeSetting(a, i.Value) }}
	}
	if slices.Contains(settingCommands, name) {
		if name == "web" && value == wordDefault {
			value = wordOff
		}
		return a.Command(name).Run(value)
	}
	if a.isCommand(name) {
		return Refuse("%s is not a setting: use /%s", name, strings.TrimSpace(name+" "+value))
	}
	name, err := settingName(name)
	if err != nil {
		return Failure{Err: err}
	}
	if value == "" {
		return askSetting(a, name)
	}
	e, err := putSetting(a, name, value)
	if err != nil {
		return Failure{Err: err}
	}
	return e
}

// putSetting changes a setting of the conversation.
func putSetting(a *App, name, value string) (Effect, error) {
	if value == wordDefault || value == wordOff {
		if _, set := a.Session.OwnSettings().Get().Values[name]; !set {
			return Toast(name + " is not set in this conversation"), nil
		}
		value = ""
	}
	now, err := a.Session.OwnSettings().Change(func(own *session.Settings) error { return own.Set(name, value) })
	switch {
	case err != nil:
		return nil, err
	case now.Changed == "":
		return Toast(name + " is set to that already"), nil
	}
	return Shown{now}, nil
}

// askSetting asks for the value of a setting.
func askSetting(a *App, name string) Effect {
	known, _ := llm.FindSetting(name)
	now := a.Session.OwnSettings().Get().Values[name]
	if known.Words != nil {
		list := &List{Title: name, Noun: "value", Choose: func(i Item, _ string) Effect { return changeSetting(a, name+" "+i.Value) }}
		for _, word := range append([]string{wordDefault}, known.Words...) {
			list.Items = append(list.Items, Item{Title: word, Value: word, Current: word == cmp.Or(now, wordDefault)})
		}
		return list
	}
	takes := cmp.Or(known.Takes, "JSON, or a text")
	return &Secret{Title: name, Text: format.Capital(takes) + "; default takes it back", Visible: true, Value: now, Submit: func(_ context.Context, line string) (func() Effect, error) {
		e, err := putSetting(a, name, strings.TrimSpace(line))
		return func() Effect { return e }, err
	}}
}

// settingRows lists the settings with their values and where each comes from, those that are set
// first.
func settingRows(a *App) []Item {
	var items, unset []Item
	row := func(name, value, source, takes string) {
		if value == "" {
			unset = append(unset, Item{Title: name, Detail: strings.TrimSuffix("provider default · "+takes, " · "), Value: name})
			return
		}
		items = append(items, Item{Title: name, Detail: sanitize.Line(value + " · " + source), Value: name})
	}
	values := valuesOf(a)
	for _, known := range llm.Adjustable {
		v := values[known.Name]
		row(known.Name, v.Value, v.Source, known.Takes)
		delete(values, known.Name)
	}
	effort := values["effort"]
	if own := a.Session.Effort(); own != "" {
		effort = ConfiguredSetting{Value: string(own), Source: inConversation}
	}
	row("effort", effort.Value, effort.Source, "/effort")
	delete(values, "effort")
	switch on := a.Session.WebSearch(); {
	case a.Session.OwnSettings().Get().Web != nil:
		row("web", map[bool]string{true: wordOn, false: wordOff}[on], inConversation, "")
	case on:
		row("web", wordOn, "config.toml", "")
	default:
		unset = append(unset, Item{Title: "web", Detail: wordOff + " · /web", Value: "web"})
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		row(name, values[name].Value, values[name].Source, "")
	}
	return slices.Concat(items, unset)
}

const inConversation = "this conversation"

// valuesOf returns the settings that are set, by name.
func valuesOf(a *App) map[string]ConfiguredSetting {
	values := map[string]ConfiguredSetting{}
	if a.Configured != nil {
		for _, c := range a.Configured(a.Session.Model().Name) {
			values[c.Name] = c
		}
	}
	own := a.Session.OwnSettings().Get().Values
	for name, value := range own {
		values[name] = ConfiguredSetting{name, value, inConversation}
	}
	return values
}

// settingItems lists what /set takes.
func settingItems(a *App) []Item {
	items := settingRows(a)
	for _, known := range llm.Adjustable {
		for _, word := range known.Words {
			items = append(items, Item{Title: known.Name + " " + word, Value: known.Name + " " + word})
		}
	}
	for name := range maps.Keys(a.Session.OwnSettings().Get().Values) {
		items = append(items, Item{Title: name + " " + wordDefault, Detail: "Take it back", Value: name + " " + wordDefault})
	}
	return items
}

// SettingsText says what was changed of a conversation's settings; "" if nothing was.
func SettingsText(s session.Settings) string {
	return "Set: " + sanitize.Line(s.Changed)
}

// wholeSystem returns the system prompt as it is sent, with own in the place of the configured one;
// "" is that.
func wholeSystem(a *App, own string) string {
	if a.System == nil {
		return own
	}
	return a.System(own)
}

func systemItems(a *App) []Item {
	items := []Item{{Title: "edit", Detail: "Edit the system prompt", Value: "edit"}}
	if a.Session.Personas().Current().Name != "" {
		items = append(items, Item{Title: wordOff, Detail: "Back to the configured one", Value: wordOff})
	}
	return items
}

// setSystem shows the system prompt, or replaces it for this conversation: that is a persona
// without a file.
func setSystem(a *App, text string) Effect {
	own, _ := ownSystem(a)
	switch {
	case text == "":
		return &Confirm{Text: systemText(a), Yes: "Edit", No: "Close", Harmless: true, Accept: func() Effect { return setSystem(a, "edit") }}
	case text == "edit":
		return DraftCommand(editSystem + own)
	case a.Busy():
		return Then{DraftCommand(editSystem + text), Toast(BusyText(a))}
	case text == wordOff || text == wordDefault:
		if a.Session.Personas().Current().Name == "" {
			return Toast("The system prompt is the configured one")
		}
		return usePersona(a, noPersona)
	}
	is := session.Persona{Name: session.TypedPersona, System: text}
	if err := a.Session.Personas().Set(is, wholeSystem(a, text)); err != nil {
		return Failure{Err: fmt.Errorf("system prompt not set: it may have %d KB", session.MaxPersona>>10), Line: editSystem + text}
	}
	return Shown{is}
}

// ownSystem returns the system prompt without what the folder and skills add, and where it comes
// from.
func ownSystem(a *App) (text, source string) {
	switch p := a.Session.Personas().Current(); {
	case p.Name == session.TypedPersona:
		return p.System, inConversation
	case p.Name != "":
		return p.System, "persona " + p.Name
	case a.OwnSystem != nil:
		return a.OwnSystem()
	}
	return a.Session.System(), "configuration"
}

// systemText returns the system prompt for reading, and names the texts sent after it.
func systemText(a *App) string {
	text, source := ownSystem(a)
	about := fmt.Sprintf("System prompt: %s, %s tokens", source, format.Tokens(a.Estimate(text)))
	var added []string
	for i, f := range a.Context() {
		if i > 0 && f.Tokens > 0 && !strings.HasPrefix(f.Name, toolFact) {
			added = append(added, f.Name)
		}
	}
	if len(added) > 0 {
		about += "\nSent behind it: " + strings.Join(added, ", ")
	}
	return sanitize.Text(about + "\n\n" + text)
}

// PersonaText says which persona holds from here on.
func PersonaText(p session.Persona) string {
	switch {
	case p.Name == session.TypedPersona:
		return "System prompt: " + FirstLine(p.System)
	case p.Name != "":
		return "Persona: " + p.Name
	case p.Ended == session.TypedPersona:
		return "System prompt: as configured"
	}
	return "Persona off"
}

// toolFact begins the names of facts about tools.
const toolFact = "tool "

// contextItems returns what every request tells the model, with a persona in the place of
// parley's own system prompt, without tools that are off, and with the settings.
func contextItems(a *App, facts []ContextItem) []ContextItem {
	if p := a.Session.Personas().Current(); p.Name != "" && len(facts) > 0 {
		name := "persona " + p.Name
		note := ""
		if p.Name == session.TypedPersona {
			name, note = "system prompt", inConversation
		}
		facts[0] = ContextItem{Name: name, Tokens: a.Estimate(p.System), Note: note}
	}
	all, offered := a.Session.Tools()
	kept := namesOf(offered)
	facts = slices.DeleteFunc(facts, func(f ContextItem) bool {
		name, isTool := strings.CutPrefix(f.Name, toolFact)
		return isTool && !slices.Contains(kept, name)
	})
	if off := len(all) - len(offered); off > 0 {
		facts = append(facts, ContextItem{Name: "tools", Note: fmt.Sprintf("%d of %d not offered · /tools shows them", off, len(all))})
	}
	var words []string
	values := valuesOf(a)
	for _, name := range slices.Sorted(maps.Keys(values)) {
		words = append(words, name+" "+values[name].Value)
	}
	if len(words) > 0 {
		facts = append(facts, ContextItem{Name: "settings", Note: sanitize.Line(strings.Join(words, " · "))})
	}
	return facts
}

// webItems returns whether the web may be searched.
func webItems(a *App) []Item {
	web := a.Session.WebSearch()
	note := ""
	if !a.Session.Model().Web {
		note = a.Session.Model().Name + " has none"
	}
	return []Item{{Title: wordOn, Detail: note, Value: wordOn, Current: web}, {Title: wordOff, Value: wordOff, Current: !web}}
}

// setWeb says whether the provider may search the web for later answers.
func setWeb(a *App, arg string) Effect {
	switch arg {
	case "":
		return &List{Title: "Web search", Noun: "setting", Items: webItems(a), Choose: func(i Item, _ string) Effect { return setWeb(a, i.Value) }}
	case wordOn, wordOff:
		if _, err := a.Session.OwnSettings().Change(func(own *session.Settings) error { own.SetWeb(arg == wordOn); return nil }); err != nil {
			return Failure{Err: err}
		}
	default:
		return Refuse("unknown setting %q: use on or off", arg)
	}
	if model := a.Session.Model(); arg == wordOn && !model.Web {
		return Toast("Web search: on, but " + model.Name + " has none")
	}
	return Toast("Web search: " + arg)
}

func namesOf(tools []llm.Tool) (names []string) {
	for _, t := range tools {
		names = append(names, t.Name)
	}
	return names
}
