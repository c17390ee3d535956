package cli

import (
	"testing"

	"parley/session"
	"parley/tools/act"
)

// With --tools none, the commands of --until share one set of tools, and follow the approval mode of the conversation.
func TestUntilWithoutTools(t *testing.T) {
	a := newProgram()
	a.dir, a.library, a.flags.toolNames, a.config.Sandbox.Off = t.TempDir(), session.MemoryStore(), "none", true
	defer a.library.Close()
	defer closeTools(a)
	policy, err := a.newPolicy()
	if err != nil {
		t.Fatal(err)
	}
	s := session.New(session.Options{Policy: policy})
	defer s.Close()
	run := func() error {
		_, err := a.until()(s, "exit 0", 1)(t.Context(), func(session.Event) {})
		return err
	}
	first := run()
	set := a.project.programs
	policy.SetMode(act.ModeYolo)
	if err := run(); first == nil || err != nil || a.project.programs != set {
		t.Errorf("in mode ask: %v, in mode yolo: %v", first, err)
	}
}
