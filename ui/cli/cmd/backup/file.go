package backup

import (
	"os"
	"time"

	"parley/session/store"
	"parley/tools/atomicfile"
)

// WriteFile is Write to a file that must not exist, and returns its size in bytes. The file gets its name only when it
// is complete on disk.
func WriteFile(name string, lib *store.DB, files, tmp string, now time.Time) (size int64, err error) {
	err = atomicfile.Create(name, func(f *os.File) error {
		if err := Write(f, lib, files, tmp, now); err != nil {
			return err
		}
		info, err := f.Stat()
		if err == nil {
			size = info.Size()
		}
		return err
	})
	return size, err
}
