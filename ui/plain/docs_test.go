package plain

import (
	"strings"
	"testing"

	"parley/ui/uitest"
)

// TestManual verifies that the manual lists the commands that only this front end has. The
// flag -update writes them.
func TestManual(t *testing.T) {
	var b strings.Builder
	b.WriteString("| Command | What it does |\n| --- | --- |\n")
	for _, c := range ownCommands() {
		b.WriteString("| `" + strings.TrimSpace("/"+c.Name+" "+c.Arg) + "` | " + strings.ReplaceAll(c.Help, "$", `\$`) + " |\n")
	}
	uitest.GeneratedDoc(t, "accessibility", "commands", b.String())
}
