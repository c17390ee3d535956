package llmtest

import (
	"os"
	"syscall"
	"testing"
)

// Executable writes text to path as an executable file that can be run at once. Other
// goroutines start no program meanwhile: a child would hold the file open for
// writing until it executes, and Linux runs no file that is open for writing
// ("text file busy", https://go.dev/issue/22315).
func Executable(t testing.TB, path, text string) {
	t.Helper()
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
}
