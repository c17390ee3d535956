//go:build !unix

package recording

import "io/fs"

const openFlags = 0

// ownedByUser returns true: the file mode does not tell the owner here.
func ownedByUser(fs.FileInfo) bool { return true }
