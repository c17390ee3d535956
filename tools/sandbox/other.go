//go:build !linux

package sandbox

import (
	"io/fs"
	"time"

	"parley/tools/process"
)

// addHelper does nothing: the only other backend, sandbox-exec of macOS, has no helper.
func addHelper(*process.SandboxDriver) {}

func fileTimeNow() time.Time { return time.Now() }

func fileTimeAfter(time.Time) time.Time { return time.Now() }

func changeTime(info fs.FileInfo) time.Time { return info.ModTime() }
