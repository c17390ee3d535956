//go:build darwin || freebsd || netbsd || openbsd

package openat

import "golang.org/x/sys/unix"

// parse appends the entries in records.
func (d Dir) parse(into []Entry, records string) []Entry {
	_, _, names := unix.ParseDirent([]byte(records), -1, nil)
	for _, name := range names {
		if info, err := d.Stat(name); err == nil {
			into = append(into, Entry{name, info.Type})
		}
	}
	return into
}
