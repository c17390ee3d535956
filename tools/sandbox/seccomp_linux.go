package sandbox

import (
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// architectures lists those whose system calls have the numbers and the argument order that
// the filter relies on.
var architectures = map[string]uint32{
	"amd64":   unix.AUDIT_ARCH_X86_64,
	"arm64":   unix.AUDIT_ARCH_AARCH64,
	"riscv64": unix.AUDIT_ARCH_RISCV64,
	"loong64": unix.AUDIT_ARCH_LOONGARCH64,
}

// x32 marks the numbers of amd64's second table of system calls.
const x32 = 0x40000000

// deniedCalls lists the system calls that nothing in a workspace needs, and that reach
// around Landlock or deep into the kernel. Landlock denies some of them as well.
var deniedCalls = []uintptr{
	// Rings carry out socket, connect and openat past this filter.
	unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER,
	// What is mounted, and where.
	unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_CHROOT, unix.SYS_SETNS, unix.SYS_OPEN_TREE,
	unix.SYS_MOVE_MOUNT, unix.SYS_FSOPEN, unix.SYS_FSCONFIG, unix.SYS_FSMOUNT, unix.SYS_FSPICK, unix.SYS_MOUNT_SETATTR,
	unix.SYS_SWAPON, unix.SYS_SWAPOFF, unix.SYS_QUOTACTL, unix.SYS_ACCT,
	// Keyrings hold secrets of the whole login.
	unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY, unix.SYS_KEYCTL,
	// The kernel itself, and other processes.
	unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD, unix.SYS_KEXEC_LOAD, unix.SYS_INIT_MODULE,
	unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE, unix.SYS_REBOOT, unix.SYS_SYSLOG, unix.SYS_PIDFD_GETFD, unix.SYS_KCMP,
	unix.SYS_PROCESS_MADVISE,
	unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_SETTIMEOFDAY, unix.SYS_CLOCK_SETTIME, unix.SYS_SETHOSTNAME, unix.SYS_SETDOMAINNAME,
}

// namespaceFlags holds the flags of clone and unshare that create namespaces. A new user
// namespace would give back all capabilities.
const namespaceFlags = unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET |
	unix.CLONE_NEWIPC | unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP

// argumentRule restricts one system call by the lower half of one argument, after masking
// it.
type argumentRule struct {
	call    uintptr
	arg     uint32
	mask    uint32
	allowed []uint32 // values that pass; nil: all but denied
	denied  []uint32
	errno   unix.Errno
	notify  bool // notify the helper in place of errno, where it listens
}

// argumentRules returns the rules for system calls that depend on their arguments.
// Untouchable holds the ids that must not be signaled.
func argumentRules(online bool, untouchable []int) []argumentRule {
	const whole = 0xFFFFFFFF
	var families []uint32
	if online { // never Unix sockets: their servers, such as Docker, may run as root
		families = []uint32{unix.AF_INET, unix.AF_INET6, unix.AF_NETLINK}
	}
	all := []argumentRule{
		// Landlock's rules of TCP miss MPTCP, and UDP before its ABI 10.
		{call: unix.SYS_SOCKET, mask: whole, allowed: append([]uint32{}, families...), errno: unix.EPERM},
		// A datagram socket of a pair can be turned to any Unix socket by sendmsg.
		{call: unix.SYS_SOCKETPAIR, arg: 0, mask: whole, allowed: []uint32{unix.AF_UNIX}, errno: unix.EPERM},
		{call: unix.SYS_SOCKETPAIR, arg: 1, mask: 0xF, allowed: []uint32{unix.SOCK_STREAM, unix.SOCK_SEQPACKET}, errno: unix.EPERM},
		{call: unix.SYS_UNSHARE, mask: namespaceFlags, allowed: []uint32{0}, errno: unix.EPERM},
		{call: unix.SYS_CLONE, mask: namespaceFlags, allowed: []uint32{0}, errno: unix.EPERM},
		// Its flags are behind a pointer. On ENOSYS programs use clone.
		{call: unix.SYS_CLONE3, mask: whole, allowed: []uint32{}, errno: unix.ENOSYS},
		// The limits of others: lower ones could keep parley or the helper from restoring files.
		{call: unix.SYS_PRLIMIT64, mask: whole, allowed: []uint32{0}, errno: unix.EPERM},
		// Its mode is behind a pointer. On ENOSYS programs use openat.
		{call: unix.SYS_OPENAT2, mask: whole, allowed: []uint32{}, errno: unix.ENOSYS},
		// Typing into the terminal that parley runs in.
		{call: unix.SYS_IOCTL, arg: 1, mask: whole, denied: []uint32{unix.TIOCSTI, unix.TIOCLINUX}, errno: unix.EPERM},
	}
	for _, s := range chmodCalls {
		all = append(all, argumentRule{call: s.call, arg: s.arg, mask: setuidBits, allowed: []uint32{0}, errno: unix.EPERM, notify: true})
	}
	if len(untouchable) > 0 {
		var ids []uint32
		for _, id := range untouchable {
			ids = append(ids, uint32(int32(id)))
		}
		for _, call := range []uintptr{
			unix.SYS_KILL, unix.SYS_TKILL, unix.SYS_TGKILL, unix.SYS_RT_SIGQUEUEINFO, unix.SYS_RT_TGSIGQUEUEINFO, unix.SYS_PIDFD_OPEN,
		} {
			all = append(all, argumentRule{call: call, mask: whole, denied: ids, errno: unix.EPERM})
		}
		// Its descriptor may be a directory of /proc, and so any process.
		all = append(all, argumentRule{call: unix.SYS_PIDFD_SEND_SIGNAL, mask: whole, allowed: []uint32{}, errno: unix.EPERM})
		// When and where others run. In namespaces there is only the helper, whose
		// capabilities keep it from that.
		for _, r := range []struct {
			call uintptr
			arg  uint32
		}{
			{unix.SYS_SCHED_SETAFFINITY, 0}, {unix.SYS_SCHED_SETATTR, 0}, {unix.SYS_SCHED_SETSCHEDULER, 0},
			{unix.SYS_SCHED_SETPARAM, 0}, {unix.SYS_SETPRIORITY, 1}, {unix.SYS_IOPRIO_SET, 1},
		} {
			all = append(all, argumentRule{call: r.call, arg: r.arg, mask: whole, allowed: []uint32{0}, errno: unix.EPERM})
		}
		// Their 0 may be the user, and so all processes.
		const ioprioWhoUser = 3
		all = append(all,
			argumentRule{call: unix.SYS_SETPRIORITY, mask: whole, denied: []uint32{unix.PRIO_USER}, errno: unix.EPERM},
			argumentRule{call: unix.SYS_IOPRIO_SET, mask: whole, denied: []uint32{ioprioWhoUser}, errno: unix.EPERM})
	}
	return all
}

// Offsets in struct seccomp_data.
const (
	offsetCall = 0
	offsetArch = 4
	offsetArgs = 16
)

// buildFilter returns the program that the kernel runs before each system call. A call by
// another convention (32 bits, x32) has other numbers and is denied. With listening, rules
// with notify notify the helper.
func buildFilter(arch uint32, rules []argumentRule, listening bool) []unix.SockFilter {
	load := func(offset uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: offset}
	}
	equal := func(k uint32, yes, no int) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jt: uint8(yes), Jf: uint8(no), K: k}
	}
	answer := func(errno unix.Errno) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(errno)}
	}
	prog := []unix.SockFilter{
		load(offsetArch),
		equal(arch, 1, 0),
		answer(unix.EPERM),
		load(offsetCall),
	}
	if arch == unix.AUDIT_ARCH_X86_64 {
		prog = append(prog,
			unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K, Jf: 1, K: x32},
			answer(unix.EPERM))
	}
	for _, call := range deniedCalls {
		prog = append(prog, equal(uint32(call), 0, 1), answer(unix.EPERM))
	}
	for _, r := range rules {
		no := answer(r.errno)
		if r.notify && listening {
			no.K = unix.SECCOMP_RET_USER_NOTIF
		}
		body := []unix.SockFilter{
			load(offsetArgs + 8*r.arg), // little endian: the lower half comes first
			{Code: unix.BPF_ALU | unix.BPF_AND | unix.BPF_K, K: r.mask},
		}
		if r.allowed != nil {
			for i, v := range r.allowed {
				body = append(body, equal(v, len(r.allowed)-i, 0)) // over the others and the answer
			}
			body = append(body, no)
		} else {
			for _, v := range r.denied {
				body = append(body, equal(v, 0, 1), no)
			}
		}
		body = append(body, load(offsetCall))
		prog = append(prog, equal(uint32(r.call), 0, len(body)))
		prog = append(prog, body...)
	}
	return append(prog, unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW})
}

