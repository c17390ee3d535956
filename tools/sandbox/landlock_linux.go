package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The system calls are made here and not through go-landlock, which binds all
// threads of a process: the helper has to stay free.

// What Landlock lets do below a path.
const (
	onFiles  = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE
	reading  = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR
	changing = reading | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE | unix.LANDLOCK_ACCESS_FS_REFER |
		unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE | unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_REG |
		unix.LANDLOCK_ACCESS_FS_MAKE_SYM | unix.LANDLOCK_ACCESS_FS_MAKE_FIFO // no sockets, no devices
	using = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE // of a device
)

// handled are the rights that the kernel knows to withhold, by its ABI.
func handled(abi int) unix.LandlockRulesetAttr {
	var attr unix.LandlockRulesetAttr
	for _, step := range []struct {
		abi         int
		fs, net, sc uint64
	}{
		{abi: 1, fs: unix.LANDLOCK_ACCESS_FS_REFER - 1},
		{abi: 2, fs: unix.LANDLOCK_ACCESS_FS_REFER},
		{abi: 3, fs: unix.LANDLOCK_ACCESS_FS_TRUNCATE},
		{abi: 4, net: unix.LANDLOCK_ACCESS_NET_BIND_TCP | unix.LANDLOCK_ACCESS_NET_CONNECT_TCP},
		{abi: 5, fs: unix.LANDLOCK_ACCESS_FS_IOCTL_DEV},
		{abi: 6, sc: unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL},
		{abi: 9, fs: unix.LANDLOCK_ACCESS_FS_RESOLVE_UNIX},
		{abi: 10, net: unix.LANDLOCK_ACCESS_NET_BIND_UDP | unix.LANDLOCK_ACCESS_NET_CONNECT_SEND_UDP},
	} {
		if abi >= step.abi {
			attr.Handled_access_fs |= step.fs
			attr.Handled_access_net |= step.net
			attr.Scoped |= step.sc
		}
	}
	return attr
}

// A grant lets a command do something below a path.
type grant struct {
	path   string
	access uint64
	public bool // only if everybody may read it
}

// system is what every command may read, and the devices it may use. Nothing
// is said of /home, /root, /var, /run, /tmp and all else.
var system = map[uint64][]string{
	reading: {
		"/usr", "/bin", "/sbin", "/opt", "/nix", "/gnu", "/snap", "/lib", "/lib32", "/lib64", "/libx32", "/home/linuxbrew/.linuxbrew",
		"/proc", "/sys/devices/system", "/sys/fs/cgroup", "/sys/kernel/mm",
		"/run/systemd/resolve", "/run/resolvconf", "/run/NetworkManager/resolv.conf", "/mnt/wsl/resolv.conf", // names of hosts
		"/run/current-system", // NixOS
		"/var/lib/dpkg", "/var/cache/fontconfig",
	},
	using: {"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"},
}

// secretEtc are the entries of /etc, and of /etc/ssl, that hold keys and
// passwords. Root is held as well, so that their modes are not enough.
var secretEtc = []string{
	"shadow", "gshadow", "sudoers", "sudoers.d", "ssh", "krb5.keytab", "wireguard", "openvpn", "NetworkManager", "netplan",
	"wpa_supplicant", "ppp", "docker", "kubernetes", "rancher", "letsencrypt", "ipsec.secrets", "ipsec.d", "private", "security",
}

// maxEtc is how many entries of /etc are looked at; what is beyond cannot be read.
const maxEtc = 20000

// etc is all of a directory but its secrets, for rules can only add: what may be
// listed and what may be read. What its links lead to has rules of its own, or
// none. No more than most entries are looked at.
func etc(dir string, most int) (listed, public []string) {
	w := walk{left: most}
	w.secretive(dir)
	return w.listed, w.public
}

// A walk finds what everybody may read.
type walk struct {
	left           int // entries that may still be looked at
	listed, public []string
}

// secretive takes a directory with entries that hold secrets.
func (w *walk) secretive(dir string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	w.listed = append(w.listed, dir)
	for _, e := range entries {
		name := strings.TrimSuffix(e.Name(), "-") // the copy of the last state
		path := filepath.Join(dir, e.Name())
		switch {
		case slices.Contains(secretEtc, name):
		case name == "ssl" && e.IsDir():
			w.secretive(path)
		default:
			w.open(path)
		}
	}
}

