package ui

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"parley/providers/llm"
	"parley/tools"
	"parley/tools/mcp"
	"parley/ui/dialog"
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
	servers := m.o.Servers()
	if servers == nil {
		return nil
	}
	for _, s := range servers.State() {
		if s.Name != msg.name {
			continue
		}
		if m.servers[s.Name] == s.Status {
			if line := progressOf(s); line != "" {
				return m.say("MCP server " + s.Name + ": " + line)
			}
			continue
		}
		if m.servers == nil {
			m.servers = map[string]mcp.Status{}
		}
		m.servers[s.Name] = s.Status
		if news := ServerNews(s); news != "" {
			m.show(llm.Notice{Text: news}) // of this run, not of the conversation
		}
	}
	return nil
}

// ServerNews is what a person has to know or do about a server; "" for nothing.
func ServerNews(s mcp.State) string {
	switch s.Status {
	case mcp.New:
		return fmt.Sprintf("MCP server %s offers %s: /mcp shows what, and asks whether the model may have it", s.Name, several(len(s.Tools), "tool"))
	case mcp.Changed:
		return fmt.Sprintf("MCP server %s changed its tools: they are withdrawn until you have seen them in /mcp", s.Name)
	case mcp.Failed:
		hint := ""
		if s.Refused.String() != "" {
			hint = ": /mcp shows what, and can allow it"
		}
		return fmt.Sprintf("MCP server %s: %s%s", s.Name, s.Why, hint)
	case mcp.Starting:
		if s.First {
			return fmt.Sprintf("MCP server %s starts for the first time and may be downloaded: up to 60 s", s.Name)
		}
	}
	return ""
}

// progressOf is the last line that a server wrote which may be downloading; "" if
// there is nothing to tell.
func progressOf(s mcp.State) string {
	if s.Status != mcp.Starting || !s.First {
		return ""
	}
	lines := strings.Split(strings.TrimSpace(s.Stderr), "\n")
	return lines[len(lines)-1]
}

// mcp lists the servers.
func (m *Model) mcp(arg string) tea.Cmd {
	if arg != "" {
		return m.server(arg)
	}
	var items []dialog.Item
	for _, s := range m.o.Servers().State() {
		about := []string{string(s.Status)}
		if allowed := s.Allowed.String(); allowed != "" { // before what may be long
			about = append(about, allowed)
		}
		switch line := progressOf(s); {
		case line != "":
			about = append(about, line)
		case s.Why != "":
			about = append(about, s.Why)
		default:
			about = append(about, several(len(s.Tools), "tool"), several(s.Prompts, "prompt"), several(s.Resources, "resource"))
		}
		detail := strings.Join(append(about, s.Where), " · ")
		items = append(items, dialog.Item{Title: s.Name, Detail: detail, Value: s.Name, Dim: s.Status == mcp.Disabled})
	}
	return m.open(dialog.Pick("mcp", "MCP servers", items, m.theme))
}

// several is a number of things.
func several(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// server shows one, with everything the model would be told of its tools, and
// asks what to do with it.
func (m *Model) server(name string) tea.Cmd {
	servers := m.o.Servers()
	if servers == nil {
		return nil
	}
	for _, s := range servers.State() {
		if s.Name != name {
			continue
		}
		m.asked = s
		text, unseen := AboutServer(s)
		yes, no := "Restart, stop, allow…", "Close"
		if unseen {
			yes, no = "Enable these tools", "Not now"
		}
		return m.confirm(!unseen, dialog.Confirm("mcp", text, yes, no, m.theme))
	}
	return nil
}

// AboutServer is all that there is to know of a server, with everything the
// model would be told of its tools, and whether it waits for a word on them.
func AboutServer(s mcp.State) (text string, unseen bool) {
	var b strings.Builder
	fmt.Fprintf(&b, "MCP server %s: %s\n%s\n", s.Name, s.Status, s.Where)
	if allowed := s.Allowed.String(); allowed != "" {
		fmt.Fprintf(&b, "allowed by you: %s\n", allowed)
	}
	if s.Server != "" {
		fmt.Fprintf(&b, "calls itself %s\n", s.Server)
	}
	if s.Why != "" {
		fmt.Fprintf(&b, "\n%s\n", s.Why)
	}
	if len(s.Refused.Reasons) > 0 {
		fmt.Fprintf(&b, "\n── refused by the sandbox\n%s\n", strings.Join(s.Refused.Reasons, "\n"))
	}
	if s.Status == mcp.Failed && s.Stderr != "" {
		fmt.Fprintf(&b, "\n── last lines of standard error\n%s\n", lastLines(s.Stderr, 12))
	}
	for _, t := range s.Tools {
		fmt.Fprintf(&b, "\n── %s %s\n%s\n%s\n", t.Name, t.Change, strings.TrimSpace(t.Description), t.Schema)
	}
	if len(s.Removed) > 0 {
		fmt.Fprintf(&b, "\nno longer there: %s\n", strings.Join(s.Removed, ", "))
	}
	if s.Left > 0 {
		fmt.Fprintf(&b, "\n%d more tools are too many to be offered\n", s.Left)
	}
	if s.Stderr != "" && s.Status != mcp.Failed {
		fmt.Fprintf(&b, "\n── standard error\n%s\n", s.Stderr)
	}
	unseen = s.Status == mcp.New || s.Status == mcp.Changed
	if unseen {
		b.WriteString("\nEach call asks, unless the mode or a rule of yours lets it run. May the model have these tools?")
	}
	return b.String(), unseen
}

// lastLines are the last n lines of text.
func lastLines(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(len(lines)-n, 0):], "\n")
}

