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

// The system calls are made here and not through go-landlock, which restricts all
// threads of a process: the helper must stay unrestricted.

// Access rights below a path.
const (
	fileRights  = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE
	readRights  = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR
	writeRights = readRights | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE | unix.LANDLOCK_ACCESS_FS_REFER |
		unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE | unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_REG |
		unix.LANDLOCK_ACCESS_FS_MAKE_SYM | unix.LANDLOCK_ACCESS_FS_MAKE_FIFO // no sockets, no devices
	deviceRights = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE // for a device
)

// handledRights returns the rights that the kernel can withhold, by its ABI.
func handledRights(abi int) unix.LandlockRulesetAttr {
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

// grant allows access below a path.
type grant struct {
	path          string
	access        uint64
	worldReadable bool // grants only if the file's mode lets everyone read it
}

// systemGrants lists the paths that every command may read, and the devices it may use.
// /home, /root, /var, /run, /tmp and everything else are left out.
var systemGrants = map[uint64][]string{
	readRights: {
		"/usr", "/bin", "/sbin", "/opt", "/nix", "/gnu", "/snap", "/lib", "/lib32", "/lib64", "/libx32", "/home/linuxbrew/.linuxbrew",
		"/proc", "/sys/devices/system", "/sys/fs/cgroup", "/sys/kernel/mm",
		"/run/systemd/resolve", "/run/resolvconf", "/run/NetworkManager/resolv.conf", "/mnt/wsl/resolv.conf", // names of hosts
		"/run/current-system", // NixOS
		"/var/lib/dpkg", "/var/cache/fontconfig",
	},
	deviceRights: {"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"},
}

// secretEtc lists the entries of /etc, and of /etc/ssl, that contain keys and passwords.
// File modes are not enough, because root is confined as well.
var secretEtc = []string{
	"shadow", "gshadow", "sudoers", "sudoers.d", "ssh", "krb5.keytab", "wireguard", "openvpn", "NetworkManager", "netplan",
	"wpa_supplicant", "ppp", "docker", "kubernetes", "rancher", "letsencrypt", "ipsec.secrets", "ipsec.d", "private", "security",
}

// maxEtcEntries bounds the examined entries of /etc; the others cannot be read.
const maxEtcEntries = 20000

// readableEtc returns the readable content of a directory without its secrets: directories
// to list and files to read. Landlock rules can only add rights. Link targets need rules of
// their own. At most most entries are examined.
func readableEtc(dir string, most int) (listed, public []string) {
	w := etcWalk{entriesLeft: most}
	w.walkSecretDir(dir)
	return w.listable, w.readable
}

// etcWalk collects the entries that everyone may read.
type etcWalk struct {
	entriesLeft        int // entries that may still be examined
	listable, readable []string
}

// walkSecretDir walks a directory with entries that hold secrets.
func (w *etcWalk) walkSecretDir(dir string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	w.listable = append(w.listable, dir)
	for _, e := range entries {
		name := strings.TrimSuffix(e.Name(), "-") // a backup copy ends with -
		path := filepath.Join(dir, e.Name())
		switch {
		case slices.Contains(secretEtc, name):
		case name == "ssl" && e.IsDir():
			w.walkSecretDir(path)
		default:
			w.addReadable(path, e)
		}
	}
}

// addReadable adds the parts of path, the entry e, that everyone may read. It returns true if all
// of it is readable and was added as one entry. Modes alone do not restrict root.
func (w *etcWalk) addReadable(path string, e fs.DirEntry) (whole bool) {
	if w.entriesLeft--; w.entriesLeft < 0 {
		return false
	}
	if e.Type()&fs.ModeSymlink != 0 { // links, often more than half of all entries; their modes are meaningless
		return true
	}
	info, err := e.Info()
	if err != nil {
		return false
	}
	perm := info.Mode().Perm()
	switch {
	case !info.IsDir() && perm&0o004 == 0, info.IsDir() && perm&0o005 != 0o005:
		return false
	case !info.IsDir(), os.Geteuid() != 0:
		w.readable = append(w.readable, path)
		return true
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return false
	}
	listed, public := len(w.listable), len(w.readable)
	whole = true
	w.listable = append(w.listable, path)
	for _, e := range entries {
		whole = w.addReadable(filepath.Join(path, e.Name()), e) && whole
	}
	if whole {
		w.listable, w.readable = w.listable[:listed], append(w.readable[:public], path)
	}
	return whole
}

// grants returns all grants of p, and those of j for /etc.
func (j *job) grants(p policy) (all []grant) {
	for _, path := range j.listableEtc {
		all = append(all, grant{path: path, access: unix.LANDLOCK_ACCESS_FS_READ_DIR})
	}
	for _, path := range j.readableEtc {
		all = append(all, grant{path: path, access: readRights, worldReadable: true})
	}
	for access, paths := range systemGrants {
		for _, path := range paths {
			all = append(all, grant{path: path, access: access})
		}
	}
	for _, path := range p.ReadPaths {
		all = append(all, grant{path: path, access: readRights})
	}
	for _, path := range append([]string{p.Workspace, p.TempDir}, p.WritePaths...) {
		all = append(all, grant{path: path, access: writeRights})
	}
	return all
}

// createRuleset returns the ruleset of p, the policy of j.
func (j *job) createRuleset(p policy) (fd int, err error) {
	attr := handledRights(j.abi)
	if p.Network {
		attr.Handled_access_net = 0
	}
	r, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr), 0)
	if errno != 0 {
		return -1, fmt.Errorf("landlock: %w", errno)
	}
	fd = int(r)
	for _, g := range j.grants(p) {
		if err := addRule(fd, g, attr.Handled_access_fs); err != nil {
			unix.Close(fd)
			return -1, fmt.Errorf("landlock: %s: %w", g.path, err)
		}
	}
	return fd, nil
}

