package app

import (
	"slices"
	"strings"

	"parley/tools/sanitize"
	"parley/ui/format"
)

// A Check is one line of a checkup: how it stands with one thing that parley works with.
type Check struct {
	Section string `json:"section"`
	Name    string `json:"name"`
	Status  Status `json:"status"`
	Detail  string `json:"detail"`
	Hint    string `json:"hint"` // what to do about it; "" if nothing has to be done
}

// A Status says whether something works.
type Status string

const (
	Works  Status = "ok"
	Warns  Status = "warning" // works, but not as well as it could
	Broken Status = "broken"
)

// Sign returns the sign that a line with the status begins with.
func (s Status) Sign() string {
	return map[Status]string{Works: "✓", Warns: "!", Broken: "✗"}[s]
}

// Sections of a checkup, in their order.
const (
	SectionProviders     = "Providers"
	SectionAgents        = "Agent CLIs"
	SectionLocal         = "Local servers"
	SectionMCP           = "MCP servers"
	SectionTerminal      = "Terminal"
	SectionSandbox       = "Sandbox"
	SectionStore         = "Store"
	SectionConfiguration = "Configuration"
)

// Sections lists all of them in order.
var Sections = []string{SectionProviders, SectionAgents, SectionLocal, SectionMCP, SectionTerminal, SectionSandbox, SectionStore, SectionConfiguration}

// A TerminalState is what a front end knows of the terminal; "" is not known.
type TerminalState struct {
	Colors     string // how many, such as "truecolor"
	Background string // "dark" or "light", and how that is known
	Keyboard   string // its protocol
	Images     string // how they are drawn
}

// Checks returns the lines about a terminal: what the front end knows, and the routes to the
// clipboard.
func (t TerminalState) Checks(getenv func(string) string, routes []string) []Check {
	line := func(name, detail, hint string) Check {
		c := Check{Section: SectionTerminal, Name: name, Status: Works, Detail: detail}
		if detail == "" {
			c.Detail = "unknown"
		}
		if hint != "" {
			c.Status, c.Hint = Warns, hint
		}
		return c
	}
	hint := func(when bool, text string) string {
		if when {
			return text
		}
		return ""
	}
	term := getenv("TERM")
	clipboard := strings.Join(routes, ", ")
	if clipboard == "" {
		clipboard = "none"
	}
	return []Check{
		line("TERM", term, hint(term == "" || term == "dumb", "Set TERM to your terminal, such as xterm-256color; with dumb parley prints plain lines")),
		line("colors", t.Colors, ""),
		line("background", t.Background, ""),
		line("keyboard", t.Keyboard, ""),
		line("clipboard", clipboard, hint(len(routes) == 0, "Copies go to a file: install wl-clipboard or xclip, or use a terminal with OSC 52")),
		line("images", t.Images, ""),
	}
}

// CheckReport returns checks by their sections. The lines are sanitized.
func CheckReport(checks []Check) (parts []format.Part) {
	for _, section := range Sections {
		part := format.Part{Title: section}
		for _, c := range checks {
			if c.Section == section {
				part.Lines = append(part.Lines, c.lines()...)
			}
		}
		for _, l := range part.Lines {
			part.Source = strings.TrimPrefix(part.Source+"\n"+l.String(), "\n")
		}
		if part.Source != "" {
			parts = append(parts, part)
		}
	}
	return parts
}

// lines returns c as a user reads it, and below it what to do.
func (c Check) lines() []format.Line {
	text := sanitize.Line(c.Name)
	if detail := sanitize.Line(c.Detail); detail != "" {
		text += ": " + detail
	}
	lines := []format.Line{{Sign: c.Status.Sign(), Text: text}}
	if hint := sanitize.Line(c.Hint); hint != "" {
		lines = append(lines, format.Line{Sign: " ", Text: hint})
	}
	return lines
}

// HasBrokenCheck reports whether something of checks does not work.
func HasBrokenCheck(checks []Check) bool {
	return slices.ContainsFunc(checks, func(c Check) bool { return c.Status == Broken })
}
