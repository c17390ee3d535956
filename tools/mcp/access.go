package mcp

import (
	"slices"
	"strings"
)

// Access is what a user has allowed a server's program in addition to its configuration. The zero
// value allows nothing.
type Access struct {
	Network     bool     `json:"network,omitempty"`
	Read        []string `json:"read,omitempty"`  // more files and directories that it may read
	Write       []string `json:"write,omitempty"` // more files and directories that it may change
	Unsandboxed bool     `json:"free,omitempty"`  // it runs without the sandbox
	Calls       bool     `json:"calls,omitempty"` // its tools run without asking, unless a rule or the mode decides otherwise
}

// IsZero reports whether nothing is allowed.
func (a Access) IsZero() bool {
	return !a.Network && !a.Unsandboxed && !a.Calls && len(a.Read) == 0 && len(a.Write) == 0
}

// Union returns the accesses of both a and b.
func (a Access) Union(b Access) Access {
	join := func(x, y []string) []string {
		all := append(slices.Clone(x), y...)
		slices.Sort(all)
		return slices.Compact(all)
	}
	return Access{a.Network || b.Network, join(a.Read, b.Read), join(a.Write, b.Write), a.Unsandboxed || b.Unsandboxed, a.Calls || b.Calls}
}

// String describes the access; "" for none.
func (a Access) String() string {
	var parts []string
	if a.Unsandboxed {
		parts = append(parts, "runs without the sandbox")
	}
	if a.Network {
		parts = append(parts, "may reach the network")
	}
	if len(a.Read) > 0 {
		parts = append(parts, "may read "+strings.Join(a.Read, ", "))
	}
	if len(a.Write) > 0 {
		parts = append(parts, "may change "+strings.Join(a.Write, ", "))
	}
	if a.Calls {
		parts = append(parts, "runs its tools without asking")
	}
	return strings.Join(parts, "; ")
}

// A Refusal describes accesses that the sandbox has probably refused to a program that did not
// start or whose calls failed.
type Refusal struct {
	Reasons []string // one line each, quoting the program
	Needs   Access   // the access that would help; zero if unknown
}

// String names the refused accesses briefly.
func (r *Refusal) String() string {
	switch files := len(r.Needs.Read)+len(r.Needs.Write) > 0; {
	case r.Needs.Network && files:
		return "the sandbox refused it the network and files"
	case r.Needs.Network:
		return "the sandbox refused it the network"
	case files:
		return "the sandbox refused it files"
	case r.Needs.Unsandboxed:
		return "the sandbox refused it a system call"
	case len(r.Reasons) > 0:
		return "the sandbox may have refused it something"
	}
	return ""
}
