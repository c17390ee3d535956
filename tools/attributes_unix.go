//go:build linux || darwin || freebsd || netbsd

package tools

import (
	"bytes"
	"errors"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// copyAttributes gives f the extended attributes of old, including access control
// lists, and removes the ones that f inherited from its directory.
func copyAttributes(f, old *os.File) error {
	was, err := readAttributes(old)
	if err != nil {
		return err
	}
	is, err := readAttributes(f)
	if err != nil {
		return err
	}
	fd := int(f.Fd())
	for name, value := range was {
		if now, ok := is[name]; ok && bytes.Equal(now, value) {
			continue
		}
		if err := unix.Fsetxattr(fd, name, value, 0); err != nil {
			return err
		}
	}
	for name := range is {
		if _, ok := was[name]; !ok {
			if err := unix.Fremovexattr(fd, name); err != nil {
				return err
			}
		}
	}
	return nil
}

// contentAttributes depend on the content of a file; the system removes them when the file is
// written.
var contentAttributes = []string{"security.capability", "security.ima", "security.evm", "com.apple.quarantine", "com.apple.provenance"}

// readAttributes returns the extended attributes of a file by name; none if the file
// system does not support them.
func readAttributes(f *os.File) (map[string][]byte, error) {
	fd := int(f.Fd())
	size, err := unix.Flistxattr(fd, nil)
	if errors.Is(err, unix.ENOTSUP) || err == nil && size == 0 {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	names := make([]byte, size)
	if size, err = unix.Flistxattr(fd, names); err != nil {
		return nil, err
	}
	all := map[string][]byte{}
	for name := range strings.SplitSeq(strings.TrimSuffix(string(names[:size]), "\x00"), "\x00") {
		if slices.Contains(contentAttributes, name) {
			continue
		}
		size, err := unix.Fgetxattr(fd, name, nil)
		if err != nil {
			return nil, err
		}
		value := make([]byte, size)
		if size > 0 {
			if size, err = unix.Fgetxattr(fd, name, value); err != nil {
				return nil, err
			}
		}
		all[name] = value[:size]
	}
	return all, nil
}