// open takes what everybody may read of path: one entry if that is all of it, and
// then it reports so. Modes alone do not hold root.
func (w *walk) open(path string) (whole bool) {
	info, err := os.Lstat(path)
	if w.left--; err != nil || w.left < 0 {
		return false
	}
	perm := info.Mode().Perm()
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		return true
	case !info.IsDir() && perm&0o004 == 0, info.IsDir() && perm&0o005 != 0o005:
		return false
	case !info.IsDir(), os.Geteuid() != 0:
		w.public = append(w.public, path)
		return true
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return false
	}
	listed, public := len(w.listed), len(w.public)
	whole = true
	w.listed = append(w.listed, path)
	for _, e := range entries {
		whole = w.open(filepath.Join(path, e.Name())) && whole
	}
	if whole {
		w.listed, w.public = w.listed[:listed], append(w.public[:public], path)
	}
	return whole
}

// grants is all that p allows, beside what j may do below /etc.
func (j *job) grants(p Policy) (all []grant) {
	for _, path := range j.listed {
		all = append(all, grant{path: path, access: unix.LANDLOCK_ACCESS_FS_READ_DIR})
	}
	for _, path := range j.public {
		all = append(all, grant{path: path, access: reading, public: true})
	}
	for access, paths := range system {
		for _, path := range paths {
			all = append(all, grant{path: path, access: access})
		}
	}
	for _, path := range p.Read {
		all = append(all, grant{path: path, access: reading})
	}
	for _, path := range append([]string{p.Workspace, p.Temp}, p.Write...) {
		all = append(all, grant{path: path, access: changing})
	}
	return all
}

// split lets be changed each entry of the workspace that nothing protected is in,
// and not the workspace directory itself: rules can only add.
func (p Policy) split() Policy {
	entries, _ := os.ReadDir(p.Workspace)
	p.Read, p.Write = append(slices.Clone(p.Read), p.Workspace), slices.Clone(p.Write)
	for _, e := range entries {
		holds := slices.ContainsFunc(p.Protected, func(path string) bool { return within(filepath.Clean(path), e.Name()) })
		if !holds && e.Type()&fs.ModeSymlink == 0 {
			p.Write = append(p.Write, filepath.Join(p.Workspace, e.Name()))
		}
	}
	p.Workspace = ""
	return p
}

// ruleset is what the calling thread will be held by, where p is the policy of j.
func (j *job) ruleset(p Policy) (fd int, err error) {
	attr := handled(j.abi)
	if p.Network {
		attr.Handled_access_net = 0
	}
	r, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr), 0)
	if errno != 0 {
		return -1, fmt.Errorf("landlock: %w", errno)
	}
	fd = int(r)
	for _, g := range j.grants(p) {
		if err := permit(fd, g, attr.Handled_access_fs); err != nil {
			unix.Close(fd)
			return -1, fmt.Errorf("landlock: %s: %w", g.path, err)
		}
	}
	return fd, nil
}

// permit adds g to a ruleset. What is not there, or out of reach, cannot be
// used anyway.
func permit(ruleset int, g grant, known uint64) error {
	fd, err := unix.Open(g.path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) || err == unix.ENOTDIR || err == unix.ELOOP {
			return nil
		}
		return err
	}
	defer unix.Close(fd)
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil {
		return err
	}
	if g.public && stat.Mode&0o004 == 0 {
		return nil
	}
	access := g.access & known
	if stat.Mode&unix.S_IFMT != unix.S_IFDIR {
		access &= onFiles
	}
	if access == 0 {
		return nil
	}
	attr := unix.LandlockPathBeneathAttr{Allowed_access: access, Parent_fd: int32(fd)}
	_, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(ruleset), unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&attr)), 0, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}

// enforce holds the calling thread, and what it starts, by a ruleset.
func enforce(ruleset int) error {
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, uintptr(ruleset), 0, 0); errno != 0 {
		return fmt.Errorf("landlock: %w", errno)
	}
	return nil
}

// landlock is the ABI of the kernel's Landlock, at least 1.
func landlock() (abi int, err error) {
	r, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0, fmt.Errorf("landlock: %w", errno)
	}
	return int(r), nil
}
