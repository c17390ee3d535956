package sandbox_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// target holds what the escapes are tried on, for the test program inside the
// sandbox in its environment.
type target struct {
	Workspace, Outside, Home string
	TCP, UDP, Abstract       string
	Caller, Victim           int // processes outside
}

const targetVariable = "SANDBOX_TARGET"

// An escape is one way out, tried from inside. It returns nil if it worked.
type escape struct {
	name string
	try  func(target) error
	// limit: without namespaces of its own the kernel lets it pass.
	limit bool
}

func path(dir func(target) string, name string, f func(path string) error) func(target) error {
	return func(t target) error { return f(filepath.Join(dir(t), name)) }
}

func outside(t target) string   { return t.Outside }
func home(t target) string      { return t.Home }
func workspace(t target) string { return t.Workspace }
func root(target) string        { return "/" }

func read(path string) error {
	_, err := os.ReadFile(path)
	return err
}

func list(path string) error {
	_, err := os.ReadDir(path)
	return err
}

func create(path string) error { return os.WriteFile(path, []byte("escaped"), 0o600) }

// opens opens for writing what is there already.
func opens(path string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	return f.Close()
}

func socket(domain, kind, proto int) func(target) error {
	return func(target) error {
		_, err := unix.Socket(domain, kind, proto)
		return err
	}
}

func dial(network string, address func(target) string) func(target) error {
	return func(t target) error {
		c, err := net.DialTimeout(network, address(t), time.Minute)
		if err != nil {
			return err
		}
		_, err = c.Write([]byte("escaped"))
		return err
	}
}

func call(number uintptr, args ...uintptr) func(target) error {
	var a [6]uintptr
	copy(a[:], args)
	return func(target) error {
		if _, _, errno := unix.RawSyscall6(number, a[0], a[1], a[2], a[3], a[4], a[5]); errno != 0 {
			return errno
		}
		return nil
	}
}

// denies turns a call that fails anyway into one that passes unless the answer
// is the filter's.
func denies(try func(target) error) func(target) error {
	return func(t target) error {
		if err := try(t); errors.Is(err, unix.EPERM) || errors.Is(err, unix.ENOSYS) {
			return err
		}
		return nil
	}
}

func process(format string, pid func(target) int, f func(path string) error) func(target) error {
	return func(t target) error { return f(fmt.Sprintf(format, pid(t))) }
}

func caller(t target) int { return t.Caller }
func parent(target) int   { return os.Getppid() }
func first(target) int    { return 1 }

func signals(pid func(target) int) func(target) error {
	return func(t target) error { return unix.Kill(pid(t), 0) }
}

// limits makes the files that another process can write very small.
func limits(pid func(target) int) func(target) error {
	return func(t target) error {
		return unix.Prlimit(pid(t), unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: 1 << 40, Max: 1 << 40}, nil)
	}
}

// environ reads what should hold the keys.
func environ(path string) error {
	b, err := os.ReadFile(path)
	if err == nil && len(b) == 0 {
		return errors.New("empty")
	}
	return err
}

