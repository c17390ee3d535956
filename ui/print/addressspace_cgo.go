//go:build linux && cgo

package print

/*
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

// Go's own runtime ends with a trace, before main, where it cannot reserve what it
// needs. Where the program is linked by a C linker, this runs before it. See
// CheckAddressSpace for what the figures mean; the status is Failed.
__attribute__((constructor)) static void check_address_space(void) {
	struct rlimit limit;
	const unsigned long long least = 2ULL << 30;
	if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur >= least)
		return;
	dprintf(2, "parley: the address space is limited to %llu MB and %llu MB are needed: raise it with ulimit -v %llu\n",
		(unsigned long long)limit.rlim_cur >> 20, least >> 20, least >> 10);
	_exit(1);
}
*/
import "C"
