//go:build unix

package attach

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// A pipe that nobody writes to would keep the program waiting for ever.
func TestFileIsNoPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Skip(err)
	}
	for _, name := range []string{path, "/dev/zero"} {
		if _, err := FromFile(name, Limits{}); !errors.Is(err, ErrNotRegular) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A file that calls itself regular may wait for more to come, as /proc/kmsg does. Its mention does not attach
// its content.
func TestFileWithoutEnd(t *testing.T) {
	for _, written := range []string{"", "a line\n"} {
		out, in, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		defer out.Close()
		defer in.Close()
		if _, err := in.WriteString(written); err != nil {
			t.Fatal(err)
		}
		stuck := time.AfterFunc(time.Minute, func() { in.Close() })
		defer stuck.Stop()
		const want = "/proc/kmsg has no end and is not a regular file: write what it holds to a file and attach that"
		open := func(path string) (Attachment, error) { return fromOpened(out, path, 0, DefaultLimits()) }
		parts, notes, err := ExpandMentions("see @/proc/kmsg", one(open))
		if err != nil || len(parts) != 0 || len(notes) != 1 || notes[0] != want {
			t.Errorf("after %q: got %v, %q, %v", written, parts, notes, err)
		}
	}
}
