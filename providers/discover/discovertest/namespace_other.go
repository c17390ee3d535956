//go:build !linux

package discovertest

import "testing"

// Isolated skips the test: only Linux has network namespaces.
func Isolated(t *testing.T) bool {
	t.Helper()
	t.Skip("there is no network of its own on this system")
	return false
}
