package doctor

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

// write writes a checkup by section, with signs in the colors of th, or in another of Formats.
func write(w io.Writer, checks []Check, th *theme.Theme, as string) error {
	if as != "text" {
		return cmdutil.WriteRows(w, as, checks)
	}
	for i, section := range sections(checks) {
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

// A Check is one line of a checkup: the status of one thing that parley depends on.
type Check struct {
	Section string `json:"section"`
	Name    string `json:"name"`
	Status  Status `json:"status"`
	Detail  string `json:"detail"`
	Hint    string `json:"hint"` // next step for the user; "" for none
}

// A Status is the result of a check.
type Status string

const (
	works  Status = "ok"
	warns  Status = "warning" // works, but not as well as it could
	broken Status = "broken"
)

// Sign returns the sign for the status at the beginning of a line.
func (s Status) Sign() string {
	return map[Status]string{works: "✓", warns: "!", broken: "✗"}[s]
}

// allSections of a checkup, in order.
const (
	sectionProviders     = "Providers"
	sectionAgents        = "Agent CLIs"
	sectionLocal         = "Local servers"
	sectionMCP           = "MCP servers"
	sectionTerminal      = "Terminal"
	sectionSandbox       = "Sandbox"
	sectionStore         = "Store"
	sectionConfiguration = "Configuration"
)

// allSections lists all sections in order.
var allSections = []string{sectionProviders, sectionAgents, sectionLocal, sectionMCP, sectionTerminal, sectionSandbox, sectionStore, sectionConfiguration}

// sections returns checks grouped by section. The lines are sanitized.
func sections(checks []Check) (parts []format.Part) {
	for _, section := range allSections {
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

// lines returns c as text, with the hint below it.
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

// hasBroken reports whether any check is broken.
func hasBroken(checks []Check) bool {
	return slices.ContainsFunc(checks, func(c Check) bool { return c.Status == broken })
}
