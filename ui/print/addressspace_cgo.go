//go:build linux && cgo

package print

/*
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

// If Go's runtime cannot reserve the address space it needs, it crashes with a trace before main. In
// a program built with cgo, this constructor runs earlier. See CheckAddressSpace for the figures; the
// exit status is Failed.
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
