package vectors

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A full disk causes an error and leaves existing data unchanged; once there is room, adding works again.
func TestVectorsOnFullDisk(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=4m"); err != nil {
		t.Skipf("a small disk cannot be mounted here: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
	db := reopen(t, filepath.Join(dir, "parley.db"))
	big := Space{Model: "m", Dimensions: 512}
	var err error
	at := 0
	for ; err == nil && at < 10_000; at += 100 {
		_, err = Of(db).Add("notes", big, unit(at, 100, 512))
	}
	c := notes(t, db)
	if err == nil || !strings.Contains(err.Error(), "disk is full") || c.Rows != at-100 {
		t.Errorf("%d of %d rows, %v", c.Rows, at, err)
	}
	if found, err := Of(db).Similar(c, unit(3, 1, 512)[0].Vector, 1); err != nil || found[0].Text != "text 3" {
		t.Errorf("%+v, %v", found, err)
	}
}
