package doctor

import (
	"fmt"
	"os"
	"path/filepath"

	"parley/session"
	"parley/ui/format"
)

// leastFree is the free disk space, in bytes, below which the check warns.
const leastFree = 100 << 20

// store checks the stored conversations.
func (d Doctor) store() []Check {
	file := Check{Section: sectionStore, Name: "conversations", Status: works}
	path, err := session.StorePath(os.Getenv)
	if err != nil {
		file.Status, file.Detail, file.Hint = broken, format.ErrorText(err), "Conversations are not stored"
		return []Check{file}
	}
	lib, err := session.OpenStore(os.Getenv)
	if err == nil {
		defer lib.Close()
		err = lib.Check()
	}
	switch {
	case err != nil:
		file.Status, file.Detail, file.Hint = broken, format.ErrorText(err), "Keep a copy of it, then move it away or restore a backup"
	case lib.ReadOnly() != nil:
		file.Status, file.Detail, file.Hint = broken, lib.ReadOnly().Error(), "New conversations are not stored until this is repaired"
	default:
		size := int64(0)
		for _, name := range []string{path, path + "-wal"} {
			if info, err := os.Stat(name); err == nil {
				size += info.Size()
			}
		}
		file.Detail = fmt.Sprintf("%s · intact · %s", d.AbbrevPath(path), format.Size(int(size)))
	}
	list := []Check{file}
	if free, ok := freeSpace(filepath.Dir(path)); ok {
		disk := Check{Section: sectionStore, Name: "disk", Status: works, Detail: format.Size(int(free)) + " free"}
		if free < leastFree {
			disk.Status, disk.Hint = warns, "Free some space: conversations cannot be stored on a full disk"
		}
		list = append(list, disk)
	}
	return list
}