// addRule adds g to a ruleset. It skips paths that are missing or out of reach, which
// cannot be used anyway.
func addRule(ruleset int, g grant, known uint64) error {
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
	if g.worldReadable && stat.Mode&0o004 == 0 {
		return nil
	}
	access := g.access & known
	if stat.Mode&unix.S_IFMT != unix.S_IFDIR {
		access &= fileRights
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

// restrictSelf restricts the calling thread and its children by a ruleset.
func restrictSelf(ruleset int) error {
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, uintptr(ruleset), 0, 0); errno != 0 {
		return fmt.Errorf("landlock: %w", errno)
	}
	return nil
}

// landlockABI returns the ABI of the kernel's Landlock, at least 1.
func landlockABI() (abi int, err error) {
	r, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0, fmt.Errorf("landlock: %w", errno)
	}
	return int(r), nil
}

// restrictThread restricts the calling thread and its children to the policy.
func (h *helper) restrictThread() error {
	if h.unrestricted {
		return nil
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("no_new_privs: %w", err)
	}
	p := h.policy
	if h.LongRunning && !h.hasNamespaces {
		p = p.splitWorkspace()
	}
	rules, err := h.createRuleset(p)
	if err != nil {
		return err
	}
	defer unix.Close(rules)
	if err := dropCapabilities(); err != nil {
		return err
	}
	if err := restrictSelf(rules); err != nil {
		return err
	}
	return installFilter(argumentRules(h.Network, h.protectedPIDs()))
}

// protectedPIDs returns the ids that the command must not be able to signal: the helper,
// this thread of it, parley, and all processes (-1).
func (h *helper) protectedPIDs() []int {
	if h.hasNamespaces {
		return nil
	}
	ids := []int{-1, os.Getpid(), -os.Getpid(), unix.Gettid(), os.Getppid()}
	if group, err := unix.Getpgid(os.Getppid()); err == nil {
		ids = append(ids, -group)
	}
	return ids
}

// allowedCapabilities are the capabilities that root needs to use other users' files in the
// workspace. With CAP_SYS_PTRACE or CAP_PERFMON it could read the keys in parley's
// environment; with CAP_FSETID files would keep the setuid bit when it writes to them.
const allowedCapabilities = 1<<unix.CAP_CHOWN | 1<<unix.CAP_DAC_OVERRIDE | 1<<unix.CAP_FOWNER

// dropCapabilities drops all other capabilities of the calling thread and of the programs it
// will run.
func dropCapabilities() error {
	for c := uintptr(0); c <= unix.CAP_LAST_CAP; c++ {
		if allowedCapabilities>>c&1 == 0 {
			_ = unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0) // an unprivileged caller cannot gain any: see no_new_privs
		}
	}
	_ = unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var sets [2]unix.CapUserData
	if err := unix.Capget(&header, &sets[0]); err != nil {
		return fmt.Errorf("capabilities: %w", err)
	}
	for i := range sets {
		left := sets[i].Permitted & uint32(uint64(allowedCapabilities)>>(32*i))
		sets[i] = unix.CapUserData{Effective: left, Permitted: left}
	}
	if err := unix.Capset(&header, &sets[0]); err != nil {
		return fmt.Errorf("capabilities: %w", err)
	}
	return nil
}
