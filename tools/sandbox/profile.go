package sandbox

import (
	"fmt"
	"path/filepath"
	"strings"
)

// Profile returns p in the language of macOS's sandbox-exec (Seatbelt). Later rules take
// precedence, so protected paths come last.
func Profile(p Policy) string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("(version 1)")
	line("(deny default)")
	line("(allow process-fork)")
	line("(allow process-exec)")
	line("(allow signal (target same-sandbox))")
	line("(allow process-info* (target same-sandbox))")
	line("(allow sysctl-read)")
	line("(allow ipc-posix-sem)")
	line(`(allow mach-lookup (global-name "com.apple.system.opendirectoryd.libinfo"))`) // user names
	line("(allow file-read-metadata)")
	line(`(allow file-read* (literal "/"))`)
	for _, path := range []string{"/usr", "/bin", "/sbin", "/System", "/Library", "/opt", "/Applications", "/private/etc", "/private/var/db", "/dev"} {
		line("(allow file-read* (subpath %s))", quoteSeatbelt(path))
	}
	for _, path := range p.ReadPaths {
		line("(allow file-read* (subpath %s))", quoteSeatbelt(path))
	}
	line(`(allow file-write* (literal "/dev/null") (literal "/dev/zero"))`)
	for _, path := range append([]string{p.Workspace, p.TempDir}, p.WritePaths...) {
		if path != "" {
			line("(allow file-read* file-write* (subpath %s))", quoteSeatbelt(path))
		}
	}
	for _, path := range p.Protected {
		full := filepath.Join(p.Workspace, path)
		line("(deny file-write* (subpath %s))", quoteSeatbelt(full))
		for dir := filepath.Dir(full); isWithin(dir, p.Workspace) && dir != p.Workspace; dir = filepath.Dir(dir) {
			line("(deny file-write-unlink (literal %s))", quoteSeatbelt(dir)) // it could be moved away and replaced
		}
	}
	if p.Network {
		line("(allow network-outbound (remote ip))")
		line("(allow network-inbound (local ip))")
		line("(allow network-bind (local ip))")
		line("(allow system-socket)")
		line(`(allow mach-lookup (global-name "com.apple.dnssd.service") (global-name "com.apple.SystemConfiguration.configd"))`)
		line(`(allow network-outbound (literal "/private/var/run/mDNSResponder"))`)
	}
	return b.String()
}

// quoteSeatbelt quotes a path in the profile's language.
func quoteSeatbelt(path string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(filepath.Clean(path)) + `"`
}
