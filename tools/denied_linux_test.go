package tools

import (
	"strings"
	"testing"

	"parley/tools/act"
	"parley/tools/permission"
	"parley/tools/process"
)

// In yolo mode too, a denied program does not run under any name, and the model reads why.
func TestDeniedProgramCannotRun(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	f := open(t, nil)
	f.EnableSandbox(SandboxConfig{})
	if !strings.HasSuffix(process.Sandbox.Probe().Name, "pidns") {
		t.Skip("there are no namespaces here")
	}
	r, err := permission.ParseRule("shell:comm")
	if err != nil {
		t.Fatal(err)
	}
	r.Effect = act.Deny
	policy := NewPolicy(act.ModeYolo)
	policy.AddRules([]permission.Rule{r})
	f.SetPolicy(policy)
	if got, _ := f.decided(policy, "shell", "command", "comm --version"); got != act.Deny {
		t.Errorf("its name in the line: %s", got)
	}
	for _, line := range []string{"x=co; ${x}mm --version", "cp /usr/bin/comm c; ./c --version", "awk 'BEGIN { exit system(\"co\" \"mm --version\") }'"} {
		if got, _ := f.decided(policy, "shell", "command", line); got != act.Allow {
			t.Errorf("%s: %s, want %s", line, got, act.Allow)
		}
		text, failed := f.do("shell", "command", line)
		if out := text + failed; strings.Contains(out, "GNU") || !strings.Contains(out, "a rule denies the program comm") {
			t.Errorf("%s: %s", line, out)
		}
	}
}