func escapes() []escape {
	buf := make([]byte, 512)
	at := uintptr(unsafe.Pointer(&buf[0]))
	var modes []escape
	for _, bits := range []uintptr{unix.S_ISUID, unix.S_ISGID, unix.S_ISUID | unix.S_ISGID} {
		mode := bits | 0o755
		for name, try := range modeCalls(mode) {
			modes = append(modes, escape{name: fmt.Sprintf("%s %o", name, mode), try: denies(try)})
		}
	}
	for name, number := range map[string]uintptr{"shmget": unix.SYS_SHMGET, "shmat": unix.SYS_SHMAT, "shmctl": unix.SYS_SHMCTL, "msgget": unix.SYS_MSGGET, "msgrcv": unix.SYS_MSGRCV,
		"msgsnd": unix.SYS_MSGSND, "msgctl": unix.SYS_MSGCTL, "semget": unix.SYS_SEMGET, "semop": unix.SYS_SEMOP, "semtimedop": unix.SYS_SEMTIMEDOP, "semctl": unix.SYS_SEMCTL, "mq_open": unix.SYS_MQ_OPEN, "mq_unlink": unix.SYS_MQ_UNLINK} {
		modes = append(modes, escape{name: name, try: func(t target) error {
			if os.Getppid() == 1 {
				return errors.New("the command has a namespace of its own")
			}
			return denies(call(number, ^uintptr(0), 0, 0, 0))(t)
		}})
	}
	return append(modes, []escape{
		// Files.
		{name: "create a file outside", try: path(outside, "new", create)},
		{name: "create a folder outside", try: path(outside, "newdir", func(p string) error { return os.Mkdir(p, 0o700) })},
		{name: "append to a file outside", try: path(outside, "file", opens)},
		{name: "truncate a file outside", try: path(outside, "file", func(p string) error { return os.Truncate(p, 0) })},
		{name: "remove a file outside", try: path(outside, "file", os.Remove)},
		{name: "write through a symbolic link", try: func(t target) error {
			link := filepath.Join(t.Workspace, "link")
			_ = os.Symlink(filepath.Join(t.Outside, "file"), link)
			return opens(link)
		}},
		{name: "write through ..", try: path(workspace, "../outside/file", opens)},
		{name: "link a file in", try: func(t target) error {
			return os.Link(filepath.Join(t.Outside, "file"), filepath.Join(t.Workspace, "hard"))
		}},
		{name: "move a file in", try: func(t target) error {
			return os.Rename(filepath.Join(t.Outside, "file"), filepath.Join(t.Workspace, "moved"))
		}},
		{name: "move a file out", try: func(t target) error {
			from := filepath.Join(t.Workspace, "out")
			if err := create(from); err != nil {
				return nil
			}
			return os.Rename(from, filepath.Join(t.Outside, "in"))
		}},
		{name: "write /etc", try: path(root, "etc/parley-escape", create)},
		{name: "write /usr", try: path(root, "usr/parley-escape", create)},
		{name: "write /var/tmp", try: path(root, "var/tmp/parley-escape", create)},
		{name: "read a file outside", try: path(outside, "file", read)},
		{name: "read an SSH key", try: path(home, ".ssh/id_ed25519", read)},
		{name: "list .ssh", try: path(home, ".ssh", list)},
		{name: "list the home folder", try: path(home, ".", list)},
		{name: "read a shell history", try: path(home, ".bash_history", read)},
		{name: "read parley's configuration", try: path(home, ".config/parley/config.toml", read)},
		{name: "read git's credentials", try: path(home, ".config/git/credentials", read)},
		{name: "read /etc/shadow", try: path(root, "etc/shadow", read)},
		{name: "list /root", try: path(root, "root", list)},
		{name: "setsid grandchild writes outside", try: func(t target) error {
			return exec.Command("/bin/sh", "-c", `setsid sh -c 'echo x > "$0"' "$0" 2>/dev/null && test -e "$0"`, filepath.Join(t.Outside, "grandchild")).Run()
		}},
		{name: "change the mode outside", limit: true, try: path(outside, "file", func(p string) error { return os.Chmod(p, 0o777) })},
		{name: "change the owner outside", limit: true, try: path(outside, "file", func(p string) error { return os.Chown(p, os.Getuid(), os.Getgid()) })},
		{name: "change the times outside", limit: true, try: path(outside, "file", func(p string) error { return os.Chtimes(p, time.Unix(1, 0), time.Unix(1, 0)) })},
		{name: "change attributes outside", limit: true, try: path(outside, "file", func(p string) error { return unix.Setxattr(p, "user.x", []byte("x"), 0) })},
		// The network.
		{name: "TCP", try: dial("tcp", func(t target) string { return t.TCP })},
		{name: "listen", try: func(target) error {
			_, err := net.Listen("tcp", "127.0.0.1:0")
			return err
		}},
		{name: "UDP", try: dial("udp", func(t target) string { return t.UDP })},
		{name: "DNS", try: dial("udp", func(target) string { return "127.0.0.53:53" })},
		{name: "MPTCP", try: socket(unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_MPTCP)},
		{name: "IPv6", try: socket(unix.AF_INET6, unix.SOCK_STREAM, 0)},
		{name: "ICMP", try: socket(unix.AF_INET, unix.SOCK_DGRAM, unix.IPPROTO_ICMP)},
		{name: "raw packets", try: socket(unix.AF_PACKET, unix.SOCK_RAW, 0)},
		{name: "netlink", try: socket(unix.AF_NETLINK, unix.SOCK_RAW, 0)},
		{name: "vsock", try: socket(unix.AF_VSOCK, unix.SOCK_STREAM, 0)},
		{name: "Unix socket by path, outside", try: dial("unix", func(t target) string { return filepath.Join(t.Outside, "socket") })},
		{name: "Unix socket by path, in the workspace", try: dial("unix", func(t target) string { return filepath.Join(t.Workspace, "socket") })},
		{name: "Unix datagram socket", try: dial("unixgram", func(t target) string { return filepath.Join(t.Outside, "datagrams") })},
		{name: "abstract Unix socket", try: dial("unix", func(t target) string { return t.Abstract })},
		{name: "pair of datagram sockets", try: func(target) error {
			_, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM, 0)
			return err
		}},
		{name: "pair of raw sockets", try: func(target) error {
			_, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
			return err
		}},
		{name: "io_uring", try: call(unix.SYS_IO_URING_SETUP, 1, at)},
		// Processes.
		{name: "environment of the caller", try: process("/proc/%d/environ", caller, environ)},
		{name: "environment of the parent", try: process("/proc/%d/environ", parent, environ)},
		{name: "environment of the first process", try: process("/proc/%d/environ", first, environ)},
		{name: "memory of the parent", try: process("/proc/%d/mem", parent, opens)},
		{name: "memory of the victim", try: process("/proc/%d/mem", func(t target) int { return t.Victim }, read)},
		{name: "root folder of the parent", try: process("/proc/%d/root/etc/passwd", parent, read)},
		{name: "root folder of the first process", try: process("/proc/%d/root/etc/passwd", first, read)},
		{name: "working folder of the caller", try: process("/proc/%d/cwd/.", caller, list)},
		{name: "files of the parent", try: process("/proc/%d/fd/1", parent, opens)},
		{name: "names of the parent's files", try: process("/proc/%d/fd/1", parent, func(p string) error {
			_, err := os.Readlink(p)
			return err
		})},
		{name: "trace the victim", try: func(t target) error { return unix.PtraceSeize(t.Victim) }},
		{name: "trace the parent", try: func(target) error { return unix.PtraceSeize(os.Getppid()) }},
		{name: "read the victim's memory", try: func(t target) error {
			local := []unix.Iovec{{Base: &buf[0], Len: 1}}
			_, err := unix.ProcessVMReadv(t.Victim, local, []unix.RemoteIovec{{Base: at, Len: 1}}, 0)
			return denied(err)
		}},
		{name: "signal the victim", try: signals(func(t target) int { return t.Victim })},
		{name: "signal the caller", try: signals(caller)},
		{name: "kill the parent", try: func(target) error {
			_ = unix.Kill(os.Getppid(), unix.SIGKILL)
			time.Sleep(20 * time.Millisecond)
			return unix.Kill(os.Getppid(), unix.SIGKILL) // the first process of a namespace is sent it and lives
		}},
		{name: "signal the parent by its folder in /proc", try: func(t target) error {
			if os.Getppid() == 1 {
				return errors.New("it is the first process, which lives")
			}
			return denies(call(unix.SYS_PIDFD_SEND_SIGNAL, ^uintptr(0), uintptr(unix.SIGKILL), 0, 0))(t)
		}},
		{name: "signal everybody", try: signals(func(target) int { return -1 })},
		{name: "signal the parent's group", try: signals(func(target) int { return -os.Getppid() })},
		{name: "limit the victim's files", try: limits(func(t target) int { return t.Victim })},
		{name: "limit the parent's files", try: limits(parent)},
		{name: "limit the caller's files", try: limits(caller)},
		{name: "move the victim to a processor", try: func(t target) error {
			set := unix.CPUSet{0: 1}
			return denied(unix.SchedSetaffinity(t.Victim, &set))
		}},
		{name: "make the parent run only when nobody else does", try: func(target) error {
			return unix.SchedSetAttr(os.Getppid(), &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_IDLE}, 0)
		}},
		{name: "make the parent nice", try: func(target) error { return unix.Setpriority(unix.PRIO_PROCESS, os.Getppid(), 19) }},
		{name: "make the user's processes nice", try: func(t target) error {
			_ = unix.Setpriority(unix.PRIO_USER, 0, 1)
			if n, err := unix.Getpriority(unix.PRIO_PROCESS, t.Victim); err != nil || n != 20-1 { // as the kernel counts
				return unix.EPERM
			}
			return nil
		}},
		{name: "page the parent out", try: denies(call(unix.SYS_PROCESS_MADVISE, ^uintptr(0), at, 1, unix.MADV_PAGEOUT, 0))},
		// The system.
		{name: "mount", try: func(t target) error { return unix.Mount("tmpfs", t.Workspace, "tmpfs", 0, "") }},
		{name: "make the system writable", try: func(target) error { return unix.Mount("", "/", "", unix.MS_REMOUNT|unix.MS_BIND, "") }},
		{name: "unmount /tmp", try: func(target) error { return unix.Unmount("/tmp", unix.MNT_DETACH) }},
		{name: "clone a mount", try: func(target) error {
			_, err := unix.OpenTree(unix.AT_FDCWD, "/", unix.OPEN_TREE_CLONE)
			return err
		}},
		{name: "chroot", try: func(t target) error { return unix.Chroot(t.Workspace) }},
		{name: "new user namespace", try: call(unix.SYS_UNSHARE, unix.CLONE_NEWUSER)},
		{name: "new network namespace", try: call(unix.SYS_UNSHARE, unix.CLONE_NEWNET)},
		{name: "clone into a new namespace", try: denies(call(unix.SYS_CLONE, unix.CLONE_NEWUSER|unix.CLONE_SIGHAND))},
		{name: "clone3", try: denies(call(unix.SYS_CLONE3, at, 0))},
		{name: "enter a namespace", try: denies(call(unix.SYS_SETNS, 0, 0))},
		{name: "make a device", try: path(workspace, "device", func(p string) error { return unix.Mknod(p, unix.S_IFCHR|0o600, 0x101) })},
		{name: "make a block device", try: path(workspace, "block", func(p string) error { return unix.Mknod(p, unix.S_IFBLK|0o600, 0x800) })},
		{name: "make a socket file", try: path(workspace, "sock", func(p string) error { return unix.Mknod(p, unix.S_IFSOCK|0o600, 0) })},
		{name: "memory of the machine", try: path(root, "dev/mem", read)},
		{name: "messages of the kernel", try: path(root, "dev/kmsg", read)},
		{name: "terminals", try: path(root, "dev/pts", list)},
		{name: "type into a terminal", try: denies(call(unix.SYS_IOCTL, 0, unix.TIOCSTI, at))},
		{name: "paste into a terminal", try: denies(call(unix.SYS_IOCTL, 0, unix.TIOCLINUX, at))},
		{name: "settings of the kernel", try: path(root, "proc/sys/kernel/core_pattern", opens)},
		{name: "magic keys", try: path(root, "proc/sysrq-trigger", opens)},
		{name: "control groups", try: path(root, "sys/fs/cgroup/parley-escape", func(p string) error { return os.Mkdir(p, 0o700) })},
		{name: "key rings", try: denies(call(unix.SYS_KEYCTL, 0, ^uintptr(2), 0))},
		{name: "BPF", try: denies(call(unix.SYS_BPF, 0, at, 0))},
		{name: "performance events", try: denies(call(unix.SYS_PERF_EVENT_OPEN, at, 0, 0, 0, 0))},
		{name: "page faults", try: denies(call(unix.SYS_USERFAULTFD, 0))},
		{name: "files by handle", try: denies(call(unix.SYS_OPEN_BY_HANDLE_AT, 0, at, 0))},
		{name: "clock", try: denies(call(unix.SYS_CLOCK_SETTIME, 99, at))},
		{name: "calls of x32", try: func(target) error {
			if runtime.GOARCH != "amd64" {
				return errors.New("not here")
			}
			return call(0x40000000|unix.SYS_SOCKET, unix.AF_INET, unix.SOCK_STREAM)(target{})
		}},
		{name: "new privileges", try: func(target) error {
			if set, err := unix.PrctlRetInt(unix.PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0); err == nil && set == 1 {
				return errors.New("no_new_privs is set")
			}
			return nil
		}},
		{name: "capabilities", try: func(target) error {
			header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
			var sets [2]unix.CapUserData
			if err := unix.Capget(&header, &sets[0]); err != nil {
				return err
			}
			const files = 1<<unix.CAP_CHOWN | 1<<unix.CAP_DAC_OVERRIDE | 1<<unix.CAP_FOWNER | 1<<unix.CAP_FSETID
			if sets[0].Permitted&^files == 0 && sets[1].Permitted == 0 {
				return errors.New("none but those for files")
			}
			return nil
		}},
	}...)
}

