package sandbox

import "golang.org/x/sys/unix"

// legacyModeRules are rules for calls that only old architectures have.
var legacyModeRules = []argumentRule{
	refuseSetuid(unix.SYS_OPEN, 2).onCreate(), refuseSetuid(unix.SYS_CREAT, 1), refuseSetuid(unix.SYS_CHMOD, 1), refuseSetuid(unix.SYS_MKNOD, 1),
}
