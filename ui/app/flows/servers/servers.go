// Package servers lets the user manage MCP servers: see their state, grant permissions, log in, answer their questions,
// and use their prompts and resources.
package servers

import (
	"context"
	"fmt"
	"strings"

	"parley/ui/app"

	"parley/providers/llm"
	"parley/tools/mcp"
	"parley/tools/sanitize"
	"parley/ui/format"
)

// Register adds the flow to a.
func Register(a *app.App) {
	f := flow{a, &consents{unseen: map[string]bool{}, declined: map[string]bool{}}}
	a.Commands = append(a.Commands,
		app.Command{Name: "resource", Group: app.Messages, Help: "Attach a resource from an MCP server", Unavailable: f.noResources, Run: f.attachResource},
		app.Command{Name: "mcp", Group: app.Program, Arg: "NAME", Help: "MCP servers: status, tools, login; add, remove", Unavailable: f.unavailable, Args: f.arguments, MultilineArg: "add", Run: f.run},
	)
	a.MCP.Prompts = f.prompts
	a.MCP.NextQuestion = f.nextQuestion
	a.Watch = append(a.Watch, f.watch)
}

// A flow manages the MCP servers of an App.
type flow struct {
	app     *app.App
	consent *consents
}

// servers returns the servers; nil if none is configured, or none may run yet.
func (f flow) servers() mcp.Servers {
	all, _ := f.app.MCP.Servers().(mcp.Servers)
	return all
}

func (f flow) noServers() string {
	if f.servers() == nil {
		return "No MCP servers. Add one with /mcp add"
	}
	return ""
}

// unavailable returns why there are no servers and none can be added.
func (f flow) unavailable() string {
	if f.app.ConfigFile.New != nil {
		return ""
	}
	return f.noServers()
}

func (f flow) noResources() string {
	if all := f.servers(); all != nil && len(all.Resources()) == 0 {
		return "No MCP server offers resources"
	}
	return f.noServers()
}

// watch reports changes of servers that the user has to know about or act on.
func (f flow) watch(tell func(func() app.Effect)) {
	if f.app.MCP.OnServerChange == nil {
		return
	}
	noticed := map[string]string{}
	f.app.MCP.OnServerChange(func(name string) {
		tell(func() app.Effect { return f.changed(f.servers(), name, noticed) })
	})
}

// changed returns a notice about a server that changed, if the user has to know or do something, or queues a question
// about it. Noticed holds the last notice of each server, so that none is repeated.
func (f flow) changed(all mcp.Servers, name string, noticed map[string]string) app.Effect {
	for _, s := range all.States() {
		if s.Name != name {
			continue
		}
		told := string(s.Status)
		if s.Status == mcp.StatusReady || needsConsent(s) {
			told += s.Refusal.Needs.String()
		}
		if noticed[name] == told {
			if line := serverProgress(s); line != "" {
				return app.Progress("MCP server " + name + ": " + line)
			}
			return nil
		}
		noticed[name] = told
		if needsConsent(s) {
			if !f.consent.declined[declinedKey(s)] {
				f.consent.queue = append(f.consent.queue, name)
			}
			return nil
		}
		if s.Status == mcp.StatusReady && f.consent.unseen[name] {
			delete(f.consent.unseen, name)
			return app.Shown{Event: llm.Notice{Text: "MCP server " + name + " offers " + toolNames(s)}}
		}
		if news := serverNotice(s); news != "" {
			return app.Shown{Event: llm.Notice{Text: news}} // for this run only, not stored in the conversation
		}
	}
	return nil
}

// arguments returns the possible arguments of /mcp.
func (f flow) arguments() []app.Item {
	var items []app.Item
	if f.app.ConfigFile.WriteTables != nil {
		items = append(items, app.Item{Title: "add", Value: "add", Detail: addHelp, Exact: true})
	}
	servers := f.servers()
	if servers == nil {
		return items
	}
	for _, s := range servers.States() {
		items = append(items, app.Item{Title: s.Name, Value: s.Name, Detail: string(s.Status)})
		if s.Status == mcp.StatusLogin {
			items = append(items, app.Item{Title: "login " + s.Name, Value: "login " + s.Name})
		} else if s.LoggedIn {
			items = append(items, app.Item{Title: "logout " + s.Name, Value: "logout " + s.Name})
		}
		if f.app.ConfigFile.WriteTables != nil && !s.OfProject {
			items = append(items, app.Item{Title: "remove " + s.Name, Value: "remove " + s.Name})
		}
	}
	return items
}

// run adds or removes a server, logs in or out, or shows the servers or the named one.
func (f flow) run(arg string) app.Effect {
	word, rest, _ := strings.Cut(arg, " ")
	rest = strings.TrimSpace(rest)
	switch why := f.noServers(); {
	case word == "add" && f.app.ConfigFile.WriteTables != nil:
		return f.add(rest)
	case word == "remove" && rest != "" && f.app.ConfigFile.WriteTables != nil:
		return f.remove(rest)
	case why != "":
		return app.Toast(why)
	case word == "login" && rest != "":
		return control{f.app, f.servers(), rest}.login()
	case word == "logout" && rest != "":
		return control{f.app, f.servers(), rest}.logout()
	}
	return f.show(arg)
}