// modeCalls returns the calls that set modes, with paths that cannot be read.
func modeCalls(mode uintptr) map[string]func(target) error {
	cwd, create := ^uintptr(99), uintptr(unix.O_CREAT|unix.O_WRONLY)
	all := map[string]func(target) error{
		"fchmod": call(unix.SYS_FCHMOD, ^uintptr(0), mode), "fchmodat": call(unix.SYS_FCHMODAT, cwd, 0, mode), "fchmodat2": call(unix.SYS_FCHMODAT2, cwd, 0, mode, 0),
		"openat": call(unix.SYS_OPENAT, cwd, 0, create, mode), "openat, nameless": call(unix.SYS_OPENAT, cwd, 0, unix.O_TMPFILE|unix.O_WRONLY, mode),
		"openat2": call(unix.SYS_OPENAT2, cwd, 0, 0, 24), "mknodat": call(unix.SYS_MKNODAT, cwd, 0, unix.S_IFREG|mode, 0),
	}
	if runtime.GOARCH == "amd64" { // the numbers of its older calls
		all["open"], all["chmod"], all["creat"], all["mknod"] = call(2, 0, create, mode), call(90, 0, mode), call(85, 0, mode), call(133, 0, unix.S_IFREG|mode, 0)
	}
	return all
}

