package backup

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
)

// The unpacked size of a backup is limited: in total, by number and size of files, and by its ratio to the packed size.
func TestLimits(t *testing.T) {
	archive := func(files int, size int64) []byte {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		out := tar.NewWriter(z)
		add := func(name string, size int64, from io.Reader) {
			if err := out.WriteHeader(&tar.Header{Name: name, Mode: 0o600, Size: size}); err != nil {
				t.Fatal(err)
			}
			if _, err := io.CopyN(out, from, size); err != nil {
				t.Fatal(err)
			}
		}
		about, _ := json.Marshal(manifest{Format: version})
		add(manifestName, int64(len(about)), bytes.NewReader(about))
		add(storeName, 100, bytes.NewReader(make([]byte, 100)))
		for i := range files {
			add(fmt.Sprint(undoName, "/objects/", i), size, bytes.NewReader(make([]byte, size)))
		}
		if err := errors.Join(out.Close(), z.Close()); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	most := limits{total: 1 << 20, files: 10, file: 200 << 10, ratio: 20, free: 100 << 10}
	for name, tt := range map[string]struct {
		files int
		size  int64
		most  limits
		want  string
	}{
		"little":          {3, 10 << 10, most, ""},
		"many files":      {11, 1, most, "over 10 files"},
		"a large file":    {1, 300 << 10, most, `307200 bytes in "undo/objects/0"`},
		"much in all":     {9, 190 << 10, limits{1 << 20, 10, 200 << 10, 2000, 100 << 10}, "over 1048576 bytes"},
		"zeros":           {2, 190 << 10, most, "over 20 times its own size"},
		"as many files":   {9, 1, most, ""}, // with the manifest, from 0
		"as large a file": {1, 200 << 10, limits{1 << 20, 10, 200 << 10, 2000, 100 << 10}, ""},
		"what is allowed": {2, 190 << 10, limits{1 << 20, 10, 200 << 10, 2000, 100 << 10}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			err := unpack(bytes.NewReader(archive(tt.files, tt.size)), t.TempDir(), tt.most)
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("%v, want %q", err, tt.want)
			}
		})
	}
}
