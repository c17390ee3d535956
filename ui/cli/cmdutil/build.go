package cmdutil

import (
	"runtime/debug"
	"strings"
)

// Version returns the version that the build knows, "devel" if it knows none.
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" || info.Main.Version == "(devel)" {
		return "devel"
	}
	return info.Main.Version
}

// BuildSetting returns what the build says of a name, such as vcs.revision, and "" if it says
// nothing of it: without a repository, or without git.
func BuildSetting(name string) string {
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

// BuildDate returns the day of the commit that was built, which is the date of the manual:
// that of the first release if the build does not know.
func BuildDate() string {
	day, _, ok := strings.Cut(BuildSetting("vcs.time"), "T")
	if !ok {
		return "2026-11-23"
	}
	return day
}
