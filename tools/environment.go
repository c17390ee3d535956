package tools

import (
	"runtime"
	"slices"
	"strings"

	"parley/tools/sanitize"
)

// passedVariables are the variables that a command gets from parley's own environment.
// All others are left out, because keys and passwords have arbitrary names. A name that
// ends with _ is a prefix; variables with secret-like names are excluded.
var passedVariables = []string{
	"PATH", "HOME", "USER", "LOGNAME", "SHELL", "TZ", "TMPDIR",
	"LANG", "LANGUAGE", "LC_", "XDG_",
	"GOPATH", "GOROOT", "GOCACHE", "GOMODCACHE", "GOFLAGS", "GOTOOLCHAIN",
	"CARGO_HOME", "RUSTUP_HOME", "JAVA_HOME", "VIRTUAL_ENV", "NVM_DIR", "PNPM_HOME", "BUN_INSTALL",
	// Windows programs do not start without these.
	"SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "PATHEXT", "TEMP", "TMP", "USERPROFILE", "USERNAME",
	"HOMEDRIVE", "HOMEPATH", "APPDATA", "LOCALAPPDATA", "PROGRAMDATA", "PROGRAMFILES", "PROGRAMFILES(X86)",
}

// fixedVariables are set for every command: they turn off colors, pagers, prompts
// and editors.
var fixedVariables = []string{
	"TERM=dumb", "NO_COLOR=1", "PAGER=cat", "GIT_PAGER=cat", "MANPAGER=cat", "GIT_TERMINAL_PROMPT=0", "GIT_EDITOR=true",
}

// commandEnvironment returns the environment of a command: the passed variables of environ, then extra.
func commandEnvironment(environ, extra []string) []string {
	var out []string
	for _, entry := range environ {
		if name, _, ok := strings.Cut(entry, "="); ok && (passesVariable(name) || slices.Contains(extra, name)) {
			out = append(out, entry)
		}
	}
	return append(out, fixedVariables...)
}

func passesVariable(name string) bool {
	if runtime.GOOS == "windows" {
		name = strings.ToUpper(name) // Windows ignores the case of names
	}
	return slices.ContainsFunc(passedVariables, func(p string) bool {
		return name == p || strings.HasSuffix(p, "_") && strings.HasPrefix(name, p) && !sanitize.IsSecretVariable(name)
	})
}
