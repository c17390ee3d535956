package exit

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// leastAddressSpace is the address space, in bytes, that the program needs: Go reserves far more than it uses, and
// crashes with a trace if it cannot.
const leastAddressSpace = 2 << 30

// CheckAddressSpace exits if the address space is limited (ulimit -v) to less than the program needs. The message
// explains how to raise the limit.
func CheckAddressSpace() {
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_AS, &limit) == nil && limit.Cur < leastAddressSpace {
		fmt.Fprintf(os.Stderr, "parley: the address space is limited to %d MB and %d MB are needed: raise it with ulimit -v %d\n",
			limit.Cur>>20, leastAddressSpace>>20, leastAddressSpace>>10)
		os.Exit(Failed)
	}
}
