package app

import (
	"context"
	"fmt"
	"strings"
	"time"

	"parley/providers/llm"
	"parley/tools"
	"parley/tools/mcp"
	"parley/tools/sanitize"
	"parley/ui/format"
)

// serverNotice returns what a user has to know or do about a server; "" for nothing.
func serverNotice(s mcp.State) string {
	switch s.Status {
	case mcp.StatusNew:
		return fmt.Sprintf("MCP server %s offers %s: review and enable them with /mcp", s.Name, format.Plural(len(s.Tools), "tool"))
	case mcp.StatusChanged:
		return fmt.Sprintf("MCP server %s changed its tools: they are off until you review them with /mcp", s.Name)
	case mcp.StatusFailed:
		hint := ""
		if s.Refusal.String() != "" {
			hint = ": review and allow it with /mcp"
		} else if s.Down {
			hint = ". The next prompt or call starts it again"
		}
		return fmt.Sprintf("MCP server %s: %s%s", s.Name, s.Reason, hint)
	case mcp.StatusLogin:
		return fmt.Sprintf("MCP server %s needs login: %s", s.Name, s.Reason)
	case mcp.StatusReady:
		if s.Sandboxed && !s.Refusal.Needs.IsZero() {
			return fmt.Sprintf("MCP server %s: %s during a call: review and allow it with /mcp %s", s.Name, s.Refusal.String(), s.Name)
		}
	case mcp.StatusStarting:
		if s.FirstStart {
			return fmt.Sprintf("MCP server %s starts for the first time; a download may take a minute", s.Name)
		}
	}
	return ""
}

// serverProgress returns the last line that a server wrote which may be downloading; "" if
// there is nothing to tell.
func serverProgress(s mcp.State) string {
	if s.Status != mcp.StatusStarting || !s.FirstStart {
		return ""
	}
	lines := strings.Split(strings.TrimSpace(s.Stderr), "\n")
	return lines[len(lines)-1]
}

// serverDetails returns all that there is to know of a server, with everything the
// model would be told of its tools, and whether it waits for a word on them.
func serverDetails(s mcp.State) (text string, unseen bool) {
	var b strings.Builder
	fmt.Fprintf(&b, "MCP server %s: %s\n%s\n", s.Name, s.Status, s.Location)
	if allowed := s.Allowed.String(); allowed != "" {
		fmt.Fprintf(&b, "Allowed by you: %s\n", allowed)
	}
	if s.ServerInfo != "" {
		fmt.Fprintf(&b, "Name: %s\n", sanitize.Line(s.ServerInfo))
	}
	if s.Reason != "" {
		fmt.Fprintf(&b, "\n%s\n", s.Reason)
	}
	if len(s.Refusal.Reasons) > 0 {
		fmt.Fprintf(&b, "\n── Refused by the sandbox\n%s\n", strings.Join(s.Refusal.Reasons, "\n"))
	}
	if s.Status == mcp.StatusFailed && s.Stderr != "" {
		fmt.Fprintf(&b, "\n── Last lines of standard error\n%s\n", sanitize.Quote(lastLines(s.Stderr, 12)))
	}
	for _, t := range s.Tools {
		said := strings.TrimSpace(strings.TrimSpace(t.Description) + "\n" + t.Schema) // none of it may pass for another tool
		fmt.Fprintf(&b, "\n── %s %s\n%s\n", t.Name, t.Change, sanitize.Quote(said))
	}
	if len(s.RemovedTools) > 0 {
		fmt.Fprintf(&b, "\nRemoved: %s\n", strings.Join(s.RemovedTools, ", "))
	}
	if s.OmittedTools > 0 {
		fmt.Fprintf(&b, "\nNot offered: %s, with a name that another has or that cannot be sent, or behind the first 200\n", format.Plural(s.OmittedTools, "tool"))
	}
	if s.Stderr != "" && s.Status != mcp.StatusFailed {
		fmt.Fprintf(&b, "\n── Standard error\n%s\n", sanitize.Quote(strings.TrimSpace(s.Stderr)))
	}
	unseen = s.Status == mcp.StatusNew || s.Status == mcp.StatusChanged
	if unseen {
		b.WriteString("\nEach call asks, unless the approval mode or a permission rule allows it. Enable these tools for the model?")
	}
	return b.String(), unseen
}

// lastLines returns the last n lines of text.
func lastLines(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(len(lines)-n, 0):], "\n")
}

// A serverChoice is something that can be done about a server.
type serverChoice struct {
	Name, Detail string
	Do           func(*mcp.Servers) error
}

