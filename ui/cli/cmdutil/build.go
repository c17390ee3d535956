package cmdutil

import (
	"runtime/debug"
	"strings"
)

// Version returns the version from the build information; "devel" if it has none.
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" || info.Main.Version == "(devel)" {
		return "devel"
	}
	return info.Main.Version
}

// BuildSetting returns a setting from the build information, such as vcs.revision; "" if it is missing, as in builds
// without a repository or without git.
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

// BuildDate returns the day of the commit that was built, which is the date of the manual. If the build has none, it
// returns the day of the first release.
func BuildDate() string {
	day, _, ok := strings.Cut(BuildSetting("vcs.time"), "T")
	if !ok {
		return "2026-11-23"
	}
	return day
}
