package tools

import (
	"bytes"
	"os"
	"os/exec"
	"testing"
)

// TestHideEnvironment looks at a process of its own, as the environment cannot be
// hidden twice.
func TestHideEnvironment(t *testing.T) {
	t.Parallel()
	if os.Getenv("PARLEY_TEST_HIDE") == "1" {
		ScrubEnvironment()
		shown, err := os.ReadFile("/proc/self/environ")
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(shown, []byte("sk-hidden")) {
			t.Error("the key is still shown")
		}
		if !bytes.Contains(shown, []byte("HOME=/here")) {
			t.Error("what commands get anyway was hidden too")
		}
		if got := os.Getenv("SOME_API_KEY"); got != "sk-hidden" {
			t.Errorf("parley itself has %q", got)
		}
		out, err := exec.Command("env").Output() // a plain child, not a tool's
		if err != nil || !bytes.Contains(out, []byte("SOME_API_KEY=sk-hidden")) {
			t.Errorf("a child that is given the environment has %q, %v", out, err)
		}
		return
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestHideEnvironment$")
	cmd.Env = []string{"PARLEY_TEST_HIDE=1", "SOME_API_KEY=sk-hidden", "HOME=/here", "PATH=" + os.Getenv("PATH")}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
