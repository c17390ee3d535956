package embed

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"parley/ui/cli/ability"
	"parley/ui/cli/cmd/embed/vectors"
	"parley/ui/cli/cmdutil"
)

// On a full disk, files of formats that must be complete do not appear. JSON lines are kept, and continue after the
// last whole line once there is room.
func TestEmbedOnFullDisk(t *testing.T) {
	rows := func(first int) (rows []vectors.Row) {
		for i := first; i < first+50; i++ {
			rows = append(rows, vectors.Row{Line: i, Text: fmt.Sprint("text ", i), Vector: make([]float32, 256)})
			rows[len(rows)-1].Vector[i%256] = 1
		}
		return rows
	}
	set := vectors.Space{Model: "mock/m", Dimensions: 256}
	for _, format := range vectors.Formats {
		dir := t.TempDir()
		if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=256k"); err != nil {
			t.Skipf("a small disk cannot be mounted here: %v", err)
		}
		t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
		path := filepath.Join(dir, "out."+format)
		r := &run{Env: &ability.Env{Streams: new(cmdutil.Streams)}, Options: Options{to: path, format: format}}
		r.Quiet = true
		s, err := r.newSink()
		if err != nil {
			t.Fatal(format, err)
		}
		n := 1
		for ; err == nil && n < 5000; n += 50 {
			err = s.write(set, rows(n))
		}
		if err = s.end(err); err == nil || !strings.Contains(err.Error(), "no space left") {
			t.Errorf("%s: %v after %d texts", format, err, n)
		}
		left, _ := os.ReadDir(dir)
		if format != "jsonl" {
			if len(left) > 0 {
				t.Errorf("%s: %v is left", format, left)
			}
			continue
		}
		if len(left) != 1 || left[0].Name() != "out.jsonl" {
			t.Fatalf("%s: %v is left", format, left)
		}
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		whole, last := 0, error(nil)
		for _, err := range vectors.Lines(f) {
			if last = err; err == nil {
				whole++
			}
		}
		if whole < 50 || last != nil && last != vectors.ErrTruncated {
			t.Errorf("%d whole lines, %v", whole, last)
		}
		_ = f.Close()
	}
}
