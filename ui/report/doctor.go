// Package report writes the lists of parley's commands: models, prices that changed, and checkups.
// Text from outside is made printable on the way.
package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"parley/tools/sanitize"
	"parley/ui/cli/cmdutil"
	"parley/ui/format"
	"parley/ui/theme"
)

// Doctor writes a checkup by its sections, its signs in the colors of th, or in another one of Formats.
func Doctor(w io.Writer, checks []Check, th *theme.Theme, as string) error {
	if as != "text" {
		return cmdutil.WriteRows(w, as, checks)
	}
	for i, section := range Checkup(checks) {
		if i > 0 {
			fmt.Fprintln(w)
		}
		if _, err := fmt.Fprintln(w, th.Strong.Render(section.Title)); err != nil {
			return err
		}
		for _, line := range section.Lines {
			if _, err := fmt.Fprintln(w, th.Sign(line.Sign).Render(line.Sign), line.Text); err != nil {
				return err
			}
		}
	}
	return nil
}

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

// Checkup returns checks by their sections. The lines are sanitized.
func Checkup(checks []Check) (parts []format.Part) {
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
