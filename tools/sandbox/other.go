//go:build !linux

package sandbox

import "parley/tools/process"

// addHelper does nothing: the only other backend, sandbox-exec of macOS, has no helper.
func addHelper(*process.SandboxDriver) {}
