// Package tools lets the user turn tools on and off that a model is offered.
package tools

import (
	"fmt"
	"slices"
	"strings"

	"parley/ui/app"

	"parley/providers/llm"
	"parley/session"
	"parley/tools/mcp"
	"parley/tools/sanitize"
	"parley/ui/format"
)

// Words that turn tools on and off.
const (
	on  = "on"
	off = "off"
)

// Register adds the flow to what front ends have.
func Register(o *app.Options) {
	o.Commands = append(o.Commands,
		app.Command{Name: "tools", Group: app.Messages, Arg: "NAME on|off", Help: "Tools that the model is offered: on, off", Unavailable: unavailable, Args: arguments, Run: switchTools},
	)
}

func unavailable(a *app.App) string {
	if len(rows(a)) == 0 {
		return "No tools: --tools none"
	}
	return ""
}

// states returns how the MCP servers are.
func states(a *app.App) []mcp.State {
	servers, _ := a.Servers().(*mcp.Servers)
	return servers.States()
}

// title returns a tool's name as users read it, SERVER:TOOL for one of an MCP server.
func title(servers []mcp.State, name string) string {
	for _, s := range servers {
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

// rows lists the tools: those that are offered, with what they take, and the others, with why
// they are not.
func rows(a *app.App) (items []app.Item) {
	all, offered := a.Session.Tools()
	own, servers := a.Session.OwnSettings().Get(), states(a)
	persona := a.Session.Personas().Current()
	for _, t := range all {
		detail := on
		switch {
		case !own.Offers(t.Name):
			detail = off
		case slices.ContainsFunc(offered, func(o llm.Tool) bool { return o.Name == t.Name }):
		case len(persona.Tools) > 0 && !slices.Contains(persona.Tools, t.Name):
			detail = "not offered: the persona " + persona.Name + " has others"
		case len(offered) == 0:
			detail = "not offered: " + a.Session.Model().Name + " takes no tools from parley"
		default:
			detail = "not offered: the provider searches the web itself"
		}
		detail += fmt.Sprintf(" · %s tokens · %s", format.Tokens(a.Estimate(t.Description)+a.Estimate(string(t.Schema))), firstSentence(t.Description))
		items = append(items, app.Item{Title: title(servers, t.Name), Detail: sanitize.Line(detail), Value: t.Name})
	}
	if a.WithheldTools != nil {
		names, why := a.WithheldTools()
		for _, name := range names {
			items = append(items, app.Item{Title: name, Detail: "not offered: " + why, Value: name, Disabled: true})
		}
	}
	for _, s := range servers {
		if s.Status != mcp.StatusReady {
			items = append(items, app.Item{Title: s.Name + ":", Detail: sanitize.Line(strings.TrimSuffix("MCP server "+string(s.Status)+" · "+s.Reason, " · ")), Value: s.Name, Disabled: true})
		}
	}
	return items
}

// arguments lists what /tools takes.
func arguments(a *app.App) []app.Item {
	items := []app.Item{{Title: on, Detail: "All tools", Value: on}, {Title: off, Detail: "No tools", Value: off}}
	own := a.Session.OwnSettings().Get()
	for _, row := range rows(a) {
		if !row.Disabled {
			word := map[bool]string{true: off, false: on}[own.Offers(row.Value)]
			items = append(items, app.Item{Title: row.Title + " " + word, Detail: row.Detail, Value: row.Title + " " + word})
		}
	}
	return items
}

// switchTools shows the tools, or turns some on or off.
func switchTools(a *app.App, arg string) app.Effect {
	words := strings.Fields(arg)
	switch {
	case len(words) == 0:
		return list(a, "")
	case len(words) == 1 && (arg == on || arg == off):
		return put(a, "*", arg == on)
	}
	name, err := named(a, words[0])
	switch {
	case err != nil:
		return app.Failure{Err: err}
	case len(words) == 1:
		return put(a, name, !a.Session.OwnSettings().Get().Offers(name))
	case len(words) > 2 || words[1] != on && words[1] != off:
		return app.Failure{Err: fmt.Errorf("/tools %s: use on or off behind the name", arg)}
	}
	return put(a, name, words[1] == on)
}

// list shows the tools, first of all the one at; one that is chosen is turned on or off.
func list(a *app.App, at string) app.Effect {
	rows := rows(a)
	for i := range rows {
		rows[i].Current = rows[i].Value == at
	}
	return &app.List{Title: "Tools that the model is offered", Noun: "tool", Items: rows, Choose: func(i app.Item, _ string) app.Effect {
		return app.Then{put(a, i.Value, !a.Session.OwnSettings().Get().Offers(i.Value)), list(a, i.Value)}
	}}
}

// named returns the name of a tool, or with a * that of all tools of an MCP server.
func named(a *app.App, name string) (string, error) {
	var titles []string
	for _, row := range rows(a) {
		if !row.Disabled && (row.Title == name || row.Value == name) {
			return row.Value, nil
		}
		if !row.Disabled {
			titles = append(titles, row.Title)
		}
	}
	for _, s := range states(a) {
		if s.Name == strings.TrimSuffix(name, ":") {
			return mcp.ToolPrefix(s.Name) + "*", nil
		}
	}
	if near := app.NearestNames(name, titles, 1); len(near) > 0 {
		return "", fmt.Errorf("unknown tool %s: did you mean %s?", name, near[0])
	}
	return "", fmt.Errorf("unknown tool %s: /tools shows them", name)
}

func put(a *app.App, name string, offer bool) app.Effect {
	now, err := a.Session.OwnSettings().Change(func(own *session.Settings) error { own.SetTool(name, offer); return nil })
	switch {
	case err != nil:
		return app.Failure{Err: err}
	case now.Changed == "":
		return app.Toast("No tool changed")
	}
	return app.Shown{Event: now}
}
