//go:build !unix

package tools

import (
	"io/fs"
	"os"
)

const nonblock = 0

func keep(f *os.File, old fs.FileInfo) error { return f.Chmod(old.Mode().Perm()) }

func links(fs.FileInfo) int { return 1 }
