package agentcli

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// passedVariables are what every program gets of parley's own environment: what it needs to
// start, to find its login, and to reach its service. Everything else stays behind: the
// keys of other providers, and of whatever else the user does. A name that ends with _
// stands for all that begin with it; case does not matter.
var passedVariables = []string{
	"PATH", "HOME", "USER", "LOGNAME", "SHELL", "TZ", "TERM", "TMPDIR", "LANG", "LANGUAGE", "LC_", "LOCALE_ARCHIVE", "LD_LIBRARY_PATH",
	"XDG_", "DBUS_SESSION_BUS_ADDRESS", // with them a program finds the system's keyring
	"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "SSL_CERT_", "NIX_SSL_CERT_FILE",
	"NODE_EXTRA_CA_CERTS", "NODE_OPTIONS", "NODE_USE_SYSTEM_CA", "NODE_USE_ENV_PROXY", "DO_NOT_TRACK",
	// Managers of versions start the right one by these.
	"ASDF_DIR", "ASDF_DATA_DIR", "MISE_DATA_DIR", "MISE_CONFIG_DIR", "NODENV_ROOT", "NVM_DIR", "VOLTA_HOME",
	// Windows finds nothing without these.
	"SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "PATHEXT", "TEMP", "TMP", "OS", "COMPUTERNAME", "NUMBER_OF_PROCESSORS", "PROCESSOR_",
	"USERPROFILE", "USERNAME", "USERDOMAIN", "HOMEDRIVE", "HOMEPATH", "APPDATA", "LOCALAPPDATA", "ALLUSERSPROFILE", "PUBLIC",
	"PROGRAMDATA", "PROGRAMFILES", "PROGRAMFILES(X86)", "PROGRAMW6432", "COMMONPROGRAMFILES", "COMMONPROGRAMFILES(X86)", "PSMODULEPATH",
}

// ownVariables returns those that the program of a kind itself obeys: see its documentation.
func ownVariables(kind string) []string {
	switch kind {
	case "claude-cli":
		return []string{"ANTHROPIC_", "CLAUDE_", "DISABLE_", "API_TIMEOUT_MS", "MAX_THINKING_TOKENS"}
	case "codex-cli":
		return []string{"OPENAI_", "CODEX_"}
	case "gemini-cli":
		return []string{"GEMINI_", "GOOGLE_", "CLOUDSDK_CONFIG"}
	case "antigravity-cli":
		return []string{"ANTIGRAVITY_", "GEMINI_", "GOOGLE_", "CLOUDSDK_CONFIG"}
	case "copilot-cli":
		return []string{"COPILOT_", "GH_", "GITHUB_"}
	case "grok-cli":
		return []string{"XAI_", "GROK_"}
	case "qwen-cli":
		return []string{"QWEN_", "DASHSCOPE_", "BAILIAN_", "OPENAI_"}
	}
	return nil
}

// cloudVariables returns those of the cloud that serves Claude Code its models where the
// variable name is set; nil if it is none of these.
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

// hiddenVariables lists variables by which a program would think that it runs inside
// itself.
var hiddenVariables = []string{"CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT"}

// Environment returns what of environ, a list of NAME=value, the program of a kind gets. It
// gets nothing but what every program does if there is no such kind.
func Environment(kind string, environ []string) []string {
	passed := append(slices.Clone(passedVariables), ownVariables(kind)...)
	for _, v := range environ {
		if name, value, _ := strings.Cut(v, "="); kind == "claude-cli" && value != "" && value != "0" {
			passed = append(passed, cloudVariables(name)...)
		}
	}
	var kept []string
	for _, v := range environ {
		if name, _, ok := strings.Cut(v, "="); ok && !slices.Contains(hiddenVariables, name) && isPassed(passed, strings.ToUpper(name)) {
			kept = append(kept, v)
		}
	}
	return kept
}

func isPassed(passed []string, name string) bool {
	return slices.ContainsFunc(passed, func(p string) bool {
		return name == p || strings.HasSuffix(p, "_") && strings.HasPrefix(name, p)
	})
}

// environment returns what the program gets of parley's own, which may hold its credentials,
// with what keeps it from treating its output as a screen.
func (m *Model) environment(r *run) []string {
	vars := map[string]string{}
	for _, list := range [][]string{Environment(m.o.Kind, os.Environ()), baseEnvironment(r), m.flavorEnv(r), m.o.Env} {
		for _, v := range list {
			name, value, _ := strings.Cut(v, "=")
			vars[name] = value
		}
	}
	// The program runs elsewhere, where a relative path leads nowhere.
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

// flavorEnv returns what one program needs beside that.
func (m *Model) flavorEnv(r *run) []string {
	if m.flavor.env == nil {
		return nil
	}
	return m.flavor.env(r)
}

func baseEnvironment(r *run) []string {
	return []string{"TERM=dumb", "NO_COLOR=1", "CI=true", "PWD=" + r.dir}
}
