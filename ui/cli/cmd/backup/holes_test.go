package backup

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

// A sparse file has more bytes than follow it in the archive, which evades the limits on bytes read. Parley writes
// none.
func TestHoles(t *testing.T) {
	var b, plain bytes.Buffer
	out := tar.NewWriter(&plain)
	about, _ := json.Marshal(manifest{Format: version})
	add := func(h tar.Header, text []byte) {
		h.Mode, h.Size = 0o600, int64(len(text))
		err := out.WriteHeader(&h)
		if _, wrong := out.Write(text); err != nil || wrong != nil {
			t.Fatal(errors.Join(err, wrong))
		}
	}
	add(tar.Header{Name: manifestName}, about)
	add(tar.Header{Name: storeName, PAXRecords: map[string]string{
		// The library writes no such records: their first letter is corrected below.
		"XNU.sparse.major": "1", "XNU.sparse.minor": "0", "XNU.sparse.name": storeName, "XNU.sparse.realsize": "8388608",
	}}, append([]byte("1\n8388608\n0\n"), make([]byte, 500)...))
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	z := gzip.NewWriter(&b)
	_, err := z.Write(bytes.ReplaceAll(plain.Bytes(), []byte("XNU.sparse"), []byte("GNU.sparse")))
	if err := errors.Join(err, z.Close()); err != nil {
		t.Fatal(err)
	}
	most := limits{total: 16 << 20, files: 10, file: 1 << 20, ratio: 20, free: 100 << 10}
	if err := unpack(&b, t.TempDir(), most); err == nil || !strings.Contains(err.Error(), "holes") {
		t.Errorf("a file of 8 MB, of which nothing is in the archive: %v", err)
	}
}
