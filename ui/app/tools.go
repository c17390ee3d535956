package app

import (
	"fmt"
	"slices"
	"strings"

	"parley/providers/catalog"
	"parley/providers/llm"
	"parley/session"
	"parley/tools/act"
	"parley/tools/mcp"
	"parley/tools/sanitize"
	"parley/ui/format"
)

// The tools that a model is offered (/tools).

func namesOf(tools []llm.Tool) (names []string) {
	for _, t := range tools {
		names = append(names, t.Name)
	}
	return names
}

func noTools(a *App) string {
	if len(toolRows(a)) == 0 {
		return "No tools: --tools none"
	}
	return ""
}

// toolTitle returns a tool's name as users read it, SERVER:TOOL for one of an MCP server.
func (m MCP) toolTitle(name string) string {
	for _, s := range m.states() {
		if tool, ok := strings.CutPrefix(name, mcp.ToolPrefix(s.Name)); ok {
			return s.Name + ":" + tool
		}
	}
	return name
}

// firstSentence returns the first sentence of what a tool says of itself, for a row of a list.
func firstSentence(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	sentence, _, _ := strings.Cut(line, ". ")
	return strings.TrimSuffix(sentence, ".")
}

// toolRows lists the tools: those that are offered, with what they take, and the others, with why
// they are not.
func toolRows(a *App) (items []Item) {
	all, offered := a.Session.Tools()
	own, kept := a.Session.OwnSettings().Get(), namesOf(offered)
	persona := a.Session.Personas().Current()
	for _, t := range all {
		detail := wordOn
		switch {
		case !own.Offers(t.Name):
			detail = wordOff
		case slices.Contains(kept, t.Name):
		case len(persona.Tools) > 0 && !slices.Contains(persona.Tools, t.Name):
			detail = "not offered: the persona " + persona.Name + " has others"
		case len(kept) == 0:
			detail = "not offered: " + a.Session.Model().Name + " takes no tools from parley"
		default:
			detail = "not offered: the provider searches the web itself"
		}
		detail += fmt.Sprintf(" · %s tokens · %s", format.Tokens(a.Estimate(t.Description)+a.Estimate(string(t.Schema))), firstSentence(t.Description))
		items = append(items, Item{Title: a.MCP.toolTitle(t.Name), Detail: sanitize.Line(detail), Value: t.Name})
	}
	if a.WithheldTools != nil {
		names, why := a.WithheldTools()
		for _, name := range names {
			items = append(items, Item{Title: name, Detail: "not offered: " + why, Value: name, Disabled: true})
		}
	}
	for _, s := range a.MCP.states() {
		if s.Status != mcp.StatusReady {
			items = append(items, Item{Title: s.Name + ":", Detail: sanitize.Line(strings.TrimSuffix("MCP server "+string(s.Status)+" · "+s.Reason, " · ")), Value: s.Name, Disabled: true})
		}
	}
	return items
}

// toolItems lists what /tools takes.
func toolItems(a *App) []Item {
	items := []Item{{Title: wordOn, Detail: "All tools", Value: wordOn}, {Title: wordOff, Detail: "No tools", Value: wordOff}}
	own := a.Session.OwnSettings().Get()
	for _, row := range toolRows(a) {
		if !row.Disabled {
			word := map[bool]string{true: wordOff, false: wordOn}[own.Offers(row.Value)]
			items = append(items, Item{Title: row.Title + " " + word, Detail: row.Detail, Value: row.Title + " " + word})
		}
	}
	return items
}

// switchTools shows the tools, or turns some on or off.
func switchTools(a *App, arg string) Effect {
	words := strings.Fields(arg)
	switch {
	case len(words) == 0:
		return listTools(a, "")
	case len(words) == 1 && (arg == wordOn || arg == wordOff):
		return putTool(a, "*", arg == wordOn)
	}
	name, err := toolNamed(a, words[0])
	switch {
	case err != nil:
		return Failure{Err: err}
	case len(words) == 1:
		return putTool(a, name, !a.Session.OwnSettings().Get().Offers(name))
	case len(words) > 2 || words[1] != wordOn && words[1] != wordOff:
		return Failure{Err: fmt.Errorf("/tools %s: use on or off behind the name", arg)}
	}
	return putTool(a, name, words[1] == wordOn)
}

// listTools shows the tools, first of all the one at; one that is chosen is turned on or off.
func listTools(a *App, at string) Effect {
	rows := toolRows(a)
	for i := range rows {
		rows[i].Current = rows[i].Value == at
	}
	return &List{Title: "Tools that the model is offered", Noun: "tool", Items: rows, Choose: func(i Item, _ string) Effect {
		return Then{putTool(a, i.Value, !a.Session.OwnSettings().Get().Offers(i.Value)), listTools(a, i.Value)}
	}}
}

// toolNamed returns the name of a tool, or with a * that of all tools of an MCP server.
func toolNamed(a *App, name string) (string, error) {
	var titles []string
	for _, row := range toolRows(a) {
		if !row.Disabled && (row.Title == name || row.Value == name) {
			return row.Value, nil
		}
		if !row.Disabled {
			titles = append(titles, row.Title)
		}
	}
	for _, s := range a.MCP.states() {
		if s.Name == strings.TrimSuffix(name, ":") {
			return mcp.ToolPrefix(s.Name) + "*", nil
		}
	}
	if near := catalog.Nearest(name, titles, 1); len(near) > 0 {
		return "", fmt.Errorf("unknown tool %s: did you mean %s?", name, near[0])
	}
	return "", fmt.Errorf("unknown tool %s: /tools shows them", name)
}

func putTool(a *App, name string, on bool) Effect {
	now, err := a.Session.OwnSettings().Change(func(own *session.Settings) error { own.SetTool(name, on); return nil })
	switch {
	case err != nil:
		return Failure{Err: err}
	case now.Changed == "":
		return Toast("No tool changed")
	}
	return Shown{now}
}

// modeItems returns the ways to approve tools.
func modeItems(a *App) []Item {
	var items []Item
	for _, mode := range append(slices.Clone(act.Modes), act.ModeYolo) {
		if !slices.ContainsFunc(items, func(i Item) bool { return i.Value == string(mode) }) {
			items = append(items, Item{Title: string(mode), Detail: modeHelp[mode], Value: string(mode), Current: mode == a.Session.Policy().Mode()})
		}
	}
	return items
}

// mode sets the approval mode; without a name, one from the list.
func (a *App) mode(arg string) Effect {
	p := a.Session.Policy()
	switch {
	case arg == "":
		return &List{Title: "Approval mode", Noun: "mode", Items: modeItems(a), Choose: func(i Item, _ string) Effect { return a.mode(i.Value) }}
	case slices.Contains(act.Modes, act.Mode(arg)), arg == string(act.ModeYolo):
		p.SetMode(act.Mode(arg))
	default:
		return Refuse("unknown approval mode %q: use %s or yolo", arg, JoinComma(act.Modes))
	}
	return Toast("Approval mode: " + ModeHelp(p.Mode()))
}

// nextMode sets the approval mode after the current one.
func nextMode(a *App, _ string) Effect {
	policy := a.Session.Policy()
	policy.SetMode(policy.Mode().Next())
	return Toast("Approval mode: " + ModeHelp(policy.Mode()))
}
