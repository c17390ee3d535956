package edit

import (
	"errors"
	"os"
	"strings"
	"testing"
)

// The editor gets a file with the text, which is removed afterwards.
func TestText(t *testing.T) {
	getenv := func(name string) string { return map[string]string{"VISUAL": "vi", "EDITOR": "ed"}[name] }
	for _, failure := range []error{nil, errors.New("exit status 1")} {
		cmd, written, err := Text(getenv, "a draft")
		if err != nil {
			t.Fatal(err)
		}
		path := cmd.Args[len(cmd.Args)-1]
		if b, err := os.ReadFile(path); err != nil || string(b) != "a draft" || !strings.Contains(strings.Join(cmd.Args, " "), "vi") {
			t.Errorf("%q: %q, %v", cmd.Args, b, err)
		}
		if err := os.WriteFile(path, []byte("a better draft\n\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		switch got, err := written(failure); {
		case failure == nil && (got != "a better draft" || err != nil):
			t.Errorf("got %q, %v", got, err)
		case failure != nil && (got != "" || err == nil || err.Error() != "vi: exit status 1"):
			t.Errorf("got %q, %v", got, err)
		}
		if _, err := os.Stat(path); err == nil {
			t.Errorf("%s remains", path)
		}
	}
	if _, _, err := Text(func(string) string { return "" }, ""); err == nil || err.Error() != "set $VISUAL or $EDITOR to use an editor" {
		t.Errorf("without an editor: %v", err)
	}
}