// denied keeps an error that says no, and turns others into success: the call
// got further than it may.
func denied(err error) error {
	if errors.Is(err, unix.EPERM) || errors.Is(err, unix.EACCES) || errors.Is(err, unix.ESRCH) {
		return err
	}
	return nil
}

// probe, as the first argument of the test program inside the sandbox, makes it
// try every escape and print those that worked.
const probe = "probe-sandbox"

func tryEscapes() int {
	var t target
	if err := json.Unmarshal([]byte(os.Getenv(targetVariable)), &t); err != nil {
		fmt.Println(err)
		return 1
	}
	tried := 0
	for _, e := range escapes() {
		tried++
		if err := e.try(t); err == nil {
			fmt.Println("escaped:", e.name)
		}
	}
	fmt.Println("tried:", tried)
	here := []byte(".\x00")
	if err := call(unix.SYS_OPENAT, ^uintptr(99), uintptr(unsafe.Pointer(&here[0])), unix.O_RDONLY|unix.O_DIRECTORY, 0o6777)(t); err != nil { // C libraries leave the mode undefined
		fmt.Println("escaped: reading is not possible:", err)
	}
	for _, name := range []string{".envrc", ".mcp.json", ".git/config", ".git/hooks/pre-commit", ".parley/config.toml"} {
		file := filepath.Join(t.Workspace, name)
		_ = os.MkdirAll(filepath.Dir(file), 0o700)
		_ = os.WriteFile(file, []byte("evil"), 0o700)
	}
	if err := os.WriteFile("/tmp/"+filepath.Base(filepath.Dir(t.Workspace)), []byte("x"), 0o600); err != nil && !strings.Contains(err.Error(), "denied") {
		fmt.Println("/tmp:", err)
	}
	return 0
}
