// Package tools lets the user turn tools on and off.
package tools

import (
	"fmt"
	"slices"
	"strings"

	"parley/ui/app"

	"parley/providers/llm"
	"parley/providers/similar"
	"parley/session"
	"parley/tools/mcp"
	"parley/tools/sanitize"
	"parley/ui/format"
)

// Arguments that turn tools on and off.
const (
	on  = "on"
	off = "off"
)

// Register adds the flow to a.
func Register(a *app.App) {
	f := flow{a}
	a.Commands = append(a.Commands,
		app.Command{Name: "tools", Group: app.Messages, Arg: "NAME on|off", Help: "Turn tools on or off", Unavailable: f.unavailable, Args: f.arguments, Run: f.switchTools},
	)
}

// A flow turns tools of the open conversation on and off.
type flow struct{ app *app.App }

func (f flow) unavailable() string {
	if len(f.rows()) == 0 {
		return "No tools: --tools none"
	}
	return ""
}

// states returns the states of the MCP servers; nil if there are none.
func (f flow) states() []mcp.State {
	if servers, ok := f.app.MCP.Servers().(mcp.Servers); ok {
		return servers.States()
	}
	return nil
}

// title returns a tool's name for users; SERVER:TOOL for a tool of an MCP server.
func title(servers []mcp.State, name string) string {
	for _, s := range servers {
		if tool, ok := strings.CutPrefix(name, mcp.ToolPrefix(s.Name)); ok {
			return s.Name + ":" + tool
		}
	}
	return name
}

// firstSentence returns the first sentence of a tool's description, for a row of a list.
func firstSentence(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	sentence, _, _ := strings.Cut(line, ". ")
	return strings.TrimSuffix(sentence, ".")
}

// rows lists the tools with their sizes and, for tools that are not offered, the reason.
func (f flow) rows() (items []app.Item) {
	all, offered := f.app.Session.Next.Tools()
	own, servers := f.app.Session.OwnSettings.Get(), f.states()
	persona := f.app.Session.Personas.Current()
	for _, t := range all {
		detail := on
		switch {
		case !own.Offers(t.Name):
			detail = off
		case slices.ContainsFunc(offered, func(o llm.Tool) bool { return o.Name == t.Name }):
		case len(persona.Tools) > 0 && !slices.Contains(persona.Tools, t.Name):
			detail = "not offered: the persona " + persona.Name + " has others"
		case t.NotFor == f.app.Session.Model().Name:
			detail = "not offered: it asks this model"
		case !t.Suits(f.app.Session.Model()):
			detail = "not offered: the context window is too small"
		case len(offered) == 0:
			detail = "not offered: " + f.app.Session.Model().Name + " takes no tools from parley"
		default:
			detail = "not offered: the provider searches the web itself"
		}
		detail += fmt.Sprintf(" · %s tokens · %s", format.Tokens(f.app.Estimate(t.Description)+f.app.Estimate(string(t.Schema))), firstSentence(t.Description))
		items = append(items, app.Item{Title: title(servers, t.Name), Detail: sanitize.Line(detail), Value: t.Name})
	}
	if f.app.Models.WithheldTools != nil {
		names, why := f.app.Models.WithheldTools()
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

// arguments lists the arguments of /tools.
func (f flow) arguments() []app.Item {
	items := []app.Item{{Title: on, Detail: "All tools", Value: on}, {Title: off, Detail: "No tools", Value: off}}
	own := f.app.Session.OwnSettings.Get()
	for _, row := range f.rows() {
		if !row.Disabled {
			word := map[bool]string{true: off, false: on}[own.Offers(row.Value)]
			items = append(items, app.Item{Title: row.Title + " " + word, Detail: row.Detail, Value: row.Title + " " + word})
		}
	}
	return items
}

// switchTools lists the tools, or turns some on or off.
func (f flow) switchTools(arg string) app.Effect {
	words := strings.Fields(arg)
	switch {
	case len(words) == 0:
		return f.list("")
	case len(words) == 1 && (arg == on || arg == off):
		return f.put("*", arg == on)
	}
	name, err := f.named(words[0])
	switch {
	case err != nil:
		return app.Fail(err)
	case len(words) == 1:
		return f.put(name, !f.app.Session.OwnSettings.Get().Offers(name))
	case len(words) > 2 || words[1] != on && words[1] != off:
		return app.Refuse("/tools %s: use on or off after the name", arg)
	}
	return f.put(name, words[1] == on)
}

// list lists the tools with the row at selected, and toggles the chosen one.
func (f flow) list(at string) app.Effect {
	rows := f.rows()
	for i := range rows {
		rows[i].Current = rows[i].Value == at
	}
	return &app.List{Title: "Tools that the model is offered", Noun: "tool", Items: rows, Choose: func(name string) app.Effect {
		return app.Then{f.put(name, !f.app.Session.OwnSettings.Get().Offers(name)), f.list(name)}
	}}
}

// named returns the internal name of a tool; for all tools of an MCP server, a pattern with *.
func (f flow) named(name string) (string, error) {
	var titles []string
	for _, row := range f.rows() {
		if !row.Disabled && (row.Title == name || row.Value == name) {
			return row.Value, nil
		}
		if !row.Disabled {
			titles = append(titles, row.Title)
		}
	}
	for _, s := range f.states() {
		if s.Name == strings.TrimSuffix(name, ":") {
			return mcp.ToolPrefix(s.Name) + "*", nil
		}
	}
	if near := similar.Name(name, titles); near != "" {
		return "", fmt.Errorf("unknown tool %s: did you mean %s?", name, near)
	}
	return "", fmt.Errorf("unknown tool %s: /tools shows them", name)
}

func (f flow) put(name string, offer bool) app.Effect {
	now, err := f.app.Session.OwnSettings.Change(func(own *session.Settings) error { own.SetTool(name, offer); return nil })
	switch {
	case err != nil:
		return app.Fail(err)
	case now.Changed == "":
		return app.Toast("No tool changed")
	}
	return app.Shown{Event: now}
}
