//go:build !linux

package llmtest

import "testing"

// Folder returns a folder of a test that has no use for a disk.
func Folder(t testing.TB) string { return t.TempDir() }
