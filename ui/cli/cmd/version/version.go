// Package version implements parley version, which prints the facts that error reports should contain.
package version

import (
	"fmt"
	"io"
	"runtime"

	"github.com/spf13/cobra"

	"parley/tools/process"
	"parley/ui/cli/cmdutil"
)

// New returns the command that prints the version and the facts that error reports should contain.
func New(out io.Writer) *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version, commit, Go, platform and features", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return writeVersion(out, cmd.Root().Name(), process.Sandbox.Probe())
		},
	}
}

// writeVersion writes the version and facts about the build, one per line.
func writeVersion(w io.Writer, name string, backend process.Backend) error {
	commit := cmdutil.BuildSetting("vcs.revision")
	switch {
	case commit == "":
		commit = "not known: built without its repository"
	case cmdutil.BuildSetting("vcs.modified") == "true":
		commit += " of " + cmdutil.BuildDate() + ", and changes that are not committed"
	default:
		commit += " of " + cmdutil.BuildDate()
	}
	confined := backend.Name
	if confined == "" {
		confined = "none: " + backend.Reason
	}
	cgo := "without cgo"
	if cmdutil.BuildSetting("CGO_ENABLED") == "1" {
		cgo = "with cgo"
	}
	_, err := fmt.Fprintf(w, "%s version %s\ncommit: %s\nbuilt with: %s, %s\nplatform: %s/%s\nsandbox: %s\n",
		name, cmdutil.Version(), commit, runtime.Version(), cgo, runtime.GOOS, runtime.GOARCH, confined)
	return err
}
