//go:build !linux

package llmtest

import "testing"

// Folder returns the test's TempDir.
func Folder(t testing.TB) string { return t.TempDir() }
