package openat

import (
	"encoding/binary"
	"strings"
)

// Offsets of the fields of struct linux_dirent64.
const (
	direntSize = 16
	direntType = 18
	direntName = 19
)

// parse appends the entries in records, whose memory their names share.
func (d Dir) parse(into []Entry, records string) []Entry {
	for len(records) > direntName {
		size := int(binary.NativeEndian.Uint16([]byte(records[direntSize:direntType])))
		name, _, _ := strings.Cut(records[direntName:size], "\x00")
		kind := types[records[direntType]&15]
		records = records[size:]
		if name == "." || name == ".." {
			continue
		}
		if kind == unknown { // some file systems do not say
			info, err := d.Stat(name)
			if err != nil {
				continue
			}
			kind = info.Type
		}
		into = append(into, Entry{name, kind})
	}
	return into
}