// A ServerChoice is something that can be done about a server.
type ServerChoice struct {
	Name, Detail string
	Do           func(*mcp.Servers) error
}

// ServerChoices are what can be done about a server: above all to allow what the
// sandbox refused it.
func ServerChoices(s mcp.State) []ServerChoice {
	allow := func(name string, a mcp.Access) ServerChoice {
		return ServerChoice{name, "It " + a.String() + ", also in later sessions", func(all *mcp.Servers) error { return all.Allow(s.Name, a) }}
	}
	var out []ServerChoice
	wants := s.Refused.Wants
	folders := mcp.Access{Read: wants.Read, Write: wants.Write}
	if s.Held && !folders.IsZero() && wants.Network {
		out = append(out, allow("Allow network and these folders", wants))
	}
	if s.Held && s.Status == mcp.Failed && !s.Allowed.Network {
		out = append(out, allow("Allow network", mcp.Access{Network: true}))
	}
	if s.Held && !folders.IsZero() {
		out = append(out, allow("Allow these folders", folders))
	}
	if s.Held && s.Status == mcp.Failed {
		out = append(out, allow("Run without the sandbox", mcp.Access{Free: true}))
	}
	out = append(out, ServerChoice{"Restart", "", func(all *mcp.Servers) error { return all.Restart(s.Name) }})
	if s.Status != mcp.Stopped && s.Status != mcp.Disabled {
		out = append(out, ServerChoice{"Stop", "It does not run, also in later sessions, until you restart it", func(all *mcp.Servers) error { return all.Stop(s.Name) }})
	}
	if allowed := s.Allowed.String(); allowed != "" {
		out = append(out, ServerChoice{"Take back what was allowed", "Now it " + allowed, func(all *mcp.Servers) error { return all.Allow(s.Name, mcp.Access{}) }})
	}
	return out
}

// serverChoices lists what can be done about the server that was shown.
func (m *Model) serverChoices() tea.Cmd {
	var items []dialog.Item
	for _, c := range ServerChoices(m.asked) {
		items = append(items, dialog.Item{Title: c.Name, Detail: c.Detail, Value: c.Name})
	}
	return m.open(dialog.Pick("mcp-do", "MCP server "+m.asked.Name, items, m.theme))
}

// serverDo does what was picked.
func (m *Model) serverDo(name string) tea.Cmd {
	servers, s := m.o.Servers(), m.asked
	for _, c := range ServerChoices(s) {
		if c.Name == name && servers != nil {
			return func() tea.Msg { return didMsg{s.Name + ": " + c.Name, c.Do(servers)} }
		}
	}
	return nil
}

// serverDecided does what the person said about the server that was shown.
func (m *Model) serverDecided() tea.Cmd {
	servers, s := m.o.Servers(), m.asked
	if servers == nil {
		return nil
	}
	if s.Status != mcp.New && s.Status != mcp.Changed {
		return m.serverChoices()
	}
	policy := m.session.Policy()
	return func() tea.Msg {
		text, err := AgreeServer(servers, s, policy)
		return didMsg{text, err}
	}
}

// AgreeServer offers the tools of a server, as AboutServer showed them, to the
// model. It says what it did.
func AgreeServer(servers *mcp.Servers, s mcp.State, policy *tools.Policy) (did string, err error) {
	if s.Status == mcp.Changed { // what was allowed was allowed of other tools
		for _, r := range policy.Rules() {
			if strings.HasPrefix(r.Tool, mcp.Prefix(s.Name)) {
				policy.Remove(r)
			}
		}
	}
	return s.Name + ": offered to the model", servers.Approve(s.Name, s.Seal)
}

// promptItems are what servers have written for people to send.
func (m *Model) promptItems() []dialog.Item {
	var items []dialog.Item
	servers := m.o.Servers()
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
	servers := m.o.Servers()
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
	for _, r := range m.o.Servers().Resources() {
		items = append(items, dialog.Item{Title: r.Server + ":" + r.Name, Detail: strings.TrimSpace(r.URI + " " + r.Description), Value: r.Server + " " + r.URI})
	}
	return m.open(dialog.Pick("resource", "Attach", items, m.theme))
}

// resource attaches one.
func (m *Model) resource(value string) tea.Cmd {
	server, uri, _ := strings.Cut(value, " ")
	servers := m.o.Servers()
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

// resourcesNamed are the resources of servers whose name holds word.
func (o Options) resourcesNamed(word string) []mcp.Resource {
	servers := o.Servers()
	if servers == nil {
		return nil
	}
	var out []mcp.Resource
	for _, r := range servers.Resources() {
		if strings.Contains(strings.ToLower(r.Server+":"+r.URI+" "+r.Name), strings.ToLower(word)) {
			out = append(out, r)
		}
	}
	return out
}

// mentioned are the resources that a prompt mentions, as @server:uri.
func (o Options) mentioned(text string) []mcp.Resource {
	if !strings.Contains(text, "@") {
		return nil
	}
	words := strings.Fields(text)
	return slices.DeleteFunc(o.resourcesNamed(""), func(r mcp.Resource) bool {
		return !slices.ContainsFunc(words, func(w string) bool {
			w = strings.Trim(strings.TrimPrefix(strings.TrimLeft(w, "(["), "@"), "\"")
			return strings.TrimRight(w, ".,;:!?)]\"") == r.Server+":"+r.URI
		})
	})
}
