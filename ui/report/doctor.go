// Package report writes the lists of parley's commands: models, prices that changed, and checkups.
// Text from outside is made printable on the way.
package report

import (
	"fmt"
	"io"

	"parley/ui/app"
	"parley/ui/cli/cmdutil"
	"parley/ui/theme"
)

// Doctor writes a checkup by its sections, its signs in the colors of th, or in another one of Formats.
func Doctor(w io.Writer, checks []app.Check, th *theme.Theme, as string) error {
	if as != "text" {
		return cmdutil.WriteRows(w, as, checks)
	}
	for i, section := range app.CheckReport(checks) {
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
