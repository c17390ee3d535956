package folders

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"parley/session"
	"parley/ui/app"
	"parley/ui/uitest/apptest"
)

// TestTrust: the decision about a folder can be changed; answering no changes nothing.
func TestTrust(t *testing.T) {
	a := apptest.New(t, Register)
	if got := apptest.Run(t, a, "/trust"); apptest.See(got).Toast != "This folder contains no settings for parley" {
		t.Errorf("without files: %+v", got)
	}
	trusted := false
	a.Trust.Decided = app.TrustDecision{
		Review: func() string { return "Do you trust /project?" },
		Get:    func() bool { return trusted },
		Set:    func(yes bool) error { trusted = yes; return nil },
	}
	for _, tt := range []struct{ asks, says string }{
		{"Do you trust /project?", "Folder trusted from the next start of parley"},
		{"You trust this folder. Stop trusting it?", "Folder not trusted from the next start of parley"},
	} {
		c, before := apptest.See(apptest.Run(t, a, "/trust")).Confirm, trusted
		if c == nil || !strings.HasPrefix(c.Text, tt.asks) || c.Harmless != before {
			t.Fatalf("/trust asks %+v, want %q", c, tt.asks)
		}
		if got := apptest.See(c.Answer(false)).Toast; got != "" || trusted != before {
			t.Errorf("no: %q, trusted %v", got, trusted)
		}
		if got := apptest.See(c.Answer(true)).Toast; got != tt.says || trusted == before {
			t.Errorf("yes: got %q, trusted %v, want %q", got, trusted, tt.says)
		}
	}
}

// The model is told the real result. A folder that no longer exists is removed when another one is added, and does not
// prevent that.
func TestFolderThatIsGone(t *testing.T) {
	a := apptest.New(t, Register, apptest.Tools(t))
	f := flow{a}
	add := func(dir string) app.Effect {
		t.Helper()
		e := f.add(dir)
		if apptest.See(e).Confirm == nil {
			t.Fatalf("%s: %+v", dir, e)
		}
		return apptest.See(e).Confirm.Answer(true)
	}
	real := func() string {
		dir, err := filepath.EvalSymlinks(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		return dir
	}
	gone, kept := real(), real()
	if e := add(gone); apptest.See(e).Err != nil {
		t.Fatal(apptest.See(e).Err)
	}
	if err := os.Remove(gone); err != nil {
		t.Fatal(err)
	}
	e := add(kept)
	if dirs := apptest.See(e).Event.(session.AddedDirectories).Dirs; apptest.See(e).Err == nil || !slices.Equal(dirs, []string{gone, kept}) || !slices.Equal(a.Session.Directories.Reachable(), []string{kept}) {
		t.Errorf("added are %q: %v", dirs, apptest.See(e).Err)
	}
	want := "<note>\nThe folder " + gone + " is missing: tools do not reach it until it is back.\nThe user added a folder. " + session.DirectoriesText([]string{kept}) + "\n</note>"
	if got := a.Attached[len(a.Attached)-1].Text; got != want {
		t.Errorf("the model is told %q, want %q", got, want)
	}
	if items := f.items(""); len(items) != 2 || items[0].Value != gone || !strings.HasPrefix(items[0].Detail, "missing") || items[1].Detail != "" {
		t.Errorf("listed are %+v", items)
	}
	attached := len(a.Attached)
	if e := f.add(removeFolder + gone); !slices.Equal(apptest.See(e).Event.(session.AddedDirectories).Dirs, []string{kept}) || len(a.Attached) != attached {
		t.Errorf("removing the missing one: %+v", e)
	}
}
