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
// again, which is why unchangedMappings leaves out what has one.
func unmapFile() {
	program, err := os.Readlink("/proc/self/exe")
	if err != nil {
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
