package servers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"parley/tools/mcp"
	"parley/tools/sanitize"
	"parley/ui/app"
	"parley/ui/format"
)

// consents holds what the user is asked about servers.
type consents struct {
	queue    []string        // servers to ask about
	unseen   map[string]bool // allowed servers whose tools are not known yet
	declined map[string]bool // by declinedKey: not asked about again in this run
}

// declinedKey identifies what the user was asked about a server. One that fails gives other reasons each time.
func declinedKey(s mcp.State) string {
	if s.Status == mcp.StatusFailed {
		return s.Name
	}
	return s.Name + " " + s.Fingerprint
}

// needsConsent reports whether the user is asked once about a server of the user's own: what the sandbox refused it, and
// its tools. A server of a project is reviewed with /mcp, as are tools that a server has changed by itself.
func needsConsent(s mcp.State) bool {
	switch {
	case s.OfProject:
		return false
	case s.Status == mcp.StatusFailed:
		return s.Sandboxed && !s.Down && !s.Refusal.Needs.IsZero()
	}
	return s.Status == mcp.StatusNew || s.Status == mcp.StatusChanged && s.Reason != "" // another command or address
}

// nextConsent asks about the next server that needs it; nil if there is none.
func (f flow) nextConsent(servers mcp.Servers) *app.Confirm {
	for len(f.consent.queue) > 0 {
		name := f.consent.queue[0]
		f.consent.queue = f.consent.queue[1:]
		states := servers.States()
		if i := slices.IndexFunc(states, func(s mcp.State) bool { return s.Name == name }); i >= 0 && needsConsent(states[i]) && !f.consent.declined[declinedKey(states[i])] {
			return f.confirmServer(states[i])
		}
	}
	return nil
}

// confirmServer asks once for all that a server needs.
func (f flow) confirmServer(s mcp.State) *app.Confirm {
	c := control{f.app, f.servers(), s.Name}
	more := s.Refusal.Needs
	more.Calls = true
	return &app.Confirm{Text: consentText(s), Yes: "Allow all", No: "Not now",
		Accept: func() app.Effect {
			f.consent.unseen[s.Name] = s.Status == mcp.StatusFailed
			return app.Do(func(context.Context) (err error) {
				if s.Status != mcp.StatusFailed { // otherwise its tools are approved once they are known
					err = c.approve(s)
				}
				if err != nil {
					return err
				}
				return errors.Join(err, c.all.Allow(s.Name, more))
			}, s.Name+": allowed · /mcp "+s.Name+" takes it back")
		},
		Decline: func() app.Effect {
			f.consent.declined[declinedKey(s)] = true
			return app.Toast("MCP server " + s.Name + " is not used yet: /mcp " + s.Name + " reviews it")
		}}
}

// maxToolNames is the number of tools named in a question.
const maxToolNames = 30

// consentText returns the question about a server.
func consentText(s mcp.State) string {
	var b strings.Builder
	fmt.Fprintf(&b, "MCP server %s: %s\n", s.Name, s.Location)
	if s.Status == mcp.StatusChanged {
		fmt.Fprintf(&b, "You allowed it before, but its command, address, environment or access has changed\n")
	}
	if refused := s.Refusal.String(); refused != "" {
		fmt.Fprintf(&b, "\n%s:\n%s\n", format.Capital(refused), sanitize.Quote(strings.Join(s.Refusal.Reasons, "\n")))
		fmt.Fprintf(&b, "If you allow it, it %s\n", s.Refusal.Needs.String())
	}
	if s.Status == mcp.StatusFailed {
		b.WriteString("\nIts tools are not known before it starts\n")
	} else {
		fmt.Fprintf(&b, "\nIt offers %s\n", toolNames(s))
	}
	b.WriteString("\nAllow all of this? Its tools then run without asking, unless a permission rule asks.")
	return b.String()
}

// toolNames returns how many tools a server has, and their names.
func toolNames(s mcp.State) string {
	var names []string
	for _, t := range s.Tools[:min(len(s.Tools), maxToolNames)] {
		names = append(names, t.Title)
	}
	if left := len(s.Tools) - len(names); left > 0 {
		names = append(names, fmt.Sprintf("and %d more", left))
	}
	return fmt.Sprintf("%s; /mcp %s shows them in full:\n%s", format.Plural(len(s.Tools), "tool"), s.Name, sanitize.Quote(strings.Join(names, ", ")))
}
