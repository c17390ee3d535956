package tui

import (
	"context"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"parley/providers/llm"
	"parley/tools/mcp"
	"parley/ui/app"
	"parley/ui/format"
	"parley/ui/tui/dialog"
)

// What came of MCP servers.
type (
	serverMsg struct{ name string } // one of them changed
	promptMsg struct {
		text string
		err  error
	}
	resourceMsg struct {
		parts []llm.Part
		err   error
	}
)

// serverNews tells what a person has to know or do about a server, once.
func (m *Model) serverNews(msg serverMsg) tea.Cmd {
	servers := m.app.Servers()
	if servers == nil {
		return nil
	}
	for _, s := range servers.States() {
		if s.Name != msg.name {
			continue
		}
		if m.servers[s.Name] == s.Status {
			if line := app.ServerProgress(s); line != "" {
				return m.say("MCP server " + s.Name + ": " + line)
			}
			continue
		}
		if m.servers == nil {
			m.servers = map[string]mcp.Status{}
		}
		m.servers[s.Name] = s.Status
		if news := app.ServerNews(s); news != "" {
			m.show(llm.Notice{Text: news}) // of this run, not of the conversation
		}
	}
	return nil
}

// mcp lists the servers.
func (m *Model) mcp(arg string) tea.Cmd {
	if arg != "" {
		return m.server(arg)
	}
	var items []dialog.Item
	for _, s := range m.app.Servers().States() {
		about := []string{string(s.Status)}
		if allowed := s.Allowed.String(); allowed != "" { // before what may be long
			about = append(about, allowed)
		}
		switch line := app.ServerProgress(s); {
		case line != "":
			about = append(about, line)
		case s.Reason != "":
			about = append(about, s.Reason)
		default:
			about = append(about, format.Plural(len(s.Tools), "tool"), format.Plural(s.Prompts, "prompt"), format.Plural(s.Resources, "resource"))
		}
		detail := strings.Join(append(about, s.Location), " · ")
		items = append(items, dialog.Item{Title: s.Name, Detail: detail, Value: s.Name, Disabled: s.Status == mcp.StatusDisabled})
	}
	return m.open(dialog.Pick("mcp", "MCP servers", items, m.theme))
}

// server shows one, with everything the model would be told of its tools, and
// asks what to do with it.
func (m *Model) server(name string) tea.Cmd {
	servers := m.app.Servers()
	if servers == nil {
		return nil
	}
	for _, s := range servers.States() {
		if s.Name != name {
			continue
		}
		m.asked = s
		text, unseen := app.AboutServer(s)
		yes, no := "Restart, stop, allow…", "Close"
		if unseen {
			yes, no = "Enable these tools", "Not now"
		}
		return m.confirm(!unseen, dialog.Confirm("mcp", text, yes, no, m.theme))
	}
	return nil
}

// serverChoices lists what can be done about the server that was shown.
func (m *Model) serverChoices() tea.Cmd {
	var items []dialog.Item
	for _, c := range app.ServerChoices(m.asked) {
		items = append(items, dialog.Item{Title: c.Name, Detail: c.Detail, Value: c.Name})
	}
	return m.open(dialog.Pick("mcp-do", "MCP server "+m.asked.Name, items, m.theme))
}

// serverDo does what was picked.
func (m *Model) serverDo(name string) tea.Cmd {
	servers, s := m.app.Servers(), m.asked
	for _, c := range app.ServerChoices(s) {
		if c.Name == name && servers != nil {
			return func() tea.Msg { return didMsg{s.Name + ": " + c.Name, c.Do(servers)} }
		}
	}
	return nil
}

// serverDecided does what the person said about the server that was shown.
func (m *Model) serverDecided() tea.Cmd {
	servers, s := m.app.Servers(), m.asked
	if servers == nil {
		return nil
	}
	if s.Status != mcp.StatusNew && s.Status != mcp.StatusChanged {
		return m.serverChoices()
	}
	policy := m.app.Session.Policy()
	return func() tea.Msg {
		text, err := app.AgreeServer(servers, s, policy)
		return didMsg{text, err}
	}
}

// promptItems are what servers have written for people to send.
func (m *Model) promptItems() []dialog.Item {
	var items []dialog.Item
	servers := m.app.Servers()
	if servers == nil {
		return nil
	}
	for _, p := range servers.Prompts() {
		var args []string
		for _, a := range p.Arguments {
			args = append(args, a.Name)
		}
		items = append(items, dialog.Item{Title: p.Server + ":" + p.Name, Detail: strings.TrimSpace(p.Description + " " + strings.Join(args, " ")), Value: p.Server + ":" + p.Name})
	}
	return items
}

// prompted lists prompts, or fetches the one that is named.
func (m *Model) prompted(arg string) tea.Cmd {
	if arg != "" {
		return m.prompt(arg)
	}
	return m.open(dialog.Commands("prompt", "Prompts", m.promptItems(), nil, m.theme))
}

// prompt fetches a server's prompt into the composer, where it can be read
// before it is sent. Arguments are name=value, or in their order.
func (m *Model) prompt(line string) tea.Cmd {
	name, rest, _ := strings.Cut(line, " ")
	server, prompt, _ := strings.Cut(name, ":")
	servers := m.app.Servers()
	args := map[string]string{}
	for _, p := range servers.Prompts() {
		if p.Server != server || p.Name != prompt {
			continue
		}
		words := strings.Fields(rest)
		for i, a := range p.Arguments {
			if i == len(p.Arguments)-1 && len(words) > i { // the last one takes the rest
				args[a.Name] = strings.Join(words[i:], " ")
			} else if i < len(words) {
				args[a.Name] = words[i]
			}
		}
	}
	return func() tea.Msg {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		messages, err := servers.GetPrompt(ctx, server, prompt, args)
		var texts []string
		for _, msg := range messages {
			texts = append(texts, msg.Text())
		}
		return promptMsg{strings.Join(texts, "\n\n"), err}
	}
}

// resources lists what servers have to attach.
func (m *Model) resources(string) tea.Cmd {
	var items []dialog.Item
	for _, r := range m.app.Servers().Resources() {
		items = append(items, dialog.Item{Title: r.Server + ":" + r.Name, Detail: strings.TrimSpace(r.URI + " " + r.Description), Value: r.Server + " " + r.URI})
	}
	return m.open(dialog.Pick("resource", "Attach", items, m.theme))
}

// resource attaches one.
func (m *Model) resource(value string) tea.Cmd {
	server, uri, _ := strings.Cut(value, " ")
	servers := m.app.Servers()
	return func() tea.Msg {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		parts, err := servers.ReadResource(ctx, server, uri)
		for i := range parts {
			if parts[i].Name == "" {
				parts[i].Name = uri
			}
		}
		return resourceMsg{parts, err}
	}
}
