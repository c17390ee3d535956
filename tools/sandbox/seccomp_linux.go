package sandbox

import (
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// architectures lists the architectures whose system call numbers and argument order the
// filter supports.
var architectures = map[string]uint32{
	"amd64":   unix.AUDIT_ARCH_X86_64,
	"arm64":   unix.AUDIT_ARCH_AARCH64,
	"riscv64": unix.AUDIT_ARCH_RISCV64,
	"loong64": unix.AUDIT_ARCH_LOONGARCH64,
}

// x32 marks numbers in amd64's second system call table.
const x32 = 0x40000000

// deniedCalls lists system calls that no work in a workspace needs, and that bypass
// Landlock or reach deep into the kernel. Landlock denies some of them as well.
var deniedCalls = []uintptr{
	// Rings perform socket, connect and openat without passing this filter.
	unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER,
	// Mounts.
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

// ipcCalls lists the calls of System V IPC and of POSIX message queues, which reach other
// processes of the user unless the command has its own namespace.
var ipcCalls = []uintptr{
	unix.SYS_SHMGET, unix.SYS_SHMAT, unix.SYS_SHMCTL, unix.SYS_MSGGET, unix.SYS_MSGSND, unix.SYS_MSGRCV, unix.SYS_MSGCTL,
	unix.SYS_SEMGET, unix.SYS_SEMOP, unix.SYS_SEMTIMEDOP, unix.SYS_SEMCTL, unix.SYS_MQ_OPEN, unix.SYS_MQ_UNLINK,
}

// argumentRule restricts one system call by the masked lower half of one argument.
type argumentRule struct {
	call    uintptr
	arg     uint32
	mask    uint32
	allowed []uint32 // values that pass; nil: all but denied
	denied  []uint32
	errno   unix.Errno
	creates bool // applies only if the argument before arg, flags of open, creates a file
}

// A file with the setuid or setgid bit runs as its owner for every user: others could run a
// file that a command leaves.
const setuidBits = unix.S_ISUID | unix.S_ISGID

// modeRules refuse these bits in all calls that set modes.
var modeRules = append(legacyModeRules, refuseSetuid(unix.SYS_FCHMOD, 1), refuseSetuid(unix.SYS_FCHMODAT, 2),
	refuseSetuid(unix.SYS_FCHMODAT2, 2), refuseSetuid(unix.SYS_MKNODAT, 2), refuseSetuid(unix.SYS_OPENAT, 3).onCreate())

func refuseSetuid(call uintptr, arg uint32) argumentRule {
	return argumentRule{call: call, arg: arg, mask: setuidBits, allowed: []uint32{0}, errno: unix.EPERM}
}

// onCreate returns r for calls that create a file: for others their mode is undefined.
func (r argumentRule) onCreate() argumentRule {
	r.creates = true
	return r
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
		// Its flags are passed by a pointer. On ENOSYS programs use clone.
		{call: unix.SYS_CLONE3, mask: whole, allowed: []uint32{}, errno: unix.ENOSYS},
		// The limits of others: lower ones could keep parley or the helper from restoring files.
		{call: unix.SYS_PRLIMIT64, mask: whole, allowed: []uint32{0}, errno: unix.EPERM},
		// Its mode is passed by a pointer. On ENOSYS programs use openat.
		{call: unix.SYS_OPENAT2, mask: whole, allowed: []uint32{}, errno: unix.ENOSYS},
		// Typing into the terminal that parley runs in.
		{call: unix.SYS_IOCTL, arg: 1, mask: whole, denied: []uint32{unix.TIOCSTI, unix.TIOCLINUX}, errno: unix.EPERM},
	}
	all = append(all, modeRules...)
	if len(untouchable) > 0 {
		for _, call := range ipcCalls {
			all = append(all, argumentRule{call: call, mask: whole, allowed: []uint32{}, errno: unix.EPERM})
		}
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
// another convention (32 bits, x32) has other numbers and is denied.
func buildFilter(arch uint32, rules []argumentRule) []unix.SockFilter {
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
		if r.creates {
			const creates = unix.O_CREAT | unix.O_TMPFILE&^unix.O_DIRECTORY
			body = append([]unix.SockFilter{
				load(offsetArgs + 8*(r.arg-1)),
				{Code: unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K, Jf: uint8(len(body)), K: creates},
			}, body...)
		}
		body = append(body, load(offsetCall))
		prog = append(prog, equal(uint32(r.call), 0, len(body)))
		prog = append(prog, body...)
	}
	return append(prog, unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW})
}

// installFilter applies the filter of rules to the calling thread and what it starts.
func installFilter(rules []argumentRule) error {
	prog := buildFilter(architectures[runtime.GOARCH], rules)
	p := unix.SockFprog{Len: uint16(len(prog)), Filter: &prog[0]}
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&p)))
	runtime.KeepAlive(prog)
	if errno != 0 {
		return fmt.Errorf("seccomp: %w", errno)
	}
	return nil
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