// show lists the servers, or shows the named one.
func (f flow) show(name string) app.Effect {
	servers := f.servers()
	if name == "" || name == "list" {
		refresh := func() []app.Item { return serverItems(servers.States()) }
		return &app.List{Title: "MCP servers", Noun: "MCP server", Items: refresh(), Refresh: refresh, Choose: f.show}
	}
	for _, s := range servers.States() {
		if s.Name == name {
			return control{f.app, servers, name}.show(s)
		}
	}
	return app.Refuse("no MCP server %q: /mcp lists them", name)
}

// serverItems returns a row for each server.
func serverItems(servers []mcp.State) (items []app.Item) {
	for _, s := range servers {
		about := []string{string(s.Status)}
		if allowed := s.Allowed.String(); allowed != "" { // before texts that may be long
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
		items = append(items, app.Item{Title: s.Name, Detail: strings.Join(append(about, s.Location), " · "), Value: s.Name, Disabled: s.Status == mcp.StatusDisabled})
	}
	return items
}

// attachResource lists the resources of servers and attaches the chosen one.
func (f flow) attachResource(string) app.Effect {
	servers := f.servers()
	list := &app.List{Title: "Attach", Noun: "resource"}
	for _, r := range servers.Resources() {
		list.Items = append(list.Items, app.Item{Title: r.Server + ":" + r.Name, Detail: strings.TrimSpace(r.URI + " " + r.Description), Value: r.Server + " " + r.URI})
	}
	list.Choose = func(value string) app.Effect {
		server, uri, _ := strings.Cut(value, " ")
		return app.Prepare(func(ctx context.Context) func() app.Effect {
			parts, err := servers.ReadResource(ctx, server, uri)
			if err != nil {
				return func() app.Effect { return app.Fail(err) }
			}
			return func() app.Effect { return f.app.AttachParts(parts) }
		})
	}
	return list
}

// serverNotice returns what the user has to know or do about a server; "" for nothing.
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

// serverProgress returns the last output line of a server on its first start, when it may be downloading; "" otherwise.
func serverProgress(s mcp.State) string {
	if s.Status != mcp.StatusStarting || !s.FirstStart {
		return ""
	}
	lines := strings.Split(strings.TrimSpace(s.Stderr), "\n")
	return lines[len(lines)-1]
}

// serverDetails describes a server completely, with all tool text that the model would get. Unseen reports whether its
// tools wait for approval.
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
		fmt.Fprintf(&b, "\n── Blocked by the sandbox\n%s\n", strings.Join(s.Refusal.Reasons, "\n"))
	}
	if s.Status == mcp.StatusFailed && s.Stderr != "" {
		fmt.Fprintf(&b, "\n── Last lines of standard error\n%s\n", sanitize.Quote(lastLines(s.Stderr, 12)))
	}
	for _, t := range s.Tools {
		said := strings.TrimSpace(strings.TrimSpace(t.Description) + "\n" + t.Schema) // quoted, so that no part can look like another tool
		fmt.Fprintf(&b, "\n── %s %s\n%s\n", t.Name, t.Change, sanitize.Quote(said))
	}
	if len(s.RemovedTools) > 0 {
		fmt.Fprintf(&b, "\nRemoved: %s\n", strings.Join(s.RemovedTools, ", "))
	}
	if s.OmittedTools > 0 {
		fmt.Fprintf(&b, "\nNot offered: %s, with a name that another has or that cannot be sent, or after the first 200\n", format.Plural(s.OmittedTools, "tool"))
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

// A serverChoice is an action for a server.
type serverChoice struct {
	Name, Detail string
	Do           func(mcp.Servers) error
}

// serverChoices lists the actions for a server, first of all to grant the access that the sandbox denied. Further
// permissions are offered after a restart.
func serverChoices(s mcp.State) (out []serverChoice) {
	allow := func(name string, a mcp.Access) serverChoice {
		return serverChoice{name, "It " + a.String() + ", also in later sessions", func(all mcp.Servers) error { return all.Allow(s.Name, a) }}
	}
	wants := s.Refusal.Needs
	folders := mcp.Access{Read: wants.Read, Write: wants.Write}
	if s.Sandboxed && !folders.IsZero() && wants.Network {
		out = append(out, allow("Allow network and these folders", mcp.Access{Network: true, Read: wants.Read, Write: wants.Write}))
	}
	if s.Status == mcp.StatusReady && !s.OfProject && !s.Allowed.Calls {
		defer func() { out = append(out, allow("Run its tools without asking", mcp.Access{Calls: true})) }()
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
	out = append(out, serverChoice{"Restart", "", func(all mcp.Servers) error { return all.Restart(s.Name) }})
	if failing && !s.Allowed.Network && !wants.Network {
		out = append(out, network)
	}
	if failing && !wants.Unsandboxed {
		out = append(out, free)
	}
	if s.Status != mcp.StatusStopped && s.Status != mcp.StatusDisabled {
		out = append(out, serverChoice{"Stop", "Off until you restart it (also in later sessions)", func(all mcp.Servers) error { return all.Stop(s.Name) }})
	}
	if allowed := s.Allowed.String(); allowed != "" {
		out = append(out, serverChoice{"Revoke permissions", "Now it " + allowed, func(all mcp.Servers) error { return all.Allow(s.Name, mcp.Access{}) }})
	}
	return out
}