// serverChoices returns what can be done about a server: above all to allow what the
// sandbox refused it. Further permissions come after a restart.
func serverChoices(s mcp.State) []serverChoice {
	allow := func(name string, a mcp.Access) serverChoice {
		return serverChoice{name, "It " + a.String() + ", also in later sessions", func(all *mcp.Servers) error { return all.Allow(s.Name, a) }}
	}
	var out []serverChoice
	wants := s.Refusal.Needs
	folders := mcp.Access{Read: wants.Read, Write: wants.Write}
	if s.Sandboxed && !folders.IsZero() && wants.Network {
		out = append(out, allow("Allow network and these folders", mcp.Access{Network: true, Read: wants.Read, Write: wants.Write}))
	}
	failing := s.Sandboxed && (s.Status == mcp.StatusFailed || wants.Unsandboxed)
	network := allow("Allow network", mcp.Access{Network: true})
	if s.Sandboxed && !s.Allowed.Network && wants.Network {
		out = append(out, network)
	}
	if s.Sandboxed && !folders.IsZero() {
		out = append(out, allow("Allow these folders", folders))
	}
	free := allow("Run without the sandbox", mcp.Access{Unsandboxed: true})
	if wants.Unsandboxed && failing {
		out = append(out, free)
	}
	out = append(out, serverChoice{"Restart", "", func(all *mcp.Servers) error { return all.Restart(s.Name) }})
	if failing && !s.Allowed.Network && !wants.Network {
		out = append(out, network)
	}
	if failing && !wants.Unsandboxed {
		out = append(out, free)
	}
	if s.Status != mcp.StatusStopped && s.Status != mcp.StatusDisabled {
		out = append(out, serverChoice{"Stop", "Stays off, also in later sessions, until you restart it", func(all *mcp.Servers) error { return all.Stop(s.Name) }})
	}
	if allowed := s.Allowed.String(); allowed != "" {
		out = append(out, serverChoice{"Revoke permissions", "Now it " + allowed, func(all *mcp.Servers) error { return all.Allow(s.Name, mcp.Access{}) }})
	}
	return out
}

// approveServer offers the tools of a server, as serverDetails showed them, to the
// model. It says what it did.
func approveServer(servers *mcp.Servers, s mcp.State, policy *tools.Policy) (did string, err error) {
	if s.Status == mcp.StatusChanged { // what was allowed was allowed of other tools
		for _, r := range policy.Rules() {
			if strings.HasPrefix(r.Tool, mcp.ToolPrefix(s.Name)) {
				policy.Remove(r)
			}
		}
	}
	return s.Name + ": tools enabled", servers.Approve(s.Name, s.Fingerprint)
}

// ServerChanged says what the user has to know or do about a server that changed, once.
func (a *App) ServerChanged(name string) Effect {
	for _, s := range a.MCP.states() {
		if s.Name != name {
			continue
		}
		told := string(s.Status)
		if s.Status == mcp.StatusReady {
			told += s.Refusal.Needs.String()
		}
		if a.noticedStatus[name] == told {
			if line := serverProgress(s); line != "" {
				return Toast("MCP server " + name + ": " + line)
			}
			return nil
		}
		a.noticedStatus[name] = told
		if news := serverNotice(s); news != "" {
			return Shown{llm.Notice{Text: news}} // of this run, not of the conversation
		}
	}
	return nil
}

// states returns how the servers are.
func (m MCP) states() []mcp.State {
	if servers := m.Servers(); servers != nil {
		return servers.States()
	}
	return nil
}

// items returns the possible arguments of /mcp.
func (m MCP) items() []Item {
	var items []Item
	for _, s := range m.states() {
		items = append(items, Item{Title: s.Name, Value: s.Name, Detail: string(s.Status)})
		if s.Status == mcp.StatusLogin {
			items = append(items, Item{Title: "login " + s.Name, Value: "login " + s.Name})
		} else if s.LoggedIn {
			items = append(items, Item{Title: "logout " + s.Name, Value: "logout " + s.Name})
		}
	}
	return items
}

