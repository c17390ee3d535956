package app

import (
	"fmt"
	"strings"

	"parley/tools"
	"parley/tools/mcp"
	"parley/ui/format"
)

// ServerNews is what a person has to know or do about a server; "" for nothing.
func ServerNews(s mcp.State) string {
	switch s.Status {
	case mcp.StatusNew:
		return fmt.Sprintf("MCP server %s offers %s: /mcp shows what, and asks whether the model may have it", s.Name, format.Plural(len(s.Tools), "tool"))
	case mcp.StatusChanged:
		return fmt.Sprintf("MCP server %s changed its tools: they are withdrawn until you have seen them in /mcp", s.Name)
	case mcp.StatusFailed:
		hint := ""
		if s.Refusal.String() != "" {
			hint = ": /mcp shows what, and can allow it"
		}
		return fmt.Sprintf("MCP server %s: %s%s", s.Name, s.Reason, hint)
	case mcp.StatusStarting:
		if s.FirstStart {
			return fmt.Sprintf("MCP server %s starts for the first time and may be downloaded: up to 60 s", s.Name)
		}
	}
	return ""
}

// ServerProgress is the last line that a server wrote which may be downloading; "" if
// there is nothing to tell.
func ServerProgress(s mcp.State) string {
	if s.Status != mcp.StatusStarting || !s.FirstStart {
		return ""
	}
	lines := strings.Split(strings.TrimSpace(s.Stderr), "\n")
	return lines[len(lines)-1]
}

// AboutServer is all that there is to know of a server, with everything the
// model would be told of its tools, and whether it waits for a word on them.
func AboutServer(s mcp.State) (text string, unseen bool) {
	var b strings.Builder
	fmt.Fprintf(&b, "MCP server %s: %s\n%s\n", s.Name, s.Status, s.Location)
	if allowed := s.Allowed.String(); allowed != "" {
		fmt.Fprintf(&b, "allowed by you: %s\n", allowed)
	}
	if s.ServerInfo != "" {
		fmt.Fprintf(&b, "calls itself %s\n", s.ServerInfo)
	}
	if s.Reason != "" {
		fmt.Fprintf(&b, "\n%s\n", s.Reason)
	}
	if len(s.Refusal.Reasons) > 0 {
		fmt.Fprintf(&b, "\n── refused by the sandbox\n%s\n", strings.Join(s.Refusal.Reasons, "\n"))
	}
	if s.Status == mcp.StatusFailed && s.Stderr != "" {
		fmt.Fprintf(&b, "\n── last lines of standard error\n%s\n", lastLines(s.Stderr, 12))
	}
	for _, t := range s.Tools {
		fmt.Fprintf(&b, "\n── %s %s\n%s\n%s\n", t.Name, t.Change, strings.TrimSpace(t.Description), t.Schema)
	}
	if len(s.RemovedTools) > 0 {
		fmt.Fprintf(&b, "\nno longer there: %s\n", strings.Join(s.RemovedTools, ", "))
	}
	if s.OmittedTools > 0 {
		fmt.Fprintf(&b, "\n%d more tools are too many to be offered\n", s.OmittedTools)
	}
	if s.Stderr != "" && s.Status != mcp.StatusFailed {
		fmt.Fprintf(&b, "\n── standard error\n%s\n", s.Stderr)
	}
	unseen = s.Status == mcp.StatusNew || s.Status == mcp.StatusChanged
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
	wants := s.Refusal.Needs
	folders := mcp.Access{Read: wants.Read, Write: wants.Write}
	if s.Sandboxed && !folders.IsZero() && wants.Network {
		out = append(out, allow("Allow network and these folders", wants))
	}
	if s.Sandboxed && s.Status == mcp.StatusFailed && !s.Allowed.Network {
		out = append(out, allow("Allow network", mcp.Access{Network: true}))
	}
	if s.Sandboxed && !folders.IsZero() {
		out = append(out, allow("Allow these folders", folders))
	}
	if s.Sandboxed && s.Status == mcp.StatusFailed {
		out = append(out, allow("Run without the sandbox", mcp.Access{Unsandboxed: true}))
	}
	out = append(out, ServerChoice{"Restart", "", func(all *mcp.Servers) error { return all.Restart(s.Name) }})
	if s.Status != mcp.StatusStopped && s.Status != mcp.StatusDisabled {
		out = append(out, ServerChoice{"Stop", "It does not run, also in later sessions, until you restart it", func(all *mcp.Servers) error { return all.Stop(s.Name) }})
	}
	if allowed := s.Allowed.String(); allowed != "" {
		out = append(out, ServerChoice{"Take back what was allowed", "Now it " + allowed, func(all *mcp.Servers) error { return all.Allow(s.Name, mcp.Access{}) }})
	}
	return out
}

// AgreeServer offers the tools of a server, as AboutServer showed them, to the
// model. It says what it did.
func AgreeServer(servers *mcp.Servers, s mcp.State, policy *tools.Policy) (did string, err error) {
	if s.Status == mcp.StatusChanged { // what was allowed was allowed of other tools
		for _, r := range policy.Rules() {
			if strings.HasPrefix(r.Tool, mcp.ToolPrefix(s.Name)) {
				policy.Remove(r)
			}
		}
	}
	return s.Name + ": offered to the model", servers.Approve(s.Name, s.Fingerprint)
}
