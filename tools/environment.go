package tools

import (
	"runtime"
	"slices"
	"strings"

	"parley/tools/sanitize"
)

// passedVariables are the variables that a command gets from parley's own environment.
// Everything else is left out, for keys and passwords hide under any name. A
// name that ends with _ stands for all that begin with it but those called as a secret.
var passedVariables = []string{
	"PATH", "HOME", "USER", "LOGNAME", "SHELL", "TZ", "TMPDIR",
	"LANG", "LANGUAGE", "LC_", "XDG_",
	"GOPATH", "GOROOT", "GOCACHE", "GOMODCACHE", "GOFLAGS", "GOTOOLCHAIN",
	"CARGO_HOME", "RUSTUP_HOME", "JAVA_HOME", "VIRTUAL_ENV", "NVM_DIR", "PNPM_HOME", "BUN_INSTALL",
	// Windows finds nothing without these.
	"SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "PATHEXT", "TEMP", "TMP", "USERPROFILE", "USERNAME",
	"HOMEDRIVE", "HOMEPATH", "APPDATA", "LOCALAPPDATA", "PROGRAMDATA", "PROGRAMFILES", "PROGRAMFILES(X86)",
}

// fixedVariables are variables of our own: nothing may draw, page, ask or open an
// editor.
var fixedVariables = []string{
	"TERM=dumb", "NO_COLOR=1", "PAGER=cat", "GIT_PAGER=cat", "MANPAGER=cat", "GIT_TERMINAL_PROMPT=0", "GIT_EDITOR=true",
}

// commandEnvironment returns what a command gets of environ: what is passed, and extra.
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
		name = strings.ToUpper(name) // there they are the same
	}
	return slices.ContainsFunc(passedVariables, func(p string) bool {
		return name == p || strings.HasSuffix(p, "_") && strings.HasPrefix(name, p) && !sanitize.IsSecretVariable(name)
	})
}
