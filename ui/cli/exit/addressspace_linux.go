package exit

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// leastAddressSpace is how many bytes of address space the program needs: Go reserves far more than
// it uses, and crashes with a trace if it cannot.
const leastAddressSpace = 2 << 30

// CheckAddressSpace exits with a message how to raise the limit if the address space (ulimit -v) is
// limited to less than the program needs.
func CheckAddressSpace() {
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_AS, &limit) == nil && limit.Cur < leastAddressSpace {
		fmt.Fprintf(os.Stderr, "parley: the address space is limited to %d MB and %d MB are needed: raise it with ulimit -v %d\n",
			limit.Cur>>20, leastAddressSpace>>20, leastAddressSpace>>10)
		os.Exit(Failed)
	}
}
