package cli

import (
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"parley/tools/process"
)

// version returns the version that the build knows, "devel" if it knows none.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" || info.Main.Version == "(devel)" {
		return "devel"
	}
	return info.Main.Version
}

// setting returns what the build says of a name, such as vcs.revision, and "" if it says
// nothing of it: without a repository, or without git.
func setting(name string) string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, s := range info.Settings {
		if s.Key == name {
			return s.Value
		}
	}
	return ""
}

// buildDate returns the day of the commit that was built, which is the date of the manual:
// that of the first release if the build does not know.
func buildDate() string {
	day, _, ok := strings.Cut(setting("vcs.time"), "T")
	if !ok {
		return "2026-11-23"
	}
	return day
}

// versionCommand prints what --version does and, with more lines, what reports of errors
// should say.
func versionCommand(a *program) *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version, commit, Go, platform and features", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return writeVersion(a.Out, cmd.Root().Name(), process.Sandbox.Probe())
		},
	}
}

// writeVersion writes a line for the version and for each fact about the build.
func writeVersion(w io.Writer, name string, backend process.Backend) error {
	commit := setting("vcs.revision")
	switch {
	case commit == "":
		commit = "not known: built without its repository"
	case setting("vcs.modified") == "true":
		commit += " of " + buildDate() + ", and changes that are not committed"
	default:
		commit += " of " + buildDate()
	}
	confined := backend.Name
	if confined == "" {
		confined = "none: " + backend.Reason
	}
	cgo := "without cgo"
	if setting("CGO_ENABLED") == "1" {
		cgo = "with cgo"
	}
	_, err := fmt.Fprintf(w, "%s version %s\ncommit: %s\nbuilt with: %s, %s\nplatform: %s/%s\nsandbox: %s\n",
		name, version(), commit, runtime.Version(), cgo, runtime.GOOS, runtime.GOARCH, confined)
	return err
}
