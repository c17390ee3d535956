package cli

import (
	"bytes"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"parley/ui/cli/cmd/help"
	"parley/ui/cli/cmdutil"
	"parley/ui/textwrap"
)

// Help fits the terminal, except text to be copied, and has the same content as cobra's.
func TestHelpFitsItsWidth(t *testing.T) {
	root := newProgram().rootCommand(nil)
	eachCommand(root, func(cmd *cobra.Command) {
		cmd.InitDefaultHelpFlag()
		wide := help.Usage(cmd, 1000)
		cmd.Flags().VisitAll(func(f *pflag.Flag) { // no value is appended to a name, as in web on|off[="on"]
			if f.Value.Type() == "string" {
				f.NoOptDefVal = ""
			}
		})
		var own bytes.Buffer
		cmd.SetOut(&own)
		if err := new(cobra.Command).UsageFunc()(cmd); err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(cmd.Use, cmdutil.NeedsCommand) { // cobra repeats this line
			said := strings.Replace(own.String(), "  "+cmd.CommandPath()+" [command]\n", "", 1)
			own.Reset()
			own.WriteString(said)
		}
		if wide != own.String() {
			t.Errorf("%s: the help is\n%s\nand cobra's\n%s", cmd.CommandPath(), wide, &own)
		}
		for _, width := range []int{60, 80, 120} {
			got := help.Usage(cmd, width)
			for line := range strings.Lines(got) {
				line = strings.TrimSuffix(line, "\n")
				if textwrap.Width(line) > width && line != "  "+cmd.UseLine() && !strings.Contains(cmd.Example, line) {
					t.Errorf("%s: wider than %d: %s", cmd.CommandPath(), width, line)
				}
			}
			if strings.Join(strings.Fields(got), " ") != strings.Join(strings.Fields(own.String()), " ") {
				t.Errorf("%s: words are lost at %d:\n%s", cmd.CommandPath(), width, got)
			}
		}
		own.Reset()
		if err := cmd.Help(); err != nil || !strings.Contains(own.String(), help.Usage(cmd, 80)) {
			t.Errorf("%s: %v: its help is not the one for its width:\n%s", cmd.CommandPath(), err, &own)
		}
	})
}