// mcp lists the servers, shows the one that is named, or logs in to it or out of it.
func (a *App) mcp(name string) Effect {
	switch word, server, _ := strings.Cut(name, " "); {
	case word == "login" && server != "":
		return serverControl{a, strings.TrimSpace(server)}.login()
	case word == "logout" && server != "":
		return serverControl{a, strings.TrimSpace(server)}.logout()
	}
	servers := a.Servers()
	if name == "" {
		refresh := func() []Item { return serverItems(servers.States()) }
		return &List{Title: "MCP servers", Noun: "MCP server", Items: refresh(), Refresh: refresh, Choose: func(i Item, _ string) Effect { return a.mcp(i.Value) }}
	}
	for _, s := range servers.States() {
		if s.Name == name {
			return serverControl{a, name}.show(s)
		}
	}
	return Refuse("no MCP server %q: /mcp lists them", name)
}

// serverItems returns a row for each server.
func serverItems(servers []mcp.State) (items []Item) {
	for _, s := range servers {
		about := []string{string(s.Status)}
		if allowed := s.Allowed.String(); allowed != "" { // before what may be long
			about = append(about, allowed)
		}
		switch line := serverProgress(s); {
		case line != "":
			about = append(about, line)
		case s.Status == mcp.StatusLogin:
			about[0] += ": " + s.Reason
		case s.Reason != "":
			about = append(about, s.Reason)
		default:
			about = append(about, format.Plural(len(s.Tools), "tool"), format.Plural(s.Prompts, "prompt"), format.Plural(s.Resources, "resource"))
		}
		items = append(items, Item{Title: s.Name, Detail: strings.Join(append(about, s.Location), " · "), Value: s.Name, Disabled: s.Status == mcp.StatusDisabled})
	}
	return items
}

// PromptItems returns the prompts of files, and those that servers have written for users to
// send.
func (a *App) PromptItems() []Item {
	items := a.prompts.Load().items()
	servers := a.Servers()
	if servers == nil {
		return items
	}
	for _, p := range servers.Prompts() {
		var args []string
		for _, arg := range p.Arguments {
			args = append(args, arg.Name)
		}
		items = append(items, Item{Title: p.Server + ":" + p.Name, Detail: strings.TrimSpace(p.Description + " " + strings.Join(args, " ")), Value: p.Server + ":" + p.Name})
	}
	return items
}

// prompt sends the prompt of a file, and puts a server's into the draft, where it can be read
// before it is sent. Its arguments follow its name, in their order or with their names.
func (a *App) prompt(line string) Effect {
	if line == "" {
		return &List{Title: "Prompts", Noun: "prompt", Items: a.PromptItems(), TakesArg: true, Choose: func(i Item, arg string) Effect {
			return a.prompt(strings.TrimSpace(i.Value + " " + arg))
		}}
	}
	name, rest, _ := strings.Cut(line, " ")
	if p := a.prompts.Load().named(name); p != nil {
		return sendPrompt(a, p, strings.TrimSpace(rest), nil)
	}
	if !a.MCP.hasPrompt(name) {
		return Refuse("no prompt %s: /prompt lists them", name)
	}
	servers := a.Servers()
	for _, p := range servers.Prompts() {
		if p.Server+":"+p.Name == name {
			return fillServerPrompt(a.Options, servers, p, promptArguments(p, rest))
		}
	}
	return Refuse("no prompt %s: /prompt lists them", name) // it is gone
}

// resource lists what servers have to attach, and attaches what is chosen.
func (a *App) resource(string) Effect {
	list := &List{Title: "Attach", Noun: "resource"}
	for _, r := range a.Servers().Resources() {
		list.Items = append(list.Items, Item{Title: r.Server + ":" + r.Name, Detail: strings.TrimSpace(r.URI + " " + r.Description), Value: r.Server + " " + r.URI})
	}
	servers := a.Servers()
	list.Choose = func(i Item, _ string) Effect {
		server, uri, _ := strings.Cut(i.Value, " ")
		return Prepare(func(ctx context.Context) func() Effect {
			ctx, cancel := context.WithTimeout(ctx, time.Minute)
			defer cancel()
			parts, err := servers.ReadResource(ctx, server, uri)
			if err != nil {
				return func() Effect { return Failure{Err: err} }
			}
			for i := range parts {
				if parts[i].Name == "" {
					parts[i].Name = uri
				}
			}
			return func() Effect { return a.attachParts(parts) }
		})
	}
	return list
}

func noHooks(a *App) string {
	if a.Hooks == nil || len(a.Hooks()) == 0 {
		return "No hooks. Add one under [[hooks]] in config.toml"
	}
	return ""
}

// showHooks lists the hooks.
func showHooks(a *App, _ string) Effect {
	return &List{Title: "Hooks", Noun: "hook", Items: a.Hooks(), Choose: func(i Item, _ string) Effect { return Toast(i.Title + " · " + i.Detail) }}
}
