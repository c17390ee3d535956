package agentcli

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	proc "parley/tools/process"
)

// passedVariables are the variables that every program inherits: those it needs to start, to find
// its login and to reach its service. Other variables, such as keys of other providers and tools,
// are not passed. A name that ends with _ is a prefix; case does not matter.
var passedVariables = []string{
	"PARLEY_SERVING", // of parley mcp serve: a parley that they start does not serve
	"PATH", "HOME", "USER", "LOGNAME", "SHELL", "TZ", "TERM", "TMPDIR", "LANG", "LANGUAGE", "LC_", "LOCALE_ARCHIVE", "LD_LIBRARY_PATH",
	"XDG_", "DBUS_SESSION_BUS_ADDRESS", // needed to find the system's keyring
	"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "SSL_CERT_", "NIX_SSL_CERT_FILE",
	"NODE_EXTRA_CA_CERTS", "NODE_OPTIONS", "NODE_USE_SYSTEM_CA", "NODE_USE_ENV_PROXY", "DO_NOT_TRACK",
	// Version managers use these to choose the version.
	"ASDF_DIR", "ASDF_DATA_DIR", "MISE_DATA_DIR", "MISE_CONFIG_DIR", "NODENV_ROOT", "NVM_DIR", "VOLTA_HOME",
	// Windows programs do not run without these.
	"SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "PATHEXT", "TEMP", "TMP", "OS", "COMPUTERNAME", "NUMBER_OF_PROCESSORS", "PROCESSOR_",
	"USERPROFILE", "USERNAME", "USERDOMAIN", "HOMEDRIVE", "HOMEPATH", "APPDATA", "LOCALAPPDATA", "ALLUSERSPROFILE", "PUBLIC",
	"PROGRAMDATA", "PROGRAMFILES", "PROGRAMFILES(X86)", "PROGRAMW6432", "COMMONPROGRAMFILES", "COMMONPROGRAMFILES(X86)", "PSMODULEPATH",
}

// cloudVariables returns the variables of the cloud that Claude Code uses if the variable name is
// set; nil for other names.
func cloudVariables(name string) []string {
	switch name {
	case "CLAUDE_CODE_USE_BEDROCK":
		return []string{"AWS_"}
	case "CLAUDE_CODE_USE_VERTEX":
		return []string{"GOOGLE_", "CLOUDSDK_CONFIG", "CLOUD_ML_REGION", "VERTEX_REGION_", "GCLOUD_PROJECT"}
	case "CLAUDE_CODE_USE_FOUNDRY":
		return []string{"AZURE_"}
	}
	return nil
}

// hiddenVariables lists variables that would make a program conclude that it runs inside itself.
var hiddenVariables = []string{"CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT"}

// Environment returns the variables in environ, a list of NAME=value, that the program of a kind
// inherits. For an unknown kind, it returns those that every program inherits. It removes the
// working directory from PATH, which is also searched for the interpreter of a script.
func Environment(kind string, environ []string) []string {
	passed := append(slices.Clone(passedVariables), flavors[kind].variables...)
	for _, v := range environ {
		if name, value, _ := strings.Cut(v, "="); kind == "claude-cli" && value != "" && value != "0" {
			passed = append(passed, cloudVariables(name)...)
		}
	}
	kept := slices.DeleteFunc(proc.Variables(environ, passed), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return slices.Contains(hiddenVariables, name)
	})
	for i, v := range kept {
		if name, path, _ := strings.Cut(v, "="); strings.EqualFold(name, "PATH") {
			kept[i] = name + "=" + proc.OutsideWorkspace(path).String()
		}
	}
	return kept
}

// environment returns the whole environment of the program, which may hold its credentials.
func (m *Model) environment(r *run) []string {
	vars := map[string]string{}
	for _, list := range [][]string{Environment(m.o.Kind, os.Environ()), baseEnvironment(r), m.flavorEnv(r), m.o.Env} {
		for _, v := range list {
			name, value, _ := strings.Cut(v, "=")
			vars[name] = value
		}
	}
	// The program runs in another directory, where a relative path would be wrong.
	if file := vars["GOOGLE_APPLICATION_CREDENTIALS"]; file != "" {
		if abs, err := filepath.Abs(file); err == nil {
			vars["GOOGLE_APPLICATION_CREDENTIALS"] = abs
		}
	}
	env := make([]string, 0, len(vars))
	for _, name := range slices.Sorted(maps.Keys(vars)) {
		env = append(env, name+"="+vars[name])
	}
	return env
}

// flavorEnv returns the variables that the flavor adds for a run.
func (m *Model) flavorEnv(r *run) []string {
	if m.flavor.env == nil {
		return nil
	}
	return m.flavor.env(r)
}

// baseEnvironment returns variables that keep every program from treating its output as a terminal.
func baseEnvironment(r *run) []string {
	return []string{"TERM=dumb", "NO_COLOR=1", "CI=true", "PWD=" + r.dir}
}
