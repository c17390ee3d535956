package cli

import (
	"fmt"
	"os"
	"path/filepath"

	"parley/session"
	"parley/ui/app"
	"parley/ui/format"
)

// leastFree is how many bytes of a disk should be free for conversations.
const leastFree = 100 << 20

// store checks the stored conversations.
func (d doctor) store() []app.Check {
	file := app.Check{Section: app.SectionStore, Name: "conversations", Status: app.Works}
	path, err := session.StorePath(os.Getenv)
	if err != nil {
		file.Status, file.Detail, file.Hint = app.Broken, format.ErrorText(err), "Conversations are not stored"
		return []app.Check{file}
	}
	lib, err := session.OpenStore(os.Getenv)
	if err == nil {
		defer lib.Close()
		err = lib.Check()
	}
	switch {
	case err != nil:
		file.Status, file.Detail, file.Hint = app.Broken, format.ErrorText(err), "Keep a copy of it, then move it away or restore a backup"
	case lib.ReadOnly() != nil:
		file.Status, file.Detail, file.Hint = app.Broken, lib.ReadOnly().Error(), "New conversations are not stored until this is repaired"
	default:
		size := int64(0)
		for _, name := range []string{path, path + "-wal"} {
			if info, err := os.Stat(name); err == nil {
				size += info.Size()
			}
		}
		file.Detail = fmt.Sprintf("%s · intact · %s", abbrevPath(path), format.Size(int(size)))
	}
	list := []app.Check{file}
	if free, ok := freeSpace(filepath.Dir(path)); ok {
		disk := app.Check{Section: app.SectionStore, Name: "disk", Status: app.Works, Detail: format.Size(int(free)) + " free"}
		if free < leastFree {
			disk.Status, disk.Hint = app.Warns, "Free some space: conversations cannot be stored on a full disk"
		}
		list = append(list, disk)
	}
	return list
}
