//go:build !unix

package attach

import "os"

// tryLock does nothing: an open file cannot be removed on this system.
func tryLock(*os.File) error { return nil }
