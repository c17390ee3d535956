package llmtest

import (
	"os"
	"syscall"
	"testing"
)

// Executable writes text to path as an executable file that can be run at once. It blocks the start
// of programs meanwhile: a child would hold the file open for writing until its exec, and Linux
// does not run a file that is open for writing ("text file busy", https://go.dev/issue/22315).
func Executable(t testing.TB, path, text string) {
	t.Helper()
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
}
