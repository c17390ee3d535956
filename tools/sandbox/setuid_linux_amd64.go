package sandbox

import "golang.org/x/sys/unix"

// legacyChmodCalls lists the calls that set modes and that only old architectures have.
var legacyChmodCalls = []chmodCall{{unix.SYS_OPEN, 2}, {unix.SYS_CREAT, 1}, {unix.SYS_CHMOD, 1}, {unix.SYS_MKNOD, 1}}
