package tools_test

import (
	"slices"
	"strings"
	"testing"

	"parley/providers/llm"
	"parley/session"
	"parley/tools/act"
	"parley/tools/mcp"
	"parley/ui/app"
	"parley/ui/app/flows/tools"
	"parley/ui/app/wording"
	"parley/ui/uitest/apptest"
)

// A toolSet is an act.Set with these definitions only.
type toolSet struct {
	act.Set
	all []llm.Tool
}

func (s toolSet) Tools() []llm.Tool { return slices.Clone(s.all) }
func (s toolSet) Snapshot() act.Set { return s }
func (s toolSet) Only(names ...string) (act.Set, error) {
	s.all = slices.DeleteFunc(s.Tools(), func(t llm.Tool) bool { return !slices.Contains(names, t.Name) })
	return s, nil
}

// servers are MCP servers in these states.
type servers struct {
	mcp.Servers
	states []mcp.State
}

func (s servers) States() []mcp.State { return s.states }

// newApp returns an application whose conversation has a model, a set of tools and MCP servers.
func newApp(t *testing.T, model llm.Endpoint, all []llm.Tool, states ...mcp.State) *app.App {
	return apptest.New(t, tools.Register, func(o *app.Options) {
		o.Session = session.New(session.Options{Model: model, Tools: toolSet{all: all}})
		o.MCP.Servers = func() app.Servers { return servers{states: states} }
	})
}

// rows returns the rows of /tools, or the arguments of it.
func rows(items []app.Item) (rows []string) {
	for _, i := range items {
		row := i.Title + ": " + i.Detail
		if i.Disabled {
			row += " (disabled)"
		}
		rows = append(rows, row)
	}
	return rows
}

// /tools says of each tool whether the model is offered it, or why not.
func TestReasons(t *testing.T) {
	search := llm.Tool{Name: act.SearchName, Description: "Search. Or not."}
	for _, tt := range []struct {
		name  string
		model llm.Endpoint
		tool  llm.Tool
		web   bool
		want  string
	}{
		{"one sentence", llm.Endpoint{Name: "fake/m"}, llm.Tool{Name: "a", Description: " Does it.\nAnd more.\n"}, false, "a: on · 5 tokens · Does it"},
		{"two sentences", llm.Endpoint{Name: "fake/m"}, llm.Tool{Name: "a", Description: "Does 1.5 things. And more."}, false, "a: on · 6 tokens · Does 1.5 things"},
		{"schema", llm.Endpoint{Name: "fake/m"}, llm.Tool{Name: "a", Schema: []byte(strings.Repeat(" ", 4000))}, false, "a: on · 1.0k tokens · "},
		{"asks itself", llm.Endpoint{Name: "fake/m"}, llm.Tool{Name: "a", NotFor: "fake/m"}, false, "a: not offered: it asks this model · 0 tokens · "},
		{"asks another", llm.Endpoint{Name: "fake/m"}, llm.Tool{Name: "a", NotFor: "fake/n"}, false, "a: on · 0 tokens · "},
		{"small window", llm.Endpoint{Name: "fake/m", Context: 99}, llm.Tool{Name: "a", MinContext: 100}, false, "a: not offered: the context window is too small · 0 tokens · "},
		{"no tools", llm.Endpoint{Name: "fake/m", Strategy: "none"}, llm.Tool{Name: "a"}, false, "a: not offered: fake/m takes no tools from parley · 0 tokens · "},
		{"web search", llm.Endpoint{Name: "fake/m", Web: true}, search, true, act.SearchName + ": not offered: the provider searches the web itself · 3 tokens · Search"},
		{"no web search", llm.Endpoint{Name: "fake/m", Web: true}, search, false, act.SearchName + ": on · 3 tokens · Search"},
	} {
		a := newApp(t, tt.model, []llm.Tool{tt.tool, {Name: "other"}})
		if _, err := a.Session.OwnSettings.Change(func(own *session.Settings) error { own.SetWeb(tt.web); return nil }); err != nil {
			t.Fatal(err)
		}
		if got := rows(apptest.See(apptest.Do(t, a, "/tools")).List.Items)[0]; got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

// Tools of MCP servers have the names of their servers. Servers that are not ready are named with the reason.
func TestToolsOfServers(t *testing.T) {
	all := []llm.Tool{{Name: "read"}, {Name: mcp.ToolPrefix("git") + "log"}, {Name: mcp.ToolPrefix("git") + "blame"}}
	a := newApp(t, llm.Endpoint{Name: "fake/m"}, all, mcp.State{Name: "git", Status: mcp.StatusReady}, mcp.State{Name: "new", Status: mcp.StatusStarting}, mcp.State{Name: "bad", Status: mcp.StatusFailed, Reason: "no\nprogram"})
	list := apptest.See(apptest.Do(t, a, "/tools")).List
	want := []string{
		"read: on · 0 tokens · ", "git:log: on · 0 tokens · ", "git:blame: on · 0 tokens · ",
		"new:: MCP server " + string(mcp.StatusStarting) + " (disabled)", "bad:: MCP server " + string(mcp.StatusFailed) + " · no␊program (disabled)",
	}
	if got := rows(list.Items); !slices.Equal(got, want) {
		t.Errorf("/tools has %q, want %q", got, want)
	}
	for _, step := range []struct{ line, want, offered string }{
		{"/tools git:log off", "Set: tool " + all[1].Name + " off", "read git:blame"},
		{"/tools git:log", "Set: tool " + all[1].Name + " on", "read git:log git:blame"},
		{"/tools git off", "Set: tool " + mcp.ToolPrefix("git") + "* off", "read"},
		{"/tools git: on", "Set: tool " + mcp.ToolPrefix("git") + "* on", "read git:log git:blame"},
		{"/tools " + all[2].Name + " off", "Set: tool " + all[2].Name + " off", "read git:log"},
		{"/tools read off now", "/tools read off now: use on or off after the name", "read git:log"},
		{"/tools gi:log off", "unknown tool gi:log: did you mean git:log?", "read git:log"},
	} {
		seen := apptest.See(apptest.Do(t, a, step.line))
		got := seen.Toast
		if seen.Err != nil {
			got = seen.Err.Error()
		}
		if seen.Event != nil {
			got = wording.Event(seen.Event.(session.Settings))
		}
		_, now := a.Session.Next.Tools()
		var names []string
		for _, tool := range now {
			names = append(names, strings.Replace(tool.Name, mcp.ToolPrefix("git"), "git:", 1))
		}
		if offered := strings.Join(names, " "); got != step.want || offered != step.offered {
			t.Errorf("%s: %q with %s, want %q with %s", step.line, got, offered, step.want, step.offered)
		}
	}
	want = []string{"on: All tools", "off: No tools", "read off: on · 0 tokens · ", "git:log off: on · 0 tokens · ", "git:blame on: off · 0 tokens · "}
	if got := rows(a.Command("tools").Args()); !slices.Equal(got, want) {
		t.Errorf("arguments %q, want %q", got, want)
	}
	again := apptest.See(list.Choose("read")) // turns it off, and shows the list again
	if again.List == nil || !again.List.Items[0].Current || again.List.Items[1].Current || !strings.HasPrefix(again.List.Items[0].Detail, "off") || again.Event == nil {
		t.Errorf("a choice leads to %+v", again)
	}
	if why := a.Command("tools").Unavailable(); why != "" {
		t.Errorf("/tools: %q", why)
	}
	if why := newApp(t, llm.Endpoint{}, nil).Command("tools").Unavailable(); why != "No tools: --tools none" {
		t.Errorf("without tools: %q", why)
	}
}
