package print

import (
	"fmt"
	"io"
	"strings"

	"parley/ui/app"
)

// Doctor writes a checkup by its sections, or for machines an object a line.
func Doctor(w io.Writer, checks []app.Check, asJSON bool) error {
	if asJSON {
		for _, c := range checks {
			if err := writeJSON(w, c); err != nil {
				return err
			}
		}
		return nil
	}
	for i, part := range app.CheckReport(checks) {
		heading := part.Title
		if i > 0 {
			heading = "\n" + heading
		}
		if _, err := fmt.Fprintf(w, "%s\n%s\n", heading, strings.Join(part.Lines, "\n")); err != nil {
			return err
		}
	}
	return nil
}
