package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"parley/session"
	"parley/session/trust"
)

// TestTrustIsReconsidered: the decision about a folder can be changed both ways, whether the conversation is stored or
// not.
func TestTrustIsReconsidered(t *testing.T) {
	for _, ephemeral := range []bool{false, true} {
		t.Run(fmt.Sprintf("ephemeral %v", ephemeral), func(t *testing.T) {
			t.Setenv("XDG_DATA_HOME", t.TempDir())
			reconsiderTrust(t, ephemeral)
		})
	}
}

func reconsiderTrust(t *testing.T, ephemeral bool) {
	lib, err := session.OpenStore(os.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	t.Cleanup(func() { lib.Close() })
	if err := os.WriteFile(filepath.Join(dir, "AGENTS.md"), []byte("Use tabs."), 0o600); err != nil {
		t.Fatal(err)
	}
	start := func() *program {
		a := newProgram()
		a.dir, a.library, a.flags.ephemeral = dir, lib, ephemeral
		if ephemeral {
			a.library = session.MemoryStore()
			t.Cleanup(a.closeLibrary)
		}
		if err := a.loadProjectTrust(true); err != nil {
			t.Fatal(err)
		}
		return a
	}
	if err := trust.SaveDecision(lib, start().project.offer, false); err != nil {
		t.Fatal(err)
	}
	for _, want := range []bool{true, false, true} {
		a := start()
		if a.project.offer.Empty() != want || a.project.trusted == want || a.project.found.Empty() {
			t.Fatalf("offer %v, trusted %v, found %v", a.project.offer.Names(), a.project.trusted, a.project.found.Names())
		}
		d := trustDecision(a)
		if d.Get() == want {
			t.Errorf("decided %v before", d.Get())
		}
		if err := d.Set(want); err != nil || d.Get() != want {
			t.Errorf("%v: decided %v", err, d.Get())
		}
	}
}
