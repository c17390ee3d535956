//go:build unix

package snapshot

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"

	"parley/tools/undo"
)

// TestChangedSincePlanned: what changed after the user was shown what an undo does is left
// alone, also if they allowed all that it asked about. The rest is done.
func TestChangedSincePlanned(t *testing.T) {
	for name, hand := range map[string]func(a string) error{
		"content of the same size": func(a string) error { return os.WriteFile(a, []byte("MODEL\n"), 0o644) },
		"longer content":           func(a string) error { return os.WriteFile(a, []byte("by hand\n"), 0o644) },
		"mode":                     func(a string) error { return os.Chmod(a, 0o600) },
		"deleted":                  os.Remove,
		"a link in its place": func(a string) error {
			return errors.Join(os.Rename(a, a+".moved"), os.Symlink("a.moved", a))
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newDesk(t, map[string]string{"a": "old\n", "b": "old\n"})
				d.shell("echo model > a; echo model > b")
				plan, err := d.Plan(1)
				if err != nil {
					t.Fatal(err)
				}
				if err := hand(filepath.Join(d.dir, "a")); err != nil {
					t.Fatal(err)
				}
				others := map[string]bool{"b": true}
				before := treeOf(t, d.dir, others)
				_, skipped, err := d.Restore(plan, true, 0, "undo")
				if err != nil || len(skipped) != 1 || skipped[0] != (undo.Skipped{Path: "a", Why: "changed just now"}) {
					t.Errorf("skipped %v: %v", skipped, err)
				}
				if diff := diffOf(before, treeOf(t, d.dir, others)); diff != "" {
					t.Errorf("a did not stay as it was:\n%s", diff)
				}
				if d.read("b") != "old\n" {
					t.Errorf("b is %q", d.read("b"))
				}
			})
		})
	}
}
