//go:build !linux

package sandbox

import (
	"io/fs"
	"time"
)

func present() time.Time { return time.Now() }

func changedAt(info fs.FileInfo) time.Time { return info.ModTime() }
