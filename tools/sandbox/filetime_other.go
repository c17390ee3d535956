//go:build !linux

package sandbox

import (
	"io/fs"
	"time"
)

func fileTimeNow() time.Time { return time.Now() }

func changeTime(info fs.FileInfo) time.Time { return info.ModTime() }
