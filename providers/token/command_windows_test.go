package token

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"parley/tools/process"
)

// A list of words reaches cmd with its quotes, whatever spaces there are.
func TestQuotesForCmd(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a key.txt")
	if err := os.WriteFile(file, []byte("key-1\r\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var list process.ShellText
	if err := list.UnmarshalTOML([]any{"type", file}); err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{`type "` + file + `"`, "echo key-1", `if exist "` + file + `" (echo key-1)`} {
		if got, err := Run(t.Context(), command, time.Minute); got != "key-1" || err != nil {
			t.Errorf("%s: got %q, %v", command, got, err)
		}
	}
	if want := `"type" "` + file + `"`; string(list) != want {
		t.Errorf("got %s, want %s", list, want)
	}
}
