//go:build !unix

package tools

import (
	"io/fs"
	"os"
)

const nonblock = 0

func keepOwner(*os.File, fs.FileInfo) error { return nil }

func isMount(error) bool { return false }

func links(fs.FileInfo) int { return 1 }
