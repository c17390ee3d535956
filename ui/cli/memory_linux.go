package cli

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// unmapFile takes the program's own file, its code and its constants, out of the memory of the
// process: most of what is mapped was needed once, to start. The system keeps the file in its
// cache and maps again what is accessed, with what is around it, without reading the file: about
// a hundred times for the next key and its frame, in less than a millisecond altogether. After an
// error everything stays mapped.
//
// It is safe at any time, also for code that runs. A page that was changed would be as in the file
// again, which is why unchangedMappings leaves out what has one, and a page that cannot be read again
// would end the program, which is why only files of local disks are unmapped.
func unmapFile() {
	program, err := os.Readlink("/proc/self/exe")
	if err != nil || !isOnLocalDisk("/proc/self/exe") {
		return
	}
	f, err := os.Open("/proc/self/smaps")
	if err != nil {
		return
	}
	mappings := unchangedMappings(f, program)
	_ = f.Close() // was only read
	for _, m := range mappings {
		_, _, _ = unix.Syscall(unix.SYS_MADVISE, m.start, m.end-m.start, unix.MADV_DONTNEED)
	}
}

// isOnLocalDisk reports whether the file system of a file is known to be one that needs no network and
// no other program.
func isOnLocalDisk(file string) bool {
	const zfs, bcachefs = 0x2fc12fc1, 0xca451a4e // which golang.org/x/sys does not name
	var s unix.Statfs_t
	if err := unix.Statfs(file, &s); err != nil {
		return false
	}
	switch uint32(s.Type) {
	case unix.EXT4_SUPER_MAGIC, unix.XFS_SUPER_MAGIC, unix.BTRFS_SUPER_MAGIC, unix.F2FS_SUPER_MAGIC, unix.TMPFS_MAGIC,
		unix.OVERLAYFS_SUPER_MAGIC, unix.SQUASHFS_MAGIC, zfs, bcachefs:
		return true
	}
	return false
}

// A mapping is a range of addresses, end not included.
type mapping struct{ start, end uintptr }

// unchangedMappings returns the private mappings of file that cannot be written and are as the
// file is. Smaps lists all mappings, as /proc/self/smaps does. A page that was changed, as by
// relocations or the breakpoints of a debugger, counts as anonymous memory, or as swapped out.
func unchangedMappings(smaps io.Reader, file string) []mapping {
	var unchanged []mapping
	var m mapping
	var own string // memory of m that is not the file's
	for lines := bufio.NewScanner(smaps); lines.Scan(); {
		line := lines.Text()
		field, value, _ := strings.Cut(line, ":")
		switch value = strings.TrimSpace(value); field {
		case "Anonymous":
			own = value
		case "Swap": // comes after Anonymous
			if m != (mapping{}) && own == "0 kB" && value == "0 kB" {
				unchanged = append(unchanged, m)
			}
		default:
			if !strings.Contains(field, " ") { // any other field of m
				continue
			}
			m, own = mapping{}, ""
			var start, end uintptr
			var access string
			_, _ = fmt.Sscanf(line, "%x-%x %s", &start, &end, &access) // access "" after an error
			if (access == "r-xp" || access == "r--p") && strings.HasSuffix(line, " "+file) {
				m = mapping{start, end}
			}
		}
	}
	return unchanged
}
