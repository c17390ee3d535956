package print

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// leastAddressSpace sets how many bytes of address space the program needs: Go
// reserves far more than it uses, and ends with a trace where it cannot.
const leastAddressSpace = 2 << 30

// CheckAddressSpace ends the program, with what to do, where the address space
// is limited to less than it needs.
func CheckAddressSpace() {
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_AS, &limit) == nil && limit.Cur < leastAddressSpace {
		fmt.Fprintf(os.Stderr, "parley: the address space is limited to %d MB and %d MB are needed: raise it with ulimit -v %d\n",
			limit.Cur>>20, leastAddressSpace>>20, leastAddressSpace>>10)
		os.Exit(Failed)
	}
}
