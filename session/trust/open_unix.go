//go:build unix

package trust

import "syscall"

// nonblock makes opening a pipe return at once.
const nonblock = syscall.O_NONBLOCK