// installFilter applies the filter of rules to the calling thread and what it starts, and
// returns the listener of its notifications. Where another listener exists already, it is
// -1.
func installFilter(rules []argumentRule) (listener int, err error) {
	for _, listening := range []bool{true, false} {
		prog, flags := buildFilter(architectures[runtime.GOARCH], rules, listening), uintptr(0)
		if listening {
			flags = unix.SECCOMP_FILTER_FLAG_NEW_LISTENER
		}
		p := unix.SockFprog{Len: uint16(len(prog)), Filter: &prog[0]}
		fd, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, uintptr(unsafe.Pointer(&p)))
		runtime.KeepAlive(prog)
		switch {
		case errno == 0 && listening:
			return int(fd), unix.SetNonblock(int(fd), true)
		case errno == 0:
			return -1, nil
		case !listening:
			return -1, fmt.Errorf("seccomp: %w", errno)
		}
	}
	return -1, nil
}

// checkSeccomp reports why installFilter cannot work, or nil.
func checkSeccomp() error {
	if _, ok := architectures[runtime.GOARCH]; !ok {
		return fmt.Errorf("the system calls of %s are not known to the seccomp filter", runtime.GOARCH)
	}
	action := uint32(unix.SECCOMP_RET_ERRNO)
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_GET_ACTION_AVAIL, 0, uintptr(unsafe.Pointer(&action)))
	if errno != 0 {
		return fmt.Errorf("seccomp: %w", errno)
	}
	return nil
}
